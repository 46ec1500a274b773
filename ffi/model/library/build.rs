//! Link arguments of `libcudart_simulated.so` on Linux.
//!
//! Programs that were linked with NVIDIA's libcudart look up its symbols with a version
//! (`libcudart.so.12`). The dynamic linker also accepts symbols without a version, but then
//! prints a warning unless the library defines that version. `versions.map` defines it.
//! Only LLD accepts this file in addition to the version script that rustc passes. A small
//! library is therefore linked first, to find out whether the linker accepts it. On x86-64,
//! rustc uses LLD.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=versions.map");
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    // cuGetProcAddress must return this library's function, even if a preloaded library
    // exports the same name.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    let (Some(root), Some(out)) = (env::var_os("CARGO_MANIFEST_DIR"), env::var_os("OUT_DIR"))
    else {
        return;
    };
    let script = format!(
        "-Wl,--version-script={}",
        Path::new(&root).join("versions.map").display()
    );
    if links(&PathBuf::from(out), &script) {
        println!("cargo:rustc-cdylib-link-arg={script}");
    }
}

/// Whether rustc can link a shared library with this argument, using the settings of cargo.
fn links(out: &Path, argument: &str) -> bool {
    let source = out.join("probe.rs");
    let text = "#[unsafe(no_mangle)] pub extern \"C\" fn probe() {}\n";
    if std::fs::write(&source, text).is_err() {
        return false;
    }
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .arg(out.join("libprobe.so"))
        .arg(&source);
    if let Ok(target) = env::var("TARGET") {
        command.args(["--target", &target]);
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        command.arg("-C").arg(option);
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    command.arg("-C").arg(format!("link-arg={argument}"));
    command.output().is_ok_and(|output| output.status.success())
}
