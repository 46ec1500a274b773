//! Shared by the loader's tests: libraries that replace a CUDA runtime, and the real
//! libraries.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use cudart_ffi::{FUNCTIONS, Presence, Search};

/// A library that replaces a CUDA runtime: it exports the table's required functions, which
/// return 0, except that the functions below return the given values.
#[derive(Debug, Clone)]
pub struct Standin {
    /// What `cudaRuntimeGetVersion` writes.
    pub runtime: i32,
    /// What `cudaRuntimeGetVersion` returns.
    pub runtime_code: i32,
    /// What `cudaDriverGetVersion` writes.
    pub driver: i32,
    /// What `cudaDriverGetVersion` returns.
    pub driver_code: i32,
    /// What `cudaGetDeviceCount` returns.
    pub count_code: i32,
    /// Functions that it does not export.
    pub missing: Vec<&'static str>,
    /// A library that it depends on.
    pub needs: Option<PathBuf>,
}

impl Standin {
    /// A runtime of this version, with a driver that supports it.
    pub fn new(runtime: i32) -> Self {
        Self {
            runtime,
            runtime_code: 0,
            driver: 13050,
            driver_code: 0,
            count_code: 0,
            missing: Vec::new(),
            needs: None,
        }
    }

    /// A runtime of this version, with a driver that is too old for it.
    pub fn refusing(runtime: i32, driver: i32) -> Self {
        Self {
            driver,
            count_code: 35,
            ..Self::new(runtime)
        }
    }

    fn source(&self) -> String {
        let mut text = String::new();
        let exported = FUNCTIONS
            .iter()
            .filter(|f| f.presence == Presence::Required && !self.missing.contains(&f.name));
        for function in exported {
            let body = match function.name {
                "cudaRuntimeGetVersion" => {
                    format!(
                        "(int *v) {{ *v = {}; return {}; }}",
                        self.runtime, self.runtime_code
                    )
                }
                "cudaDriverGetVersion" => {
                    format!(
                        "(int *v) {{ *v = {}; return {}; }}",
                        self.driver, self.driver_code
                    )
                }
                "cudaGetDeviceCount" => format!("(int *n) {{ return {}; }}", self.count_code),
                _ => "(void) { return 0; }".to_owned(),
            };
            let _ = writeln!(text, "int {}{body}", function.name);
        }
        text
    }

    /// Compiles it to `path`, and creates the folders of the path.
    pub fn build(&self, path: &Path) -> PathBuf {
        let name = path.file_name().unwrap().to_str().unwrap();
        compile(
            path,
            &self.source(),
            &[&format!("-Wl,-soname,{name}")],
            self.needs.as_deref(),
        );
        path.to_owned()
    }
}

/// Compiles C to a shared library with `cc`, the compiler that rustc links with.
pub fn compile(path: &Path, source: &str, options: &[&str], needs: Option<&Path>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut child = Command::new("cc")
        .args(["-shared", "-fPIC", "-x", "c", "-o"])
        .arg(path)
        .arg("-")
        .args(options)
        .args(["-x", "none", "-Wl,--no-as-needed"])
        .args(needs)
        .stdin(Stdio::piped())
        .spawn()
        .expect("cc is installed, because rustc links with it");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(source.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
}

/// A search that finds nothing until a setting is added.
pub fn empty_search(folder: &Path) -> Search {
    Search {
        explicit: None,
        variables: Default::default(),
        usr_local: folder.join("no-usr-local"),
        usr: folder.join("no-usr"),
        home: None,
        path: Vec::new(),
        program: None,
        system: false,
    }
}

/// Makes a link, and the folders of its path.
pub fn link(target: impl AsRef<Path>, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, path).unwrap();
}

/// A real libcudart.
#[derive(Debug, Clone)]
pub struct Real {
    /// `1000 * major + 10 * minor`.
    pub version: i32,
    /// The library's file.
    pub file: PathBuf,
}

