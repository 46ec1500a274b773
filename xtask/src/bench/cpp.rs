//! Builds the C++ side, by nvcc where there is a GPU, else by the C++ compiler
//! with NVIDIA's headers from wheels and the model runtime as the library.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::kit::Kit;
use crate::toolchain::{Env, cuda};
use crate::trouble::Trouble;
use crate::wheels;

/// The C++ side, built.
#[derive(Debug)]
pub struct Counterpart {
    /// The program.
    pub program: PathBuf,
    /// What built it.
    pub compiler: String,
    /// The CUDA runtime that it loads, for our side to load the same.
    pub runtime: PathBuf,
}

impl Counterpart {
    /// Builds with nvcc, against the toolkit's own shared runtime.
    ///
    /// # Errors
    ///
    /// A [`Trouble`] when there is no nvcc, it fails, or its toolkit has no runtime.
    pub fn with_nvcc(kit: &Kit, env: &Env, into: &Path) -> anyhow::Result<Self> {
        let nvcc = cuda::nvcc(env)?;
        let library = runtime_of(&nvcc.program)?;
        let folder = library.parent().unwrap_or(Path::new("/"));
        let program = into.join("counterpart");
        let mut compile = Command::new(&nvcc.program);
        compile.args(["-O2", "-std=c++17", "-cudart", "shared"]);
        // nvcc takes a comma in an argument for the linker as the end of one.
        compile.args(["-Xlinker", "-rpath", "-Xlinker"]).arg(folder);
        compile
            .arg("-o")
            .args([&program, &kit.counterpart])
            .arg("-ldl");
        run(&mut compile)?;
        Ok(Self {
            program,
            compiler: format!("nvcc {}", nvcc.release),
            runtime: library,
        })
    }

    /// Builds with the C++ compiler, against the model runtime.
    ///
    /// # Errors
    ///
    /// A [`Trouble`] when there is no compiler or the headers cannot be fetched.
    pub fn with_model(kit: &Kit, into: &Path) -> anyhow::Result<Self> {
        let root = kit
            .root
            .as_deref()
            .context("a carried folder has no headers; only nvcc can build the C++ side")?;
        let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
        let mut includes = Vec::new();
        for package in ["nvidia-cuda-runtime", "nvidia-cuda-crt"] {
            let wheel = wheels::fetch(root, package, None)?;
            let any = match package {
                "nvidia-cuda-crt" => "include/crt/host_defines.h",
                _ => "include/cuda_runtime_api.h",
            };
            let header = wheels::file(&wheel, any)?;
            let depth = any.split('/').count() - 1;
            includes.extend(header.ancestors().nth(depth).map(Path::to_owned));
        }
        let program = into.join("counterpart");
        let mut compile = Command::new(&compiler);
        compile.args(["-O2", "-std=c++17"]);
        for include in includes {
            compile.arg("-I").arg(include);
        }
        compile
            .arg("-o")
            .args([&program, &kit.counterpart, &kit.model])
            .arg("-ldl");
        run(&mut compile)?;
        Ok(Self {
            program,
            compiler: format!("{} against the model runtime", compiler.display()),
            runtime: kit.model.clone(),
        })
    }
}

/// NVIDIA's sample: a program as it is; a source is compiled first, for this
/// machine's GPU and with the headers beside it, as its own makefile does.
///
/// # Errors
///
/// A [`Trouble`] when it is not there or nvcc fails.
pub fn sample(given: &Path, env: &Env, into: &Path) -> anyhow::Result<PathBuf> {
    anyhow::ensure!(
        given.is_file(),
        Trouble::new(
            format!("there is no sample {}", given.display()),
            "--sample takes the compiled graphMemoryFootprint or its .cu file",
        )
    );
    if given.extension().is_none_or(|extension| extension != "cu") {
        return given
            .canonicalize()
            .with_context(|| format!("cannot find {}", given.display()));
    }
    let nvcc = cuda::nvcc(env)?;
    let program = into.join("sample");
    let mut compile = Command::new(&nvcc.program);
    compile.args(["-O2", "-std=c++17", "-arch=native", "-I"]);
    compile.arg(given.parent().unwrap_or(Path::new(".")));
    compile.arg("-o").arg(&program).arg(given);
    run(&mut compile)?;
    Ok(program)
}

