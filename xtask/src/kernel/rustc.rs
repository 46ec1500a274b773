//! The kernel through rustc's own NVPTX backend: one source file in, PTX out.
//! No cargo, no linker, no CUDA.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::arch::Arch;
use super::provenance::Provenance;
use super::{Built, Emit, Kernel, source_sha256};
use crate::toolchain::Env;
use crate::toolchain::rust::{self, GPU_TARGET, RustcVersion, Toolchain};
use crate::trouble::Trouble;

/// The architecture whose PTX has the widest reach: rustc writes
/// `.version 5.0` for it, which every driver from 11.4 on reads and every GPU
/// from Pascal on can run.
const WIDEST: Arch = Arch::new(60);

/// rustc 1.97 dropped everything below sm_70.
const FLOOR_SINCE_MINOR_97: Arch = Arch::new(70);

/// A compiler to use, and how.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The toolchain whose rustc runs.
    pub toolchain: Toolchain,
    /// What it says it is.
    pub version: RustcVersion,
    /// A stable compiler accepts the two unstable features only with a setting;
    /// a nightly has not.
    pub bootstrap: bool,
    /// Whether rustup's `core` for the GPU is installed; our stand-in is used
    /// where it is not.
    pub has_core: bool,
}

impl Setup {
    /// The nightly that kernels-rs pins if it is installed and starts, else
    /// the workspace's own compiler.
    ///
    /// # Errors
    ///
    /// When neither is there or the compiler does not start.
    pub fn find(env: &Env, root: &Path) -> Result<Self, Trouble> {
        let pinned = rust::pinned_channel(&root.join("kernels-rs/rust-toolchain.toml"))?;
        rust::find(env, &pinned)
            .and_then(|toolchain| Self::with(env, toolchain))
            .or_else(|_| Self::workspace(env, root))
    }

    /// The workspace's own compiler, whatever else is installed: the committed
    /// PTX is made with this one.
    ///
    /// # Errors
    ///
    /// When it is not there or does not start.
    pub fn workspace(env: &Env, root: &Path) -> Result<Self, Trouble> {
        let channel = rust::pinned_channel(&root.join("rust-toolchain.toml"))?;
        Self::with(env, rust::workspace(env, &channel)?)
    }

    fn with(env: &Env, toolchain: Toolchain) -> Result<Self, Trouble> {
        let version = toolchain.version(env)?;
        Ok(Self {
            bootstrap: !version.line.contains("-nightly") && !version.line.contains("-dev"),
            has_core: toolchain.has_gpu_core(),
            toolchain,
            version,
        })
    }

    /// The architecture if none is requested.
    pub fn default_arch(&self) -> Arch {
        if self.version.minor < 97 {
            WIDEST
        } else {
            FLOOR_SINCE_MINOR_97
        }
    }
}

/// Compiles the kernel; `out` is the folder for the result.
///
/// # Errors
///
/// Cause and remedy in a [`Trouble`], after the compiler's own output went to
/// standard error.
pub fn build(
    setup: &Setup,
    root: &Path,
    out: &Path,
    arch: Option<&Arch>,
    emit: Emit,
    kernel: Kernel,
) -> anyhow::Result<Built> {
    let name = kernel.name();
    let arch = arch.cloned().unwrap_or_else(|| setup.default_arch());
    let (kind, extension, comment) = match emit {
        Emit::Ptx => ("asm", "ptx", "//"),
        Emit::LlvmIr => ("llvm-ir", "ll", ";"),
    };
    let dir = root.join("kernels-rs");
    let scratch = tempfile::tempdir_in(out).context("cannot create a folder for the compiler")?;
    let raw = scratch.path().join(format!("{name}.{extension}"));

    let mut shown = vec![format!("rustc +{}", setup.toolchain.channel)];
    let mut command = rustc(setup, &dir, &arch, name);
    command.arg("-Ccodegen-units=1");
    let core = if setup.has_core {
        "rust-std of the toolchain"
    } else {
        let core = compile_core(setup, &dir, &arch, scratch.path())?;
        command.args(["-Zcrate-attr=feature(no_core)", "-Zcrate-attr=no_core"]);
        command.arg("--extern").arg(joined("core=", &core));
        "kernels-rs/core-standin/core.rs"
    };
    command
        .arg(joined(&format!("--emit={kind}="), &raw))
        .arg(kernel.source());
    shown.extend(shown_args(&command, scratch.path()));
    run(setup, &arch, &mut command)?;

    let mut provenance = Provenance::default();
    provenance
        .add("kernel", name)
        .add("compiler", &setup.version.line)
        .add(
            "backend",
            format!("rustc's NVPTX backend, LLVM {}", setup.version.llvm),
        )
        .add("core", core)
        .add("arch", arch.sm())
        .add("source", format!("kernels-rs/{}", kernel.source()))
        .add("source-sha256", source_sha256(root, kernel)?)
        .add("command", shown.join(" "));
    let body = fs::read_to_string(&raw).context("rustc reported success but left no output")?;
    let path = out.join(format!("{name}.rustc.{}.{extension}", arch.sm()));
    safe_io::write(&path, provenance.prepend_to(&body, comment))?;
    Ok(Built {
        path,
        provenance,
        is_committed: false,
        is_stale: false,
    })
}

