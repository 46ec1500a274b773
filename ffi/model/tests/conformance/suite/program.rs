//! The language: one call of the runtime a line.
//!
//! A program states what is called, never what comes of it: that is the
//! recording's part. The README beside the programs has the grammar.

use super::parse::{Made, parse_op};

/// A parsed program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The file's name without its ending.
    pub name: String,
    /// Needs a process of its own: it may end the process or break the context.
    pub isolated: bool,
    /// The calls in order.
    pub lines: Vec<ProgramLine>,
}

/// One line of a program.
#[derive(Debug, Clone)]
pub struct ProgramLine {
    /// The text without comment, its words one space apart.
    pub text: String,
    /// The call.
    pub op: Op,
}

/// A handle as a line names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// `null`: the null handle, or for a line that makes something a null out
    /// pointer.
    Null,
    /// What an earlier line made, alive or not.
    Named(String),
}

/// A device pointer as a line names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pointer {
    /// The null pointer.
    Null,
    /// An address that no line made.
    Absolute(u64),
    /// The address that an earlier line got, and bytes beyond it.
    Named(String, u64),
}

/// The dependencies of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct After {
    /// The nodes.
    pub nodes: Vec<Name>,
    /// Pass no array, and this count.
    pub count_without_array: Option<usize>,
}

/// The parameters of an alloc node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alloc {
    /// In bytes; `None`: pass no parameters at all.
    pub size: Option<u64>,
    /// The device where the memory lies.
    pub device: i32,
    /// `cudaMemAllocationType`.
    pub alloc_type: u32,
    /// `cudaMemAllocationHandleType`.
    pub handle_types: u32,
    /// `cudaMemLocationType`.
    pub location_type: u32,
    /// Devices with access, beside the one that has the memory.
    pub access: Vec<i32>,
    /// An access count without descriptors.
    pub access_count: Option<usize>,
}

/// The parameters of a kernel node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// How long the kernel stays busy, in microseconds.
    pub hold_us: u64,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// Pass a null function.
    pub without_function: bool,
    /// Pass no parameters at all.
    pub without_params: bool,
}

/// A high mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HighMark {
    /// `cudaGraphMemAttrUsedMemHigh`.
    Used,
    /// `cudaGraphMemAttrReservedMemHigh`.
    Reserved,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the README has each line's grammar and call")]
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
    /// Counted from 1.
    pub line: usize,
    /// In words.
    pub reason: String,
}

impl Program {
    /// Reads a program.
    ///
    /// # Errors
    ///
    /// The first line that is none of the language, or names what no earlier
    /// line made.
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
    fn a_line_that_names_what_nobody_made_is_refused_with_its_number() {
        let error = Program::parse("p", "stream s\n\nlaunch x on s # no x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "p, line 3: no earlier line made the exec 'x'"
        );
    }

    #[test]
    fn words_left_over_are_refused() {
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
                    hold_us: 2000,
                    grid: [4, 2, 1],
                    ..
                },
                ..
            }
        ));
    }
}
