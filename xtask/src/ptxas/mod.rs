//! `cargo xtask ptxas`: NVIDIA's own assembler on every committed PTX.
//!
//! It proves what no Rust test can: that the PTX is accepted for every
//! architecture from its own up, and that the waiting loop with its clock read
//! survives into machine code, in no more instructions than nvcc makes of the same
//! kernel in C++. It also makes and checks the machine code that the host embeds.
//! All tools come as wheels; no GPU and no toolkit is needed.

mod cubins;
mod nvcc;
mod sass;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use safe_io::{Shown, visible};

use crate::kernel::{self, Arch, Provenance};
use crate::parallel;
use crate::trouble::Trouble;
use crate::wheels;
use sass::Sass;

/// The kernel that waits, whose loop has to survive.
const WAITS: &str = "clock_block";

/// Architectures that the newest ptxas assembles for.
const CURRENT: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

/// Architectures that CUDA 13 dropped and CUDA 12.9 still has.
const OLD: [u32; 2] = [60, 70];

/// Options of `cargo xtask ptxas`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// PTX files (default: all of kernels-rs/ptx).
    files: Vec<PathBuf>,
    /// Fail if a wheel cannot be downloaded, instead of skipping the check.
    #[arg(long)]
    strict: bool,
    /// Write the machine code in kernels-rs/cubin again.
    #[arg(long, conflicts_with = "files")]
    bless: bool,
}

/// What became of one file on one architecture.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    arch: String,
    registers: u32,
    code: Code,
}

#[derive(Debug, PartialEq, Eq)]
enum Code {
    Disassembled(Sass),
    /// nvdisasm 13 does not support the architecture: the kernel's size in bytes,
    /// NOPs included.
    Bytes(u64),
}

/// Runs the subcommand.
///
/// # Errors
///
/// When a file cannot be read or a tool does not start; a file that ptxas
/// refuses or a lost loop is exit code 1 after the whole table.
pub fn run(args: &Args, root: &Path) -> anyhow::Result<ExitCode> {
    let files = if args.files.is_empty() {
        kernel::all_committed(root)?
    } else {
        args.files.clone()
    };
    let tools = match Tools::fetch(root) {
        Ok(tools) => tools,
        Err(error) if !args.strict => {
            println!("skipped: {}", visible::indented(&format!("{error:#}")));
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) => return Err(error),
    };
    let mut failures = 0;
    for file in &files {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let (made_by, _) = Provenance::split_from(&text);
        let kernel = made_by.get("kernel").unwrap_or(WAITS);
        println!(
            "{}",
            Shown(file.strip_prefix(root).unwrap_or(file).display())
        );
        let compiler = made_by.get("compiler").unwrap_or("no provenance");
        println!("  {}", Shown(compiler));
        let architectures = tools.for_target(target_of(&text)?);
        let rows = parallel::map(&architectures, |(arch, ptxas)| {
            tools.check(ptxas, file, kernel, arch)
        });
        for ((arch, _), row) in architectures.iter().zip(rows) {
            match row {
                Ok(row) => println!("  ok    {}", describe(&row)),
                Err(error) => {
                    failures += 1;
                    let error = visible::indented(&format!("{error:#}"));
                    println!("  FAIL  {:<7} {error}", arch.sm());
                }
            }
        }
    }
    if args.files.is_empty() {
        failures += cubins::report(root, args.bless, args.strict)?;
        failures += nvcc::report(root, args.strict)?;
    }
    println!("{} files, {failures} failures", files.len());
    Ok(ExitCode::from(u8::from(failures > 0)))
}

struct Tools {
    ptxas: PathBuf,
    old_ptxas: PathBuf,
    nvdisasm: PathBuf,
}