/// Compiles the kernel and throws it away: whether it works, in a word.
///
/// # Errors
///
/// As [`build`].
pub fn trial(setup: &Setup, root: &Path) -> Result<String, Trouble> {
    let out = tempfile::tempdir().map_err(|error| {
        Trouble::new(
            format!("no temporary folder: {error}"),
            "set TMPDIR to one that can be written",
        )
    })?;
    match build(setup, root, out.path(), None, Emit::Ptx, Kernel::ClockBlock) {
        Ok(_) => Ok(format!("makes PTX for {}", setup.default_arch().sm())),
        Err(error) => Err(error.downcast::<Trouble>().unwrap_or_else(|error| {
            Trouble::new(
                format!("{error:#}"),
                "check that kernels-rs is complete, with git status",
            )
        })),
    }
}

/// Our few lines of `core`, as metadata alone: nothing of it is code of its
/// own, all is inlined into the kernel.
fn compile_core(setup: &Setup, dir: &Path, arch: &Arch, scratch: &Path) -> anyhow::Result<PathBuf> {
    let metadata = scratch.join("libcore.rmeta");
    let mut command = rustc(setup, dir, arch, "core");
    command
        .arg("-Zalways-encode-mir")
        .arg(joined("--emit=metadata=", &metadata))
        .arg("core-standin/core.rs");
    run(setup, arch, &mut command)?;
    Ok(metadata)
}

/// A rustc for the GPU with everything that both crates are compiled with.
fn rustc(setup: &Setup, dir: &Path, arch: &Arch, crate_name: &str) -> Command {
    let mut command = Command::new(setup.toolchain.rustc());
    command
        .current_dir(dir)
        // Flags that the caller meant for the host, such as target-cpu=native.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_BOOTSTRAP")
        .args(["--edition=2024", "--crate-type=lib"])
        .arg(format!("--crate-name={crate_name}"))
        .arg(format!("--target={GPU_TARGET}"))
        .args(["-Copt-level=3", "-Cpanic=abort"])
        .arg(format!("-Ctarget-cpu={}", arch.sm()));
    if setup.bootstrap {
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    command
}

fn run(setup: &Setup, arch: &Arch, command: &mut Command) -> Result<(), Trouble> {
    let output = command.output().map_err(|error| {
        Trouble::new(
            format!(
                "cannot start {}: {error}",
                setup.toolchain.rustc().display()
            ),
            format!(
                "rustup toolchain install --force {}",
                setup.toolchain.channel
            ),
        )
    })?;
    let words = String::from_utf8_lossy(&output.stderr);
    // LLVM warns of an unknown processor, takes its oldest instead, and rustc
    // reports success.
    if words.contains("not a recognized processor") {
        return Err(Trouble::new(
            format!("{} does not support {}", setup.version.line, arch.sm()),
            format!(
                "use an older --arch, such as {}, which the driver compiles for newer GPUs",
                setup.default_arch().sm()
            ),
        ));
    }
    eprint!("{words}");
    if output.status.success() {
        return Ok(());
    }
    let remedy = if setup.has_core {
        "see rustc's messages above; `--with embedded` needs no compiler".to_owned()
    } else {
        // The stand-in names the compiler's lang items, which move.
        format!(
            "rustup target add --toolchain {} {GPU_TARGET}, if rustc complains about lang items; \
             `--with embedded` needs no compiler",
            setup.toolchain.channel
        )
    };
    let what = format!("{} could not compile the kernel", setup.version.line);
    Err(Trouble::new(what, remedy))
}

/// The arguments as a reader would type them: no path of this machine.
fn shown_args(command: &Command, scratch: &Path) -> Vec<String> {
    let scratch = format!("{}/", scratch.display());
    command
        .get_args()
        .map(|arg| arg.to_string_lossy().replace(&scratch, ""))
        .map(|arg| {
            if arg.contains('(') {
                format!("'{arg}'")
            } else {
                arg
            }
        })
        .collect()
}

/// `prefix` and a path in one argument, whatever bytes the path holds.
fn joined(prefix: &str, path: &Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from(prefix);
    argument.push(path);
    argument
}
