//! The doctor on made-up machines: the commonest troubles, each as a person
//! would see it. `troubles.txt` holds what is printed; after a change that is
//! meant, run the tests with `UPDATE_SNAPSHOTS=1` and read the difference.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use cudart_ffi::ptx::PtxHeader;
use cudart_ffi::types::cudaError_t;

use super::*;
use crate::testing::{
    Machine, NIGHTLY, complete, llvm_config, llvm_config_with, remove, repository, toolchain_path,
};

/// A GPU machine on which everything is there.
fn gpu_found() -> gpu::Found {
    let head = |version: &str, target: &str| {
        PtxHeader::parse(&format!(
            ".version {version}\n.target {target}\n.address_size 64\n"
        ))
        .ok()
    };
    gpu::Found {
        tried: Vec::new(),
        library: Some(gpu::Library {
            shown: "12.9, /usr/local/cuda/lib64/libcudart.so.12 (system library search)".to_owned(),
            driver_version: 12090,
            lacks: Vec::new(),
            devices: Ok(vec![Ok(gpu::Device {
                name: "NVIDIA H200".to_owned(),
                capability: (9, 0),
                memory_pools: true,
                clock_rate_khz: 1_980_000,
            })]),
        }),
        kernels: vec![
            ("clock_block.ptx".to_owned(), head("5.0", "sm_60")),
            ("clock_block.rust-cuda.ptx".to_owned(), head("8.8", "sm_75")),
        ],
    }
}

/// Compares with the committed text, or writes it.
fn snapshot(name: &str, text: &str) {
    let text = format!("{}\n", text.trim_end());
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/doctor/snapshots")
        .join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &text).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == text,
        "{name} differs (UPDATE_SNAPSHOTS=1 writes it):\n{text}"
    );
}

#[test]
fn a_complete_machine_is_ready_for_everything() {
    let machine = complete();
    let report = examine(&machine.env, &repository(), &gpu_found());
    let text = machine.hide_folder(&render::text(&report, false));
    assert!(report.groups.iter().all(|group| group.ready), "{text}");
    snapshot("complete.txt", &text);
}

/// A machine with one thing wrong: its title, what breaks it, the group that
/// shows it, and a word of the line that must be there.
struct Case {
    title: &'static str,
    breaks: fn(&mut Machine),
    group: Id,
    line: &'static str,
    ready: bool,
}

