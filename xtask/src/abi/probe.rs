//! The questions to a header, as C: one line a question, so that the compiler's
//! message for a line is the answer to its question.

use std::fmt;

use cudart_ffi::{Constant, Function, Layout, Presence};
use serde::Serialize;

use super::runtimes::Release;
use super::table::Table;

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// A function has our prototype.
    Prototype,
    /// A function that a release should not have yet is not declared.
    NotDeclared,
    /// A header macro sends callers of the name elsewhere.
    Renamed,
    /// A handle is a pointer, an enumeration an integer, of our size.
    Kind,
    /// A struct's size.
    Size,
    /// A field's offset.
    Offset,
    /// A field's size.
    FieldSize,
    /// A constant's value.
    Value,
    /// An enumerator belongs to our enumeration.
    EnumOf,
    /// Our buffer is large enough.
    Fits,
    /// A library exports the symbol.
    Symbol,
    /// A library does not export the symbol yet.
    NoSymbol,
    /// A library's soname is one that the loader looks for.
    Soname,
    /// A difference that was known is gone.
    KnownIsGone,
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Prototype => "prototype",
            Self::NotDeclared => "declared",
            Self::Renamed => "macro",
            Self::Kind => "kind",
            Self::Size => "size",
            Self::Offset => "offset",
            Self::FieldSize => "field size",
            Self::Value => "value",
            Self::EnumOf => "enumeration",
            Self::Fits => "buffer",
            Self::Symbol => "symbol",
            Self::NoSymbol => "symbol",
            Self::Soname => "soname",
            Self::KnownIsGone => "known",
        })
    }
}

/// How the headers are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// As every program includes them: some names are macros for others.
    Ordinary,
    /// With the define that makes them declare each exported symbol under its
    /// own name, which is what binding by name gets.
    Exported,
}

/// One question.
#[derive(Debug, Clone)]
pub struct Question {
    /// The function, constant, struct or `struct.field`.
    pub subject: String,
    /// What is checked of it.
    pub aspect: Aspect,
    /// What the table says, for people.
    pub table: String,
    /// The C that does not compile where the header says otherwise.
    pub source: String,
    /// A C expression of the header's own value, where it has one.
    pub real: Option<String>,
}

/// One C file and its questions.
#[derive(Debug, Clone)]
pub struct Probe {
    /// How the headers are included.
    pub view: View,
    /// The questions, in the order of the file.
    pub questions: Vec<Question>,
}

/// Two lines that must not compile: a check whose compiler accepts one of them
/// could not fail.
const CONTROLS: [&str; 2] = [
    "_Static_assert(sizeof(cudaError_t) == 3, \"control\");",
    "static cudaError_t (*control)(float) = cudaGetLastError;",
];

/// Which question a line of the C file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// The includes.
    Head,
    /// One of the lines that must not compile.
    Control(usize),
    /// The question of this index.
    Question(usize),
}

impl Probe {
    /// The headers, as this probe includes them.
    pub fn head(&self) -> String {
        let define = match self.view {
            View::Ordinary => "",
            View::Exported => "#define __CUDA_API_VERSION_INTERNAL\n",
        };
        format!(
            "{define}#include <stddef.h>\n#include <cuda.h>\n#include <cuda_runtime_api.h>\n\
             #define TEXT1(x) #x\n#define TEXT(x) TEXT1(x)\n"
        )
    }

    /// The C file, and what each of its lines is.
    pub fn source(&self) -> (String, Vec<Line>) {
        let mut text = self.head();
        let mut lines = vec![Line::Head; text.lines().count()];
        let controls = CONTROLS.iter().copied().enumerate();
        let questions = self.questions.iter().map(|q| q.source.as_str()).enumerate();
        let parts = controls
            .map(|(index, source)| (Line::Control(index), source))
            .chain(questions.map(|(index, source)| (Line::Question(index), source)));
        for (line, source) in parts {
            text.push_str(source);
            text.push('\n');
            lines.extend(source.lines().map(|_| line));
        }
        (text, lines)
    }

    /// How many lines must not compile.
    pub fn controls() -> usize {
        CONTROLS.len()
    }
}

/// Whether the table expects a release to have a function.
pub fn expected(function: &Function, release: Release) -> bool {
    match function.presence {
        Presence::Required => true,
        // A `since` that is no release must not hide the function.
        Presence::Optional => function.since.parse().is_ok_and(|since| release >= since),
        Presence::Model => false,
    }
}

