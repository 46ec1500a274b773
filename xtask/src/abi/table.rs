//! The table under test, and its Rust types as C writes them.

use cudart_ffi::driver::{DRIVER_FUNCTIONS, NEWER_DRIVER_FUNCTIONS};
use cudart_ffi::simulated_driver::{DriverFunction, SIMULATED_DRIVER_FUNCTIONS};
use cudart_ffi::simulated_runtime::SIMULATED_RUNTIME_FUNCTIONS;
use cudart_ffi::watched::WATCHED_FUNCTIONS;
use cudart_ffi::{
    CONSTANTS, Constant, DRIVER_CONSTANTS, DRIVER_ENUMS, DRIVER_FLAGS, DRIVER_HANDLES,
    DRIVER_LAYOUTS, ENUMS, FLAGS, FUNCTIONS, Field, Function, HANDLES, LAYOUTS, Layout, Presence,
    Scalar,
};

use super::runtimes::Release;

/// Everything that `cargo xtask abi` compares. The real one is [`Table::ours`];
/// tests change it to see the check fail.
#[derive(Debug, Clone)]
pub struct Table {
    /// Functions of the runtime.
    pub functions: Vec<Function>,
    /// Functions of the driver.
    pub driver_functions: Vec<Function>,
    /// Functions of the driver that the watch library wraps or calls, each under its
    /// exported name. What header macros make of a name does not matter to it, because
    /// it wraps all variants.
    pub watched_functions: Vec<Function>,
    /// Functions that the simulated runtime exports beside those of the table.
    pub simulated_functions: Vec<Function>,
    /// Functions of the runtime that the table leaves out, as they are from 12.0
    /// on: proof of the reason.
    pub traps: Vec<Function>,
    /// Structs.
    pub layouts: Vec<Layout>,
    /// Enumerators and flags.
    pub constants: Vec<Constant>,
    /// Handles, pointers all of them.
    pub handles: Vec<Scalar>,
    /// Enumerations.
    pub enums: Vec<Scalar>,
    /// The size of the buffer that stands for `cudaDeviceProp`, in bytes.
    pub device_prop_buffer: usize,
}

const fn field(name: &'static str, offset: usize, size: usize) -> Field {
    Field { name, offset, size }
}

/// `cudaDeviceProp` as 12.x has it. The table has no such struct, only a buffer;
/// where this one does not fit is why.
const DEVICE_PROP: Layout = Layout {
    name: "cudaDeviceProp",
    size: 1032,
    fields: &[
        field("name", 0, 256),
        field("clockRate", 348, 4),
        field("multiProcessorCount", 388, 4),
    ],
};

/// The traps of the prototypes.
const TRAPS: &[Function] = &[Function {
    name: "cudaGraphInstantiate",
    arguments: &[
        ("exec", "*mut cudaGraphExec_t"),
        ("graph", "cudaGraph_t"),
        ("flags", "c_ulonglong"),
    ],
    returns: "cudaError_t",
    presence: Presence::Required,
    since: "11.4",
}];

/// Types and constants of the driver that older headers lack, with the first release
/// that has them.
const NEWER: &[(&str, Release)] = &[
    ("CUDA_KERNEL_NODE_PARAMS_v2", Release::new(12, 0)),
    ("CUDA_GRAPH_INSTANTIATE_PARAMS", Release::new(12, 0)),
    ("CUgraphInstantiateResult", Release::new(12, 0)),
    ("CUgraphExecUpdateResultInfo", Release::new(12, 0)),
    ("CUdriverProcAddressQueryResult", Release::new(12, 0)),
    ("CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD", Release::new(12, 0)),
    (
        "CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH",
        Release::new(12, 0),
    ),
    ("CUlibraryOption", Release::new(12, 0)),
    ("CUctxCreateParams", Release::new(12, 5)),
    ("CUgraphEdgeData", Release::new(12, 3)),
    ("CU_GRAPH_NODE_TYPE_CONDITIONAL", Release::new(12, 3)),
    ("CUgraphConditionalNodeType", Release::new(12, 3)),
    ("CUDA_CONDITIONAL_NODE_PARAMS", Release::new(12, 3)),
    ("CU_GRAPH_COND_TYPE_SWITCH", Release::new(12, 8)),
];