/// The releases whose libraries the tests load.
const RELEASES: &[(i32, &str)] = &[
    (11080, "nvidia-cuda-runtime-cu11/11.8."),
    (12000, "nvidia-cuda-runtime-cu12/12.0."),
    (12040, "nvidia-cuda-runtime-cu12/12.4."),
    (12080, "nvidia-cuda-runtime-cu12/12.8."),
    (12090, "nvidia-cuda-runtime-cu12/12.9."),
    (13000, "nvidia-cuda-runtime/13.0."),
    (13050, "nvidia-cuda-runtime/13.5."),
];

/// The real libraries in `target/wheels`. `cargo xtask abi` downloads missing ones; for
/// each that is still missing, a line says SKIPPED.
pub fn real() -> &'static [Real] {
    static REAL: OnceLock<Vec<Real>> = OnceLock::new();
    REAL.get_or_init(|| {
        let missing = |&&(_, place): &&(i32, &str)| library_below(place).is_none();
        let names: Vec<String> = RELEASES.iter().filter(missing).map(|r| name(r.0)).collect();
        if !names.is_empty() && !cfg!(miri) {
            fetch(&names);
        }
        let mut found = Vec::new();
        for &(version, place) in RELEASES {
            match library_below(place) {
                Some(file) => found.push(Real { version, file }),
                None => eprintln!(
                    "SKIPPED: the library of CUDA {} could not be fetched (cargo xtask abi says why)",
                    name(version)
                ),
            }
        }
        found
    })
}

/// One real library. If it is missing, `None`, and a line says that the test is skipped.
pub fn real_of(version: i32) -> Option<&'static Real> {
    let found = real().iter().find(|real| real.version == version);
    if found.is_none() {
        eprintln!("SKIPPED: no library of CUDA {}", name(version));
    }
    found
}

fn name(version: i32) -> String {
    cudart_ffi::loader::Version(version).to_string()
}

/// The list of wheels that may be used, with their hashes.
const LISTED: &str = include_str!("../../../xtask/wheels.txt");

/// The library in `target/wheels/<package>/<version…>`, where `place` is the package and
/// the beginning of the version. Only a wheel whose hash is in the list is used.
fn library_below(place: &str) -> Option<PathBuf> {
    let (package, version) = place.split_once('/')?;
    let shelf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../target/wheels")
        .join(package);
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let starts = |path: &Path, with: &str| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(with))
    };
    below(&shelf)
        .into_iter()
        .filter(|path| starts(path, version))
        .filter(|path| {
            let hash = fs::read_to_string(path.join("wheel.sha256"));
            hash.is_ok_and(|hash| hash.len() >= 64 && LISTED.contains(hash.trim()))
        })
        .flat_map(|wheel| below(&wheel.join("nvidia")))
        .flat_map(|home| below(&home.join("lib")))
        .find(|file| starts(file, "libcudart.so."))
        .and_then(|file| file.canonicalize().ok())
}

/// Runs `cargo xtask abi`, which downloads the libraries that it compares. The result of
/// the comparison is ignored here.
///
/// When the whole workspace is tested, xtask is already built. `cargo test -p cudart-ffi`
/// does not build it. It is then built in another target folder: in this one, it would be
/// built with other features of its dependencies and overwrite libraries that other tests
/// are linked to.
fn fetch(names: &[String]) {
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.parent().and_then(Path::parent).expect("target/debug");
    let built = folder.join(format!("xtask{}", std::env::consts::EXE_SUFFIX));
    let mut xtask = match std::env::var_os("CARGO") {
        _ if built.exists() => Command::new(built),
        Some(cargo) => {
            let mut cargo = Command::new(cargo);
            cargo.args(["run", "--quiet", "--package", "xtask"]).args([
                "--target-dir",
                env!("CARGO_TARGET_TMPDIR"),
                "--",
            ]);
            cargo
        }
        None => return,
    };
    let _ = xtask
        // xtask would take this variable for its own folder.
        .env_remove("CARGO_MANIFEST_DIR")
        .args(["abi", "--runtime"])
        .args(names)
        .stdout(Stdio::null())
        .status();
}
