//! The kernel by each compiler, here and on made-up machines.

use super::*;
use crate::testing::{
    Machine, NIGHTLY, complete, llvm_config, repository, skipped, toolchain_path,
};

fn args(with: With) -> Args {
    Args {
        with,
        ..Args::default()
    }
}

fn trouble(result: anyhow::Result<BuiltKernel>) -> Trouble {
    let error = result.unwrap_err();
    error
        .downcast_ref::<Trouble>()
        .unwrap_or_else(|| panic!("not a trouble: {error:?}"))
        .clone()
}

/// Compiles with the workspace's rustc into a folder of the test's own.
fn compile(setup: &rustc::Setup, arch: Option<&Arch>, emit: Emit) -> String {
    compile_kernel(Kernel::ClockBlock, setup, arch, emit)
}

fn compile_kernel(kernel: Kernel, setup: &rustc::Setup, arch: Option<&Arch>, emit: Emit) -> String {
    let out = tempfile::tempdir().unwrap();
    let built = rustc::build(setup, &repository(), out.path(), arch, emit, kernel).unwrap();
    fs::read_to_string(built.path).unwrap()
}

/// The workspace's rustc, or a word on why a test cannot use it.
fn workspace_rustc(test: &str) -> Option<rustc::Setup> {
    rustc::Setup::workspace(&Env::real(), &repository())
        .map_err(|trouble| skipped(test, trouble.what))
        .ok()
}

#[test]
fn the_committed_ptx_is_what_the_compiler_it_names_writes() {
    for kernel in Kernel::value_variants() {
        let committed = fs::read_to_string(repository().join(kernel.committed())).unwrap();
        let (made_by, body) = Provenance::split_from(&committed);
        let Some(setup) = workspace_rustc("recompiling the committed PTX") else {
            return;
        };
        if made_by.get("compiler") != Some(&setup.version.line) {
            let named = made_by.get("compiler").unwrap_or("nothing");
            let why = format!("it is made by {named}, here is {}", setup.version.line);
            return skipped("recompiling the committed PTX", why);
        }
        let again = compile_kernel(*kernel, &setup, None, Emit::Ptx);
        let (_, again) = Provenance::split_from(&again);
        assert_eq!(body, again, "run `cargo xtask kernel --with rustc --bless`");
    }
}

#[test]
fn negated_squares_reads_its_number_and_writes_the_product_negated() {
    let text = fs::read_to_string(repository().join(Kernel::NegatedSquares.committed())).unwrap();
    let (made_by, body) = Provenance::split_from(&text);
    let source = source_sha256(&repository(), Kernel::NegatedSquares).unwrap();
    assert_eq!(made_by.get("source-sha256"), Some(&*source));
    assert_eq!(made_by.get("kernel"), Some("negated_squares"));
    for part in [
        ".visible .entry negated_squares(",
        "ld.global",
        "mul.lo",
        "neg.s32",
        "st.global",
    ] {
        assert!(body.contains(part), "{part}");
    }
}

#[test]
fn every_committed_ptx_names_the_source_that_is_here() {
    for file in crate::kernel::all_committed(&repository()).unwrap() {
        let text = fs::read_to_string(&file).unwrap();
        let (made_by, body) = Provenance::split_from(&text);
        let shown = file.display();
        let kernel = Kernel::value_variants()
            .iter()
            .find(|kernel| made_by.get("kernel") == Some(kernel.name()));
        let kernel = kernel.unwrap_or_else(|| panic!("{shown} is of no kernel that is here"));
        let source = source_sha256(&repository(), *kernel).unwrap();
        assert_eq!(
            made_by.get("source-sha256"),
            Some(&*source),
            "{shown} is of another source"
        );
        for key in ["kernel", "compiler", "backend", "arch", "source", "command"] {
            assert!(made_by.get(key).is_some(), "{shown} does not say its {key}");
        }
        assert!(
            !text.contains("/home/") && !text.contains("/root/"),
            "{shown}"
        );
        let entry = format!(".visible .entry {}(", kernel.name());
        assert!(body.contains(&entry), "{shown}");
    }
}

