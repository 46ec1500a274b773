//! The kernel through rust-cuda: `kernels-rs/builder` drives cuda_builder,
//! which drives that nightly's cargo with the code generator and libNVVM.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::arch::Arch;
use super::provenance::Provenance;
use super::{Built, Emit, Kernel, source_sha256};
use crate::toolchain::cuda::{self, Cuda, Nvvm};
use crate::toolchain::llvm::{self, Llvm};
use crate::toolchain::rust::{self, RustcVersion, Toolchain};
use crate::toolchain::{Env, clang};
use crate::trouble::Trouble;

/// cuda_builder's own default, and the oldest that CUDA 13 knows.
const DEFAULT_ARCH: Arch = Arch::new(75);

/// What the code generator and its build need beside rustc.
pub const COMPONENTS: [&str; 3] = ["rust-src", "rustc-dev", "llvm-tools"];

/// Every part of a rust-cuda build, found.
#[derive(Debug, Clone)]
pub struct Setup {
    toolchain: Toolchain,
    rustc: RustcVersion,
    llvm: Llvm,
    cuda: Cuda,
    nvvm: Nvvm,
    libclang: PathBuf,
    search_path: Vec<PathBuf>,
    library_path: Vec<PathBuf>,
}

impl Setup {
    /// Looks for all the parts, in the order in which a person would install
    /// them.
    ///
    /// # Errors
    ///
    /// The first part that is missing; `doctor` lists them all.
    pub fn find(env: &Env, root: &Path) -> Result<Self, Trouble> {
        let toolchain = toolchain(env, root)?;
        for component in COMPONENTS {
            toolchain.needs(component)?;
        }
        let rustc = toolchain.version(env)?;
        let llvm = llvm::find(env)?;
        clang::cxx(env)?;
        let libclang = clang::libclang(env)?;
        let cuda = cuda::find(env)?;
        let nvvm = cuda::nvvm(&cuda)?;
        Ok(Self {
            toolchain,
            rustc,
            llvm,
            cuda,
            nvvm,
            libclang,
            search_path: env.search_path("PATH"),
            library_path: env.search_path("LD_LIBRARY_PATH"),
        })
    }
}

/// The nightly that kernels-rs pins.
///
/// # Errors
///
/// With the command that installs it along with all [`COMPONENTS`].
pub fn toolchain(env: &Env, root: &Path) -> Result<Toolchain, Trouble> {
    let pinned = rust::pinned_channel(&root.join("kernels-rs/rust-toolchain.toml"))?;
    rust::find(env, &pinned).map_err(|trouble| Trouble {
        remedy: format!("{} --component {}", trouble.remedy, COMPONENTS.join(",")),
        ..trouble
    })
}

/// Compiles the kernel; `out` is the folder for the result.
///
/// # Errors
///
/// Cause and remedy in a [`Trouble`], below the compiler's own output.
pub fn build(
    setup: &Setup,
    root: &Path,
    out: &Path,
    arch: Option<&Arch>,
    emit: Emit,
) -> anyhow::Result<Built> {
    let arch = arch.unwrap_or(&DEFAULT_ARCH);
    if setup.cuda.version >= 13_000 && arch.number() < DEFAULT_ARCH.number() {
        return Err(Trouble::new(
            format!(
                "CUDA {} compiles for compute_75 and newer, not {}",
                setup.cuda.release(),
                arch.compute()
            ),
            "a newer --arch, a CUDA 12 toolkit in CUDA_PATH, or `--with rustc`",
        )
        .into());
    }
    let stem = out.join(format!("clock_block.rust-cuda.{}", arch.compute()));
    let (ptx, ir) = (
        stem.with_added_extension("ptx"),
        stem.with_added_extension("ll"),
    );
    let status = command(setup, root, arch, &ptx, &ir)?
        .status()
        .map_err(|error| {
            let cargo = setup.toolchain.bin().join("cargo");
            Trouble::new(
                format!("cannot start {}: {error}", cargo.display()),
                format!(
                    "rustup component add --toolchain {} cargo",
                    setup.toolchain.channel
                ),
            )
        })?;
    if !status.success() {
        return Err(Trouble::new(
            format!("rust-cuda could not compile the kernel for {} ({status})", arch.compute()),
            "read its words above; `cargo xtask doctor` checks the parts; `--with rustc` needs none of them",
        )
        .into());
    }
    finish(setup, root, arch, emit, &ptx, &ir)
}

