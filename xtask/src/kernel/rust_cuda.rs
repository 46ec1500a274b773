//! The kernel through rust-cuda: `kernels-rs/builder` drives cuda_builder,
//! which drives that nightly's cargo with the code generator and libNVVM.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use anyhow::Context;

use super::arch::Arch;
use super::provenance::Provenance;
use super::{Built, Emit, Kernel, source_sha256};
use crate::toolchain::cuda::{self, Cuda, Nvvm};
use crate::toolchain::llvm::{self, Llvm};
use crate::toolchain::rust::{self, RustcVersion, Toolchain};
use crate::toolchain::{Env, clang};
use crate::trouble::Trouble;

/// cuda_builder's own default, and the oldest that CUDA 13 supports.
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
        clang::headers(env, &libclang)?;
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
/// The builder always writes the same two files, `raw/kernel.ptx` and
/// `raw/kernel.ll`: the second path is one of rustc's flags, and with another path
/// cargo would compile `core` again for every kernel. Finished files are written
/// elsewhere, with the provenance in their head.
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
    kernel: Kernel,
) -> anyhow::Result<Built> {
    let arch = arch.unwrap_or(&DEFAULT_ARCH);
    if setup.cuda.version >= 13_000 && arch.number() < DEFAULT_ARCH.number() {
        return Err(Trouble::new(
            format!(
                "CUDA {} compiles for compute_75 and newer, not {}",
                setup.cuda.release(),
                arch.compute()
            ),
            "use a newer --arch, a CUDA 12 toolkit in CUDA_PATH, or `--with rustc`",
        )
        .into());
    }
    no_space(root)?;
    let raw = Raw::empty(out)?;
    // Without this cargo takes an unchanged kernel for built and leaves an old PTX, of
    // whichever compiler, and no IR at all.
    let mut clean = cargo(setup, root)?;
    clean
        .args(["clean", "--quiet", "--release", "--locked"])
        .args(["--package", kernel.name(), "--target", rust::GPU_TARGET]);
    run(setup, arch, &mut clean)?;
    let mut compile = cargo(setup, root)?;
    compile
        .args(["run", "--release", "--locked"])
        .args(["--package", "kernel-builder", "--"])
        .args(["--package", kernel.name(), "--arch", &arch.compute()])
        .arg("--ptx")
        .arg(&raw.ptx)
        .arg("--ir")
        .arg(&raw.ir);
    run(setup, arch, &mut compile)?;
    finish(setup, root, out, &raw, arch, emit, kernel)
}

/// What the builder writes, before it has a head.
struct Raw {
    ptx: PathBuf,
    ir: PathBuf,
}

impl Raw {
    /// The same two paths every time, with nothing there: what is found after a build
    /// is of that build.
    fn empty(out: &Path) -> anyhow::Result<Self> {
        let folder = out.join("raw");
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let raw = Self {
            ptx: folder.join("kernel.ptx"),
            ir: folder.join("kernel.ll"),
        };
        for file in [&raw.ptx, &raw.ir] {
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).context(format!("cannot remove {}", file.display()));
                }
                _ => {}
            }
        }
        Ok(raw)
    }
}

/// cuda_builder passes the IR's path in a list of words that the code generator
/// splits at spaces.
fn no_space(root: &Path) -> Result<(), Trouble> {
    if !root.to_string_lossy().contains(char::is_whitespace) {
        return Ok(());
    }
    Err(Trouble::new(
        format!(
            "rust-cuda cannot build below a folder with a space in its path: {}",
            root.display()
        ),
        "move the repository, or use `--with rustc`",
    ))
}

/// Starts the nightly's cargo. Its standard output becomes standard error: the path of
/// the result is all that `cargo xtask kernel` prints on standard output.
fn run(setup: &Setup, arch: &Arch, command: &mut Command) -> Result<(), Trouble> {
    let status = command.stdout(io::stderr()).status().map_err(|error| {
        let cargo = setup.toolchain.bin().join("cargo");
        Trouble::new(
            format!("cannot start {}: {error}", cargo.display()),
            format!(
                "rustup component add --toolchain {} cargo",
                setup.toolchain.channel
            ),
        )
    })?;
    if status.success() {
        return Ok(());
    }
    Err(Trouble::new(
        format!(
            "rust-cuda could not compile the kernel for {} ({status})",
            arch.compute()
        ),
        "see the compiler's messages above; `cargo xtask doctor` checks what rust-cuda needs; \
         `--with rustc` needs none of it",
    ))
}

