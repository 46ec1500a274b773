//! LLVM 7, which rust-cuda's code generator is linked with: libNVVM reads the
//! IR of that release.

use std::fs;
use std::path::{Path, PathBuf};

use super::Env;
use crate::trouble::Trouble;

const MAJOR: &str = "7.";

/// What the code generator's build script requires of `llvm-config --components` and
/// links with.
const COMPONENTS: [&str; 5] = ["ipo", "bitreader", "bitwriter", "lto", "nvptx"];

/// An LLVM that the code generator's build script accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llvm {
    /// Its `llvm-config`.
    pub config: PathBuf,
    /// Such as `7.1.0`.
    pub version: String,
    /// The folder of `libLLVM-7.so` where the code generator is linked with it: then
    /// `LLVM_LINK_SHARED` must be set, and rustc must find the library when it loads the
    /// code generator.
    pub shared_dir: Option<PathBuf>,
}

/// Finds the LLVM that the build script would take: `LLVM_CONFIG`, else
/// `llvm-config` in `PATH`. It must call itself 7.x and have the components and
/// libraries that the build script needs.
///
/// # Errors
///
/// Nothing found, the wrong release, a component or library that is missing.
pub fn find(env: &Env) -> Result<Llvm, Trouble> {
    let remedy = "build LLVM 7.1.0 with the NVPTX target and set LLVM_CONFIG to its llvm-config \
                  (kernels-rs/README.md has the commands)";
    let (config, from) = match env.path_var("LLVM_CONFIG") {
        Some(config) if config.is_dir() => return Err(is_a_folder(&config)),
        Some(config) => (
            env.which(&config),
            format!("LLVM_CONFIG={}", config.display()),
        ),
        None => (env.which("llvm-config"), "llvm-config in PATH".to_owned()),
    };
    let Some(config) = config else {
        return Err(Trouble::new(
            format!("no LLVM 7: {from} does not exist"),
            remedy,
        ));
    };
    let ask = |args: &[&str]| {
        env.run(&config, args).map_err(|why| {
            Trouble::new(
                format!("{from} fails with {}: {why}", args.join(" ")),
                remedy,
            )
        })
    };
    let version = ask(&["--version"])?;
    if !version.starts_with(MAJOR) {
        return Err(Trouble::new(
            format!("no LLVM 7: {from} is LLVM {version}"),
            remedy,
        ));
    }
    has_components(&version, &ask(&["--components"])?)?;
    // llvm-config fails where the libraries of the requested kind are missing.
    let link = |how| {
        let args: Vec<&str> = [how, "--libs"].into_iter().chain(COMPONENTS).collect();
        env.run(&config, &args)
    };
    let shared = match (link("--link-static"), link("--link-shared")) {
        (Ok(_), Err(_)) => false,
        (Ok(_), Ok(_)) => env.var("LLVM_LINK_SHARED").is_some(),
        (Err(_), Ok(_)) => true,
        (Err(why), Err(_)) => {
            return Err(Trouble::new(
                format!("LLVM {version} is not completely installed: {why}"),
                "build and install the libraries too, not llvm-config alone (kernels-rs/README.md \
                 lists them)",
            ));
        }
    };
    let shared_dir = match shared {
        true => Some(shared_library(Path::new(&ask(&["--libdir"])?), &version)?),
        false => None,
    };
    Ok(Llvm {
        config,
        version,
        shared_dir,
    })
}

/// `LLVM_CONFIG` names a program; a folder is a common mistake (rust-cuda#89).
fn is_a_folder(folder: &Path) -> Trouble {
    let program = [
        folder.join("llvm-config"),
        folder.join("bin/llvm-config"),
        folder.join("llvm-config-7"),
    ]
    .into_iter()
    .find(|program| program.is_file());
    let remedy = match program {
        Some(program) => format!("export LLVM_CONFIG={}", program.display()),
        None => "set LLVM_CONFIG to the program llvm-config of LLVM 7".to_owned(),
    };
    Trouble::new(
        format!(
            "LLVM_CONFIG={} is a folder, not the program llvm-config",
            folder.display()
        ),
        remedy,
    )
}

fn has_components(version: &str, listed: &str) -> Result<(), Trouble> {
    let missing: Vec<&str> = COMPONENTS
        .into_iter()
        .filter(|component| !listed.split_whitespace().any(|name| name == *component))
        .collect();
    match missing[..] {
        [] => Ok(()),
        ["nvptx"] => Err(Trouble::new(
            format!("LLVM {version} was built without the NVPTX target"),
            "build it again with -DLLVM_TARGETS_TO_BUILD=NVPTX",
        )),
        _ => Err(Trouble::new(
            format!("LLVM {version} lacks {}", missing.join(", ")),
            "build and install it again with these libraries (kernels-rs/README.md has the \
             commands)",
        )),
    }
}

/// The folder of `libLLVM-7.so`. rustc loads the code generator at run time, so linking
/// with the library is not enough (rust-cuda#7); `cargo xtask kernel` adds this folder to
/// `LD_LIBRARY_PATH`.
fn shared_library(libdir: &Path, version: &str) -> Result<PathBuf, Trouble> {
    let is_library = |name: &str| name.starts_with("libLLVM-7") && name.contains(".so");
    let found = fs::read_dir(libdir)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| is_library(&entry.file_name().to_string_lossy()));
    if found {
        return Ok(libdir.to_owned());
    }
    Err(Trouble::new(
        format!(
            "LLVM {version} has shared libraries only, and there is no libLLVM-7.so in {}",
            libdir.display()
        ),
        "install LLVM's lib folder too, or build static libraries",
    ))
}
