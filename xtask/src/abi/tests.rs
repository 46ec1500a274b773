//! The check must be able to fail: it gets tables that are wrong in one way each,
//! against real headers and a real library, and has to say which way.

use std::collections::BTreeSet;
use std::path::Path;

use cudart_ffi::{Constant, Field, Function, Layout, Presence, Scalar};

use super::check::{Checked, check};
use super::compiler::Compiler;
use super::known::{KNOWN, Known};
use super::probe::Aspect;
use super::runtimes::{self, Release, Runtime};
use super::table::Table;

const RELEASE: Release = Release::new(12, 4);

/// The real 12.4, or `None` after saying that the test is skipped and why.
fn real() -> Option<(Runtime, Compiler)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let found = runtimes::fetch(root, RELEASE, false).and_then(|r| Ok((r, Compiler::find()?)));
    found
        .inspect_err(|error| {
            eprintln!("SKIPPED: no real CUDA {RELEASE} to compare with: {error:#}")
        })
        .ok()
}

fn compare_known(table: &Table, known: &[Known]) -> Option<Checked> {
    let (runtime, compiler) = real()?;
    let work = tempfile::tempdir().unwrap();
    Some(check(table, known, &runtime, &compiler, work.path()).unwrap())
}

/// The differences that a wrong table leads to, as `subject aspect: real`.
fn wrong(change: impl FnOnce(&mut Table)) -> Option<Vec<String>> {
    let mut table = Table::ours();
    change(&mut table);
    let checked = compare_known(&table, KNOWN)?;
    let line = |d: &super::check::Difference| format!("{} {}: {}", d.subject, d.aspect, d.real);
    Some(checked.unhandled().map(line).collect())
}

/// Fails unless a wrong table leads to exactly these differences.
#[track_caller]
fn expect(change: impl FnOnce(&mut Table), differences: &[&str]) {
    if let Some(found) = wrong(change) {
        assert_eq!(found, differences);
    }
}

fn function<'a>(table: &'a mut Table, name: &str) -> &'a mut Function {
    let all = table
        .functions
        .iter_mut()
        .chain(&mut table.driver_functions);
    all.into_iter().find(|f| f.name == name).unwrap()
}

fn layout<'a>(table: &'a mut Table, name: &str) -> &'a mut Layout {
    table.layouts.iter_mut().find(|l| l.name == name).unwrap()
}

const OPTIONAL: Function = Function {
    name: "",
    arguments: &[],
    returns: "cudaError_t",
    presence: Presence::Optional,
    since: "11.4",
};

#[test]
fn the_tables_own_lines_hold() {
    expect(|_| {}, &[]);
}

#[test]
fn a_wrong_struct_size_is_reported_with_the_headers() {
    expect(
        |table| layout(table, "cudaMemAllocNodeParams").size = 112,
        &["cudaMemAllocNodeParams size: 120"],
    );
}

#[test]
fn a_wrong_offset_a_wrong_field_size_and_a_missing_field_are_reported() {
    const FIELDS: &[Field] = &[
        Field {
            name: "bytesize",
            offset: 112,
            size: 8,
        },
        Field {
            name: "dptr",
            offset: 112,
            size: 4,
        },
        Field {
            name: "nowhere",
            offset: 0,
            size: 8,
        },
    ];
    expect(
        |table| layout(table, "cudaMemAllocNodeParams").fields = FIELDS,
        &[
            "cudaMemAllocNodeParams.bytesize offset: 104",
            "cudaMemAllocNodeParams.dptr field size: 8",
            "cudaMemAllocNodeParams.nowhere offset: no such field",
            "cudaMemAllocNodeParams.nowhere field size: no such field",
        ],
    );
}

