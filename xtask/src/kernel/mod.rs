//! `cargo xtask kernel`: the kernel's PTX, by the best compiler that is here.
//!
//! Three sources, best first: rust-cuda, rustc's own NVPTX backend, and the
//! PTX committed in `kernels-rs/ptx`. A caller gets the file, what made it,
//! and one sentence of why not a better one.

mod arch;
mod provenance;
pub mod rust_cuda;
pub mod rustc;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use cudart_ffi::loader::Version;
use cudart_ffi::ptx::PtxHeader;
use safe_io::Shown;

pub use arch::Arch;
pub use provenance::Provenance;

use crate::toolchain::Env;
use crate::trouble::Trouble;

/// The PTX that the host embeds, made by the workspace's own rustc.
pub const EMBEDDED: &str = Kernel::ClockBlock.committed();

/// The kernels of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Kernel {
    /// Spins for a given time.
    #[default]
    ClockBlock,
    /// Writes to memory, for the experiment data-survives.
    NegatedSquares,
    /// Ends a WHILE node: shows that a conditional node's body uses memory.
    NextRound,
}

impl Kernel {
    /// The entry's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClockBlock => "clock_block",
            Self::NegatedSquares => "negated_squares",
            Self::NextRound => "next_round",
        }
    }

    /// Its source, a crate of its own, below `kernels-rs`.
    pub const fn source(self) -> &'static str {
        match self {
            Self::ClockBlock => "src/lib.rs",
            Self::NegatedSquares => "src/negated_squares.rs",
            Self::NextRound => "src/next_round.rs",
        }
    }

    /// The committed PTX of the workspace's own rustc.
    pub const fn committed(self) -> &'static str {
        match self {
            Self::ClockBlock => "kernels-rs/ptx/clock_block.ptx",
            Self::NegatedSquares => "kernels-rs/ptx/negated_squares.ptx",
            Self::NextRound => "kernels-rs/ptx/next_round.ptx",
        }
    }

    /// The committed PTX of rust-cuda.
    pub const fn committed_by_rust_cuda(self) -> &'static str {
        match self {
            Self::ClockBlock => "kernels-rs/ptx/clock_block.rust-cuda.ptx",
            Self::NegatedSquares => "kernels-rs/ptx/negated_squares.rust-cuda.ptx",
            Self::NextRound => "kernels-rs/ptx/next_round.rust-cuda.ptx",
        }
    }
}

/// Which compiler makes the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum With {
    /// The first of the others for which everything is installed.
    #[default]
    Auto,
    /// cuda_builder with rustc_codegen_nvvm and libNVVM.
    RustCuda,
    /// rustc's own NVPTX backend.
    Rustc,
    /// No compiler: use the PTX committed in kernels-rs/ptx.
    Embedded,
}

/// What the compiler writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Emit {
    /// PTX, which the driver loads.
    #[default]
    Ptx,
    /// The input of the last step: LLVM IR, or NVVM IR with rust-cuda.
    LlvmIr,
}

/// Options of `cargo xtask kernel`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Args {
    /// The kernel.
    #[arg(long, value_enum, default_value_t)]
    pub kernel: Kernel,
    /// The compiler; without it, the best one that is installed.
    #[arg(long, value_enum, default_value_t)]
    pub with: With,
    /// The architecture, such as compute_75 (default: rustc sm_60, rust-cuda
    /// compute_75).
    #[arg(long)]
    pub arch: Option<Arch>,
    /// What to write.
    #[arg(long, value_enum, default_value_t)]
    pub emit: Emit,
    /// Also write it to kernels-rs/ptx as the committed PTX of this compiler.
    #[arg(long)]
    pub bless: bool,
}

/// What one compiler made.
#[derive(Debug)]
pub struct Built {
    path: PathBuf,
    provenance: Provenance,
    is_committed: bool,
    /// The source has changed since it was made.
    is_stale: bool,
}

/// The kernel as `build` gives it.
#[derive(Debug)]
pub struct BuiltKernel {
    /// The PTX (or LLVM IR) file.
    pub path: PathBuf,
    /// What made it.
    pub provenance: Provenance,
    /// One line: which compiler, and why none of the better ones.
    pub why: String,
}

