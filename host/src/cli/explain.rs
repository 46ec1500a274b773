//! `explain` and `--list`: texts about experiments and rules.

use std::collections::BTreeSet;
use std::process::ExitCode;

use crate::cli::ExplainArgs;
use crate::cli::exit::{self, Stop};
use crate::cli::output;
use crate::experiments::{EXPERIMENTS, Experiment};
use crate::report::style::BOLD;
use crate::report::table::paragraph;
use crate::rules::{self, Rule};

/// Lists the experiments.
///
/// # Errors
///
/// Errors of writing the output.
pub fn list() -> Result<ExitCode, Stop> {
    let width = EXPERIMENTS.iter().map(|one| one.name.len()).max();
    let width = width.unwrap_or(0);
    let lines = EXPERIMENTS
        .iter()
        .map(|one| format!("{:<width$}  {}\n", one.name, one.title));
    print(&lines.collect::<String>())
}

/// Explains an experiment or a rule.
///
/// # Errors
///
/// A usage error for an unknown name, or errors of writing the output.
pub fn explain(args: &ExplainArgs) -> Result<ExitCode, Stop> {
    let experiment = EXPERIMENTS
        .iter()
        .find(|experiment| experiment.name == args.name);
    if let Some(experiment) = experiment {
        return print(&of_experiment(experiment));
    }
    match rules::find(&args.name) {
        Some(rule) => print(&of_rule(rule)),
        None => Err(Stop::usage(
            format!("there is no experiment or rule named {:?}", args.name),
            "use a name from --list, or a rule from R1 to R56 or M1 to M22",
        )),
    }
}

fn of_experiment(experiment: &Experiment) -> String {
    let mut text = format!("{BOLD}{}{BOLD:#}\n\n", experiment.title);
    text += &paragraph("", experiment.shows);
    text.push('\n');
    text += &paragraph("", experiment.teaches);
    let rules: Vec<_> = experiment
        .rules
        .iter()
        .filter_map(|id| rules::find(id))
        .collect();
    text += &format!("\n{BOLD}Rules{BOLD:#}\n");
    for rule in &rules {
        text += &paragraph(&format!("{:<4} ", rule.id), rule.says);
    }
    text += &format!("\n{BOLD}Sources{BOLD:#}\n");
    let sources: BTreeSet<_> = rules.iter().map(|rule| rule.source).collect();
    for source in sources {
        text += &format!("{}\n", source.text());
    }
    text += &format!(
        "\n{BOLD}Run{BOLD:#}\n{} --experiment {}\n",
        env!("CARGO_PKG_NAME"),
        experiment.name
    );
    text
}

fn of_rule(rule: &Rule) -> String {
    let mut text = format!("{BOLD}{}{BOLD:#}\n\n", rule.id);
    text += &paragraph("", rule.says);
    text += &format!("\n{BOLD}Source{BOLD:#}\n{}\n", rule.source.text());
    let checking: Vec<_> = EXPERIMENTS
        .iter()
        .filter(|experiment| experiment.rules.contains(&rule.id))
        .map(|experiment| experiment.name)
        .collect();
    if !checking.is_empty() {
        text += &format!("\n{BOLD}Experiments{BOLD:#}\n{}\n", checking.join("\n"));
    }
    text
}

fn print(text: &str) -> Result<ExitCode, Stop> {
    output::print(&[], text.as_bytes())?;
    Ok(ExitCode::from(exit::PASS))
}
