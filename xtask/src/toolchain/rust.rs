//! Rust toolchains: which are installed, and what they bring.

use std::fs;
use std::path::{Path, PathBuf};

use super::Env;
use crate::trouble::Trouble;

/// rustc's name for NVIDIA GPUs.
pub const GPU_TARGET: &str = "nvptx64-nvidia-cuda";

/// One installed toolchain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// The channel that was requested, such as `1.95.0`.
    pub channel: String,
    /// The folder that holds `bin` and `lib`.
    pub sysroot: PathBuf,
}

/// What `rustc --version --verbose` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RustcVersion {
    /// The first line: `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub line: String,
    /// The release's minor number: 95.
    pub minor: u32,
    /// The LLVM inside, such as `22.1.2`.
    pub llvm: String,
}

impl Toolchain {
    /// The compiler itself, not rustup's proxy: no other toolchain file or
    /// override can come between.
    pub fn rustc(&self) -> PathBuf {
        self.sysroot.join("bin/rustc")
    }

    /// The folder to put first in `PATH` so that `cargo` and `rustc` are this
    /// toolchain's.
    pub fn bin(&self) -> PathBuf {
        self.sysroot.join("bin")
    }

    /// Whether rustup's prebuilt `core` for the GPU is there.
    pub fn has_gpu_core(&self) -> bool {
        let lib = self
            .sysroot
            .join("lib/rustlib")
            .join(GPU_TARGET)
            .join("lib");
        any_name(&lib, |name| name.starts_with("libcore-"))
    }

    /// Reads the compiler's version.
    ///
    /// # Errors
    ///
    /// When it does not start, as with a toolchain for another machine.
    pub fn version(&self, env: &Env) -> Result<RustcVersion, Trouble> {
        let broken = |why: String| {
            Trouble::new(
                format!(
                    "the rustc of toolchain {} does not work: {why}",
                    self.channel
                ),
                format!("rustup toolchain install --force {}", self.channel),
            )
        };
        let text = env
            .run(&self.rustc(), &["--version", "--verbose"])
            .map_err(broken)?;
        parse_version(&text)
            .ok_or_else(|| broken(format!("its version is {:?}", text.lines().next())))
    }

    /// Checks that a rustup component is there, by the files that rust-cuda
    /// reads from it.
    ///
    /// # Errors
    ///
    /// Names the component and the command that adds it.
    pub fn needs(&self, component: &str) -> Result<(), Trouble> {
        let rustlib = self.sysroot.join("lib/rustlib");
        let host_folder = |folder: &str, test: fn(&str) -> bool| {
            any_name(&rustlib, |host| {
                any_name(&rustlib.join(host).join(folder), test)
            })
        };
        let there = match component {
            // -Zbuild-std reads the sources and their lock file.
            "rust-src" => {
                let library = rustlib.join("src/rust/library");
                library.join("core/src/lib.rs").is_file() && library.join("Cargo.lock").is_file()
            }
            // The compiler's own crates, which the code generator links.
            "rustc-dev" => host_folder("lib", |name| name.starts_with("librustc_driver")),
            "llvm-tools" => host_folder("bin", |name| name.starts_with("llvm-")),
            _ => false,
        };
        if there {
            return Ok(());
        }
        let channel = &self.channel;
        Err(Trouble::new(
            format!("toolchain {channel} lacks the component {component}"),
            format!("rustup component add --toolchain {channel} {component}"),
        ))
    }
}

/// Finds the toolchain that rustup installed for `channel`.
///
/// # Errors
///
/// Says that it is not installed, with the command that installs it.
pub fn find(env: &Env, channel: &str) -> Result<Toolchain, Trouble> {
    let home = env
        .path_var("RUSTUP_HOME")
        .or_else(|| Some(env.path_var("HOME")?.join(".rustup")));
    let installed = home.and_then(|home| {
        let toolchains = home.join("toolchains");
        let dated = format!("{channel}-");
        fs::read_dir(&toolchains)
            .ok()?
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            // `nightly` must not take `nightly-2026-04-02-x86_64-…`.
            .filter(|name| {
                name == channel
                    || name
                        .strip_prefix(&dated)
                        .is_some_and(|rest| !rest.starts_with(|first: char| first.is_ascii_digit()))
            })
            .map(|name| toolchains.join(name))
            .find(|sysroot| sysroot.join("bin/rustc").is_file())
    });
    installed
        .map(|sysroot| Toolchain {
            channel: channel.to_owned(),
            sysroot,
        })
        .ok_or_else(|| {
            Trouble::new(
                format!("the toolchain {channel} is not installed"),
                format!("rustup toolchain install --profile minimal {channel}"),
            )
        })
}