/// Runs the subcommand: the line of why and what made the file on standard
/// error, its path on standard output.
///
/// # Errors
///
/// As [`build`].
pub fn run(args: &Args, root: &Path) -> anyhow::Result<ExitCode> {
    let built = build(args, root, &Env::real())?;
    eprintln!("{}", Shown(&built.why));
    for (key, value) in built.provenance.iter() {
        eprintln!("  {}: {}", Shown(key), Shown(value));
    }
    println!("{}", built.path.display());
    Ok(ExitCode::SUCCESS)
}

/// Compiles the kernel as `args` say; results are written below `target/kernel`.
///
/// # Errors
///
/// When the compiler that `args` name is not complete or fails, or when
/// `auto` finds not even the committed PTX: a [`Trouble`] of cause and remedy,
/// after the compiler's own output went to standard error.
pub fn build(args: &Args, root: &Path, env: &Env) -> anyhow::Result<BuiltKernel> {
    if args.bless && !matches!(args.with, With::Rustc | With::RustCuda) {
        return Err(Trouble::new(
            "--bless needs a named compiler",
            "add `--with rustc` or `--with rust-cuda`",
        )
        .into());
    }
    if args.bless && args.emit != Emit::Ptx {
        return Err(Trouble::new(
            "--bless needs PTX, and --emit llvm-ir writes LLVM IR",
            "omit one of them",
        )
        .into());
    }
    let out = root.join("target/kernel");
    fs::create_dir_all(&out).with_context(|| format!("cannot create {}", out.display()))?;
    let one = |with| attempt(with, args, root, env, &out);
    let (built, why_not) = match args.with {
        With::Auto => first_of([With::RustCuda, With::Rustc, With::Embedded], one)?,
        named => (one(named)?, String::new()),
    };
    let mut why = describe(&built);
    if !why_not.is_empty() {
        let _ = write!(why, "; {why_not}");
    }
    if args.bless {
        let kept = bless(args, root, &built)?;
        let _ = write!(why, "; kept as {kept}");
    }
    Ok(BuiltKernel {
        path: built.path,
        provenance: built.provenance,
        why,
    })
}

/// The first compiler that works, and why the ones before it did not.
fn first_of<const N: usize>(
    order: [With; N],
    attempt: impl Fn(With) -> anyhow::Result<Built>,
) -> anyhow::Result<(Built, String)> {
    let mut refusals: Vec<String> = Vec::new();
    for with in order {
        match attempt(with) {
            Ok(built) => return Ok((built, refusals.join("; "))),
            Err(error) => {
                let cause = error
                    .downcast_ref::<Trouble>()
                    .map_or_else(|| format!("{error:#}"), |trouble| trouble.what.clone());
                refusals.push(format!("not {}: {cause}", name(with)));
            }
        }
    }
    Err(Trouble::new(
        format!("no kernel: {}", refusals.join("; ")),
        "`cargo xtask doctor` lists what each compiler needs",
    )
    .into())
}

fn attempt(with: With, args: &Args, root: &Path, env: &Env, out: &Path) -> anyhow::Result<Built> {
    let arch = args.arch.as_ref();
    match with {
        With::RustCuda => {
            let setup = rust_cuda::Setup::find(env, root)?;
            rust_cuda::build(&setup, root, out, arch, args.emit, args.kernel)
        }
        // The committed file is the workspace compiler's, so blessing is too.
        With::Rustc if args.bless => {
            let setup = rustc::Setup::workspace(env, root)?;
            rustc::build(&setup, root, out, arch, args.emit, args.kernel)
        }
        With::Rustc => {
            let setup = rustc::Setup::find(env, root)?;
            rustc::build(&setup, root, out, arch, args.emit, args.kernel)
        }
        With::Embedded | With::Auto => embedded(root, arch, args.emit, args.kernel),
    }
}

/// The committed PTX, if it is what `args` request.
fn embedded(root: &Path, arch: Option<&Arch>, emit: Emit, kernel: Kernel) -> anyhow::Result<Built> {
    let committed = kernel.committed();
    let path = root.join(committed);
    let text = fs::read_to_string(&path).map_err(|error| {
        Trouble::new(
            format!("cannot read {committed}: {error}"),
            format!("git checkout {committed}"),
        )
    })?;
    if emit != Emit::Ptx {
        return Err(Trouble::new(
            "the committed kernel is PTX; there is no LLVM IR of it",
            "use `--with rustc --emit llvm-ir`",
        )
        .into());
    }
    let (provenance, _) = Provenance::split_from(&text);
    let is = provenance
        .get("arch")
        .unwrap_or("for an unknown architecture");
    if let Some(wanted) = arch
        && is.parse().as_ref() != Ok(wanted)
    {
        return Err(Trouble::new(
            format!("the committed PTX is {is}, not {}", wanted.sm()),
            "omit --arch, because the driver compiles the PTX for newer GPUs; or use `--with rustc`",
        )
        .into());
    }
    let is_stale = provenance.get("source-sha256") != Some(&source_sha256(root, kernel)?);
    Ok(Built {
        path,
        provenance,
        is_committed: true,
        is_stale,
    })
}

