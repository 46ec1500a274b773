//! The C compiler as the judge of a probe.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::Context;

use super::probe::{Line, Probe};
use crate::trouble::Trouble;

/// A C compiler of this machine.
#[derive(Debug, Clone)]
pub struct Compiler {
    program: OsString,
    /// Its first line of `--version`.
    pub version: String,
    /// Whether it is gcc, else clang.
    pub gcc: bool,
}

/// One answer that differs from the table.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The question's index in the probe.
    pub question: usize,
    /// What the header says.
    pub real: String,
}

impl Compiler {
    /// `$CC`, else `cc`.
    ///
    /// # Errors
    ///
    /// A [`Trouble`] when there is none.
    pub fn find() -> anyhow::Result<Self> {
        Self::named(env::var_os("CC").unwrap_or_else(|| "cc".into()))
    }

    /// The compiler of this name.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub fn named(program: OsString) -> anyhow::Result<Self> {
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .map_err(|error| {
                Trouble::new(
                    format!("there is no C compiler {}: {error}", program.display()),
                    "install gcc or clang, or name one in CC",
                )
            })?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(Self {
            program,
            version: text.lines().next().unwrap_or_default().to_owned(),
            gcc: !text.contains("clang"),
        })
    }

    /// Compiles a probe; returns its statements that are false for the header.
    ///
    /// # Errors
    ///
    /// When the compiler complains of anything but the questions, or accepts a
    /// line that must not compile: then it is no judge.
    pub fn ask(
        &self,
        probe: &Probe,
        includes: &[PathBuf],
        work: &Path,
        name: &str,
    ) -> anyhow::Result<Vec<Answer>> {
        let (text, lines) = probe.source();
        let file = work.join(format!("{name}.c"));
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        let output = self
            .command(includes)
            .arg("-fsyntax-only")
            .arg(&file)
            .output()
            .context("cannot run the C compiler")?;
        let errors = errors(&output, name);
        let mut controls = 0;
        let mut said: BTreeMap<usize, String> = BTreeMap::new();
        for (number, message) in errors {
            match lines.get(number.wrapping_sub(1)) {
                Some(Line::Control(_)) => controls += 1,
                Some(&Line::Question(index)) => {
                    said.entry(index).or_insert(message);
                }
                _ => anyhow::bail!("{}:{number}: {message}", file.display()),
            }
        }
        anyhow::ensure!(
            controls == Probe::controls(),
            "the compiler accepted lines of {} that must not compile: {}",
            file.display(),
            String::from_utf8_lossy(&output.stderr)
                .lines()
                .find(|line| line.contains("error"))
                .unwrap_or("no message")
        );
        let values = self.values(probe, &said, includes, work, name)?;
        Ok(said
            .into_iter()
            .map(|(question, message)| Answer {
                question,
                real: values
                    .get(&question)
                    .cloned()
                    .unwrap_or_else(|| reality(&message)),
            })
            .collect())
    }

    /// The header's own values for questions whose assertion failed, by a program
    /// that prints them.
    fn values(
        &self,
        probe: &Probe,
        said: &BTreeMap<usize, String>,
        includes: &[PathBuf],
        work: &Path,
        name: &str,
    ) -> anyhow::Result<BTreeMap<usize, String>> {
        let mut program = format!("{}#include <stdio.h>\nint main(void) {{\n", probe.head());
        let mut asked = 0;
        for (&index, message) in said {
            let Some(question) = probe.questions.get(index) else {
                continue;
            };
            if let Some(real) = &question.real
                && message.contains("static assertion failed")
            {
                asked += 1;
                let _ = writeln!(program, "printf(\"{index} %lld\\n\", (long long)({real}));");
            }
        }
        if asked == 0 {
            return Ok(BTreeMap::new());
        }
        program.push_str("return 0; }\n");
        let file = work.join(format!("{name}-values.c"));
        let binary = work.join(format!("{name}-values"));
        fs::write(&file, program).with_context(|| format!("cannot write {}", file.display()))?;
        let output = self
            .command(includes)
            .arg("-o")
            .args([&binary, &file])
            .output()
            .context("cannot run the C compiler")?;
        anyhow::ensure!(
            output.status.success(),
            "cannot compile {}: {}",
            file.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
        let printed = Command::new(&binary)
            .output()
            .with_context(|| format!("cannot run {}", binary.display()))?;
        Ok(String::from_utf8_lossy(&printed.stdout)
            .lines()
            .filter_map(|line| {
                let (index, value) = line.split_once(' ')?;
                Some((index.parse().ok()?, value.to_owned()))
            })
            .collect())
    }

    fn command(&self, includes: &[PathBuf]) -> Command {
        let mut command = Command::new(&self.program);
        // Messages are read, so they must be English, plain and all of them.
        command.env("LC_ALL", "C").arg("-std=gnu11").args([
            "-Werror=incompatible-pointer-types",
            "-Werror=int-conversion",
            "-fno-diagnostics-color",
        ]);
        if self.gcc {
            command.args(["-Werror=enum-compare", "-fmax-errors=0"]);
            command.arg("-fno-diagnostics-show-caret");
        } else {
            command.args(["-ferror-limit=0", "-fno-caret-diagnostics"]);
        }
        for include in includes {
            command.arg("-isystem").arg(include);
        }
        command
    }
}

