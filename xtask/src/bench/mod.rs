//! `cargo xtask bench`: measures speed, and compares each figure with a bar.
//!
//! On a machine with a GPU and nvcc, the Rust program and a C++ program take turns. On
//! other machines both run on the simulated GPU; its times are printed but not compared
//! with the bars. For a machine with a GPU and no Rust, `--pack` writes a folder with all
//! programs, and the `xtask` in it runs there with `--kit`.

mod bed;
mod cpp;
mod figures;
mod instructions;
mod kit;
mod results;
mod side;
mod stats;
mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use safe_io::{Outputs, visible};

use crate::toolchain::Env;
use crate::trouble::Trouble;
use bed::{Bed, Limit};
use cpp::Counterpart;
use figures::{FIGURES, Plan};
use kit::Kit;
use results::{BenchResult, Figure, SCHEMA_VERSION, Verdict};

/// Options of `cargo xtask bench`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Measure only this figure; may be given more than once.
    #[arg(long, value_name = "FIGURE", value_parser = figure_parser())]
    only: Vec<&'static str>,

    /// Use few repetitions and small sizes, to check that everything works.
    #[arg(long)]
    quick: bool,

    /// Measure on a GPU, on the simulated GPU, or on a GPU if there is one.
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    backend: Backend,

    /// NVIDIA's sample graphMemoryFootprint, compiled or as .cu file.
    #[arg(long, value_name = "PATH")]
    sample: Option<PathBuf>,

    /// The CUDA runtime for both programs (default: the one of nvcc's toolkit).
    #[arg(long, value_name = "PATH")]
    cudart: Option<PathBuf>,

    /// The device's ordinal.
    #[arg(long, default_value_t = 0, value_name = "N")]
    device: u32,

    /// Also write the result as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Build all programs and copy them to a folder, without measuring.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["kit", "only", "instructions"])]
    pack: Option<PathBuf>,

    /// Use the programs of a folder written by --pack, without building Rust code.
    #[arg(long, value_name = "DIR", conflicts_with = "instructions")]
    kit: Option<PathBuf>,

    /// Count instructions on the simulated GPU with valgrind, and compare them with the
    /// committed counts.
    #[arg(long)]
    instructions: bool,

    /// Commit the counted instructions.
    #[arg(long, requires = "instructions")]
    bless: bool,
}

/// Where to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Backend {
    /// A GPU if there is one, otherwise the simulated GPU.
    #[default]
    Auto,
    /// A GPU; without one the task fails.
    Cuda,
    /// The simulated GPU.
    #[value(name = "simulated", alias = "model")]
    Model,
}

fn figure_parser() -> impl TypedValueParser<Value = &'static str> {
    PossibleValuesParser::new(FIGURES.iter().map(|plan| plan.name)).map(|name| {
        let plan = FIGURES.iter().find(|plan| plan.name == name);
        plan.map_or("", |plan| plan.name)
    })
}

/// Runs the subcommand. Exit code 1 where a bar is missed or a figure failed.
///
/// # Errors
///
/// When the programs cannot be built or started at all.
pub fn run(args: &Args, root: &Path) -> anyhow::Result<ExitCode> {
    if args.instructions {
        return instructions::run(root, args.bless);
    }
    // Checked before anything is built or measured, so that a bad path fails early.
    if let Some(file) = &args.json {
        let inputs = [&args.sample, &args.cudart].into_iter().flatten();
        Outputs::new(inputs).open(file)?;
    }
    let kit = match &args.kit {
        Some(folder) => Kit::unpack(folder)?,
        None => Kit::build(root)?,
    };
    if let Some(folder) = &args.pack {
        kit.pack(folder)?;
        println!("packed into {}", folder.display());
        return Ok(ExitCode::SUCCESS);
    }
    let bed = make_bed(args, kit)?;
    print!("{}", visible::lines(&text::machine(&bed.machine)));
    let mut result = BenchResult {
        schema_version: SCHEMA_VERSION,
        machine: bed.machine.clone(),
        quick: bed.quick,
        figures: Vec::new(),
        verdict: Verdict::Pass,
    };
    for plan in chosen(&args.only) {
        let figure = take(plan, &bed);
        print!("{}", visible::lines(&text::figure(&figure)));
        result.verdict = result.verdict.max(figure.verdict());
        result.figures.push(figure);
        // After each figure, so that what is there is kept whatever comes next.
        if let Some(file) = &args.json {
            let json = serde_json::to_string_pretty(&result)?;
            safe_io::write(file, json + "\n")?;
        }
    }
    print!("{}", visible::lines(&text::summary(&result)));
    Ok(ExitCode::from(u8::from(result.verdict == Verdict::Fail)))
}

