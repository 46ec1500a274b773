//! Compiles one kernel to PTX with rust-cuda. This is the only crate of the project that
//! depends on cuda_builder. `cargo xtask kernel --with rust-cuda` calls it with the
//! environment that cuda_builder and the code generator need.
//!
//! Arguments: `--package clock_block --arch compute_75 --ptx FILE --ir FILE`. The IR is the
//! code generator's output for libNVVM. Every build should use the same two files: the path
//! of the IR is one of rustc's flags, and cargo compiles `core` again if a flag changes.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() -> ExitCode {
    match arguments(env::args().skip(1)).and_then(|request| build(&request)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

struct Request {
    package: String,
    arch: NvvmArch,
    ptx: PathBuf,
    ir: PathBuf,
}

fn arguments(mut args: impl Iterator<Item = String>) -> Result<Request, String> {
    let (mut package, mut arch, mut ptx, mut ir) = (None, None, None, None);
    while let Some(name) = args.next() {
        let value = args.next().ok_or(format!("{name} needs a value"))?;
        match name.as_str() {
            "--package" => package = Some(value),
            "--arch" => {
                let known = value.parse::<NvvmArch>();
                arch = Some(known.map_err(|_| format!("libNVVM has no architecture {value}"))?);
            }
            "--ptx" => ptx = Some(PathBuf::from(value)),
            "--ir" => ir = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown argument {name}")),
        }
    }
    Ok(Request {
        package: package.ok_or("--package NAME is missing")?,
        arch: arch.unwrap_or_default(),
        ptx: ptx.ok_or("--ptx FILE is missing")?,
        ir: ir.ok_or("--ir FILE is missing")?,
    })
}

fn build(request: &Request) -> Result<(), String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("the builder is not in its workspace")?;
    let package = format!("--package={}", request.package);
    CudaBuilder::new(workspace)
        .arch(request.arch)
        .build_args(&[package.as_str(), "--features=rust-cuda", "--locked"])
        .final_module_path(&request.ir)
        .copy_to(&request.ptx)
        .build()
        .map(drop)
        .map_err(|error| error.to_string())
}