/// The errors of the compiler's output, by line of the probe's own file; 0 for
/// one in another file.
fn errors(output: &Output, name: &str) -> Vec<(usize, String)> {
    let own = format!("{name}.c:");
    String::from_utf8_lossy(&output.stderr)
        .lines()
        .filter_map(|line| {
            let (place, message) = line
                .split_once(" error: ")
                .or_else(|| line.split_once(" fatal error: "))?;
            let number = place
                .rsplit_once(&own)
                .and_then(|(_, rest)| rest.split(':').next()?.parse().ok());
            Some((number.unwrap_or(0), message.to_owned()))
        })
        .collect()
}

/// What a header has, out of the compiler's message.
fn reality(message: &str) -> String {
    // gcc: from incompatible pointer type 'T'; clang: with an expression of type 'T'.
    for before in ["from incompatible pointer type '", "expression of type '"] {
        if let Some(kind) = message
            .split(before)
            .nth(1)
            .and_then(|rest| rest.split('\'').next())
        {
            return kind.to_owned();
        }
    }
    if let Some(name) = message
        .split("\"renamed ")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
    {
        return format!("a macro for {name}");
    }
    for (sign, reality) in [
        ("undeclared", "not declared"),
        ("incomplete type", "not declared"),
        ("undefined type", "not declared"),
        ("unknown type name", "not declared"),
        ("no member named", "no such field"),
        ("redeclared", "declared already"),
        ("redefinition of", "declared already"),
    ] {
        if message.contains(sign) {
            return reality.to_owned();
        }
    }
    message.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_side_is_read_out_of_both_compilers_messages() {
        for (message, said) in [
            (
                "initialization of 'int (*)(long int)' from incompatible pointer type 'int (*)(char *)' [-Werror=incompatible-pointer-types]",
                "int (*)(char *)",
            ),
            (
                "incompatible function pointer types initializing 'int (*)(long)' with an expression of type 'int (char *)' [-Wincompatible-function-pointer-types]",
                "int (char *)",
            ),
            (
                "'cudaX' undeclared here (not in a function)",
                "not declared",
            ),
            ("use of undeclared identifier 'cudaX'", "not declared"),
            ("'struct s' has no member named 'f'", "no such field"),
            (
                "static assertion failed: \"renamed cudaGetDeviceProperties_v2\"",
                "a macro for cudaGetDeviceProperties_v2",
            ),
            ("something else", "something else"),
        ] {
            assert_eq!(reality(message), said);
        }
    }
}