/// The head names the toolkit, and libNVVM writes its release into the text below it.
#[test]
fn rust_cudas_committed_ptx_is_of_every_kernel_that_it_compiled_and_its_head_tells_the_truth() {
    for kernel in [Kernel::ClockBlock, Kernel::NegatedSquares] {
        let file = kernel.committed_by_rust_cuda();
        let text = fs::read_to_string(repository().join(file)).unwrap();
        let (made_by, body) = Provenance::split_from(&text);
        let release = body
            .lines()
            .find_map(|line| line.strip_prefix("// Cuda compilation tools, release "))
            .and_then(|rest| rest.split(',').next())
            .unwrap_or_else(|| panic!("{file}: libNVVM did not sign it"));
        let named = made_by.get("libnvvm").unwrap();
        assert!(
            named.starts_with(&format!("CUDA {release},")),
            "{file}: {named}"
        );
        assert!(
            made_by.get("compiler").unwrap().starts_with("rust-cuda "),
            "{file}"
        );
    }
}

/// For the architectures that no current disassembler lists, the loop can
/// still be looked for in the PTX: a volatile asm between label and branch.
#[test]
fn every_committed_ptx_reads_the_64_bit_clock_between_label_and_backward_branch() {
    for file in crate::kernel::committed(&repository()).unwrap() {
        let text = fs::read_to_string(&file).unwrap();
        let line_of = |wanted: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let lines = text.lines().map(str::trim).enumerate();
            lines
                .filter(|(_, line)| wanted(line))
                .map(|(at, _)| at)
                .collect()
        };
        let clocks = line_of(&|line| line.starts_with("mov.u64") && line.contains("%clock64"));
        let looped = text.lines().map(str::trim).enumerate().any(|(at, line)| {
            let Some((_, label)) = line.split_once("bra") else {
                return false;
            };
            let label = label
                .trim_start_matches(".uni")
                .trim()
                .trim_end_matches(';');
            let start = line_of(&|line| line == format!("{label}:"));
            start
                .iter()
                .any(|start| clocks.iter().any(|clock| (*start..at).contains(clock)))
        });
        assert!(looped, "{}: no loop around a clock read", file.display());
        assert!(
            !text.contains("%clock;"),
            "{}: a 32-bit clock",
            file.display()
        );
    }
}

#[test]
fn the_widest_ptx_is_version_5_for_sm_60() {
    let Some(setup) = workspace_rustc("the PTX header of sm_60") else {
        return;
    };
    if setup.version.minor >= 97 {
        return skipped("the PTX header of sm_60", &setup.version.line);
    }
    let ptx = compile(&setup, None, Emit::Ptx);
    assert!(ptx.contains("\n.version 5.0\n.target sm_60\n"), "{ptx}");
    let newer = compile(&setup, Some(&Arch::new(90)), Emit::Ptx);
    assert!(newer.contains("\n.target sm_90\n"), "{newer}");
}

#[test]
fn the_stand_in_core_gives_the_ptx_of_the_real_one() {
    let Some(setup) = workspace_rustc("stand-in against real core") else {
        return;
    };
    if !setup.has_core {
        let why = "rustup target add nvptx64-nvidia-cuda brings the real core";
        return skipped("stand-in against real core", why);
    }
    let stand_in = rustc::Setup {
        has_core: false,
        ..setup.clone()
    };
    for arch in [60, 75, 90].map(Arch::new) {
        let real = compile(&setup, Some(&arch), Emit::Ptx);
        let ours = compile(&stand_in, Some(&arch), Emit::Ptx);
        assert_eq!(
            Provenance::split_from(&real).1,
            Provenance::split_from(&ours).1
        );
    }
}

