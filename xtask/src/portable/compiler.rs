//! A Rust compiler that can build for another target.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A cargo with its rustc.
#[derive(Debug, Clone)]
pub struct Compiler {
    cargo: PathBuf,
    rustc: PathBuf,
    /// Whether the standard library is built from its source.
    from_source: bool,
}

impl Compiler {
    /// The first that can build for the target: this cargo's own, then the system's. One
    /// that has the target's standard library comes before one that would have to build
    /// it.
    pub fn for_target(target: &str) -> Option<Self> {
        Self::with_library(target).or_else(|| {
            let found = candidates()
                .into_iter()
                .find(|(_, rustc)| has_source(rustc));
            found.map(|(cargo, rustc)| Self {
                cargo,
                rustc,
                from_source: true,
            })
        })
    }

    /// The first that has the target's standard library.
    pub fn with_library(target: &str) -> Option<Self> {
        let found = candidates()
            .into_iter()
            .find(|(_, rustc)| has_library(rustc, target));
        found.map(|(cargo, rustc)| Self {
            cargo,
            rustc,
            from_source: false,
        })
    }

    /// The cargo.
    pub fn cargo_path(&self) -> &Path {
        &self.cargo
    }

    /// Its rustc.
    pub fn rustc_path(&self) -> &Path {
        &self.rustc
    }

    /// A cargo command that uses this compiler.
    pub fn cargo(&self, root: &Path) -> Command {
        let mut cargo = Command::new(&self.cargo);
        cargo.current_dir(root).env("RUSTC", &self.rustc);
        for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTUP_TOOLCHAIN"] {
            cargo.env_remove(variable);
        }
        if self.from_source {
            // A compiler that is no nightly takes -Z options with this variable.
            cargo
                .env("RUSTC_BOOTSTRAP", "1")
                .arg("-Zbuild-std=std,panic_unwind");
        }
        cargo
    }
}

/// This cargo with its rustc, then the system's.
fn candidates() -> [(PathBuf, PathBuf); 2] {
    let own = |variable: &str, name: &str| {
        PathBuf::from(env::var_os(variable).unwrap_or_else(|| OsString::from(name)))
    };
    [
        (own("CARGO", "cargo"), own("RUSTC", "rustc")),
        ("/usr/bin/cargo".into(), "/usr/bin/rustc".into()),
    ]
}

/// Where rustc has the standard library of a target.
fn has_library(rustc: &Path, target: &str) -> bool {
    let folder = printed(rustc, &["--print", "target-libdir", "--target", target]);
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
    entries.is_some_and(|mut entries| {
        entries.any(|entry| {
            entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().starts_with(b"libstd-"))
        })
    })
}

fn has_source(rustc: &Path) -> bool {
    printed(rustc, &["--print", "sysroot"])
        .is_some_and(|root| root.join("lib/rustlib/src/rust/library/std").is_dir())
}

fn printed(rustc: &Path, arguments: &[&str]) -> Option<PathBuf> {
    let output = Command::new(rustc).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(text.trim()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_standard_library_of_a_target_is_found_where_rustc_has_it() {
        let rustc = PathBuf::from(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        let version = Command::new(&rustc).arg("-vV").output().unwrap();
        let text = String::from_utf8(version.stdout).unwrap();
        let host = text.lines().find_map(|line| line.strip_prefix("host: "));
        assert!(has_library(&rustc, host.unwrap()));
        assert!(!has_library(&rustc, "msp430-none-elf"));
        assert!(!has_library(Path::new("/nonexistent/rustc"), host.unwrap()));
    }
}
