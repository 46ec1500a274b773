//! The command line: what is refused, how it is said, and the exit codes.

use crate::support::{bare, on_the_model, only_device};

#[test]
fn bad_values_are_refused_with_what_was_wrong_and_what_is_allowed() {
    for (arguments, what, allowed) in [
        (["--bytes", "0"], "'0'", "at least 1 byte"),
        (["--bytes", "many"], "'many'", "such as 64MiB"),
        (["--graphs", "0"], "'0'", "at least 1 graph"),
        (
            ["--graphs", "18446744073709551615"],
            "'18446744073709551615'",
            "at most 100000 graphs",
        ),
        (["--spin-time", "0s"], "'0s'", "a time above 0"),
        (
            ["--device", "7"],
            "there is no device 7",
            "the only device is 0",
        ),
        (
            ["--device", "-1"],
            "there is no device -1",
            "the only device is 0",
        ),
        (["--experiment", "x"], "'x'", "virtual-address-reuse"),
    ] {
        let ended = on_the_model().args(&arguments).ends();
        ended.refused_with(64, what).refused_with(64, allowed);
    }
    let ended = bare().args(&["--backend", "x"]).ends();
    ended.refused_with(64, "auto, cuda, simulated");
}

#[test]
fn a_path_that_is_no_libcudart_is_refused() {
    let manifest = env!("CARGO_MANIFEST_DIR").to_owned() + "/Cargo.toml";
    bare()
        .args(&["--cudart", &manifest])
        .ends()
        .refused_with(64, "cannot be opened");
    bare()
        .args(&["--cudart", "no/such/file"])
        .ends()
        .refused_with(64, "there is no libcudart at");
    let empty = tempfile::tempdir().expect("a temporary directory");
    let ended = bare().args(&["--cudart"]).arg(empty.path()).ends();
    ended.refused_with(64, "there is no libcudart in");
}

#[test]
fn ptx_that_is_no_ptx_is_refused() {
    let manifest = env!("CARGO_MANIFEST_DIR").to_owned() + "/Cargo.toml";
    on_the_model()
        .args(&["--ptx", &manifest])
        .ends()
        .refused_with(64, "this is not PTX");
    on_the_model()
        .args(&["--ptx", "no/such.ptx"])
        .ends()
        .refused_with(64, "cannot read");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let other = folder.path().join("other.ptx");
    let text =
        ".version 5.0\n.target sm_60\n.address_size 64\n.visible .entry other()\n{\n\tret;\n}\n";
    std::fs::write(&other, text).expect("a file");
    on_the_model()
        .args(&["--ptx"])
        .arg(&other)
        .ends()
        .refused_with(64, "no kernel `clock_block`");
}

#[test]
fn an_output_that_cannot_be_written_fails_before_anything_runs() {
    let ended = on_the_model()
        .args(&["--output", "no/such/folder/out.txt"])
        .ends();
    ended.refused_with(64, "cannot write");
}

#[test]
fn what_is_refused_leaves_an_earlier_result_as_it_was() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let earlier = folder.path().join("earlier.json");
    std::fs::write(&earlier, "an earlier result").expect("a file");
    on_the_model()
        .args(&["--device", "7", "--output"])
        .arg(&earlier)
        .ends()
        .refused_with(64, "there is no device 7");
    let now = std::fs::read_to_string(&earlier).expect("it is there");
    assert_eq!(now, "an earlier result");
}

#[test]
fn a_kernel_that_does_not_just_spin_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("other.ptx");
    for (parameters, body, said) in [
        (
            ".param .u64 a, .param .u64 b",
            "",
            "does not take one 64-bit integer",
        ),
        (
            "/* .param .u64 a */ .param .u32 a",
            "",
            "does not take one 64-bit integer",
        ),
        (
            ".param .u64 a",
            "st.global.u32 [%rd1], 0;",
            "could access memory",
        ),
    ] {
        let text = format!(
            ".version 5.0\n.target sm_60\n.address_size 64\n\
             .visible .entry clock_block({parameters})\n{{\n\t{body}\n\tret;\n}}\n"
        );
        std::fs::write(&file, text).expect("a file");
        on_the_model()
            .args(&["--ptx"])
            .arg(&file)
            .ends()
            .refused_with(64, said);
    }
}