#[test]
fn llvm_ir_is_of_the_same_kernel() {
    let Some(setup) = workspace_rustc("LLVM IR") else {
        return;
    };
    let ir = compile(&setup, None, Emit::LlvmIr);
    assert!(ir.starts_with(";@ kernel: clock_block\n"), "{ir}");
    assert!(ir.contains("ptx_kernel void @clock_block(i64"), "{ir}");
    assert_eq!(ir.matches("%clock64").count(), 2, "{ir}");
}

#[test]
fn an_architecture_that_llvm_does_not_know_is_refused_not_ignored() {
    let Some(setup) = workspace_rustc("an unknown architecture") else {
        return;
    };
    let out = tempfile::tempdir().unwrap();
    let arch = Arch::new(999);
    let error = rustc::build(
        &setup,
        &repository(),
        out.path(),
        Some(&arch),
        Emit::Ptx,
        Kernel::ClockBlock,
    )
    .unwrap_err();
    assert!(
        error.to_string().contains("does not support sm_999"),
        "{error}"
    );
}

#[test]
fn a_bare_machine_gets_the_embedded_ptx_and_hears_why() {
    let machine = Machine::new();
    let built = build(&args(With::Auto), &repository(), &machine.env).unwrap();
    assert_eq!(built.path, repository().join(EMBEDDED));
    assert!(built.provenance.get("compiler").is_some());
    for part in ["the committed PTX", "not rust-cuda: ", "not rustc: "] {
        assert!(built.why.contains(part), "{}", built.why);
    }
    assert_eq!(built.why.lines().count(), 1);
}

#[test]
fn a_named_compiler_that_is_not_there_is_an_error_and_nothing_else_is_used() {
    let machine = Machine::new();
    let rust_cuda = trouble(build(&args(With::RustCuda), &repository(), &machine.env));
    assert!(
        rust_cuda
            .what
            .contains("nightly-2026-04-02 is not installed")
    );
    assert!(rust_cuda.remedy.starts_with("rustup toolchain install"));
    let rustc = trouble(build(&args(With::Rustc), &repository(), &machine.env));
    assert!(rustc.what.contains("1.95.0 is not installed"), "{rustc}");
}

#[test]
fn a_failing_rustc_ends_in_one_line_of_cause_and_one_of_remedy() {
    let machine = Machine::new();
    machine.toolchain("1.95.0", "1.95.0");
    machine.rustc_fails("1.95.0", "error: requires `freeze` lang_item");

    let told = trouble(build(&args(With::Rustc), &repository(), &machine.env));
    assert!(told.what.contains("rustc 1.95.0"), "{told}");
    assert!(told.what.contains("could not compile the kernel"), "{told}");
    assert!(told.remedy.contains("rustup target add"), "{told}");
    assert_eq!(
        (told.what.lines().count(), told.remedy.lines().count()),
        (1, 1)
    );

    let auto = build(&args(With::Auto), &repository(), &machine.env).unwrap();
    assert!(auto.why.contains("not rustc: rustc 1.95.0"), "{}", auto.why);
}

#[test]
fn the_embedded_ptx_is_never_passed_off_as_something_else() {
    let machine = Machine::new();
    let asked = |arch: Option<u32>, emit| Args {
        arch: arch.map(Arch::new),
        emit,
        ..args(With::Embedded)
    };
    let build = |args: Args| build(&args, &repository(), &machine.env);
    assert!(
        trouble(build(asked(Some(90), Emit::Ptx)))
            .what
            .contains("is sm_60, not sm_90")
    );
    assert!(
        trouble(build(asked(None, Emit::LlvmIr)))
            .what
            .contains("no LLVM IR")
    );
    assert!(build(asked(Some(60), Emit::Ptx)).is_ok());
}

#[test]
fn blessing_needs_a_compiler_by_name() {
    let machine = Machine::new();
    for with in [With::Auto, With::Embedded] {
        let args = Args {
            bless: true,
            ..args(with)
        };
        assert!(
            trouble(build(&args, &repository(), &machine.env))
                .what
                .contains("--bless")
        );
    }
}

