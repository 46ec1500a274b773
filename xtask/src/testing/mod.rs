//! Made-up machines for tests: a temporary folder as the file system, with the
//! toolchains, programs and libraries that a test puts there.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::toolchain::Env;

/// A machine with nothing on it but a `PATH`, a `HOME` and a shell.
pub struct Machine {
    folder: tempfile::TempDir,
    /// What the probes see.
    pub env: Env,
}

impl Machine {
    /// An empty one.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut env = Env::made_up(folder.path());
        env.set("HOME", folder.path().join("home"));
        env.set("PATH", folder.path().join("bin"));
        Self { folder, env }
    }

    /// A path on it.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file, with the folders above it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Installs a program that does what the shell lines say.
    pub fn program(&self, path: &str, does: &str) -> &Self {
        let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testing/program.sh");
        self.write(&format!("{path}.does"), does);
        std::os::unix::fs::symlink(stand_in, self.path(path)).unwrap();
        self
    }

    /// Installs a toolchain whose rustc calls itself `release` and writes an
    /// empty file where its arguments name one.
    pub fn toolchain(&self, channel: &str, release: &str) -> &Self {
        self.program(
            &toolchain_path(channel, "bin/rustc"),
            &format!(
                "case $1 in --version)\n\
                 echo 'rustc {release} (0123abc 2026-04-01)'\n\
                 echo 'release: {release}'\necho 'LLVM version: 22.1.2'\n\
                 ;; *) for arg; do case $arg in --emit=*=*) : >\"${{arg##*=}}\";; esac; done\n\
                 ;; esac\n"
            ),
        )
    }

    /// Makes the rustc of a toolchain fail at everything but its version.
    pub fn rustc_fails(&self, channel: &str, words: &str) -> &Self {
        let does = toolchain_path(channel, "bin/rustc.does");
        let version = fs::read_to_string(self.path(&does)).unwrap();
        let version = version.split(";; *)").next().unwrap().to_owned();
        self.write(
            &does,
            format!("{version};; *) echo '{words}' >&2; exit 1;; esac\n"),
        )
    }

    /// A text with this machine's folder replaced by a word, so that it is the
    /// same in every run.
    pub fn hide_folder(&self, text: &str) -> String {
        text.replace(&self.folder.path().display().to_string(), "<machine>")
    }
}

/// Where a file of a toolchain lies on a made-up machine.
pub fn toolchain_path(channel: &str, file: &str) -> String {
    format!("home/.rustup/toolchains/{channel}-x86_64-unknown-linux-gnu/{file}")
}

/// The nightly that kernels-rs pins.
pub const NIGHTLY: &str = "nightly-2026-04-02";