/// The nightly's cargo in `kernels-rs`, with everything that cuda_builder and the code
/// generator read from their environment.
fn cargo(setup: &Setup, root: &Path) -> anyhow::Result<Command> {
    let bin = setup.toolchain.bin();
    // cuda_builder calls the `cargo` and `rustc` of PATH: they must be the
    // nightly's own.
    let path = prepend(&[&bin], &setup.search_path)?;
    let rustc_libs = setup.toolchain.sysroot.join("lib");
    // rustc loads the code generator, which loads libNVVM and, where LLVM is shared,
    // libLLVM-7.so.
    let mut first = vec![setup.nvvm.dir.as_path(), &rustc_libs];
    first.extend(setup.llvm.shared_dir.as_deref());
    let library_path = prepend(&first, &setup.library_path)?;
    let mut command = Command::new(bin.join("cargo"));
    command
        .current_dir(root.join("kernels-rs"))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC")
        .env("RUSTUP_TOOLCHAIN", &setup.toolchain.channel)
        .env("PATH", path)
        .env("LD_LIBRARY_PATH", library_path)
        // cuda_builder looks for the built code generator in this folder.
        .env("CARGO_TARGET_DIR", target_dir(setup, root))
        .env("CUDA_PATH", &setup.cuda.root)
        .env(
            "LIBCLANG_PATH",
            setup.libclang.parent().unwrap_or(&setup.libclang),
        )
        .env("LLVM_CONFIG", &setup.llvm.config);
    if setup.llvm.shared_dir.is_some() {
        command.env("LLVM_LINK_SHARED", "1");
    } else {
        command.env_remove("LLVM_LINK_SHARED");
    }
    Ok(command)
}

/// A target folder for each set of compilers. cargo does not track that LLVM and libNVVM
/// are inputs of the kernel and of `core`, and would take what another set compiled for
/// up to date.
fn target_dir(setup: &Setup, root: &Path) -> PathBuf {
    let mut hash = hmac_sha256::Hash::new();
    for part in [
        setup.rustc.line.as_str(),
        &setup.llvm.version,
        &setup.llvm.config.to_string_lossy(),
        &setup.cuda.release(),
        &setup.cuda.root.to_string_lossy(),
        &setup.nvvm.ir_version,
        // The same folder may hold another release after an upgrade.
        &file_stamp(&setup.nvvm.library),
        &file_stamp(&setup.llvm.config),
    ] {
        hash.update(part.as_bytes());
        hash.update(b"\n");
    }
    let name: String = hash.finalize()[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    root.join("kernels-rs/target/rust-cuda").join(name)
}

/// Length and time of a file: enough to notice that it was replaced.
fn file_stamp(file: &Path) -> String {
    let Ok(metadata) = fs::metadata(file) else {
        return String::new();
    };
    let modified = metadata.modified().ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} {:?}", metadata.len(), since)
}

/// Writes the result with what made it in its head.
fn finish(
    setup: &Setup,
    root: &Path,
    out: &Path,
    raw: &Raw,
    arch: &Arch,
    emit: Emit,
    kernel: Kernel,
) -> anyhow::Result<Built> {
    let (raw, extension, comment) = match emit {
        Emit::Ptx => (&raw.ptx, "ptx", "//"),
        Emit::LlvmIr => (&raw.ir, "ll", ";"),
    };
    let body = fs::read_to_string(raw)
        .with_context(|| format!("the builder wrote no {}", raw.display()))?;
    same_release(&body, &setup.cuda)?;
    let revision = pinned_revision(root)?;
    let mut provenance = Provenance::default();
    provenance
        .add("kernel", kernel.name())
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
        .add("source", format!("kernels-rs/{}", kernel.source()))
        .add("source-sha256", source_sha256(root, kernel)?)
        .add("command", shown_command(arch, kernel));
    let path = out.join(format!(
        "{}.rust-cuda.{}.{extension}",
        kernel.name(),
        arch.compute()
    ));
    safe_io::write(&path, provenance.prepend_to(&body, comment))?;
    Ok(Built {
        path,
        provenance,
        is_committed: false,
        is_stale: false,
    })
}

/// The command that makes this file again.
fn shown_command(arch: &Arch, kernel: Kernel) -> String {
    let kernel = match kernel {
        Kernel::ClockBlock => String::new(),
        other => format!(" --kernel {}", other.name().replace('_', "-")),
    };
    format!(
        "cargo xtask kernel{kernel} --with rust-cuda --arch {}",
        arch.compute()
    )
}

/// libNVVM writes its release into the PTX. One that contradicts the toolkit that the
/// build was given is not what the head would say, so it is refused.
fn same_release(body: &str, cuda: &Cuda) -> Result<(), Trouble> {
    let written = body
        .lines()
        .find_map(|line| line.strip_prefix("// Cuda compilation tools, release "))
        .and_then(|rest| rest.split(',').next());
    match written {
        Some(release) if release != cuda.release() => Err(Trouble::new(
            format!(
                "the PTX was written by libNVVM of CUDA {release}, but {} contains CUDA {}",
                cuda.root.display(),
                cuda.release()
            ),
            "another libnvvm.so.4 is loaded first; check LD_LIBRARY_PATH",
        )),
        _ => Ok(()),
    }
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