/// A nightly's cargo that records its environment when it runs the builder, and then does
/// `does`, with `$ptx` and `$ir` as the builder's files and `$kernel` as the package.
fn cargo_that(does: &str) -> Machine {
    let machine = complete();
    let record = machine.path("environment").display().to_string();
    machine.program(
        &toolchain_path(NIGHTLY, "bin/cargo"),
        &format!(
            "PATH=$PATH:/usr/bin:/bin\n\
             echo \"$*\" >>'{record}.calls'\n\
             [ $1 = clean ] && {{ rm -f \"$CARGO_TARGET_DIR/built\"; exit 0; }}\n\
             /usr/bin/env >'{record}'\n\
             while [ $# -gt 0 ]; do case $1 in --ptx) ptx=$2;; --ir) ir=$2;;\n\
             --package) kernel=$2;; esac; shift; done\n\
             {does}\n"
        ),
    );
    // A repository of its own: what this cargo writes is no kernel.
    for file in [
        "rust-toolchain.toml",
        "Cargo.toml",
        "src/lib.rs",
        "src/negated_squares.rs",
    ] {
        let file = format!("kernels-rs/{file}");
        machine.write(
            &format!("repo/{file}"),
            fs::read(repository().join(&file)).unwrap(),
        );
    }
    machine
}

/// What the genuine chain does, as seen in 2026: cargo does not track that libNVVM is an
/// input of the kernel. While it holds the kernel for built it compiles nothing, copies the
/// PTX that is there and writes no IR; libNVVM signs what it compiles with its release.
const LIKE_CARGO: &str = "
    mkdir -p $CARGO_TARGET_DIR; built=$CARGO_TARGET_DIR/built
    release=$(sed -n 's/#define CUDA_VERSION \\([0-9][0-9]\\)0\\([0-9]\\)0/\\1.\\2/p' \
        $CUDA_PATH/include/cuda.h)
    if [ ! -e $built ]; then
        printf '//\\n// Cuda compilation tools, release %s, V%s.0\\n//\\n.version 8.8\\n// %s\\n' \
            $release $release $kernel >$built
        echo \"; IR of $kernel\" >$ir
    fi
    echo cargo:rerun-if-changed=src; cp $built $ptx; echo $ptx";

fn rust_cuda(
    machine: &Machine,
    change: impl Fn(&mut Args),
) -> anyhow::Result<(BuiltKernel, String)> {
    let mut args = args(With::RustCuda);
    change(&mut args);
    let built = build(&args, &machine.path("repo"), &machine.env)?;
    let text = fs::read_to_string(&built.path).unwrap();
    Ok((built, text))
}

#[test]
fn rust_cuda_is_taken_when_everything_for_it_is_there() {
    let machine = cargo_that("echo '.version 8.8' >$ptx; echo '; IR' >$ir");
    let built = build(&args(With::Auto), &machine.path("repo"), &machine.env).unwrap();
    assert!(built.path.ends_with("clock_block.rust-cuda.compute_75.ptx"));
    let compiler = built.provenance.get("compiler").unwrap();
    assert!(compiler.starts_with("rust-cuda 946c91f0"), "{compiler}");
    assert!(
        compiler.ends_with("rustc 1.96.0-nightly (0123abc 2026-04-01)"),
        "{compiler}"
    );
    assert_eq!(
        built.provenance.get("libnvvm"),
        Some("CUDA 12.9, NVVM IR 2.0")
    );
    assert!(!built.why.contains("not rust-cuda"), "{}", built.why);
    let text = fs::read_to_string(&built.path).unwrap();
    assert_eq!(
        Provenance::split_from(&text),
        (built.provenance, ".version 8.8\n")
    );

    let environment = fs::read_to_string(machine.path("environment")).unwrap();
    let value = |name: &str| {
        let lines = &mut environment.lines();
        lines
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .map(str::to_owned)
    };
    let path = |path: &str| machine.path(path).display().to_string();
    assert_eq!(value("RUSTUP_TOOLCHAIN").as_deref(), Some(NIGHTLY));
    assert_eq!(value("CUDA_PATH"), Some(path("cuda")));
    assert_eq!(value("LLVM_CONFIG"), Some(path("llvm7/bin/llvm-config")));
    assert_eq!(value("LLVM_LINK_SHARED"), None);
    assert_eq!(value("RUSTFLAGS"), None);
    let first = |name: &str| value(name).unwrap().split(':').next().unwrap().to_owned();
    assert_eq!(first("PATH"), path(&toolchain_path(NIGHTLY, "bin")));
    assert_eq!(first("LD_LIBRARY_PATH"), path("cuda/nvvm/lib64"));
}