/// The functions that the simulated runtime exports beside those of the table. Older
/// headers lack the newer ones.
fn simulated_functions() -> Vec<Function> {
    let named = |line: &DriverFunction| {
        let (arguments, since) = (line.arguments, since(line.version));
        let function = move |name| Function {
            name,
            arguments,
            returns: "CUresult",
            presence: Presence::Optional,
            since,
        };
        [Some(line.name), line.twin]
            .into_iter()
            .flatten()
            .map(function)
    };
    let driver = SIMULATED_DRIVER_FUNCTIONS.iter().flat_map(named);
    // Those of the runtime that the table does not have.
    let tabled = |function: &Function| FUNCTIONS.iter().any(|line| line.name == function.name);
    let runtime = SIMULATED_RUNTIME_FUNCTIONS
        .iter()
        .copied()
        .filter(|function| !tabled(function) && !WITHOUT_TYPES.contains(&function.name));
    driver.chain(runtime).collect()
}

/// Exports whose Rust prototypes have a pointer to anything where the header has one to
/// edge data or to a status, so that C compilers object.
const WITHOUT_TYPES: &[&str] = &[
    "cudaStreamIsCapturing",
    "cudaStreamGetCaptureInfo",
    "cudaStreamUpdateCaptureDependencies",
    "cudaStreamBeginCaptureToGraph",
    // In a header of its own.
    "cudaProfilerStart",
    "cudaProfilerStop",
];

/// What the runtime calls types that are written by the driver's names, because they are
/// laid out alike.
const RUNTIME_SPELLINGS: &[(&str, &str)] = &[
    ("CUgraphNodeType", "enum cudaGraphNodeType"),
    ("CUgraphEdgeData", "cudaGraphEdgeData"),
    ("CUDA_MEMSET_NODE_PARAMS", "struct cudaMemsetParams"),
    ("CUDA_HOST_NODE_PARAMS", "struct cudaHostNodeParams"),
    (
        "CUDA_GRAPH_INSTANTIATE_PARAMS",
        "cudaGraphInstantiateParams",
    ),
    (
        "CUgraphExecUpdateResultInfo",
        "cudaGraphExecUpdateResultInfo",
    ),
    (
        "CUdriverProcAddressQueryResult",
        "enum cudaDriverEntryPointQueryResult",
    ),
    ("CUgraphNodeParams", "struct cudaGraphNodeParams"),
    ("CUhostFn", "cudaHostFn_t"),
    ("u64", "unsigned long long"),
];

/// A version of the driver's list as the table writes it.
fn since(version: u32) -> &'static str {
    match version {
        11070 => "11.7",
        12000 => "12.0",
        12020 => "12.2",
        12030 => "12.3",
        12050 => "12.5",
        12080 => "12.8",
        _ => "11.4",
    }
}

impl Table {
    /// Without what the headers of a release do not have yet.
    #[must_use]
    pub fn at(&self, release: Release) -> Self {
        let there = |name: &str| {
            NEWER
                .iter()
                .all(|&(newer, since)| newer != name || release >= since)
        };
        let mut table = self.clone();
        table.layouts.retain(|layout| there(layout.name));
        table.enums.retain(|item| there(item.name));
        table
            .constants
            .retain(|constant| there(constant.name) && there(constant.type_name));
        table
    }

    /// The table that the programs of this repository use.
    pub fn ours() -> Self {
        let mut layouts = [LAYOUTS, DRIVER_LAYOUTS].concat();
        layouts.push(DEVICE_PROP);
        let mut enums = [ENUMS, DRIVER_ENUMS].concat();
        enums.push(Scalar {
            name: "cudaLibraryOption",
            size: size_of::<cudart_ffi::cudaLibraryOption>(),
        });
        Self {
            functions: FUNCTIONS.to_vec(),
            driver_functions: [DRIVER_FUNCTIONS, NEWER_DRIVER_FUNCTIONS].concat(),
            watched_functions: WATCHED_FUNCTIONS.to_vec(),
            simulated_functions: simulated_functions(),
            traps: TRAPS.to_vec(),
            layouts,
            constants: [CONSTANTS, FLAGS, DRIVER_CONSTANTS, DRIVER_FLAGS].concat(),
            handles: [HANDLES, DRIVER_HANDLES].concat(),
            enums,
            device_prop_buffer: size_of::<cudart_ffi::cudaDeviceProp>(),
        }
    }

