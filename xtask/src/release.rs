//! The program in release, with the libraries that lie beside it.

use std::path::{Path, PathBuf};

use crate::host::{PACKAGE, WATCH_LIBRARY, WATCH_PACKAGE, binary, build};

/// The package of the simulated runtime as a library.
const SIMULATED_PACKAGE: &str = "cudart-simulated";

/// The libraries that lie beside the program: the simulated runtime, and the watch library
/// where there is one.
pub fn libraries() -> Vec<String> {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let model = format!("{DLL_PREFIX}cudart_simulated{DLL_SUFFIX}");
    let watch = WATCH_LIBRARY.map(str::to_owned);
    [Some(model), watch].into_iter().flatten().collect()
}

/// The binary: the one that is named, else one built now, in release, with its libraries
/// beside it.
///
/// # Errors
///
/// When it cannot be built.
pub fn program(named: Option<&Path>, root: &Path) -> anyhow::Result<PathBuf> {
    if let Some(program) = named {
        return Ok(program.to_owned());
    }
    let mut packages = vec![PACKAGE, SIMULATED_PACKAGE];
    packages.extend(WATCH_LIBRARY.map(|_| WATCH_PACKAGE));
    build(root, "release", &packages)?;
    Ok(binary(root, "release"))
}