/// All questions of the table to one release's headers.
///
/// # Errors
///
/// When a type of the table has no C spelling.
pub fn probes(table: &Table, release: Release, gcc: bool) -> Result<[Probe; 2], String> {
    let table = &table.at(release);
    let mut ordinary = vec![
        version("CUDART_VERSION", release),
        version("CUDA_VERSION", release),
    ];
    for handle in &table.handles {
        ordinary.push(Question {
            subject: handle.name.to_owned(),
            aspect: Aspect::Kind,
            table: format!("a pointer of {} bytes", handle.size),
            source: format!(
                "static void *kind_{0}({0} h) {{ _Static_assert(sizeof(h) == {1}, \"\"); return h; }}",
                handle.name, handle.size
            ),
            real: None,
        });
    }
    for item in &table.enums {
        let Some(name) = table.tagged(item.name) else {
            continue;
        };
        ordinary.push(Question {
            subject: item.name.to_owned(),
            aspect: Aspect::Kind,
            table: format!("an integer of {} bytes", item.size),
            source: format!(
                "_Static_assert(sizeof({name}) == {} && ({name})7 == 7, \"\");",
                item.size
            ),
            real: None,
        });
    }
    for layout in &table.layouts {
        ordinary.extend(layout_questions(table, layout));
    }
    for constant in &table.constants {
        ordinary.extend(constant_questions(table, constant, gcc));
    }
    ordinary.push(Question {
        subject: "cudaDeviceProp".to_owned(),
        aspect: Aspect::Fits,
        table: format!("a buffer of {} bytes", table.device_prop_buffer),
        source: format!(
            "_Static_assert(sizeof(struct cudaDeviceProp) <= {}, \"\");",
            table.device_prop_buffer
        ),
        real: Some("sizeof(struct cudaDeviceProp)".to_owned()),
    });

    let mut exported = Vec::new();
    for function in table.functions.iter().chain(&table.driver_functions) {
        if expected(function, release) {
            ordinary.push(renamed(function));
            exported.push(prototype(table, function, "ours")?);
        } else {
            ordinary.push(not_declared(function));
        }
    }
    for function in &table.watched_functions {
        if expected(function, release) {
            exported.push(prototype(table, function, "watched")?);
        } else {
            ordinary.push(not_declared(function));
        }
    }
    for function in &table.simulated_functions {
        if expected(function, release) {
            exported.push(prototype(table, function, "simulated")?);
        }
    }
    for function in &table.traps {
        exported.push(prototype(table, function, "ours")?);
    }
    Ok([
        Probe {
            view: View::Ordinary,
            questions: ordinary,
        },
        Probe {
            view: View::Exported,
            questions: exported,
        },
    ])
}

fn version(name: &str, release: Release) -> Question {
    Question {
        subject: name.to_owned(),
        aspect: Aspect::Value,
        table: release.number().to_string(),
        source: format!("_Static_assert({name} == {}, \"\");", release.number()),
        real: Some(name.to_owned()),
    }
}

fn layout_questions(table: &Table, layout: &Layout) -> Vec<Question> {
    let Some(name) = table.tagged(layout.name) else {
        return Vec::new();
    };
    let equal = |subject: String, aspect, expression: String, value: usize| Question {
        subject,
        aspect,
        table: value.to_string(),
        source: format!("_Static_assert({expression} == {value}, \"\");"),
        real: Some(expression),
    };
    let mut questions = vec![equal(
        layout.name.to_owned(),
        Aspect::Size,
        format!("sizeof({name})"),
        layout.size,
    )];
    for field in layout.fields {
        let subject = || format!("{}.{}", layout.name, field.name);
        questions.push(equal(
            subject(),
            Aspect::Offset,
            format!("offsetof({name}, {})", field.name),
            field.offset,
        ));
        questions.push(equal(
            subject(),
            Aspect::FieldSize,
            format!("sizeof((({name} *)0)->{})", field.name),
            field.size,
        ));
    }
    questions
}

fn constant_questions(table: &Table, constant: &Constant, gcc: bool) -> Vec<Question> {
    let mut questions = vec![Question {
        subject: constant.name.to_owned(),
        aspect: Aspect::Value,
        table: constant.value.to_string(),
        source: format!(
            "_Static_assert({} == {}, \"\");",
            constant.name, constant.value
        ),
        real: Some(constant.name.to_owned()),
    }];
    // Only gcc remembers which enumeration a C enumerator is of.
    if gcc && let Some(name) = table.tagged(constant.type_name) {
        questions.push(Question {
            subject: constant.name.to_owned(),
            aspect: Aspect::EnumOf,
            table: name.clone(),
            source: format!("_Static_assert(({name})0 == {} || 1, \"\");", constant.name),
            real: None,
        });
    }
    questions
}

/// A function that several lists have is compared for each of them, each time under another `prefix`.
fn prototype(table: &Table, function: &Function, prefix: &str) -> Result<Question, String> {
    let pointer = format!("{prefix}_{}", function.name);
    Ok(Question {
        subject: function.name.to_owned(),
        aspect: Aspect::Prototype,
        table: table.pointer_to(function, "")?,
        source: format!(
            "static {} = {};",
            table.pointer_to(function, &pointer)?,
            function.name
        ),
        real: None,
    })
}

fn renamed(function: &Function) -> Question {
    let name = function.name;
    Question {
        subject: name.to_owned(),
        aspect: Aspect::Renamed,
        table: "the name itself".to_owned(),
        source: format!("#ifdef {name}\n_Static_assert(0, \"renamed \" TEXT({name}));\n#endif"),
        real: None,
    }
}

/// A variable of the name compiles only where the header does not declare it.
fn not_declared(function: &Function) -> Question {
    Question {
        subject: function.name.to_owned(),
        aspect: Aspect::NotDeclared,
        table: match function.presence {
            Presence::Model => "the model's alone".to_owned(),
            _ => format!("since {}", function.since),
        },
        source: format!("static int {};", function.name),
        real: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_c_file_belongs_to_a_question() {
        let probes = probes(&Table::ours(), Release::new(12, 8), true).unwrap();
        for probe in probes {
            let (text, lines) = probe.source();
            assert_eq!(text.lines().count(), lines.len());
            let asked = |index| lines.contains(&Line::Question(index));
            assert!((0..probe.questions.len()).all(asked));
        }
    }

    #[test]
    fn an_optional_function_is_checked_from_its_release_on() {
        let asks = |release| {
            let [ordinary, exported] = probes(&Table::ours(), release, true).unwrap();
            let has = |probe: &Probe, aspect| {
                let is = |q: &Question| q.subject == "cudaLibraryLoadData" && q.aspect == aspect;
                probe.questions.iter().any(is)
            };
            (
                has(&exported, Aspect::Prototype),
                has(&ordinary, Aspect::NotDeclared),
            )
        };
        assert_eq!(asks(Release::new(12, 6)), (false, true));
        assert_eq!(asks(Release::new(12, 8)), (true, false));
    }
}