const CASES: &[Case] = &[
    Case {
        title: "no Rust toolchain of the workspace",
        breaks: |machine| {
            remove(machine, "home/.rustup/toolchains");
        },
        group: Id::Rustc,
        line: "1.95.0 is not installed",
        ready: false,
    },
    Case {
        title: "the GPU target is not installed",
        breaks: |machine| {
            remove(machine, &toolchain_path(NIGHTLY, ""));
            remove(machine, &toolchain_path("1.95.0", "lib"));
        },
        group: Id::Rustc,
        line: "core-standin is used",
        ready: true,
    },
    Case {
        title: "a rustc whose lang items the stand-in does not fit",
        breaks: |machine| {
            remove(machine, &toolchain_path(NIGHTLY, ""));
            remove(machine, &toolchain_path("1.95.0", "lib"));
            machine.rustc_fails("1.95.0", "error: requires `freeze` lang_item");
        },
        group: Id::Rustc,
        line: "could not compile the kernel",
        ready: false,
    },
    Case {
        title: "the pinned nightly is not installed",
        breaks: |machine| remove(machine, &toolchain_path(NIGHTLY, "")),
        group: Id::RustCuda,
        line: "nightly-2026-04-02 is not installed",
        ready: false,
    },
    Case {
        title: "the nightly lacks rustc-dev",
        breaks: |machine| {
            remove(
                machine,
                &toolchain_path(NIGHTLY, "lib/rustlib/x86_64-unknown-linux-gnu/lib"),
            )
        },
        group: Id::RustCuda,
        line: "lacks the component rustc-dev",
        ready: false,
    },
    Case {
        title: "the nightly lacks rust-src",
        breaks: |machine| remove(machine, &toolchain_path(NIGHTLY, "lib/rustlib/src")),
        group: Id::RustCuda,
        line: "lacks the component rust-src",
        ready: false,
    },
    Case {
        title: "no LLVM at all",
        breaks: |machine| machine.env.set("LLVM_CONFIG", ""),
        group: Id::RustCuda,
        line: "llvm-config in PATH does not exist",
        ready: false,
    },
    Case {
        title: "an LLVM of another release",
        breaks: |machine| {
            machine.env.set("LLVM_CONFIG", "");
            machine.program("bin/llvm-config", &llvm_config("14.0.6", true, true));
        },
        group: Id::RustCuda,
        line: "is LLVM 14.0.6",
        ready: false,
    },
    Case {
        title: "LLVM 7 with shared libraries only: the build links them",
        breaks: |machine| {
            machine.write("llvm7/lib/libLLVM-7.so", "").write(
                "llvm7/bin/llvm-config.does",
                llvm_config("7.1.0", false, true),
            );
        },
        group: Id::RustCuda,
        line: "7.1.0 (shared, ",
        ready: true,
    },
    Case {
        title: "LLVM 7 with shared libraries only, and they are not where it says (rust-cuda#7)",
        breaks: |machine| {
            machine.write(
                "llvm7/bin/llvm-config.does",
                llvm_config("7.0.1", false, true),
            );
        },
        group: Id::RustCuda,
        line: "there is no libLLVM-7.so in",
        ready: false,
    },
    Case {
        title: "LLVM_CONFIG names the folder of the program (rust-cuda#89)",
        breaks: |machine| {
            let folder = machine.path("llvm7/bin");
            machine.env.set("LLVM_CONFIG", folder);
        },
        group: Id::RustCuda,
        line: "is a folder, not the program llvm-config",
        ready: false,
    },
    Case {
        title: "LLVM_CONFIG names LLVM's prefix",
        breaks: |machine| {
            let folder = machine.path("llvm7");
            machine.env.set("LLVM_CONFIG", folder);
        },
        group: Id::RustCuda,
        line: "is a folder, not the program llvm-config",
        ready: false,
    },
    Case {
        title: "an LLVM 7 without the NVPTX target",
        breaks: |machine| {
            machine.write(
                "llvm7/bin/llvm-config.does",
                llvm_config_with("ipo bitreader bitwriter lto", "7.1.0", true, true),
            );
        },
        group: Id::RustCuda,
        line: "built without the NVPTX target",
        ready: false,
    },
    Case {
        title: "an LLVM 7 without the link-time optimizer",
        breaks: |machine| {
            machine.write(
                "llvm7/bin/llvm-config.does",
                llvm_config_with("ipo bitreader bitwriter nvptx", "7.1.0", true, true),
            );
        },
        group: Id::RustCuda,
        line: "LLVM 7.1.0 lacks lto",
        ready: false,
    },
    Case {
        title: "an LLVM 7 of which libraries were not built",
        breaks: |machine| {
            machine.write(
                "llvm7/bin/llvm-config.does",
                llvm_config("7.1.0", false, false),
            );
        },
        group: Id::RustCuda,
        line: "is not completely installed",
        ready: false,
    },
    Case {
        title: "no libclang",
        breaks: |machine| remove(machine, "usr/lib/llvm-18"),
        group: Id::RustCuda,
        line: "no libclang",
        ready: false,
    },
    Case {
        title: "a libclang without clang's headers, as in the Python wheel",
        breaks: |machine| {
            remove(machine, "usr/lib/llvm-18/lib/clang");
            machine
                .write("usr/lib/gcc/include/stddef.h", "")
                .program("bin/gcc", "echo \"${0%/bin/*}/usr/lib/gcc/include\"");
        },
        group: Id::RustCuda,
        line: "'stddef.h' file not found",
        ready: false,
    },
    Case {
        title: "the same with the headers named in BINDGEN_EXTRA_CLANG_ARGS",
        breaks: |machine| {
            remove(machine, "usr/lib/llvm-18/lib/clang");
            machine.write("usr/lib/gcc/include/stddef.h", "");
            let args = format!("-DX -I {}", machine.path("usr/lib/gcc/include").display());
            machine.env.set("BINDGEN_EXTRA_CLANG_ARGS", args);
        },
        group: Id::RustCuda,
        line: "(BINDGEN_EXTRA_CLANG_ARGS)",
        ready: true,
    },
    Case {
        title: "the same with the program clang, which bindgen runs",
        breaks: |machine| {
            remove(machine, "usr/lib/llvm-18/lib/clang");
            machine
                .write("opt/clang/include/stddef.h", "")
                .program("bin/clang", "echo \"${0%/bin/*}/opt/clang\"");
        },
        group: Id::RustCuda,
        line: "opt/clang/include, of",
        ready: true,
    },
    Case {
        title: "a conda prefix, whose headers lie elsewhere",
        breaks: |machine| {
            remove(machine, "cuda/include");
            machine.write(
                "cuda/targets/x86_64-linux/include/cuda.h",
                "#define CUDA_VERSION 12090\n",
            );
        },
        group: Id::RustCuda,
        line: "has the layout of conda",
        ready: false,
    },
    Case {
        title: "only CUDA_HOME is set",
        breaks: |machine| {
            machine.env.set("CUDA_PATH", "");
            let cuda = machine.path("cuda");
            machine.env.set("CUDA_HOME", cuda);
        },
        group: Id::RustCuda,
        line: "does not read CUDA_HOME",
        ready: false,
    },
    Case {
        title: "CUDA_PATH names something else",
        breaks: |machine| remove(machine, "cuda/include/cuda.h"),
        group: Id::RustCuda,
        line: "holds no include/cuda.h",
        ready: false,
    },
    Case {
        title: "a toolkit without libdevice",
        breaks: |machine| remove(machine, "cuda/nvvm/libdevice"),
        group: Id::RustCuda,
        line: "has no nvvm/libdevice/libdevice.10.bc",
        ready: false,
    },
    Case {
        title: "a libNVVM without its SONAME link",
        breaks: |machine| remove(machine, "cuda/nvvm/lib64/libnvvm.so.4"),
        group: Id::RustCuda,
        line: "has no libnvvm.so.4",
        ready: false,
    },
    Case {
        title: "a libNVVM that does not load",
        breaks: |machine| {
            machine.write("cuda/nvvm/lib64/libnvvm.so", "INPUT(libnvvm.so.4)\n");
        },
        group: Id::RustCuda,
        line: "libNVVM does not load",
        ready: false,
    },
    Case {
        title: "no nvcc and no pip",
        breaks: |machine| {
            remove(machine, "cuda/bin/nvcc");
            remove(machine, "bin/python3");
        },
        group: Id::Compare,
        line: "no nvcc",
        ready: false,
    },
];

