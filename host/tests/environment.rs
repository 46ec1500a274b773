//! What environment variables may lead to: a library in a folder that they name by an
//! absolute path, and nothing at all in a program with more rights than its user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const VARIABLES: [&str; 4] = ["CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "VIRTUAL_ENV"];

/// A folder with a library, by the runtime's name, that leaves a mark when it is loaded.
struct Trap {
    folder: tempfile::TempDir,
}

impl Trap {
    fn new() -> Self {
        let trap = Self {
            folder: tempfile::tempdir().expect("a temporary directory"),
        };
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(trap.folder.path(), open).expect("permissions");
        fs::create_dir_all(trap.at("cuda/lib")).expect("a folder");
        fs::create_dir(trap.at("marks")).expect("a folder");
        let anybody = fs::Permissions::from_mode(0o777);
        fs::set_permissions(trap.at("marks"), anybody).expect("permissions");
        let source = format!(
            "#include <fcntl.h>\n__attribute__((constructor)) static void loaded(void) {{\n\
             open(\"{}\", O_CREAT | O_WRONLY, 0644);\n}}\n",
            trap.mark().display()
        );
        fs::write(trap.at("trap.c"), source).expect("a file");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([trap.at("cuda/lib/libcudart.so.12"), trap.at("trap.c")])
            .status();
        assert!(compiled.expect("rustc links with cc").success());
        trap
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn mark(&self) -> PathBuf {
        self.at("marks/loaded")
    }

    /// Runs the program with one variable; whether the library was loaded, and what the
    /// program said.
    fn springs(&self, program: &Path, name: &str, value: &Path) -> (bool, String) {
        let _ = fs::remove_file(self.mark());
        let mut command = Command::new(program);
        for variable in VARIABLES.iter().chain(&["RUST_LOG", "LD_LIBRARY_PATH"]) {
            command.env_remove(variable);
        }
        command.current_dir(self.folder.path()).env(name, value);
        command.args(["--backend", "cuda"]).stdin(Stdio::null());
        let ended = command.output().expect("it starts");
        let text = String::from_utf8_lossy(&ended.stderr).into_owned();
        (self.mark().exists(), text)
    }
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_graph-memory-footprint"))
}

#[test]
fn a_relative_folder_is_refused_in_a_sentence_and_not_searched() {
    let trap = Trap::new();
    for name in VARIABLES {
        // The control: an absolute path leads to the library.
        let (loaded, _) = trap.springs(program(), name, &trap.at("cuda"));
        assert!(loaded, "{name}");
        for relative in ["cuda", "./cuda", "../."] {
            let (loaded, text) = trap.springs(program(), name, Path::new(relative));
            assert!(!loaded, "{name}={relative}");
            let sentence = "the variable names a relative folder";
            let said = text.contains(sentence) && text.contains(name);
            assert!(said, "{name}={relative}: {text}");
        }
        let (loaded, text) = trap.springs(program(), name, Path::new(""));
        assert!(
            !loaded && !text.contains("relative"),
            "{name} is empty: {text}"
        );
    }
}

/// Users that no test runs as.
const NOBODY: u32 = 65534;

#[test]
fn a_program_with_more_rights_than_its_user_reads_no_variable() {
    let trap = Trap::new();
    // Owned by another user, and run with that user's rights.
    let privileged = trap.at("privileged");
    fs::copy(program(), &privileged).expect("a copy");
    let set_user = fs::Permissions::from_mode(0o4755);
    let made = chown(&privileged, Some(NOBODY), Some(NOBODY))
        .and_then(|()| fs::set_permissions(&privileged, set_user));
    if made.is_err() {
        assert!(
            std::env::var_os("CI").is_none(),
            "CI has to run this as root"
        );
        println!("SKIPPED: only root can make a program that runs as another user");
        return;
    }
    for name in VARIABLES {
        let (loaded, _) = trap.springs(program(), name, &trap.at("cuda"));
        assert!(loaded, "the control: {name}");
        let (loaded, text) = trap.springs(&privileged, name, &trap.at("cuda"));
        assert!(!loaded, "{name}: {text}");
    }
    // The simulated runtime's variables are not read either.
    let devices = |program: &Path| {
        let mut command = Command::new(program);
        command.env("CUDART_MODEL_PROFILE", "two-devices");
        command.args([
            "--backend",
            "simulated",
            "--device",
            "all",
            "--format",
            "json",
        ]);
        let ended = command.output().expect("it starts");
        let text = String::from_utf8_lossy(&ended.stdout).into_owned();
        text.matches("\"experiments\"").count()
    };
    assert_eq!(devices(program()), 2, "the control");
    assert_eq!(devices(&privileged), 1);
}