/// The shared runtime of nvcc's toolkit.
fn runtime_of(nvcc: &Path) -> anyhow::Result<PathBuf> {
    let real = nvcc
        .canonicalize()
        .with_context(|| format!("cannot find {}", nvcc.display()))?;
    let target = format!("targets/{}-linux/lib", env::consts::ARCH);
    let above = real.ancestors().skip(2).take(1);
    above
        .flat_map(|toolkit| ["lib64", "lib", &target].map(|folder| toolkit.join(folder)))
        .map(|folder| folder.join("libcudart.so"))
        .find(|library| library.is_file())
        .with_context(|| {
            format!(
                "the toolkit of {} has no libcudart.so to compare with",
                nvcc.display()
            )
        })
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        Trouble::new(
            format!("cannot start {program}: {error}"),
            "install a C++17 compiler, or name one in CXX",
        )
    })?;
    let words = String::from_utf8_lossy(&output.stderr);
    let error = words.lines().find(|line| line.contains("error"));
    anyhow::ensure!(
        output.status.success(),
        "{program} could not build the C++ side: {}",
        error.or(words.lines().last()).unwrap_or("no message")
    );
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::testing::Machine;

    fn kit(machine: &Machine) -> Kit {
        Kit {
            experiments: machine.path("e"),
            ours: machine.path("o"),
            model: machine.path("libcudart_simulated.so"),
            watch: PathBuf::new(),
            training: PathBuf::new(),
            counterpart: machine.path("counterpart.cpp"),
            kernel: machine.path("k"),
            root: None,
        }
    }

    /// nvcc as it is installed, with a compiler that records its arguments.
    fn toolkit(machine: &Machine) {
        machine.program(
            "usr/local/cuda/bin/nvcc",
            "case $1 in --version) echo 'Cuda compilation tools, release 13.0, V13.0.48' ;; \
             *) echo \"$@\" > \"$HOME/told\" ;; esac\n",
        );
        machine.write("home/told", "");
    }

    #[test]
    fn nvcc_builds_against_the_runtime_that_our_side_will_load() {
        let machine = Machine::new();
        toolkit(&machine);
        let nvcc = cuda::nvcc(&machine.env).unwrap();
        assert_eq!(nvcc.release, "13.0");
        machine.write("usr/local/cuda/lib64/libcudart.so", "");
        // The stand-in's real place is not the toolkit's, as with a link in PATH.
        let plain = machine.path("usr/local/cuda/bin/plain");
        std::fs::write(&plain, "").unwrap();
        let found = runtime_of(&plain).unwrap();
        assert!(found.ends_with("cuda/lib64/libcudart.so"));
    }

    #[test]
    fn without_nvcc_the_trouble_says_where_it_was_looked_for() {
        let machine = Machine::new();
        let into = tempfile::tempdir().unwrap();
        let error = Counterpart::with_nvcc(&kit(&machine), &machine.env, into.path())
            .unwrap_err()
            .to_string();
        assert!(error.contains("no nvcc in PATH"), "{error}");
    }

    #[test]
    fn a_sample_that_is_not_there_is_named() {
        let machine = Machine::new();
        let into = tempfile::tempdir().unwrap();
        let missing = machine.path("graphMemoryFootprint");
        let error = sample(&missing, &machine.env, into.path()).unwrap_err();
        assert!(error.to_string().contains("there is no sample"), "{error}");
        machine.write("graphMemoryFootprint", "");
        let found = sample(&missing, &machine.env, into.path()).unwrap();
        assert!(found.ends_with("graphMemoryFootprint"));
    }
}
