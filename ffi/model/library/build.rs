//! Link arguments of `libcudart_simulated.so` on Linux.
//!
//! Programs that were linked with NVIDIA's libcudart ask for its symbols by version
//! (`libcudart.so.12`). The dynamic loader accepts symbols without a version for that, but
//! warns unless the library defines the version, which `versions.map` makes it do. Only
//! LLD takes it beside the script that rustc passes, so a small library is linked first to
//! see whether the linker at hand does; LLD is what rustc uses on x86-64.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=versions.map");
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    // What cuGetProcAddress gives is this library's function, even where a preloaded one
    // has the same name.
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

/// Whether rustc links a shared library with an argument, as cargo would have it do it.
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