/// Every PTX of `clock_block` in kernels-rs/ptx, one file a compiler.
pub fn committed(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = all_committed(root)?;
    files.retain(|path| {
        path.file_name().is_some_and(|name| {
            name.to_string_lossy()
                .starts_with(Kernel::ClockBlock.name())
        })
    });
    Ok(files)
}

/// Every PTX in kernels-rs/ptx, of any kernel.
pub fn all_committed(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let dir = root.join("kernels-rs/ptx");
    let mut files: Vec<PathBuf> = fs::read_dir(&dir)
        .with_context(|| format!("cannot read {}", dir.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "ptx"))
        .collect();
    anyhow::ensure!(!files.is_empty(), "no PTX in {}", dir.display());
    files.sort();
    Ok(files)
}

/// Whether the committed PTX is of the source that is here, in a word.
///
/// # Errors
///
/// When it cannot be read or is of another source.
pub fn committed_is_current(root: &Path) -> Result<String, Trouble> {
    let mut made_by = Vec::new();
    for &kernel in Kernel::value_variants() {
        let file = kernel.committed();
        let built = embedded(root, None, Emit::Ptx, kernel)
            .map_err(|error| Trouble::new(format!("{error:#}"), format!("git checkout {file}")))?;
        if built.is_stale {
            return Err(Trouble::new(
                format!(
                    "{file} was made from another version of kernels-rs/{}",
                    kernel.source()
                ),
                format!(
                    "cargo xtask kernel --kernel {} --with rustc --bless",
                    kernel.name().replace('_', "-")
                ),
            ));
        }
        let get = |key| built.provenance.get(key).unwrap_or("unknown");
        made_by.push(format!("{} by {}", get("arch"), get("compiler")));
    }
    made_by.dedup();
    Ok(made_by.join(", "))
}

/// Copies a result to its committed place.
fn bless(args: &Args, root: &Path, built: &Built) -> anyhow::Result<&'static str> {
    let place = match args.with {
        With::RustCuda => args.kernel.committed_by_rust_cuda(),
        _ => args.kernel.committed(),
    };
    let built =
        fs::read(&built.path).with_context(|| format!("cannot read {}", built.path.display()))?;
    safe_io::write(&root.join(place), built)?;
    Ok(place)
}

fn describe(built: &Built) -> String {
    let get = |key| built.provenance.get(key).unwrap_or("unknown");
    let mut line = format!("kernel: {} by {}", get("arch"), get("compiler"));
    if built.is_committed {
        line.push_str(", the committed PTX");
    }
    if built.is_stale {
        let _ = write!(line, " from another version of {}", get("source"));
    }
    // rust-cuda's PTX needs the driver of its libNVVM; rustc's loads everywhere.
    if let Some(driver) = first_driver(&built.path) {
        let _ = write!(line, ", for drivers of CUDA {driver} or later");
    }
    line
}

/// The oldest driver that loads a PTX file, as far as it is known. Nothing for LLVM IR.
pub fn first_driver(path: &Path) -> Option<Version> {
    let text = fs::read_to_string(path).ok()?;
    PtxHeader::parse(&text).ok()?.version.first_cuda()
}

fn name(with: With) -> &'static str {
    match with {
        With::Auto => "auto",
        With::RustCuda => "rust-cuda",
        With::Rustc => "rustc",
        With::Embedded => "embedded",
    }
}

/// The SHA-256 of a kernel's source, in hexadecimal.
fn source_sha256(root: &Path, kernel: Kernel) -> anyhow::Result<String> {
    let path = root.join("kernels-rs").join(kernel.source());
    let source = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut hex = String::new();
    for byte in hmac_sha256::Hash::hash(&source) {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    Ok(hex)
}

#[cfg(all(test, unix))]
mod tests;
