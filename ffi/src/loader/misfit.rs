//! Finds out from a file itself why it cannot be loaded as a library.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// `EI_CLASS` of this program: 1 for 32 bits, 2 for 64.
const OWN_CLASS: u8 = if cfg!(target_pointer_width = "64") {
    2
} else {
    1
};

/// The `e_machine` numbers of the architectures that CUDA supports or supported.
const MACHINES: &[(u16, &str)] = &[
    (3, "x86"),
    (21, "powerpc64"),
    (40, "arm"),
    (62, "x86_64"),
    (183, "aarch64"),
    (243, "riscv64"),
];

/// The reason, such as `it is a directory`; `None` if nothing is wrong with the file
/// itself.
pub(super) fn of(path: &Path) -> Option<String> {
    let Ok(metadata) = path.metadata() else {
        let target = path.read_link().ok()?;
        return Some(format!(
            "it is a link to {}, which does not exist",
            target.display()
        ));
    };
    if metadata.is_dir() {
        return Some("it is a directory".to_owned());
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut head));
    match read {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return Some("this user has no permission to read it".to_owned());
        }
        Err(error) => return Some(format!("it cannot be read: {error}")),
        Ok(_) => {}
    }
    if cfg!(target_os = "linux") {
        of_elf(&head)
    } else {
        None
    }
}

/// What is wrong with a file for this process, judged by its first bytes; `None` for an ELF
/// library that fits.
fn of_elf(head: &[u8]) -> Option<String> {
    if head.is_empty() {
        return Some("it is empty".to_owned());
    }
    if head.starts_with(b"!<arch>\n") {
        return Some(
            "it is a static library; name the shared library, libcudart.so or libcudart.so.13"
                .to_owned(),
        );
    }
    if !head.starts_with(b"\x7fELF") {
        let text = head
            .iter()
            .all(|&byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        return Some(if text {
            "it is a text file, not a library".to_owned()
        } else {
            "it is not an ELF library".to_owned()
        });
    }
    match head.get(4) {
        Some(&class) if class == OWN_CLASS => {}
        Some(1) => return Some("it is a 32-bit library, and this program is 64-bit".to_owned()),
        Some(2) => return Some("it is a 64-bit library, and this program is 32-bit".to_owned()),
        _ => return Some("it is a damaged ELF library".to_owned()),
    }
    // The machine is stored in the byte order of the file. A file with the other byte
    // order therefore shows as a library for another machine.
    let machine = u16::from_le_bytes([*head.get(18)?, *head.get(19)?]);
    let name = MACHINES.iter().find(|(number, _)| *number == machine);
    match name {
        Some((_, name)) if *name == std::env::consts::ARCH => None,
        Some((_, name)) => Some(format!(
            "it is a library for {name}, and this program is for {}",
            std::env::consts::ARCH
        )),
        None if MACHINES.iter().any(|(_, n)| *n == std::env::consts::ARCH) => Some(format!(
            "it is a library for another architecture (ELF machine {machine})"
        )),
        None => None,
    }
}