impl Tools {
    fn fetch(root: &Path) -> anyhow::Result<Self> {
        let nvcc = wheels::fetch(root, "nvidia-cuda-nvcc", None)?;
        let old_nvcc = wheels::fetch(root, "nvidia-cuda-nvcc-cu12", Some("12.9.*"))?;
        let nvdisasm = wheels::fetch(root, "nvidia-cuda-nvdisasm", None)?;
        Ok(Self {
            ptxas: wheels::file(&nvcc, "bin/ptxas")?,
            old_ptxas: wheels::file(&old_nvcc, "bin/ptxas")?,
            nvdisasm: wheels::file(&nvdisasm, "bin/nvdisasm")?,
        })
    }

    /// The architectures from `target` up, each with the ptxas that supports it.
    fn for_target(&self, target: u32) -> Vec<(Arch, &Path)> {
        let old = OLD.iter().map(|number| (*number, self.old_ptxas.as_path()));
        let current = CURRENT.iter().map(|number| (*number, self.ptxas.as_path()));
        old.chain(current)
            .filter(|(number, _)| *number >= target)
            .map(|(number, ptxas)| (Arch::new(number), ptxas))
            .collect()
    }

    fn check(&self, ptxas: &Path, file: &Path, kernel: &str, arch: &Arch) -> anyhow::Result<Row> {
        let scratch = tempfile::tempdir()?;
        let cubin = scratch.path().join("kernel.cubin");
        let mut assemble = Command::new(ptxas);
        assemble.arg("--verbose").arg("--gpu-name").arg(arch.sm());
        assemble.arg("--output-file").arg(&cubin).arg(file);
        let report = output_of(&mut assemble, Stream::Err)?;
        let usage = Usage::parse(&report).context("ptxas reports no register count")?;
        anyhow::ensure!(
            usage.spill_bytes == 0,
            "{} bytes spilled",
            usage.spill_bytes
        );

        let code = if OLD.contains(&arch.number()) {
            let image = fs::read(&cubin)?;
            let size = elf_section_size(&image, &format!(".text.{kernel}"));
            Code::Bytes(size.context("ptxas wrote no code")?)
        } else {
            let sass = self.disassemble(&cubin, kernel)?;
            if kernel == WAITS {
                anyhow::ensure!(sass.clock_reads > 0, "the clock is not read");
                anyhow::ensure!(sass.clock_loops > 0, "no loop around a clock read is left");
            }
            Code::Disassembled(sass)
        };
        Ok(Row {
            arch: arch.sm(),
            registers: usage.registers,
            code,
        })
    }

    fn disassemble(&self, cubin: &Path, kernel: &str) -> anyhow::Result<Sass> {
        let mut disassemble = Command::new(&self.nvdisasm);
        disassemble.arg("-c").arg(cubin);
        let listing = output_of(&mut disassemble, Stream::Out)?;
        sass::parse(&listing, kernel).context("nvdisasm lists no such kernel")
    }
}

fn describe(row: &Row) -> String {
    let Row {
        arch,
        registers,
        code,
    } = row;
    match code {
        Code::Disassembled(sass) if sass.clock_reads == 0 => format!(
            "{arch:<7} {registers:>2} registers {:>3} instructions",
            sass.instructions
        ),
        Code::Disassembled(sass) => format!(
            "{arch:<7} {registers:>2} registers {:>3} instructions  {} clock reads, loop kept",
            sass.instructions, sass.clock_reads
        ),
        Code::Bytes(bytes) => format!(
            "{arch:<7} {registers:>2} registers {bytes:>4} bytes of code  not looked into: \
             nvdisasm 13 does not support {arch}"
        ),
    }
}

/// What `ptxas --verbose` says of a kernel.
#[derive(Debug, PartialEq, Eq)]
struct Usage {
    registers: u32,
    spill_bytes: u32,
}

impl Usage {
    fn parse(report: &str) -> Option<Self> {
        let number_before = |text: &str| -> Option<u32> {
            let (before, _) = report.split_once(text)?;
            before.rsplit(' ').next()?.parse().ok()
        };
        Some(Self {
            registers: number_before(" registers")?,
            spill_bytes: number_before(" bytes spill stores").unwrap_or(0)
                + number_before(" bytes spill loads").unwrap_or(0),
        })
    }
}

