//! The kernel's machine code in kernels-rs/cubin: that it is what ptxas makes of the
//! embedded PTX, to the byte, and how it is made anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Stream, WAITS, output_of};
use crate::kernel::{self, Provenance};
use crate::trouble::Trouble;
use crate::wheels;

/// Where the code lies, and the note of how it was made.
const FOLDER: &str = "kernels-rs/cubin";
const NOTE: &str = "kernels-rs/cubin/MADE-BY";

/// The assembler, of one version: the host gives the code to drivers from this
/// release on.
const WHEEL: (&str, &str) = ("nvidia-cuda-nvcc-cu12", "12.9.86");

/// The architectures; each serves the later ones of its major number too.
const ARCHITECTURES: [u32; 5] = [75, 80, 90, 100, 120];

/// Checks the committed code, or writes it anew. Prints a line a file; gives the
/// number of files that differ. Without the wheel it says so, or fails if it is to
/// be strict.
pub(super) fn report(root: &Path, bless: bool, strict: bool) -> anyhow::Result<u32> {
    println!("{FOLDER} against ptxas {} on {}", WHEEL.1, kernel::EMBEDDED);
    let made = match assemble_all(root) {
        Ok(made) => made,
        Err(error) if !strict && !bless => {
            println!("  skipped: {error:#}");
            return Ok(0);
        }
        Err(error) => return Err(error),
    };
    let mut differ = 0;
    for (path, code) in made {
        let name = path.strip_prefix(root).unwrap_or(&path).display();
        if bless {
            safe_io::write(&path, &code)?;
            println!("  kept  {name}: {} bytes", code.len());
            continue;
        }
        if fs::read(&path).is_ok_and(|kept| kept == code) {
            println!("  ok    {name}: {} bytes", code.len());
        } else {
            differ += 1;
            println!("  FAIL  {name} differs from the output of ptxas");
        }
    }
    if bless {
        let note = note(root)?;
        safe_io::write(&root.join(NOTE), note)?;
    }
    if differ > 0 {
        println!("  try: cargo xtask ptxas --bless");
    }
    Ok(differ)
}

fn assemble_all(root: &Path) -> anyhow::Result<Vec<(PathBuf, Vec<u8>)>> {
    let wheel = wheels::fetch(root, WHEEL.0, Some(WHEEL.1))?;
    let ptxas = wheels::file(&wheel, "bin/ptxas")?;
    let scratch = tempfile::tempdir()?;
    let cubin = scratch.path().join("kernel.cubin");
    ARCHITECTURES
        .into_iter()
        .map(|number| {
            let mut assemble = Command::new(&ptxas);
            assemble.args(["--gpu-name", &format!("sm_{number}")]);
            assemble.arg("--output-file").arg(&cubin);
            assemble.arg(root.join(kernel::EMBEDDED));
            output_of(&mut assemble, Stream::Err)?;
            let name = format!("{WAITS}.sm_{number}.cubin");
            Ok((root.join(FOLDER).join(name), fs::read(&cubin)?))
        })
        .collect()
}

/// What the code was made of and by, for a check that needs no assembler.
fn note(root: &Path) -> anyhow::Result<String> {
    Ok(format!(
        "ptxas: {}\nptx: {}\nptx-code-sha256: {}\n",
        WHEEL.1,
        kernel::EMBEDDED,
        code_sha256(root)?
    ))
}

/// The hash of the embedded PTX without its provenance, which changes no code.
fn code_sha256(root: &Path) -> anyhow::Result<String> {
    let path = root.join(kernel::EMBEDDED);
    let text = fs::read_to_string(&path).map_err(|error| {
        Trouble::new(
            format!("cannot read {}: {error}", path.display()),
            format!("git checkout {}", kernel::EMBEDDED),
        )
    })?;
    let (_, code) = Provenance::split_from(&text);
    let hash = hmac_sha256::Hash::hash(code.as_bytes());
    Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    /// A kernel that was compiled anew and a code that was not would run the old one.
    #[test]
    fn the_machine_code_was_made_of_the_embedded_ptx() {
        let kept = fs::read_to_string(repository().join(NOTE)).unwrap();
        assert_eq!(
            kept,
            note(repository()).unwrap(),
            "cargo xtask ptxas --bless writes the machine code again"
        );
    }

    #[test]
    fn every_architecture_has_its_file_and_no_other_lies_there() {
        let mut expected: Vec<String> = ARCHITECTURES
            .map(|number| format!("{WAITS}.sm_{number}.cubin"))
            .to_vec();
        expected.push("MADE-BY".to_owned());
        expected.sort();
        let mut found: Vec<String> = fs::read_dir(repository().join(FOLDER))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        assert_eq!(found, expected);
    }
}
