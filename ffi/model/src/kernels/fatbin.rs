//! The fat binary that nvcc writes into a program: a container of PTX texts and machine
//! code.
//!
//! Its layout is not documented. This code follows the files in `library/tests/data/nvcc`,
//! which nvcc 13.5 wrote.

use std::io::Read as _;

/// The first four bytes of a container.
const MAGIC: u32 = 0xBA55_ED50;
/// The kind of an entry that is PTX.
const PTX: u16 = 1;
/// The flag of an entry whose text is compressed with LZ4.
const LZ4: u64 = 0x2000;
/// The flag of an entry whose text is compressed with Zstandard.
const ZSTD: u64 = 0x8000;
/// The largest size of a text in bytes.
const MOST: u64 = 256 << 20;

/// The length of a container in bytes, from its first 16 bytes; `None` if they are not
/// those of a container.
#[must_use]
pub fn length(head: &[u8; 16]) -> Option<usize> {
    let magic = u32::from_le_bytes(head.first_chunk().copied()?);
    let header = usize::from(u16::from_le_bytes(head.get(6..8)?.try_into().ok()?));
    let size = u64::from_le_bytes(head.get(8..16)?.try_into().ok()?);
    let size = usize::try_from(size).ok()?;
    (magic == MAGIC && header >= head.len())
        .then(|| header.checked_add(size))
        .flatten()
}

/// The PTX texts of a container that can be read. `None` if the bytes are not a container,
/// or if it contains neither text nor machine code.
#[must_use]
pub fn ptx(container: &[u8]) -> Option<Vec<String>> {
    length(container.first_chunk::<16>()?)?;
    let mut machine_code = false;
    let mut at = usize::from(number(container, 6, 2) as u16);
    let mut texts = Vec::new();
    while let Some(entry) = container.get(at..).filter(|entry| entry.len() >= 64) {
        let header = number(entry, 4, 4);
        let padded = number(entry, 8, 8);
        let Some((start, next)) = usize::try_from(header).ok().zip(
            header
                .checked_add(padded)
                .and_then(|length| usize::try_from(length).ok()),
        ) else {
            break;
        };
        if next == 0 {
            break;
        }
        let Some(payload) = entry.get(start..next) else {
            break;
        };
        if number(entry, 0, 2) == u64::from(PTX) {
            texts.extend(text(entry, payload).filter(|text| !text.is_empty()));
        } else if number(entry, 40, 8) & (LZ4 | ZSTD) != 0 || payload.starts_with(b"\x7fELF") {
            machine_code = true;
        }
        let Some(after) = at.checked_add(next) else {
            break;
        };
        at = after;
    }
    (machine_code || !texts.is_empty()).then_some(texts)
}

/// The text of one PTX entry.
fn text(entry: &[u8], payload: &[u8]) -> Option<String> {
    let flags = number(entry, 40, 8);
    let bytes = if flags & (LZ4 | ZSTD) == 0 {
        payload.to_vec()
    } else {
        let compressed = usize::try_from(number(entry, 16, 4)).ok()?;
        let whole = number(entry, 56, 8);
        let payload = payload.get(..compressed)?;
        if whole > MOST {
            return None;
        }
        if flags & ZSTD == 0 {
            lz4_flex::block::decompress(payload, usize::try_from(whole).ok()?).ok()?
        } else {
            let mut bytes = Vec::new();
            let decoder = ruzstd::decoding::StreamingDecoder::new(payload).ok()?;
            decoder.take(MOST).read_to_end(&mut bytes).ok()?;
            bytes
        }
    };
    let end = bytes.iter().position(|&byte| byte == 0);
    let bytes = bytes.get(..end.unwrap_or(bytes.len()))?;
    String::from_utf8(bytes.to_vec()).ok()
}

/// A little-endian number of up to 8 bytes. Bytes outside of the slice are read as 0.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let field = bytes.get(at..at.saturating_add(length)).unwrap_or_default();
    let bits = field.iter().rev();
    bits.fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 6.5\n.target sm_50\n.address_size 64\n";

    fn container(payload: &[u8], flags: u64, whole: u64) -> Vec<u8> {
        let mut padded = payload.to_vec();
        padded.resize(payload.len().next_multiple_of(8), 0);
        let mut entry = vec![0; 80];
        entry[..2].copy_from_slice(&PTX.to_le_bytes());
        entry[4..8].copy_from_slice(&80_u32.to_le_bytes());
        entry[8..16].copy_from_slice(&(padded.len() as u64).to_le_bytes());
        entry[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        entry[40..48].copy_from_slice(&flags.to_le_bytes());
        entry[56..64].copy_from_slice(&whole.to_le_bytes());
        let mut all = Vec::new();
        all.extend(MAGIC.to_le_bytes());
        all.extend([1, 0, 16, 0]);
        all.extend(((entry.len() + padded.len()) as u64).to_le_bytes());
        all.extend(entry);
        all.extend(padded);
        all
    }

    #[test]
    fn a_text_is_found_plain_and_compressed_with_lz4() {
        let plain = [TEXT.as_bytes(), &[0]].concat();
        assert_eq!(
            ptx(&container(&plain, 0x11, 0)),
            Some(vec![TEXT.to_owned()])
        );
        let packed = lz4_flex::block::compress(&plain);
        let whole = plain.len() as u64;
        assert_eq!(
            ptx(&container(&packed, 0x11 | LZ4, whole)),
            Some(vec![TEXT.to_owned()])
        );
    }

    #[test]
    fn damaged_containers_have_no_text_and_no_byte_outside_is_read() {
        let good = container(TEXT.as_bytes(), 0x11, 0);
        for cut in 0..good.len() {
            assert!(ptx(&good[..cut]).unwrap_or_default().len() <= 1, "{cut}");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            assert!(ptx(&bad).unwrap_or_default().len() <= 2, "{at}");
        }
        assert_eq!(ptx(&container(&[1, 2, 3], 0x11 | ZSTD, 1 << 40)), None);
        assert_eq!(length(&[0; 16]), None);
    }
}