/// The lines of a group that are not plain "ok", or all where `line` is one.
fn excerpt(group: &Group, line: &str) -> String {
    let shown: Vec<Check> = group
        .checks
        .iter()
        .filter(|check| check.status != Status::Ok || check.detail.contains(line))
        .cloned()
        .collect();
    let group = Group {
        checks: shown,
        ..*group
    };
    let report = Report {
        schema_version: 1,
        groups: vec![group],
    };
    render::text(&report, false)
}

#[test]
fn each_trouble_is_named_with_its_remedy() {
    let mut all = String::new();
    for case in CASES {
        let mut machine = complete();
        (case.breaks)(&mut machine);
        let report = examine(&machine.env, &repository(), &gpu_found());
        let group = report
            .groups
            .iter()
            .find(|group| group.id == case.group)
            .unwrap();
        let text = machine.hide_folder(&excerpt(group, case.line));
        assert!(text.contains(case.line), "{}:\n{text}", case.title);
        assert_eq!(group.ready, case.ready, "{}:\n{text}", case.title);
        let unexplained = |check: &Check| {
            matches!(check.status, Status::Missing | Status::Optional) && check.remedy.is_none()
        };
        assert!(
            !group.checks.iter().any(unexplained),
            "{}:\n{text}",
            case.title
        );
        let _ = writeln!(all, "# {}\n{text}", case.title);
    }
    snapshot("troubles.txt", &all);
}

fn count_failed(code: cudaError_t) -> gpu::Failed {
    gpu::Failed {
        call: "cudaGetDeviceCount",
        code,
    }
}

