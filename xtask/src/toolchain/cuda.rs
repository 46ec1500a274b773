//! A CUDA toolkit as rust-cuda's build scripts look for one, and libNVVM.

#![allow(
    unsafe_code,
    reason = "it calls C functions of a library that it loads"
)]

use std::ffi::c_int;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::Env;
use crate::trouble::Trouble;

/// The variables that rust-cuda reads, in its order. `CUDA_HOME` is not one.
const VARIABLES: [&str; 3] = ["CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];

/// Where it looks when none of them names a toolkit.
const DEFAULTS: [&str; 3] = ["/usr/lib/cuda", "/usr/local/cuda", "/opt/cuda"];

const WHERE_TO_GET: &str =
    "install the CUDA toolkit (12.x or 13.x) and set CUDA_PATH to it, such as /usr/local/cuda";

/// A toolkit with everything that rust-cuda reads from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cuda {
    /// Its root folder.
    pub root: PathBuf,
    /// The variable that named it, or `default path`.
    pub from: &'static str,
    /// `CUDA_VERSION` of `cuda.h`: 12090 is 12.9.
    pub version: u32,
}

/// nvcc, the CUDA compiler driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nvcc {
    /// The program.
    pub program: PathBuf,
    /// The toolkit's release, such as `13.0`.
    pub release: String,
}

/// libNVVM, opened, and the version that it reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nvvm {
    /// The library file.
    pub library: PathBuf,
    /// The folder that `LD_LIBRARY_PATH` needs.
    pub dir: PathBuf,
    /// The version of the IR that it reads, such as `2.0`.
    pub ir_version: String,
}

impl fmt::Display for Nvcc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.release, self.program.display())
    }
}

impl Cuda {
    /// `12.9`.
    pub fn release(&self) -> String {
        format!("{}.{}", self.version / 1000, self.version % 1000 / 10)
    }
}

/// Finds the toolkit: the first variable whose folder holds `include/cuda.h`,
/// else the default paths.
///
/// # Errors
///
/// None found, with a word on what the variables hold instead; or one that
/// lacks a header or libdevice.
pub fn find(env: &Env) -> Result<Cuda, Trouble> {
    let is_root = |root: &Path| root.join("include/cuda.h").is_file();
    let named = VARIABLES
        .iter()
        .filter_map(|name| Some((*name, env.path_var(name)?)))
        .find(|(_, root)| is_root(root));
    let found = named.or_else(|| {
        DEFAULTS
            .iter()
            .map(|path| ("default path", env.at(path)))
            .find(|(_, root)| is_root(root))
    });
    let Some((from, root)) = found else {
        return Err(no_toolkit(env, is_root));
    };
    let version = cuda_version(&root)?;
    for file in [
        "include/cuda_runtime_api.h",
        "nvvm/include/nvvm.h",
        "nvvm/libdevice/libdevice.10.bc",
    ] {
        if !root.join(file).is_file() {
            return Err(Trouble::new(
                format!("the CUDA toolkit in {} has no {file}", root.display()),
                "install the whole toolkit; distributions and wheels split it, and lay out 13.x otherwise",
            ));
        }
    }
    Ok(Cuda {
        root,
        from,
        version,
    })
}

/// Opens the toolkit's libNVVM and reads its version, as the code
/// generator's first call to it would.
///
/// # Errors
///
/// No library, one that does not load, or one without the name that the
/// dynamic linker looks for.
pub fn nvvm(cuda: &Cuda) -> Result<Nvvm, Trouble> {
    let dir = cuda.root.join("nvvm/lib64");
    let library = dir.join("libnvvm.so");
    if !library.is_file() {
        return Err(Trouble::new(
            format!("no libNVVM: {} does not exist", library.display()),
            "install the toolkit's nvcc package, which brings nvvm/lib64",
        ));
    }
    let ir_version = ir_version(&library).map_err(|why| {
        Trouble::new(
            format!("libNVVM does not load: {why}"),
            "reinstall the toolkit for this machine's architecture",
        )
    })?;
    // A program that is linked with -lnvvm loads it by its SONAME.
    if !dir.join("libnvvm.so.4").exists() {
        return Err(Trouble::new(
            format!(
                "{} has no libnvvm.so.4, the name that programs load",
                dir.display()
            ),
            format!("ln -s libnvvm.so {}", dir.join("libnvvm.so.4").display()),
        ));
    }
    Ok(Nvvm {
        library,
        dir,
        ir_version,
    })
}