#[test]
fn allocations_that_an_error_leaves_behind_are_one_warning() {
    let fills_the_card = [
        "--experiment",
        "unfreed-allocations",
        "--model-profile",
        "consumer-8gib",
        "--graphs",
        "200",
    ];
    let ended = on_the_model().args(&fills_the_card).ends();
    assert_eq!(ended.code, 1);
    assert_eq!(ended.stderr.matches("dropped, not freed").count(), 1);
}

#[test]
fn the_samples_spelling_of_the_device_is_understood() {
    let (result, code) = on_the_model()
        .args(&["-device=0", "--experiment", "virtual-address-reuse"])
        .result();
    assert_eq!((only_device(&result).ordinal, code), (0, 0));
}

#[test]
fn help_begins_with_the_commands_that_most_people_need() {
    let help = bare().args(&["--help"]).ends().stdout;
    let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text}: {help}"));
    assert!(at("watch -- python train.py") < at("plan graph.dot"));
    assert!(at("plan graph.dot") < at("--experiment order-matters"));
    assert!(at("--experiment order-matters") < at("Usage:"));
}

#[test]
fn words_after_the_first_that_is_no_option_of_watch_belong_to_the_command() {
    let help = bare().args(&["watch", "--help"]).ends().stdout;
    assert!(help.contains("watch [OPTIONS] [--] <COMMAND>..."), "{help}");
    for arguments in [["--no-such-option", "--live"], ["--", "--live"]] {
        let ended = bare().args(&["watch"]).args(&arguments).ends();
        assert_eq!(ended.code, 127, "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn help_names_the_exit_codes() {
    let ended = bare().args(&["--help"]).ends();
    assert_eq!(ended.code, 0);
    for line in [
        "0    every check passed",
        "2    waived",
        "3    inconclusive",
        "64   wrong usage",
    ] {
        assert!(ended.stdout.contains(line), "{line}");
    }
}

#[test]
fn a_run_on_the_model_says_in_plain_words_that_it_is_one() {
    let ended = on_the_model()
        .args(&["--experiment", "virtual-address-reuse"])
        .ends();
    assert_eq!(ended.code, 0);
    assert!(
        ended.stdout.contains("simulated, not measured"),
        "{}",
        ended.stdout
    );
}

#[test]
fn output_that_goes_to_a_file_has_no_colours() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("out.txt");
    let ended = on_the_model().args(&["--output"]).arg(&file).ends();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""));
    let text = std::fs::read_to_string(&file).expect("the report");
    assert!(text.contains("PASS"));
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn the_trace_shows_each_call_with_arguments_result_and_time() {
    let scenario = on_the_model().args(&["--experiment", "virtual-address-reuse"]);
    let ended = scenario.env("RUST_LOG", "cudart=trace").ends();
    let line = |call: &str| {
        let found = ended.stderr.lines().find(|line| line.contains(call));
        found
            .unwrap_or_else(|| panic!("no {call} in:\n{}", ended.stderr))
            .to_owned()
    };
    let alloc = line("cudaGraphAddMemAllocNode(");
    assert!(alloc.contains("-> 0 cudaSuccess"), "{alloc}");
    assert!(alloc.contains("bytesize: 67108864, dptr: 0x"), "{alloc}");
    assert!(alloc.contains(" us]"), "{alloc}");
    let used = line("attr=cudaGraphMemAttrUsedMemCurrent");
    assert!(used.contains("value="), "{used}");
}

#[test]
fn the_binary_needs_no_cuda_library() {
    use object::read::elf::{Dyn, FileHeader};
    let data = std::fs::read(env!("CARGO_BIN_EXE_graph-memory-footprint")).expect("the binary");
    let header = object::elf::FileHeader64::<object::Endianness>::parse(&*data);
    let Ok(header) = header else {
        println!("SKIPPED: the binary of this platform is no 64-bit ELF file");
        return;
    };
    let endian = header.endian().expect("an endianness");
    let sections = header.sections(endian, &*data).expect("sections");
    let (dynamic, link) = sections
        .dynamic(endian, &*data)
        .expect("readable")
        .expect("a dynamic section");
    let strings = sections.strings(endian, &*data, link).expect("strings");
    let needed: Vec<_> = dynamic
        .iter()
        .filter(|entry| entry.tag(endian) == object::elf::DT_NEEDED)
        .map(|entry| entry.string(endian, strings).expect("a name"))
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    assert!(
        needed.iter().any(|name| name.starts_with("libc.so")),
        "{needed:?}"
    );
    assert!(
        needed.iter().all(|name| !name.contains("cuda")),
        "{needed:?}"
    );
}