#[test]
fn a_wrong_value_a_wrong_enumeration_and_an_unknown_constant_are_reported() {
    let constant = |type_name, name, value| Constant {
        type_name,
        name,
        value,
    };
    let mut expected = vec!["cudaErrorNotSupported value: 801"];
    if real().is_some_and(|(_, compiler)| compiler.gcc) {
        expected.push("cudaMemLocationTypeDevice enumeration: comparison between 'enum cudaMemAccessFlags' and 'enum cudaMemLocationType' [-Werror=enum-compare]");
    }
    expected.push("cudaErrorOfNobody value: not declared");
    expect(
        |table| {
            table
                .constants
                .push(constant("", "cudaErrorNotSupported", 800));
            table.constants.push(constant(
                "cudaMemAccessFlags",
                "cudaMemLocationTypeDevice",
                1,
            ));
            table.constants.push(constant("", "cudaErrorOfNobody", 1));
        },
        &expected,
    );
}

#[test]
fn a_wrong_prototype_is_reported_with_the_headers_own() {
    expect(
        |table| {
            // An argument too few, a lost const, another integer, another result.
            function(table, "cudaGraphLaunch").arguments = &[("exec", "cudaGraphExec_t")];
            function(table, "cudaGraphAddEmptyNode").arguments = &[
                ("node", "*mut cudaGraphNode_t"),
                ("graph", "cudaGraph_t"),
                ("dependencies", "*mut cudaGraphNode_t"),
                ("count", "usize"),
            ];
            function(table, "cudaSetDevice").arguments = &[("device", "usize")];
            function(table, "cudaGetErrorName").returns = "*mut c_char";
        },
        &[
            "cudaGetErrorName prototype: const char * (*)(cudaError_t)",
            "cudaSetDevice prototype: cudaError_t (*)(int)",
            "cudaGraphAddEmptyNode prototype: cudaError_t (*)(struct CUgraphNode_st **, struct CUgraph_st *, struct CUgraphNode_st * const*, size_t)",
            "cudaGraphLaunch prototype: cudaError_t (*)(struct CUgraphExec_st *, struct CUstream_st *)",
        ],
    );
}

#[test]
fn a_wrong_prototype_of_the_drivers_table_is_reported() {
    expect(
        |table| function(table, "cuModuleUnload").arguments = &[("module", "CUfunction")],
        &["cuModuleUnload prototype: CUresult (*)(struct CUmod_st *)"],
    );
}

#[test]
fn a_wrong_prototype_of_a_watched_function_is_reported() {
    let watched = |table: &mut Table| {
        let mut all = table.watched_functions.iter_mut();
        let launch = all.find(|f| f.name == "cuGraphLaunch_ptsz").unwrap();
        launch.arguments = &[("exec", "CUgraph"), ("stream", "CUstream")];
    };
    expect(
        watched,
        &[
            "cuGraphLaunch_ptsz prototype: CUresult (*)(struct CUgraphExec_st *, struct CUstream_st *)",
        ],
    );
}

#[test]
fn a_function_that_no_library_has_is_reported_by_header_and_symbol_table() {
    expect(
        |table| {
            table.functions.push(Function {
                name: "cudaGraphOfNobody",
                presence: Presence::Required,
                ..OPTIONAL
            });
        },
        &[
            "cudaGraphOfNobody prototype: not declared",
            "cudaGraphOfNobody symbol: not exported",
        ],
    );
}

#[test]
fn an_optional_function_said_to_come_too_early_or_too_late_is_reported() {
    expect(
        |table| function(table, "cudaLibraryUnload").since = "12.4",
        &[
            // Its handle is not declared in 12.4 either, so the first error of
            // the line is about that.
            "cudaLibraryUnload prototype: not declared",
            "cudaLibraryUnload symbol: not exported",
        ],
    );
    expect(
        |table| function(table, "cudaGetDeviceProperties_v2").since = "12.8",
        &[
            "cudaGetDeviceProperties_v2 declared: declared already",
            "cudaGetDeviceProperties_v2 symbol: exported already",
        ],
    );
}

#[test]
fn a_handle_that_is_no_pointer_and_an_enumeration_of_another_size_are_reported() {
    if let Some(found) = wrong(|table| {
        table.handles.push(Scalar {
            name: "size_t",
            size: 8,
        });
        table.enums.push(Scalar {
            name: "cudaMemcpyKind",
            size: 8,
        });
    }) {
        let subjects: Vec<_> = found.iter().filter_map(|f| f.split(':').next()).collect();
        assert_eq!(subjects, ["size_t kind", "cudaMemcpyKind kind"]);
    }
}

