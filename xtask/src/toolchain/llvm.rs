//! LLVM 7, which rust-cuda's code generator is linked with: libNVVM reads the
//! IR of that release.

use std::path::PathBuf;

use super::Env;
use crate::trouble::Trouble;

const MAJOR: &str = "7.";

/// An LLVM that the code generator's build script accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llvm {
    /// Its `llvm-config`.
    pub config: PathBuf,
    /// Such as `7.1.0`.
    pub version: String,
    /// Whether only `libLLVM-7.so` is there, so that `LLVM_LINK_SHARED` has to
    /// be set.
    pub shared: bool,
}

/// Finds the LLVM that the build script would take: `LLVM_CONFIG`, else
/// `llvm-config` in `PATH`. It must call itself 7.x.
///
/// # Errors
///
/// Nothing found, the wrong release, or one without any libraries.
pub fn find(env: &Env) -> Result<Llvm, Trouble> {
    let remedy = "build LLVM 7.1.0 with the NVPTX target and set LLVM_CONFIG to its llvm-config \
                  (kernels-rs/README.md has the commands)";
    let (config, from) = match env.path_var("LLVM_CONFIG") {
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
        env.run(&config, args)
            .map_err(|why| Trouble::new(format!("{from} does not answer {args:?}: {why}"), remedy))
    };
    let version = ask(&["--version"])?;
    if !version.starts_with(MAJOR) {
        return Err(Trouble::new(
            format!("no LLVM 7: {from} is LLVM {version}"),
            remedy,
        ));
    }
    let components = ask(&["--components"])?;
    if !components.split_whitespace().any(|name| name == "nvptx") {
        return Err(Trouble::new(
            format!("LLVM {version} was built without the NVPTX target"),
            "build it again with -DLLVM_TARGETS_TO_BUILD=\"X86;NVPTX\"",
        ));
    }
    // llvm-config fails where the libraries of the asked kind are not there.
    let shared = match (
        env.run(&config, &["--link-static", "--libs", "nvptx"]),
        env.run(&config, &["--link-shared", "--libs", "nvptx"]),
    ) {
        (Ok(_), Err(_)) => false,
        (Ok(_), Ok(_)) => env.var("LLVM_LINK_SHARED").is_some(),
        (Err(_), Ok(_)) => true,
        (Err(why), Err(_)) => {
            return Err(Trouble::new(
                format!("LLVM {version} has neither static nor shared libraries: {why}"),
                remedy,
            ));
        }
    };
    Ok(Llvm {
        config,
        version,
        shared,
    })
}