/// The number in `.target sm_60`.
fn target_of(ptx: &str) -> anyhow::Result<u32> {
    let target: Arch = ptx
        .lines()
        .find_map(|line| line.strip_prefix(".target "))
        .and_then(|line| line.split([',', ' ']).next())
        .context("the PTX has no .target")?
        .parse()
        .map_err(anyhow::Error::msg)?;
    Ok(target.number())
}

/// The size of a section of a 64-bit little-endian ELF image, which a cubin is.
fn elf_section_size(image: &[u8], wanted: &str) -> Option<u64> {
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = image.get(at..at.checked_add(bytes)?)?;
        Some(
            field
                .iter()
                .rev()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        )
    };
    let table = usize::try_from(number(0x28, 8)?).ok()?;
    let (entry_size, count) = (number(0x3a, 2)? as usize, number(0x3c, 2)? as usize);
    let header = |index: usize| table.checked_add(index.checked_mul(entry_size)?);
    let names = usize::try_from(number(header(number(0x3e, 2)? as usize)? + 0x18, 8)?).ok()?;
    (0..count).filter_map(header).find_map(|section| {
        let name = names.checked_add(number(section, 4)? as usize)?;
        let name = image.get(name..)?.split(|byte| *byte == 0).next()?;
        (name == wanted.as_bytes()).then(|| number(section + 0x20, 8))?
    })
}

enum Stream {
    Out,
    Err,
}

fn output_of(command: &mut Command, stream: Stream) -> anyhow::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        Trouble::new(
            format!("cannot start {program}: {error}"),
            "delete target/wheels and try again; the wheels hold programs for this machine only",
        )
    })?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let words = || stderr.trim().lines().collect::<Vec<_>>().join("; ");
    anyhow::ensure!(output.status.success(), "{}", words());
    Ok(match stream {
        Stream::Out => String::from_utf8_lossy(&output.stdout).into_owned(),
        Stream::Err => stderr.into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_and_spills_are_read_off_the_report() {
        let report = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Function properties for clock_block\n    \
            16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n\
            ptxas info    : Used 7 registers, used 0 barriers, 328 bytes cmem[0]\n";
        let usage = Usage {
            registers: 7,
            spill_bytes: 20,
        };
        assert_eq!(Usage::parse(report), Some(usage));
        assert_eq!(Usage::parse("ptxas fatal   : oops"), None);
    }

    #[test]
    fn the_target_is_read_off_the_ptx() {
        assert_eq!(target_of(".version 5.0\n.target sm_60\n").unwrap(), 60);
        assert_eq!(target_of(".target sm_75, debug\n").unwrap(), 75);
        assert!(target_of(".version 5.0\n").is_err());
    }

    #[test]
    fn a_section_is_found_in_an_elf_and_garbage_is_none() {
        let test_program = fs::read(std::env::current_exe().unwrap()).unwrap();
        if test_program.starts_with(b"\x7fELF\x02\x01") {
            assert!(elf_section_size(&test_program, ".text").unwrap() > 1000);
        }
        assert_eq!(
            elf_section_size(&test_program, ".text.nothing_of_the_kind"),
            None
        );
        assert_eq!(elf_section_size(b"not an ELF at all", ".text"), None);
        assert_eq!(elf_section_size(&[0xff; 64], ".text"), None);
    }

    #[test]
    fn a_file_is_assembled_for_its_own_target_and_up() {
        let tools = Tools {
            ptxas: "new".into(),
            old_ptxas: "old".into(),
            nvdisasm: "dis".into(),
        };
        let numbers = |target| -> Vec<u32> {
            let rows = tools.for_target(target);
            rows.iter().map(|(arch, _)| arch.number()).collect()
        };
        assert_eq!(numbers(60), [60, 70, 75, 80, 86, 89, 90, 100, 120]);
        assert_eq!(numbers(75), CURRENT);
        assert_eq!(tools.for_target(70)[0].1, Path::new("old"));
    }
}