#[test]
fn a_property_buffer_that_is_too_small_is_reported() {
    expect(
        |table| table.device_prop_buffer = 1024,
        &["cudaDeviceProp buffer: 1032"],
    );
}

#[test]
fn a_known_difference_that_is_gone_is_a_difference() {
    let known = [Known {
        subject: "cudaGraphLaunch",
        aspects: &[Aspect::Prototype],
        from: Release::new(11, 4),
        until: None,
        reason: "made up",
    }];
    let known = [KNOWN, &known].concat();
    if let Some(checked) = compare_known(&Table::ours(), &known) {
        let found: Vec<_> = checked
            .unhandled()
            .map(|d| (d.subject.as_str(), d.aspect))
            .collect();
        assert_eq!(found, [("cudaGraphLaunch", Aspect::KnownIsGone)]);
    }
}

#[test]
fn headers_of_another_release_than_the_label_says_are_reported() {
    let Some((mut runtime, compiler)) = real() else {
        return;
    };
    runtime.release = Release::new(12, 5);
    let work = tempfile::tempdir().unwrap();
    let checked = check(&Table::ours(), KNOWN, &runtime, &compiler, work.path()).unwrap();
    let found: BTreeSet<_> = checked
        .unhandled()
        // The fields of a struct go with it.
        .filter(|d| !d.subject.contains('.'))
        .map(|d| (d.subject.as_str(), d.real.as_str()))
        .collect();
    assert_eq!(
        found,
        BTreeSet::from([
            ("CUDART_VERSION", "12040"),
            ("CUDA_VERSION", "12040"),
            // New with 12.5.
            ("CUctxCreateParams", "not declared"),
            ("cuCtxCreate_v4", "not declared"),
            ("cudaGetDriverEntryPointByVersion", "not declared"),
        ])
    );
}

#[test]
fn a_compiler_that_accepts_everything_is_no_judge() {
    let Some((runtime, _)) = real() else {
        return;
    };
    let yes = Compiler::named("true".into()).unwrap();
    let work = tempfile::tempdir().unwrap();
    let error = check(&Table::ours(), KNOWN, &runtime, &yes, work.path()).unwrap_err();
    assert!(error.to_string().contains("must not compile"), "{error:#}");
}

#[test]
fn headers_that_do_not_compile_are_an_error_not_a_pass() {
    let Some((mut runtime, compiler)) = real() else {
        return;
    };
    // Without the folder of crt/host_defines.h.
    runtime.includes.truncate(1);
    let work = tempfile::tempdir().unwrap();
    let error = check(&Table::ours(), KNOWN, &runtime, &compiler, work.path()).unwrap_err();
    assert!(error.to_string().contains("host_defines.h"), "{error:#}");
}

#[test]
fn the_ptx_release_table_agrees_with_nvidias_assembler() {
    use cudart_ffi::loader::Version;
    use cudart_ffi::ptx::PtxVersion;

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let unpacked = match crate::wheels::fetch(root, "nvidia-cuda-nvcc-cu12", Some("12.9.*")) {
        Ok(unpacked) => unpacked,
        Err(error) => return eprintln!("SKIPPED: no ptxas of CUDA 12.9: {error:#}"),
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("newer.ptx");
    std::fs::write(&file, ".version 99.0\n.target sm_75\n.address_size 64\n").unwrap();
    // It refuses the version and names the newest that it supports.
    let output = std::process::Command::new(unpacked.join("nvidia/cuda_nvcc/bin/ptxas"))
        .args(["-arch=sm_75", "-o"])
        .arg(folder.path().join("none"))
        .arg(&file)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let newest = said.split("current version is '").nth(1).unwrap();
    let newest: PtxVersion = newest.split('\'').next().unwrap().parse().unwrap();
    assert_eq!(newest.first_cuda(), Some(Version(12090)));
    assert_eq!(PtxVersion::newest_for(Version(12090)), Some(newest));
}
