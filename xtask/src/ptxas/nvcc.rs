//! Each kernel beside the same kernel in C++: how many instructions ptxas makes of the
//! PTX from Rust, by either compiler, and nvcc of the C++ source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use clap::ValueEnum;

use super::{CURRENT, Code, Stream, Tools, output_of};
use crate::kernel::{Arch, Kernel};
use crate::parallel;
use crate::wheels;

/// The wheels that make up a compiler, which looks for its parts beside itself.
const PARTS: [&str; 4] = [
    "nvidia-cuda-nvcc",
    "nvidia-cuda-crt",
    "nvidia-nvvm",
    "nvidia-cuda-runtime",
];

/// The same kernel in C++.
const fn cpp(kernel: Kernel) -> &'static str {
    match kernel {
        Kernel::ClockBlock => "host/benches/clock_block.cu",
        Kernel::NegatedSquares => "host/benches/negated_squares.cu",
        Kernel::NextRound => "host/benches/next_round.cu",
    }
}

/// A kernel's length on one architecture, in instructions without NOPs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lengths {
    /// The architecture's number, such as 90.
    arch: u32,
    /// Of the committed PTX by rustc.
    rustc: u32,
    /// Of the committed PTX by rust-cuda, where there is one.
    rust_cuda: Option<u32>,
    /// Of the same kernel in C++ by nvcc.
    cpp: u32,
}

/// Counts the instructions of a kernel and of the same kernel in C++, for each
/// architecture that the newest tools support.
///
/// # Errors
///
/// When a wheel cannot be fetched or a tool fails.
fn against_nvcc(root: &Path, kernel: Kernel) -> anyhow::Result<Vec<Lengths>> {
    let tools = Tools::fetch(root)?;
    let nvcc = Nvcc::fetch(root)?;
    let rust_cuda = root.join(kernel.committed_by_rust_cuda());
    let lengths = parallel::map(&CURRENT, |&number| {
        let arch = Arch::new(number);
        let count = |ptx: &Path| {
            let row = tools.check(&tools.ptxas, ptx, kernel.name(), &arch)?;
            match row.code {
                Code::Disassembled(sass) => Ok(sass.instructions),
                Code::Bytes(_) => anyhow::bail!("nvdisasm does not support {}", arch.sm()),
            }
        };
        let scratch = tempfile::tempdir()?;
        let cubin = scratch.path().join("cpp.cubin");
        nvcc.compile(&root.join(cpp(kernel)), &arch.sm(), &cubin)?;
        Ok(Lengths {
            arch: number,
            rustc: count(&root.join(kernel.committed()))?,
            rust_cuda: match rust_cuda.is_file() {
                true => Some(count(&rust_cuda)?),
                false => None,
            },
            cpp: tools.disassemble(&cubin, kernel.name())?.instructions,
        })
    });
    lengths.into_iter().collect()
}

/// Prints the comparison; gives the number of architectures on which Rust's kernel
/// is longer than the C++ one. Without the wheels it says so, or fails if `strict`.
pub(super) fn report(root: &Path, strict: bool) -> anyhow::Result<u32> {
    let mut longer = 0;
    for &kernel in Kernel::value_variants() {
        println!("{} and {} by nvcc", kernel.name(), cpp(kernel));
        let lengths = match against_nvcc(root, kernel) {
            Ok(lengths) => lengths,
            Err(error) if !strict => {
                println!("  skipped: {error:#}");
                return Ok(longer);
            }
            Err(error) => return Err(error),
        };
        for row in lengths {
            let Lengths {
                arch,
                rustc,
                rust_cuda,
                cpp,
            } = row;
            let is_longer = rustc.max(rust_cuda.unwrap_or(0)) > cpp;
            longer += u32::from(is_longer);
            let word = if is_longer { "FAIL" } else { "ok  " };
            let rust_cuda =
                rust_cuda.map_or(String::new(), |count| format!(", rust-cuda {count:>3}"));
            println!(
                "  {word}  sm_{arch:<4} instructions: rustc {rustc:>3}{rust_cuda}, nvcc {cpp:>3}"
            );
        }
    }
    Ok(longer)
}

/// A compiler that can make machine code of one C++ file.
struct Nvcc {
    program: PathBuf,
    // The compiler lies in it.
    _tree: tempfile::TempDir,
}

impl Nvcc {
    /// Fetches what is missing and puts it together.
    ///
    /// # Errors
    ///
    /// When a wheel cannot be fetched or has other files than expected.
    fn fetch(root: &Path) -> anyhow::Result<Self> {
        let shelf = root.join("target/wheels");
        fs::create_dir_all(&shelf).with_context(|| format!("cannot create {}", shelf.display()))?;
        let tree = tempfile::Builder::new()
            .prefix(".nvcc-")
            .tempdir_in(shelf)?;
        // The newest of each would do only if they were published together.
        let compiler = wheels::fetch(root, PARTS[0], None)?;
        let release = release(wheels::version_of(&compiler));
        for part in PARTS {
            let wheel = wheels::fetch(root, part, Some(&release))?;
            link_all(&wheel, tree.path())?;
        }
        Ok(Self {
            program: wheels::file(tree.path(), "bin/nvcc")?,
            _tree: tree,
        })
    }

    /// Compiles for one architecture, such as `sm_90`.
    ///
    /// # Errors
    ///
    /// With the compiler's words.
    fn compile(&self, source: &Path, sm: &str, cubin: &Path) -> anyhow::Result<()> {
        let mut compile = Command::new(&self.program);
        compile.args(["-cubin", "-O3", "-std=c++17", "-arch", sm, "-o"]);
        compile.arg(cubin).arg(source);
        output_of(&mut compile, Stream::Err).map(drop)
    }
}

/// `13.2.51` is of the release `13.2.*`.
fn release(version: &str) -> String {
    let parts: Vec<&str> = version.split('.').take(2).collect();
    format!("{}.*", parts.join("."))
}

/// Puts the files of a folder into a tree, as links, so that nothing is copied.
fn link_all(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)?.flatten() {
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            link_all(&path, &place)?;
        } else if !place.exists() {
            fs::hard_link(&path, &place)
                .or_else(|_| fs::copy(&path, &place).map(drop))
                .with_context(|| format!("cannot link {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_compiler_are_of_one_release() {
        assert_eq!(release("13.2.51"), "13.2.*");
        assert_eq!(release("13.10.3"), "13.10.*");
    }

    #[test]
    fn folders_of_several_wheels_become_one_tree() {
        let scratch = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = scratch.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        write("a/nvidia/cu13/bin/nvcc");
        write("b/nvidia/cu13/nvvm/bin/cicc");
        let tree = scratch.path().join("tree");
        link_all(&scratch.path().join("a"), &tree).unwrap();
        link_all(&scratch.path().join("b"), &tree).unwrap();
        assert!(tree.join("nvidia/cu13/bin/nvcc").is_file());
        assert!(tree.join("nvidia/cu13/nvvm/bin/cicc").is_file());
    }
}
