//! Made-up machines for tests: a temporary folder as the file system, with the
//! toolchains, programs and libraries that a test puts there.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

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
    /// empty file wherever it is told to emit one.
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