/// Finds nvcc, which builds the C++ side of comparisons: in `PATH`, else in
/// the toolkits that `CUDA_PATH` and `CUDA_HOME` name, else in the default one.
///
/// # Errors
///
/// When it is nowhere or does not start.
pub fn nvcc(env: &Env) -> Result<Nvcc, Trouble> {
    let nvcc = tool(env, "nvcc", WHERE_TO_GET)?;
    let text = env.run(&nvcc, &["--version"]).map_err(|why| {
        Trouble::new(
            format!("{} does not work: {why}", nvcc.display()),
            WHERE_TO_GET,
        )
    })?;
    let release = text.lines().find_map(|line| {
        let (_, rest) = line.split_once("release ")?;
        rest.split(',').next()
    });
    Ok(Nvcc {
        release: release.unwrap_or("of an unknown release").to_owned(),
        program: nvcc,
    })
}

/// Finds compute-sanitizer, which watches a run's memory; where [`nvcc`] is looked for.
///
/// # Errors
///
/// When it is nowhere.
pub fn sanitizer(env: &Env) -> Result<PathBuf, Trouble> {
    let remedy = "install the CUDA toolkit's compute-sanitizer; no task needs it";
    tool(env, "compute-sanitizer", remedy)
}

/// A program of the toolkit.
fn tool(env: &Env, name: &str, remedy: &str) -> Result<PathBuf, Trouble> {
    let named = ["CUDA_PATH", "CUDA_HOME"]
        .into_iter()
        .filter_map(|name| env.path_var(name));
    let in_toolkits = || {
        named
            .chain([env.at("/usr/local/cuda")])
            .map(|root| root.join("bin").join(name))
            .find(|program| program.is_file())
    };
    env.which(name).or_else(in_toolkits).ok_or_else(|| {
        Trouble::new(
            format!("no {name} in PATH, CUDA_PATH, CUDA_HOME or /usr/local/cuda"),
            remedy,
        )
    })
}

fn no_toolkit(env: &Env, is_root: impl Fn(&Path) -> bool) -> Trouble {
    if let Some(home) = env.path_var("CUDA_HOME").filter(|home| is_root(home)) {
        return Trouble::new(
            "CUDA_HOME names a CUDA toolkit, but rust-cuda does not read CUDA_HOME",
            format!("export CUDA_PATH={}", home.display()),
        );
    }
    let misled = VARIABLES
        .iter()
        .find_map(|name| Some((name, env.path_var(name)?)));
    if let Some((name, root)) = &misled
        && let Some(headers) = conda_headers(root)
    {
        return Trouble::new(
            format!(
                "{name}={} has the layout of conda: its headers are in {}, and rust-cuda reads \
                 include alone",
                root.display(),
                headers.display()
            ),
            format!(
                "mkdir -p {root}/include && ln -s {}/* {root}/include/",
                headers.display(),
                root = root.display()
            ),
        );
    }
    match misled {
        Some((name, path)) => Trouble::new(
            format!(
                "no CUDA toolkit: {name}={} holds no include/cuda.h",
                path.display()
            ),
            WHERE_TO_GET,
        ),
        None => Trouble::new(
            format!(
                "no CUDA toolkit: {} are not set, nothing in {}",
                VARIABLES.join(", "),
                DEFAULTS.join(", ")
            ),
            WHERE_TO_GET,
        ),
    }
}

/// Where conda's packages put CUDA's headers: `targets/x86_64-linux/include` and the like.
fn conda_headers(root: &Path) -> Option<PathBuf> {
    fs::read_dir(root.join("targets"))
        .ok()?
        .flatten()
        .map(|target| target.path().join("include"))
        .find(|include| include.join("cuda.h").is_file())
}

fn cuda_version(root: &Path) -> Result<u32, Trouble> {
    let header = root.join("include/cuda.h");
    let text = fs::read(&header).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .find_map(|line| {
            line.strip_prefix("#define CUDA_VERSION")?
                .trim()
                .parse()
                .ok()
        })
        .ok_or_else(|| {
            Trouble::new(
                format!("{} does not define CUDA_VERSION", header.display()),
                WHERE_TO_GET,
            )
        })
}

fn ir_version(library: &Path) -> Result<String, String> {
    type NvvmIrVersion =
        unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int;
    // SAFETY: the toolkit's own libNVVM; its initialisers set up LLVM and
    // touch nothing of ours.
    let nvvm = unsafe { libloading::Library::new(library) }.map_err(|e| system_text(&e))?;
    // SAFETY: the prototype is nvvm.h's for nvvmIRVersion.
    let ask =
        unsafe { nvvm.get::<NvvmIrVersion>(b"nvvmIRVersion\0") }.map_err(|e| system_text(&e))?;
    let (mut major, mut minor, mut debug_major, mut debug_minor) = (0, 0, 0, 0);
    // SAFETY: four valid pointers to int, and the library stays loaded for the
    // call.
    let code = unsafe { ask(&mut major, &mut minor, &mut debug_major, &mut debug_minor) };
    match code {
        0 => Ok(format!("{major}.{minor}")),
        code => Err(format!("nvvmIRVersion answers {code}")),
    }
}

/// What the dynamic linker said; libloading keeps it as the source.
fn system_text(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