/// A machine on which everything for both compilers is there.
pub fn complete() -> Machine {
    let mut machine = Machine::new();
    machine
        .toolchain("1.95.0", "1.95.0")
        .write(
            &toolchain_path(
                "1.95.0",
                "lib/rustlib/nvptx64-nvidia-cuda/lib/libcore-0.rlib",
            ),
            "",
        )
        .toolchain(NIGHTLY, "1.96.0-nightly")
        .write(
            &toolchain_path(
                NIGHTLY,
                "lib/rustlib/nvptx64-nvidia-cuda/lib/libcore-0.rlib",
            ),
            "",
        )
        .write(
            &toolchain_path(NIGHTLY, "lib/rustlib/src/rust/library/core/src/lib.rs"),
            "",
        )
        .write(
            &toolchain_path(NIGHTLY, "lib/rustlib/src/rust/library/Cargo.lock"),
            "",
        )
        .write(
            &toolchain_path(
                NIGHTLY,
                "lib/rustlib/x86_64-unknown-linux-gnu/lib/librustc_driver-0.so",
            ),
            "",
        )
        .write(
            &toolchain_path(NIGHTLY, "lib/rustlib/x86_64-unknown-linux-gnu/bin/llvm-nm"),
            "",
        )
        .program("llvm7/bin/llvm-config", &llvm_config("7.1.0", true, true))
        .program("bin/g++", "")
        .program("bin/python3", "echo 'pip 25.0 from /usr/lib (python 3.12)'")
        .write("usr/lib/llvm-18/lib/libclang.so.1", "")
        .write("usr/lib/llvm-18/lib/clang/18/include/stddef.h", "")
        .write("cuda/include/cuda.h", "#define CUDA_VERSION 12090\n")
        .write("cuda/include/cuda_runtime_api.h", "")
        .write("cuda/nvvm/include/nvvm.h", "")
        .write("cuda/nvvm/libdevice/libdevice.10.bc", "")
        .program(
            "cuda/bin/nvcc",
            "echo 'Cuda compilation tools, release 12.9, V12.9.86'",
        )
        .program("cuda/bin/compute-sanitizer", "");
    fs::create_dir_all(machine.path("cuda/nvvm/lib64")).unwrap();
    fs::copy(stand_in_nvvm(), machine.path("cuda/nvvm/lib64/libnvvm.so")).unwrap();
    machine.write("cuda/nvvm/lib64/libnvvm.so.4", "");
    let (llvm, cuda) = (machine.path("llvm7/bin/llvm-config"), machine.path("cuda"));
    machine.env.set("LLVM_CONFIG", llvm);
    machine.env.set("CUDA_PATH", cuda);
    machine
}

/// What an llvm-config of that release answers, with all of the components that the
/// build requests. It has no others, so a question with another component fails.
pub fn llvm_config(version: &str, has_static: bool, has_shared: bool) -> String {
    llvm_config_with(
        "ipo bitreader bitwriter lto nvptx",
        version,
        has_static,
        has_shared,
    )
}

/// The same with these components. The libraries lie in `lib` beside its own folder.
pub fn llvm_config_with(
    components: &str,
    version: &str,
    has_static: bool,
    has_shared: bool,
) -> String {
    let linking = |there| {
        if there {
            "echo -lLLVM"
        } else {
            "echo 'llvm-config: error: missing: libLLVMLTO.a' >&2; exit 1"
        }
    };
    format!(
        "case $1 in --version) echo {version}; exit;; --components) echo all {components}; exit;;\n\
         --libdir) echo \"${{0%/bin/*}}/lib\"; exit;; esac\n\
         for component in $3 $4 $5 $6 $7; do case \" {components} \" in *\" $component \"*) ;;\n\
         *) echo \"llvm-config: error: component $component missing\" >&2; exit 1;; esac; done\n\
         case $1 in --link-static) {};; --link-shared) {};; esac",
        linking(has_static),
        linking(has_shared)
    )
}

/// A library that answers `nvvmIRVersion`, compiled once.
fn stand_in_nvvm() -> &'static Path {
    static LIBRARY: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = LIBRARY.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let (source, library) = (
            folder.path().join("nvvm.rs"),
            folder.path().join("libnvvm.so"),
        );
        let code = "#[unsafe(no_mangle)] pub unsafe extern \"C\" fn nvvmIRVersion(
            a: *mut i32, b: *mut i32, c: *mut i32, d: *mut i32) -> i32 {
            unsafe { *a = 2; *b = 0; *c = 3; *d = 2; } 0 }";
        fs::write(&source, code).unwrap();
        let status = Command::new("rustc")
            .args([
                "--edition=2024",
                "--crate-type=cdylib",
                "-Cpanic=abort",
                "-o",
            ])
            .args([&library, &source])
            .status()
            .unwrap();
        assert!(status.success());
        (folder, library)
    });
    library
}

/// Takes a file or a folder away.
pub fn remove(machine: &Machine, path: &str) {
    let path = machine.path(path);
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

/// The repository that the tests run in.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Says that a check was skipped, past the test harness's capture.
pub fn skipped(test: &str, why: impl std::fmt::Display) {
    // A closed standard error is no reason to fail.
    let _ = writeln!(std::io::stderr(), "skipped {test}: {why}");
}