fn command(
    setup: &Setup,
    root: &Path,
    arch: &Arch,
    ptx: &Path,
    ir: &Path,
) -> anyhow::Result<Command> {
    let bin = setup.toolchain.bin();
    // cuda_builder calls the `cargo` and `rustc` of PATH: they must be the
    // nightly's own.
    let path = prepend(&[&bin], &setup.search_path)?;
    let rustc_libs = setup.toolchain.sysroot.join("lib");
    let library_path = prepend(&[&setup.nvvm.dir, &rustc_libs], &setup.library_path)?;
    let mut command = Command::new(bin.join("cargo"));
    command
        .current_dir(root.join("kernels-rs"))
        .args([
            "run",
            "--release",
            "--locked",
            "--package",
            "kernel-builder",
            "--",
        ])
        .arg("--arch")
        .arg(arch.compute())
        .arg("--ptx")
        .arg(ptx)
        .arg("--ir")
        .arg(ir)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC")
        .env("RUSTUP_TOOLCHAIN", &setup.toolchain.channel)
        .env("PATH", path)
        .env("LD_LIBRARY_PATH", library_path)
        // cuda_builder looks for the built code generator in this folder.
        .env("CARGO_TARGET_DIR", root.join("kernels-rs/target"))
        .env("CUDA_PATH", &setup.cuda.root)
        .env(
            "LIBCLANG_PATH",
            setup.libclang.parent().unwrap_or(&setup.libclang),
        )
        .env("LLVM_CONFIG", &setup.llvm.config);
    if setup.llvm.shared {
        command.env("LLVM_LINK_SHARED", "1");
    } else {
        command.env_remove("LLVM_LINK_SHARED");
    }
    Ok(command)
}

/// Writes what made it into the head of the result.
fn finish(
    setup: &Setup,
    root: &Path,
    arch: &Arch,
    emit: Emit,
    ptx: &Path,
    ir: &Path,
) -> anyhow::Result<Built> {
    let (path, comment) = match emit {
        Emit::Ptx => (ptx, "//"),
        Emit::LlvmIr => (ir, ";"),
    };
    let body = fs::read_to_string(path)
        .with_context(|| format!("the builder left no {}", path.display()))?;
    let revision = pinned_revision(root)?;
    let mut provenance = Provenance::default();
    provenance
        .add("kernel", "clock_block")
        .add(
            "compiler",
            format!("rust-cuda {revision} on {}", setup.rustc.line),
        )
        .add(
            "backend",
            format!("rustc_codegen_nvvm, LLVM {}", setup.llvm.version),
        )
        .add(
            "libnvvm",
            format!(
                "CUDA {}, NVVM IR {}",
                setup.cuda.release(),
                setup.nvvm.ir_version
            ),
        )
        .add("core", "-Zbuild-std of the nightly's rust-src")
        .add("arch", arch.compute())
        .add("source", "kernels-rs/src/lib.rs")
        .add("source-sha256", source_sha256(root, Kernel::ClockBlock)?)
        .add(
            "command",
            format!(
                "cargo xtask kernel --with rust-cuda --arch {}",
                arch.compute()
            ),
        );
    fs::write(path, provenance.prepend_to(&body, comment))?;
    Ok(Built {
        path: path.to_owned(),
        provenance,
        is_committed: false,
        is_stale: false,
    })
}

/// The revision that kernels-rs pins, read off its manifest.
pub fn pinned_revision(root: &Path) -> Result<String, Trouble> {
    let manifest = root.join("kernels-rs/Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap_or_default();
    text.lines()
        .filter(|line| line.starts_with("cuda_builder"))
        .find_map(|line| line.split_once("rev = \"")?.1.split_once('"'))
        .map(|(revision, _)| revision.to_owned())
        .ok_or_else(|| {
            Trouble::new(
                format!("{} pins no revision of cuda_builder", manifest.display()),
                "git checkout kernels-rs/Cargo.toml",
            )
        })
}

fn prepend(first: &[&Path], rest: &[PathBuf]) -> anyhow::Result<OsString> {
    let all = first
        .iter()
        .copied()
        .chain(rest.iter().map(PathBuf::as_path));
    std::env::join_paths(all).context("a folder for PATH or LD_LIBRARY_PATH holds a colon")
}