/// rustc loads the code generator at run time, and that needs libLLVM-7.so (rust-cuda#7).
#[test]
fn a_shared_llvm_is_on_the_loaders_path_of_the_build() {
    let machine = cargo_that("echo '.version 8.8' >$ptx");
    machine.write("llvm7/lib/libLLVM-7.so", "").write(
        "llvm7/bin/llvm-config.does",
        llvm_config("7.0.1", false, true),
    );
    rust_cuda(&machine, |_| ()).unwrap();
    let environment = fs::read_to_string(machine.path("environment")).unwrap();
    let line = environment
        .lines()
        .find(|line| line.starts_with("LD_LIBRARY_PATH="))
        .unwrap();
    let libraries = machine.path("llvm7/lib").display().to_string();
    assert!(
        line.split(['=', ':']).any(|folder| folder == libraries),
        "{line}"
    );
    assert!(environment.contains("\nLLVM_LINK_SHARED=1\n"));
}

#[test]
fn another_toolkit_makes_other_ptx_and_the_head_names_the_one_that_made_it() {
    let mut machine = cargo_that(LIKE_CARGO);
    let made_by = |machine: &Machine| {
        let (built, text) = rust_cuda(machine, |_| ()).unwrap();
        let named = built.provenance.get("libnvvm").unwrap().to_owned();
        let body = Provenance::split_from(&text).1.to_owned();
        (named, body)
    };
    let (named, body) = made_by(&machine);
    assert!(
        named.starts_with("CUDA 12.9,") && body.contains("release 12.9,"),
        "{named} {body}"
    );

    // Another toolkit in another folder, and then another release in the same folder.
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([machine.path("cuda"), machine.path("cuda128")])
        .status()
        .unwrap();
    assert!(copied.success());
    machine.write("cuda128/include/cuda.h", "#define CUDA_VERSION 12080\n");
    let other = machine.path("cuda128");
    machine.env.set("CUDA_PATH", other);
    let (named, body) = made_by(&machine);
    assert!(
        named.starts_with("CUDA 12.8,") && body.contains("release 12.8,"),
        "{named} {body}"
    );

    machine.write("cuda128/include/cuda.h", "#define CUDA_VERSION 13000\n");
    let (named, body) = made_by(&machine);
    assert!(
        named.starts_with("CUDA 13.0,") && body.contains("release 13.0,"),
        "{named} {body}"
    );
}