/// Finds the workspace's own compiler: rustup's for `channel`, else the one
/// beside the cargo that runs us, else the one in `PATH`.
///
/// # Errors
///
/// When there is no rustc at all.
pub fn workspace(env: &Env, channel: &str) -> Result<Toolchain, Trouble> {
    find(env, channel).or_else(|not_installed| {
        let beside_cargo = env
            .path_var("CARGO")
            .map(|cargo| cargo.with_file_name("rustc"))
            .filter(|rustc| rustc.is_file());
        let rustc = beside_cargo.or_else(|| env.which("rustc"));
        let sysroot = rustc.and_then(|rustc| env.run(&rustc, &["--print", "sysroot"]).ok());
        match sysroot {
            Some(sysroot) => Ok(Toolchain {
                channel: channel.to_owned(),
                sysroot: PathBuf::from(sysroot),
            }),
            None => Err(not_installed),
        }
    })
}

/// The channel that a `rust-toolchain.toml` pins.
///
/// # Errors
///
/// When the file is missing or names no channel.
pub fn pinned_channel(file: &Path) -> Result<String, Trouble> {
    let text = fs::read_to_string(file).map_err(|error| {
        Trouble::new(
            format!("cannot read {}: {error}", file.display()),
            "restore the file with git checkout",
        )
    })?;
    text.lines()
        .filter_map(|line| line.split_once('='))
        .find(|(key, _)| key.trim() == "channel")
        .map(|(_, value)| value.trim().trim_matches('"').to_owned())
        .ok_or_else(|| {
            Trouble::new(
                format!("{} names no channel", file.display()),
                "add the line channel = \"…\" below [toolchain]",
            )
        })
}

fn parse_version(text: &str) -> Option<RustcVersion> {
    let line = text.lines().next()?.to_owned();
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    Some(RustcVersion {
        minor: field("release")?.split('.').nth(1)?.parse().ok()?,
        llvm: field("LLVM version")?.to_owned(),
        line,
    })
}

fn any_name(dir: &Path, test: impl Fn(&str) -> bool) -> bool {
    fs::read_dir(dir).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_str().is_some_and(&test))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_takes_its_own_toolchain_and_no_dated_one() {
        let root = tempfile::tempdir().unwrap();
        let mut env = Env::made_up(root.path());
        env.set("RUSTUP_HOME", root.path().join("rustup"));
        let add = |name: &str| {
            let bin = root.path().join("rustup/toolchains").join(name).join("bin");
            fs::create_dir_all(&bin).unwrap();
            fs::write(bin.join("rustc"), "").unwrap();
        };
        add("nightly-2026-04-02-x86_64-unknown-linux-gnu");
        assert!(find(&env, "nightly").is_err());
        assert!(find(&env, "nightly-2026-04-0").is_err());
        assert!(find(&env, "nightly-2026-04-02").is_ok());
        add("nightly-x86_64-unknown-linux-gnu");
        let found = find(&env, "nightly").unwrap();
        assert!(found.sysroot.ends_with("nightly-x86_64-unknown-linux-gnu"));
    }

    #[test]
    fn the_version_is_read_off_rustc_s_own_words() {
        let text = "rustc 1.96.0-nightly (abc 2026-04-01)\nbinary: rustc\n\
                    release: 1.96.0-nightly\nLLVM version: 22.1.2";
        let version = parse_version(text).unwrap();
        assert_eq!((version.minor, version.llvm.as_str()), (96, "22.1.2"));
        assert_eq!(parse_version("gcc 12"), None);
    }

    #[test]
    fn the_channel_is_read_off_the_toolchain_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("rust-toolchain.toml");
        fs::write(
            &file,
            "[toolchain]\n# why\nchannel = \"nightly-2026-04-02\"\n",
        )
        .unwrap();
        assert_eq!(pinned_channel(&file).unwrap(), "nightly-2026-04-02");
        fs::write(&file, "[toolchain]\n").unwrap();
        assert!(pinned_channel(&file).is_err());
    }
}
