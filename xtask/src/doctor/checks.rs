//! The groups that need no GPU: both compilers, and the tools for comparing.

use std::path::Path;

use super::{Check, Group, Id};
use crate::kernel::{self, rust_cuda, rustc};
use crate::toolchain::rust::GPU_TARGET;
use crate::toolchain::{Env, clang, cuda, llvm};
use crate::trouble::Trouble;

/// Rebuild the kernel with rustc's own backend.
pub fn rustc(env: &Env, root: &Path) -> Group {
    let setup = rustc::Setup::find(env, root);
    let mut checks = vec![Check::of(
        "rustc",
        setup
            .as_ref()
            .map(|setup| setup.version.line.clone())
            .map_err(Trouble::clone),
    )];
    match &setup {
        Ok(setup) => {
            checks.push(gpu_core(setup).optional());
            checks.push(Check::of("trial compile", rustc::trial(setup, root)));
        }
        Err(_) => {
            let needs = "rustc";
            checks.push(Check::skipped("core for the GPU", needs));
            checks.push(Check::skipped("trial compile", needs));
        }
    }
    checks.push(Check::of("committed PTX", kernel::committed_is_current(root)).optional());
    let otherwise = "the committed PTX is used";
    Group::new(
        Id::Rustc,
        "rebuild the kernel with rustc",
        otherwise,
        checks,
    )
}

fn gpu_core(setup: &rustc::Setup) -> Check {
    let result = if setup.has_core {
        Ok(format!("{GPU_TARGET} of rustup"))
    } else {
        Err(Trouble::new(
            format!(
                "{GPU_TARGET} is not installed; kernels-rs/core-standin is used and gives the same PTX"
            ),
            format!(
                "rustup target add --toolchain {} {GPU_TARGET}",
                setup.toolchain.channel
            ),
        ))
    };
    Check::of("core for the GPU", result)
}

/// Rebuild the kernel with rust-cuda.
pub fn rust_cuda(env: &Env, root: &Path) -> Group {
    let toolchain = rust_cuda::toolchain(env, root);
    let version = toolchain.as_ref().map_err(Trouble::clone);
    let version = version.and_then(|toolchain| toolchain.version(env));
    let mut checks = vec![Check::of(
        "pinned nightly",
        version.map(|version| version.line),
    )];
    checks.extend(rust_cuda::COMPONENTS.map(|component| match &toolchain {
        Ok(toolchain) => Check::of(
            component,
            toolchain.needs(component).map(|()| "installed".into()),
        ),
        Err(_) => Check::skipped(component, "the pinned nightly"),
    }));
    checks.push(Check::of(
        "LLVM 7",
        llvm::find(env).map(|llvm| {
            let kind = match &llvm.shared_dir {
                Some(folder) => format!("shared, {}", folder.display()),
                None => "static".to_owned(),
            };
            format!("{} ({kind}), {}", llvm.version, llvm.config.display())
        }),
    ));
    checks.push(Check::of("C++ compiler", clang::cxx(env).map(shown)));
    let libclang = clang::libclang(env);
    checks.push(Check::of(
        "libclang",
        libclang.as_ref().map(shown).map_err(Trouble::clone),
    ));
    checks.push(match &libclang {
        Ok(libclang) => Check::of("clang's headers", clang::headers(env, libclang)),
        Err(_) => Check::skipped("clang's headers", "libclang"),
    });
    let toolkit = cuda::find(env);
    checks.push(Check::of(
        "CUDA toolkit",
        toolkit
            .as_ref()
            .map(|cuda| {
                format!(
                    "{} in {} ({})",
                    cuda.release(),
                    cuda.root.display(),
                    cuda.from
                )
            })
            .map_err(Trouble::clone),
    ));
    checks.push(match &toolkit {
        Ok(cuda) => Check::of(
            "libNVVM",
            cuda::nvvm(cuda)
                .map(|nvvm| format!("IR {}, {}", nvvm.ir_version, nvvm.library.display())),
        ),
        Err(_) => Check::skipped("libNVVM", "the CUDA toolkit"),
    });
    let otherwise = "rustc's own backend compiles the kernel";
    Group::new(
        Id::RustCuda,
        "rebuild the kernel with rust-cuda",
        otherwise,
        checks,
    )
}

/// Compare with NVIDIA's sample and with C++, and check against real files.
pub fn compare(env: &Env) -> Group {
    let checks = vec![
        Check::of("nvcc", cuda::nvcc(env).map(|nvcc| nvcc.to_string())),
        Check::of("C++ compiler", clang::cxx(env).map(shown)),
        Check::of("compute-sanitizer", cuda::sanitizer(env).map(shown)).optional(),
        Check::of("pip for wheels", pip(env)).optional(),
    ];
    let otherwise = "`bench` measures the simulated GPU only, and `compare` only reads logs";
    Group::new(Id::Compare, "compare and benchmark", otherwise, checks)
}

/// pip, which `ptxas` and `abi` fetch NVIDIA's wheels with.
fn pip(env: &Env) -> Result<String, Trouble> {
    let missing = |why: String| {
        Trouble::new(
            format!("{why}; `ptxas` and `abi` need it to fetch NVIDIA's wheels"),
            "install Python 3 with pip (Debian: apt install python3-pip)",
        )
    };
    let python = env
        .which("python3")
        .ok_or_else(|| missing("no python3".to_owned()))?;
    let version = env
        .run(&python, &["-m", "pip", "--version"])
        .map_err(|why| missing(format!("no pip: {why}")))?;
    Ok(version
        .split(" from ")
        .next()
        .unwrap_or(&version)
        .to_owned())
}

fn shown(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}