#[test]
fn each_trouble_of_a_gpu_is_named_with_its_remedy() {
    let library = |change: fn(&mut gpu::Library)| {
        let mut found = gpu_found();
        change(found.library.as_mut().unwrap());
        found
    };
    let cases = [
        (
            "no libcudart, and one that is a text file",
            gpu::Found {
                tried: vec![(
                    "/opt/fake/lib64/libcudart.so.12 (CUDA_PATH)".to_owned(),
                    "cannot be opened: file too short".to_owned(),
                )],
                library: None,
                ..gpu_found()
            },
            "file too short",
            false,
        ),
        (
            "no driver",
            library(|library| library.driver_version = 0),
            "no NVIDIA driver",
            false,
        ),
        (
            "a driver and no device",
            library(|library| library.devices = Err(count_failed(cudaError_t::NO_DEVICE))),
            "returns 100",
            false,
        ),
        (
            "a driver older than the runtime",
            library(|library| {
                library.devices = Err(count_failed(cudaError_t::INSUFFICIENT_DRIVER))
            }),
            "returns 35",
            false,
        ),
        (
            "a driver that the embedded PTX suits and rust-cuda's is too new for",
            library(|library| library.driver_version = 12040),
            "needs a driver for CUDA 12.9 or later",
            true,
        ),
        (
            "a GPU without memory pools",
            library(|library| {
                for device in library.devices.iter_mut().flatten().flatten() {
                    device.memory_pools = false;
                }
            }),
            "has no memory pools",
            false,
        ),
        (
            "a GPU older than the embedded PTX",
            library(|library| {
                for device in library.devices.iter_mut().flatten().flatten() {
                    device.capability = (5, 2);
                }
            }),
            "this device is 5.2",
            false,
        ),
        (
            "one of two devices does not answer",
            library(|library| {
                let failure = gpu::Failed {
                    call: "cudaDeviceGetAttribute",
                    code: cudaError_t(999),
                };
                library.devices.as_mut().unwrap().push(Err(failure));
            }),
            "cudaDeviceGetAttribute returns 999",
            true,
        ),
        (
            "a runtime older than cudaLibraryLoadData",
            library(|library| library.lacks = vec!["cudaLibraryLoadData"]),
            "; without cudaLibraryLoadData",
            true,
        ),
    ];
    let mut all = String::new();
    for (title, found, line, ready) in cases {
        let group = gpu::group(&found);
        let text = excerpt(&group, line);
        assert!(text.contains(line), "{title}:\n{text}");
        assert_eq!(group.ready, ready, "{title}:\n{text}");
        let _ = writeln!(all, "# {title}\n{text}");
    }
    snapshot("gpu_troubles.txt", &all);
}

#[test]
fn the_kernel_builds_with_what_the_doctor_finds_and_names_what_it_lacks() {
    use crate::kernel::rust_cuda::Setup;

    assert!(Setup::find(&complete().env, &repository()).is_ok());
    for case in CASES.iter().filter(|case| case.group == Id::RustCuda) {
        let mut machine = complete();
        (case.breaks)(&mut machine);
        let setup = Setup::find(&machine.env, &repository());
        assert_eq!(setup.is_ok(), case.ready, "{}", case.title);
        if let Err(trouble) = setup {
            let what = machine.hide_folder(&trouble.what);
            assert!(what.contains(case.line), "{}: {trouble}", case.title);
        }
    }
}

#[test]
fn colours_are_only_written_when_asked_for() {
    let report = examine(&Machine::new().env, &repository(), &gpu::Found::default());
    assert!(!render::text(&report, false).contains('\x1b'));
    assert!(render::text(&report, true).contains("\x1b[31mmissing"));
}

#[test]
fn the_json_has_a_version_and_the_status_words() {
    let report = examine(&Machine::new().env, &repository(), &gpu::Found::default());
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["schema_version"], 1);
    let ids: Vec<_> = json["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| &g["id"])
        .collect();
    assert_eq!(ids, ["run", "rustc", "rust-cuda", "compare"]);
    assert_eq!(json["groups"][2]["checks"][0]["status"], "missing");
    assert_eq!(json["groups"][2]["ready"], false);
}
