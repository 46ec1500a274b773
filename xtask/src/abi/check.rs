//! One runtime against the table: headers by the compiler, symbols by the file.

use std::fs;
use std::path::Path;

use anyhow::Context;
use cudart_ffi::loader::SONAMES;
use serde::Serialize;

use super::compiler::Compiler;
use super::known::Known;
use super::library::Library;
use super::probe::{Aspect, expected, probes};
use super::runtimes::{Release, Runtime};
use super::table::Table;

/// Where a release and the table differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The function, constant, struct or `struct.field`.
    pub subject: String,
    /// In what.
    pub aspect: Aspect,
    /// What the table says.
    pub table: String,
    /// What the release says.
    pub real: String,
    /// How the project handles it, for a known one.
    pub handled: Option<&'static str>,
}

/// How much was compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Prototypes, of runtime and driver.
    pub prototypes: usize,
    /// Struct sizes, and handles and enumerations.
    pub types: usize,
    /// Struct fields, each by offset and size.
    pub fields: usize,
    /// Constants.
    pub constants: usize,
    /// Exported symbols.
    pub symbols: usize,
}

/// What came of one runtime.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// The release, such as `12.4`.
    #[serde(serialize_with = "as_text")]
    pub release: Release,
    /// The wheel and its version.
    pub wheel: String,
    /// How much was compared.
    pub counts: Counts,
    /// Every difference, known ones too.
    pub differences: Vec<Difference>,
}

impl Checked {
    /// The differences are not handled.
    pub fn unhandled(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|d| d.handled.is_none())
    }
}

fn as_text<S: serde::Serializer>(release: &Release, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(release)
}

/// Compares the table with a runtime's headers and library. The C files stay in
/// `work` for inspection.
///
/// # Errors
///
/// When the comparison itself cannot be made; a difference is no error.
pub fn check(
    table: &Table,
    known: &[Known],
    runtime: &Runtime,
    compiler: &Compiler,
    work: &Path,
) -> anyhow::Result<Checked> {
    fs::create_dir_all(work).with_context(|| format!("cannot create {}", work.display()))?;
    let mut counts = Counts::default();
    let mut differences = Vec::new();
    let probes = probes(table, runtime.release, compiler.gcc).map_err(anyhow::Error::msg)?;
    for (probe, name) in probes.iter().zip(["ordinary", "exported"]) {
        for question in &probe.questions {
            match question.aspect {
                Aspect::Prototype => counts.prototypes += 1,
                Aspect::Size | Aspect::Kind => counts.types += 1,
                Aspect::Offset => counts.fields += 1,
                Aspect::Value => counts.constants += 1,
                _ => {}
            }
        }
        for answer in compiler.ask(probe, &runtime.includes, work, name)? {
            let Some(question) = probe.questions.get(answer.question) else {
                continue;
            };
            differences.push(Difference {
                subject: question.subject.clone(),
                aspect: question.aspect,
                table: question.table.clone(),
                real: answer.real,
                handled: None,
            });
        }
    }
    let library = Library::read(&runtime.library)?;
    compare_symbols(
        table,
        runtime.release,
        &library,
        &mut counts,
        &mut differences,
    );
    settle(known, runtime.release, &mut differences);
    Ok(Checked {
        release: runtime.release,
        wheel: runtime.wheel.clone(),
        counts,
        differences,
    })
}

fn compare_symbols(
    table: &Table,
    release: Release,
    library: &Library,
    counts: &mut Counts,
    differences: &mut Vec<Difference>,
) {
    let mut differ = |subject: &str, aspect, table: &str, real: &str| {
        differences.push(Difference {
            subject: subject.to_owned(),
            aspect,
            table: table.to_owned(),
            real: real.to_owned(),
            handled: None,
        });
    };
    for function in &table.functions {
        counts.symbols += 1;
        let exports = library.exports.contains(function.name);
        match (expected(function, release), exports) {
            (true, false) => {
                let since = format!("since {}", function.since);
                differ(function.name, Aspect::Symbol, &since, "not exported");
            }
            (false, true) => {
                let since = format!("since {}", function.since);
                differ(function.name, Aspect::NoSymbol, &since, "exported already");
            }
            _ => {}
        }
    }
    let soname = library.soname.as_deref().unwrap_or("none");
    if !SONAMES.contains(&soname) {
        differ("libcudart", Aspect::Soname, &SONAMES.join(", "), soname);
    }
}

/// Marks known differences with how they are handled, and adds one for each that
/// should be there and is not.
fn settle(known: &[Known], release: Release, differences: &mut Vec<Difference>) {
    let expected = known.iter().filter(|known| known.covers(release));
    for (known, aspect) in expected.flat_map(|k| k.aspects.iter().map(move |&a| (k, a))) {
        let mut found = false;
        for difference in differences.iter_mut() {
            if difference.subject == known.subject && difference.aspect == aspect {
                difference.handled = Some(known.reason);
                found = true;
            }
        }
        if !found {
            differences.push(Difference {
                subject: known.subject.to_owned(),
                aspect: Aspect::KnownIsGone,
                table: format!("known.rs lists a difference in {aspect}"),
                real: "no difference".to_owned(),
                handled: None,
            });
        }
    }
}
