//! What a library exports, read from its file: it is not run, and may be of
//! another architecture.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context;
use object::elf::{DT_SONAME, FileHeader64};
use object::read::elf::{Dyn as _, ElfFile, FileHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _};

/// A library's exported functions and its soname.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// The names of the symbols that it defines for others.
    pub exports: BTreeSet<String>,
    /// The name that programs linked with it look for.
    pub soname: Option<String>,
}

impl Library {
    /// Reads an ELF library of 64 bits.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is no such library.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let data = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let no_library = || format!("{} is not an ELF library", path.display());
        let file: ElfFile<'_, FileHeader64<Endianness>> =
            ElfFile::parse(data.as_slice()).with_context(no_library)?;
        let exports = file
            .dynamic_symbols()
            .filter(|symbol| symbol.is_definition() && symbol.is_global())
            .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
            .collect();
        Ok(Self {
            exports,
            soname: soname(&data).with_context(no_library)?,
        })
    }
}

fn soname(data: &[u8]) -> object::Result<Option<String>> {
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let Some((entries, link)) = sections.dynamic(endian, data)? else {
        return Ok(None);
    };
    let strings = sections.strings(endian, data, link)?;
    for entry in entries {
        if entry.tag(endian) == DT_SONAME {
            let name = entry.string(endian, strings)?;
            return Ok(Some(String::from_utf8_lossy(name).into_owned()));
        }
    }
    Ok(None)
}