fn chosen(only: &[&str]) -> impl Iterator<Item = &'static Plan> {
    let named = move |plan: &&Plan| only.is_empty() || only.contains(&plan.name);
    FIGURES.iter().filter(named)
}

/// Takes a figure. One that fails keeps what it has and does not end the run.
fn take(plan: &Plan, bed: &Bed) -> Figure {
    let mut figure = Figure::new(plan.name, plan.title);
    let start = Instant::now();
    let outcome = (plan.measure)(bed, Limit::new(plan.limit), &mut figure);
    figure.took_s = start.elapsed().as_secs_f64();
    if let Err(error) = outcome {
        figure.failed(&error);
    }
    figure
}

fn make_bed(args: &Args, kit: Kit) -> anyhow::Result<Bed> {
    let env = Env::real();
    let scratch = tempfile::tempdir().context("cannot create a folder for files")?;
    let mut bed = Bed {
        kit,
        counterpart: Err("the simulated GPU was requested".to_owned()),
        sample: None,
        cudart: args.cudart.clone(),
        device: args.device,
        on_model: args.backend == Backend::Model,
        quick: args.quick,
        machine: results::Machine {
            sides_bound_to_cpus: bed::cpus_for_sides(),
            ..results::Machine::default()
        },
        scratch,
    };
    if args.backend != Backend::Model {
        let into = bed.scratch.path();
        bed.counterpart =
            Counterpart::with_nvcc(&bed.kit, &env, into).map_err(|error| one_line(&error));
        match bed.ours() {
            Ok(ours) => bed.machine = bed.describe(&ours.hello),
            Err(error) if args.backend == Backend::Cuda => {
                return Err(error.context("there is no GPU to measure on"));
            }
            // Our side has just said why.
            Err(_) => {
                eprintln!("no GPU to measure on, so the model is measured");
                bed.on_model = true;
            }
        }
    }
    if bed.on_model {
        let into = bed.scratch.path();
        bed.counterpart = Counterpart::with_model(&bed.kit, into).map_err(|error| one_line(&error));
        bed.machine = bed.describe(&bed.ours()?.hello);
        anyhow::ensure!(
            args.sample.is_none(),
            Trouble::new("the sample needs a GPU", "omit --sample")
        );
    } else if let Some(sample) = &args.sample {
        bed.sample = Some(cpp::sample(sample, &env, bed.scratch.path())?);
    }
    match &bed.counterpart {
        Ok(counterpart) => bed.machine.cpp_compiler = Some(counterpart.compiler.clone()),
        Err(why) => bed.machine.no_cpp = Some(why.clone()),
    }
    Ok(bed)
}

/// The cause of an error that is about to be explained as a gap in the result.
fn one_line(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_measured_unless_some_are_named() {
        let names: Vec<_> = chosen(&[]).map(|plan| plan.name).collect();
        assert_eq!(names, ["process", "launch", "scale", "mapping", "watch"]);
        let one: Vec<_> = chosen(&["scale"]).map(|plan| plan.name).collect();
        assert_eq!(one, ["scale"]);
    }

    #[test]
    fn an_error_becomes_one_line_of_why() {
        let error = anyhow::Error::from(Trouble::new("no nvcc", "install it"));
        assert_eq!(one_line(&error), "no nvcc");
    }
}