    /// A function's type as a C declaration of `name`: `cudaError_t (*name)(int)`.
    ///
    /// # Errors
    ///
    /// Names a type that has no C spelling here.
    pub fn pointer_to(&self, function: &Function, name: &str) -> Result<String, String> {
        let driver = function.name.starts_with("cu") && !function.name.starts_with("cuda");
        let c = |rust: &str| self.c_type(rust, driver);
        let arguments = function
            .arguments
            .iter()
            .map(|(_, rust)| c(rust))
            .collect::<Result<Vec<_>, _>>()?;
        let arguments = match arguments.as_slice() {
            [] => "void".to_owned(),
            some => some.join(", "),
        };
        Ok(format!("{} (*{name})({arguments})", c(function.returns)?))
    }

    /// An enumeration's or struct's name with the keyword that C requires.
    pub fn tagged(&self, name: &str) -> Option<String> {
        // Typedefs in every header; all other names of the runtime are tags.
        const TYPEDEFS: &[&str] = &["cudaError_t", "dim3"];
        if TYPEDEFS.contains(&name)
            || name.starts_with("CU")
            || self.handles.iter().any(|h| h.name == name)
        {
            Some(name.to_owned())
        } else if self.enums.iter().any(|e| e.name == name) {
            Some(format!("enum {name}"))
        } else if self.layouts.iter().any(|l| l.name == name) {
            Some(format!("struct {name}"))
        } else {
            None
        }
    }

    fn c_type(&self, rust: &str, driver: bool) -> Result<String, String> {
        // `stringify!` writes a pointer as `* mut T`.
        if let Some(pointer) = rust.strip_prefix('*').map(str::trim_start) {
            let (pointee, constness) = match pointer.strip_prefix("const ") {
                Some(pointee) => (pointee, " const"),
                None => (pointer.strip_prefix("mut ").unwrap_or(pointer), ""),
            };
            return Ok(format!("{}{constness} *", self.c_type(pointee, driver)?));
        }
        let spelled = RUNTIME_SPELLINGS.iter().find(|(ours, _)| *ours == rust);
        if let Some((_, runtime)) = spelled.filter(|_| !driver) {
            return Ok((*runtime).to_owned());
        }
        let plain = match rust {
            "c_void" => "void",
            "c_char" => "char",
            "c_int" => "int",
            "c_uint" => "unsigned int",
            "c_ulonglong" => "unsigned long long",
            "c_uchar" => "unsigned char",
            "c_ushort" => "unsigned short",
            "usize" => "size_t",
            "u64" if driver => "cuuint64_t",
            "f32" => "float",
            "cudaJitOption" if driver => "CUjit_option",
            other => {
                return self.tagged(other).ok_or_else(|| {
                    format!("the Rust type {other} has no C spelling in xtask/src/abi/table.rs")
                });
            }
        };
        Ok(plain.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prototype_of_the_table_has_a_c_spelling() {
        let table = Table::ours();
        let real = |f: &&Function| f.presence != Presence::Model;
        for function in table
            .functions
            .iter()
            .filter(real)
            .chain(&table.driver_functions)
            .chain(&table.watched_functions)
            .chain(&table.simulated_functions)
        {
            table.pointer_to(function, "p").unwrap();
        }
    }

    #[test]
    fn pointers_constness_and_tags_are_spelled_as_c_has_them() {
        let table = Table::ours();
        let spelled = |name: &str| {
            let mut all = table.functions.iter().chain(&table.driver_functions);
            let function = all.find(|f| f.name == name).unwrap();
            table.pointer_to(function, "p").unwrap()
        };
        assert_eq!(spelled("cudaMalloc"), "cudaError_t (*p)(void * *, size_t)");
        assert_eq!(
            spelled("cudaGetErrorName"),
            "char const * (*p)(cudaError_t)"
        );
        assert_eq!(spelled("cudaGetLastError"), "cudaError_t (*p)(void)");
        assert!(
            spelled("cudaGraphAddKernelNode")
                .ends_with("cudaGraphNode_t const *, size_t, struct cudaKernelNodeParams const *)")
        );
        assert!(spelled("cuModuleLoadDataEx").contains("CUjit_option *"));
        assert!(spelled("cudaLibraryLoadData").contains("enum cudaJitOption *"));
    }
}
