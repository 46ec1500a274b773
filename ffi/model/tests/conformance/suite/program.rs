//! The language: each line is one call of the runtime.
//!
//! A program contains only the calls; their results are in the recording. The README beside
//! the programs has the grammar.

use super::parse::{Made, parse_op};

/// A parsed program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The file's name without its extension.
    pub name: String,
    /// Whether it needs its own process, because it may end the process or corrupt the
    /// context.
    pub isolated: bool,
    /// The calls in order.
    pub lines: Vec<ProgramLine>,
}

/// One line of a program.
#[derive(Debug, Clone)]
pub struct ProgramLine {
    /// The text without its comment, with single spaces between words.
    pub text: String,
    /// The call.
    pub op: Op,
}

/// A handle, as a line refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// `null`: the null handle. In a line that creates an object, a null out pointer.
    Null,
    /// An object that an earlier line created, whether it still exists or not.
    Named(String),
}

/// A device pointer, as a line refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pointer {
    /// The null pointer.
    Null,
    /// An address that no line returned.
    Absolute(u64),
    /// The address that an earlier line returned, plus a number of bytes.
    Named(String, u64),
}

/// The dependencies of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct After {
    /// The nodes.
    pub nodes: Vec<Name>,
    /// If set, no array is passed, and this count.
    pub count_without_array: Option<usize>,
}

/// The parameters of an alloc node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alloc {
    /// The size in bytes; `None` passes no parameters at all.
    pub size: Option<u64>,
    /// The device of the memory.
    pub device: i32,
    /// `cudaMemAllocationType`.
    pub alloc_type: u32,
    /// `cudaMemAllocationHandleType`.
    pub handle_types: u32,
    /// `cudaMemLocationType`.
    pub location_type: u32,
    /// Devices with access, in addition to the one that has the memory.
    pub access: Vec<i32>,
    /// If set, this access count without descriptors.
    pub access_count: Option<usize>,
}

/// The parameters of a kernel node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The spin time of the kernel, in microseconds.
    pub spin_us: u64,
    /// The number of blocks in x, y, z.
    pub grid: [u32; 3],
    /// The number of threads per block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// Whether to pass a null function.
    pub without_function: bool,
    /// Whether to pass no parameters at all.
    pub without_params: bool,
}

/// A high-water mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HighMark {
    /// `cudaGraphMemAttrUsedMemHigh`.
    Used,
    /// `cudaGraphMemAttrReservedMemHigh`.
    Reserved,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "the README contains the grammar and the call of each line"
)]
pub enum Op {
    Stream {
        stream: Name,
        flags: u32,
    },
    DestroyStream {
        stream: Name,
    },
    Sync {
        stream: Name,
    },
    Query {
        stream: Name,
    },
    DeviceSync,
    Event {
        event: Name,
        flags: u32,
    },
    DestroyEvent {
        event: Name,
    },
    Record {
        event: Name,
        stream: Name,
    },
    Wait {
        stream: Name,
        event: Name,
        flags: u32,
    },
    SyncEvent {
        event: Name,
    },
    Graph {
        graph: Name,
        flags: u32,
    },
    DestroyGraph {
        graph: Name,
    },
    Clone {
        clone: Name,
        graph: Name,
    },
    Alloc {
        node: Name,
        graph: Name,
        after: After,
        params: Alloc,
    },
    Kernel {
        node: Name,
        graph: Name,
        after: After,
        params: Kernel,
    },
    Empty {
        node: Name,
        graph: Name,
        after: After,
    },
    Free {
        node: Name,
        pointer: Pointer,
        graph: Name,
        after: After,
    },
    Child {
        node: Name,
        child: Name,
        graph: Name,
        after: After,
    },
    DestroyNode {
        node: Name,
    },
    AllocParams {
        node: Name,
    },
    FreeParams {
        node: Name,
    },
    Instantiate {
        exec: Name,
        graph: Name,
        flags: u64,
    },
    DestroyExec {
        exec: Name,
    },
    Launch {
        exec: Name,
        stream: Name,
    },
    Upload {
        exec: Name,
        stream: Name,
    },
    Malloc {
        pointer: Name,
        size: u64,
    },
    CudaFree {
        pointer: Pointer,
    },
    FreeAsync {
        pointer: Pointer,
        stream: Name,
    },
    Memset {
        pointer: Pointer,
        stream: Name,
        size: u64,
    },
    Trim {
        device: i32,
    },
    SetHigh {
        mark: HighMark,
        to: u64,
    },
    GetAttribute {
        index: u32,
        device: i32,
        without_value: bool,
    },
    SetAttribute {
        index: u32,
        to: u64,
        device: i32,
        without_value: bool,
    },
    SetDevice {
        device: i32,
    },
    LastError,
}

/// What is wrong with a program's text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{program}, line {line}: {reason}")]
pub struct ParseError {
    /// The program's name.
    pub program: String,
    /// The line, counted from 1.
    pub line: usize,
    /// A description of the error.
    pub reason: String,
}

impl Program {
    /// Reads a program.
    ///
    /// # Errors
    ///
    /// The first line that is not in the language, or that uses a name which no earlier
    /// line created.
    pub fn parse(name: &str, text: &str) -> Result<Self, ParseError> {
        let mut program = Self {
            name: name.to_owned(),
            isolated: false,
            lines: Vec::new(),
        };
        let mut made = Made::default();
        for (index, raw) in text.lines().enumerate() {
            let code = raw.split('#').next().unwrap_or_default();
            let words: Vec<&str> = code.split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            if words == ["!isolated"] {
                program.isolated = true;
                continue;
            }
            let op = parse_op(&words, &mut made).map_err(|reason| ParseError {
                program: name.to_owned(),
                line: index + 1,
                reason,
            })?;
            program.lines.push(ProgramLine {
                text: words.join(" "),
                op,
            });
        }
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_an_unknown_name_is_refused_with_its_number() {
        let error = Program::parse("p", "stream s\n\nlaunch x on s # no x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "p, line 3: no earlier line created the exec 'x'"
        );
    }

    #[test]
    fn extra_words_are_refused() {
        let error = Program::parse("p", "device-sync now").unwrap_err();
        assert_eq!(error.reason, "'now' is one word too many");
    }

    #[test]
    fn units_and_options_are_read() {
        let text = "graph g\nalloc a in g 3MiB device 7\nfree f of a+512 in g after a,null\nkernel k in g hold 2ms grid 4x2";
        let program = Program::parse("p", text).unwrap();
        assert!(matches!(
            &program.lines[1].op,
            Op::Alloc {
                params: Alloc {
                    size: Some(3_145_728),
                    device: 7,
                    ..
                },
                ..
            }
        ));
        assert!(matches!(
            &program.lines[2].op,
            Op::Free { pointer: Pointer::Named(name, 512), after, .. }
                if name == "a" && after.nodes.len() == 2
        ));
        assert!(matches!(
            &program.lines[3].op,
            Op::Kernel {
                params: Kernel {
                    spin_us: 2000,
                    grid: [4, 2, 1],
                    ..
                },
                ..
            }
        ));
    }
}