/// cargo compiles `core` anew when a flag of rustc changes, and the IR's path is one.
#[test]
fn all_kernels_of_a_toolkit_are_compiled_with_the_same_files_and_folder() {
    let machine = cargo_that(LIKE_CARGO);
    let mut seen = Vec::new();
    for kernel in [Kernel::ClockBlock, Kernel::NegatedSquares] {
        let (built, text) = rust_cuda(&machine, |args| args.kernel = kernel).unwrap();
        assert_eq!(built.provenance.get("kernel"), Some(kernel.name()));
        assert!(text.ends_with(&format!("// {}\n", kernel.name())), "{text}");
        let calls = fs::read_to_string(machine.path("environment.calls")).unwrap();
        let last = calls.lines().last().unwrap().to_owned();
        let environment = fs::read_to_string(machine.path("environment")).unwrap();
        let target = environment
            .lines()
            .find(|line| line.starts_with("CARGO_TARGET_DIR="))
            .unwrap()
            .to_owned();
        let files: Vec<&str> = last.split("--ptx").skip(1).collect();
        seen.push((files[0].to_owned(), target));
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn ptx_and_ir_are_made_as_often_as_wanted_each_with_one_head() {
    let machine = cargo_that(LIKE_CARGO);
    let ir = |args: &mut Args| args.emit = Emit::LlvmIr;
    for _ in 0..2 {
        let (ptx, text) = rust_cuda(&machine, |_| ()).unwrap();
        assert_eq!(text.matches("//@ kernel:").count(), 1, "{text}");
        let (module, ir) = rust_cuda(&machine, ir).unwrap();
        assert!(module.path.ends_with("clock_block.rust-cuda.compute_75.ll"));
        assert_eq!(ir.matches(";@ kernel:").count(), 1, "{ir}");
        assert!(ir.ends_with("; IR of clock_block\n"), "{ir}");
        assert_eq!(
            fs::read_to_string(&ptx.path).unwrap(),
            text,
            "the IR changed the PTX"
        );
        fs::remove_file(&module.path).unwrap();
    }
}

#[test]
fn a_libnvvm_that_is_not_the_toolkits_is_noticed_by_its_signature() {
    let machine = cargo_that("echo '// Cuda compilation tools, release 12.6, V12.6.85' >$ptx");
    let refused = rust_cuda(&machine, |_| ()).unwrap_err();
    let refused = refused.downcast::<Trouble>().unwrap();
    assert!(refused.what.contains("CUDA 12.6"), "{refused}");
    assert!(refused.what.contains("contains CUDA 12.9"), "{refused}");
}

#[test]
fn ir_is_never_committed_and_that_is_said_before_anything_is_compiled() {
    let machine = cargo_that("exit 1");
    let refused = rust_cuda(&machine, |args| {
        args.emit = Emit::LlvmIr;
        args.bless = true;
    });
    let refused = refused.unwrap_err().downcast::<Trouble>().unwrap();
    assert!(refused.what.contains("--bless needs PTX"), "{refused}");
    assert!(!machine.path("environment.calls").exists());
}

#[test]
fn a_path_with_a_space_is_refused_before_anything_is_compiled() {
    let machine = cargo_that("exit 1");
    fs::rename(machine.path("repo"), machine.path("my repo")).unwrap();
    let refused = trouble(build(
        &args(With::RustCuda),
        &machine.path("my repo"),
        &machine.env,
    ));
    assert!(refused.what.contains("space in its path"), "{refused}");
    assert!(!machine.path("environment.calls").exists());
}

#[test]
fn a_failing_rust_cuda_is_an_error_when_named_and_told_when_not() {
    let machine = cargo_that("echo 'error: linking failed' >&2; exit 101");
    let told = trouble(build(&args(With::RustCuda), &repository(), &machine.env));
    assert!(
        told.what
            .contains("rust-cuda could not compile the kernel for compute_75"),
        "{told}"
    );
    assert!(told.remedy.contains("doctor"), "{told}");
}

#[test]
fn no_architecture_that_cuda_13_dropped_is_requested_from_it() {
    let machine = cargo_that("exit 1");
    machine.write("cuda/include/cuda.h", "#define CUDA_VERSION 13000\n");
    let args = Args {
        arch: Some(Arch::new(60)),
        ..args(With::RustCuda)
    };
    let told = trouble(build(&args, &repository(), &machine.env));
    assert!(
        told.what
            .contains("CUDA 13.0 compiles for compute_75 and newer"),
        "{told}"
    );
    assert!(
        !machine.path("environment").exists(),
        "cargo was started all the same"
    );
}
