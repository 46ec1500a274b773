//! `printf` in kernels: the format of C, with arguments that the compiler has packed.

/// The largest length of the text of one call, and of a string that it reads.
const MOST: usize = 1 << 16;

/// The parts of a conversion.
#[derive(Debug, Default, Clone, Copy)]
struct Spec {
    left: bool,
    sign: bool,
    space: bool,
    other_form: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
}

/// The text of a call of `vprintf`, and the call's result: the number of arguments, or -1
/// without a format. `load` reads a number of a given length at an address.
pub(super) fn write(
    format: u64,
    arguments: u64,
    load: &mut dyn FnMut(u64, usize) -> u64,
) -> (Vec<u8>, u64) {
    if format == 0 {
        return (Vec::new(), u64::MAX);
    }
    let format = string(format, load);
    let mut at = arguments;
    let mut count = 0;
    // Each argument is at a multiple of its size.
    let mut next = |bytes: usize, load: &mut dyn FnMut(u64, usize) -> u64| {
        at = at.next_multiple_of(bytes as u64);
        let value = load(at, bytes);
        at += bytes as u64;
        count += 1;
        value
    };
    let mut text = Vec::new();
    let mut rest = format.as_slice();
    while let Some((&byte, after)) = rest.split_first() {
        if text.len() > MOST {
            break;
        }
        rest = after;
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        let mut spec = Spec::default();
        let mut at = 0;
        while let Some(flag) = rest.get(at) {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.sign = true,
                b' ' => spec.space = true,
                b'#' => spec.other_form = true,
                b'0' => spec.zeros = true,
                _ => break,
            }
            at += 1;
        }
        let mut number = |at: &mut usize, load: &mut dyn FnMut(u64, usize) -> u64| {
            if rest.get(*at) == Some(&b'*') {
                *at += 1;
                return i64::from(next(4, load) as i32);
            }
            let mut value = 0_i64;
            while let Some(digit @ b'0'..=b'9') = rest.get(*at) {
                value = (value * 10 + i64::from(digit - b'0')).min(MOST as i64);
                *at += 1;
            }
            value
        };
        let width = number(&mut at, load);
        spec.left |= width < 0;
        spec.width = width.unsigned_abs().min(MOST as u64) as usize;
        if rest.get(at) == Some(&b'.') {
            at += 1;
            if rest.get(at) == Some(&b'*') {
                // A GPU writes such a conversion unchanged, and reads no
                // argument for it.
                text.push(b'%');
                continue;
            }
            let precision = number(&mut at, load);
            spec.precision = usize::try_from(precision).ok().map(|p| p.min(MOST));
        }
        let sizes = at;
        while let Some(b'h' | b'l' | b'z' | b'j' | b't' | b'L' | b'q') = rest.get(at) {
            at += 1;
        }
        let size = rest.get(sizes..at).unwrap_or_default();
        let Some(&conversion) = rest.get(at) else {
            break;
        };
        rest = rest.get(at + 1..).unwrap_or_default();
        // `hh` and `h` are promoted to an int, and truncated when they are written.
        let bytes = if size.iter().any(|size| b"lzjtq".contains(size)) {
            8
        } else {
            4
        };
        let bits = match size {
            b"hh" => 8,
            b"h" => 16,
            _ => bytes as u32 * 8,
        };
        let piece = match conversion {
            b'%' => b"%".to_vec(),
            b'd' | b'i' => {
                let unused = 64 - bits;
                let value = (next(bytes, load) << unused) as i64 >> unused;
                integer(spec, value.unsigned_abs(), value < 0, true, 10, false)
            }
            b'u' | b'o' | b'x' | b'X' => {
                let value = next(bytes, load) << (64 - bits) >> (64 - bits);
                let radix = match conversion {
                    b'u' => 10,
                    b'o' => 8,
                    _ => 16,
                };
                integer(spec, value, false, false, radix, conversion == b'X')
            }
            b'c' => pad(spec, Vec::new(), vec![next(4, load) as u8], false),
            b's' => {
                let address = next(8, load);
                let mut found = if address == 0 {
                    b"(null)".to_vec()
                } else {
                    string(address, load)
                };
                found.truncate(spec.precision.unwrap_or(usize::MAX));
                pad(spec, Vec::new(), found, false)
            }
            b'p' => {
                let digits = format!("{:x}", next(8, load)).into_bytes();
                pad(spec, b"0x".to_vec(), digits, false)
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                float(spec, f64::from_bits(next(8, load)), conversion)
            }
            other => vec![b'%', other],
        };
        text.extend(piece);
    }
    (text, count)
}

fn string(address: u64, load: &mut dyn FnMut(u64, usize) -> u64) -> Vec<u8> {
    (0..MOST as u64)
        .map(|at| load(address.wrapping_add(at), 1) as u8)
        .take_while(|&byte| byte != 0)
        .collect()
}

/// Pads to the width: with zeros after the sign, or with spaces before or after the number.
fn pad(spec: Spec, sign: Vec<u8>, digits: Vec<u8>, zeros: bool) -> Vec<u8> {
    let missing = spec.width.saturating_sub(sign.len() + digits.len());
    let fill = |byte: u8| vec![byte; missing];
    if spec.left {
        [sign, digits, fill(b' ')].concat()
    } else if zeros {
        [sign, fill(b'0'), digits].concat()
    } else {
        [fill(b' '), sign, digits].concat()
    }
}

fn sign_of(spec: Spec, negative: bool, signed: bool) -> Vec<u8> {
    match (negative, signed) {
        (true, _) => vec![b'-'],
        (false, true) if spec.sign => vec![b'+'],
        (false, true) if spec.space => vec![b' '],
        _ => Vec::new(),
    }
}

fn integer(
    spec: Spec,
    value: u64,
    negative: bool,
    signed: bool,
    radix: u32,
    upper: bool,
) -> Vec<u8> {
    let mut sign = sign_of(spec, negative, signed);
    let mut digits = match (radix, upper) {
        (8, _) => format!("{value:o}"),
        (16, false) => format!("{value:x}"),
        (16, true) => format!("{value:X}"),
        _ => value.to_string(),
    };
    if value == 0 && spec.precision == Some(0) {
        digits.clear();
    }
    let least = spec.precision.unwrap_or(0);
    digits.insert_str(0, &"0".repeat(least.saturating_sub(digits.len())));
    if spec.other_form && radix == 8 && !digits.starts_with('0') {
        digits.insert(0, '0');
    }
    if spec.other_form && radix == 16 && value != 0 {
        sign.extend(if upper { b"0X" } else { b"0x" });
    }
    let zeros = spec.zeros && spec.precision.is_none();
    pad(spec, sign, digits.into_bytes(), zeros)
}

fn float(spec: Spec, value: f64, conversion: u8) -> Vec<u8> {
    let upper = conversion.is_ascii_uppercase();
    let sign = sign_of(spec, value.is_sign_negative(), true);
    let size = value.abs();
    let cased = |text: String| if upper { text.to_uppercase() } else { text }.into_bytes();
    if !size.is_finite() {
        let name = if size.is_nan() { "nan" } else { "inf" };
        return pad(spec, sign, cased(name.to_owned()), false);
    }
    let precision = spec.precision.unwrap_or(6);
    let digits = match conversion.to_ascii_lowercase() {
        b'f' => {
            let point = if spec.other_form && precision == 0 {
                "."
            } else {
                ""
            };
            format!("{size:.precision$}{point}")
        }
        b'e' => scientific(spec, size, precision),
        b'g' => shortest(spec, size, precision.max(1)),
        _ => return hexadecimal(spec, sign, size, upper),
    };
    pad(spec, sign, cased(digits), spec.zeros)
}

/// `1.25e+03`.
fn scientific(spec: Spec, size: f64, precision: usize) -> String {
    let text = format!("{size:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    let point = if spec.other_form && precision == 0 {
        "."
    } else {
        ""
    };
    format!("{digits}{point}e{sign}{:02}", exponent.unsigned_abs())
}

/// `%g`: like `%e` or `%f`, without trailing zeros.
fn shortest(spec: Spec, size: f64, precision: usize) -> String {
    let text = format!("{size:.*e}", precision - 1);
    let exponent: i64 = text
        .split_once('e')
        .and_then(|(_, e)| e.parse().ok())
        .unwrap_or(0);
    let is_small = exponent < -4 || exponent >= precision as i64;
    let text = if is_small {
        scientific(spec, size, precision - 1)
    } else {
        let digits = usize::try_from(precision as i64 - 1 - exponent).unwrap_or(0);
        format!("{size:.digits$}")
    };
    if spec.other_form {
        return text;
    }
    let (digits, exponent) = match text.split_once('e') {
        Some((digits, exponent)) => (digits, format!("e{exponent}")),
        None => (text.as_str(), String::new()),
    };
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    format!("{digits}{exponent}")
}

/// `0x1.8p+0`.
fn hexadecimal(spec: Spec, sign: Vec<u8>, size: f64, upper: bool) -> Vec<u8> {
    let bits = size.to_bits();
    let (mut exponent, mut fraction) = ((bits >> 52) as i64 - 1023, bits & ((1 << 52) - 1));
    let mut lead = 1;
    if bits >> 52 == 0 {
        (lead, exponent) = (0, if fraction == 0 { 0 } else { -1022 });
    }
    if let Some(precision) = spec.precision.filter(|&precision| precision < 13) {
        // Rounded to nearest, ties to even.
        let dropped = 4 * (13 - precision) as u32;
        let whole = (lead << 52) | fraction;
        let (kept, lost) = (whole >> dropped, whole & ((1 << dropped) - 1));
        let half = 1 << (dropped - 1);
        let up = lost > half || lost == half && kept & 1 == 1;
        let rounded = (kept + u64::from(up)) << dropped;
        (lead, fraction) = (rounded >> 52, rounded & ((1 << 52) - 1));
    }
    let mut digits = format!("{fraction:013x}");
    match spec.precision {
        Some(precision) if precision <= 13 => digits.truncate(precision),
        Some(precision) => digits.push_str(&"0".repeat(precision - 13)),
        None => digits.truncate(digits.trim_end_matches('0').len()),
    }
    let point = if digits.is_empty() && !spec.other_form {
        ""
    } else {
        "."
    };
    let direction = if exponent < 0 { '-' } else { '+' };
    let text = format!(
        "{lead}{point}{digits}p{direction}{}",
        exponent.unsigned_abs()
    );
    let (prefix, text) = if upper {
        ("0X", text.to_uppercase())
    } else {
        ("0x", text)
    };
    let sign = [sign, prefix.as_bytes().to_vec()].concat();
    pad(spec, sign, text.into_bytes(), spec.zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory with a format at 1000, strings at 5000 and arguments at 9000.
    fn written(format: &str, arguments: &[(usize, u64)]) -> (String, u64) {
        let mut memory = vec![0_u8; 10_000];
        memory[1000..1000 + format.len()].copy_from_slice(format.as_bytes());
        memory[5000..5003].copy_from_slice(b"abc");
        let mut at = 9000_usize;
        for &(bytes, value) in arguments {
            at = at.next_multiple_of(bytes);
            memory[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            at += bytes;
        }
        let (text, count) = write(1000, 9000, &mut |address, bytes| {
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(&memory[address as usize..][..bytes]);
            u64::from_le_bytes(value)
        });
        (String::from_utf8(text).expect("text"), count)
    }

    /// Each expected line was written by glibc's printf, except the last one, which an
    /// H200 wrote.
    #[test]
    fn conversions_write_the_same_text_as_c() {
        let double = |value: f64| (8, value.to_bits());
        let minus = (4, u64::from((-7_i32).cast_unsigned()));
        for (format, argument, expected) in [
            ("%d", minus, "-7"),
            ("%05d|", minus, "-0007|"),
            ("%-5d|", minus, "-7   |"),
            ("%+.3d", (4, 7), "+007"),
            ("%x", minus, "fffffff9"),
            ("%#010x", (4, 255), "0x000000ff"),
            ("%#o", (4, 8), "010"),
            ("%hhd", (4, 300), "44"),
            ("%lld", (8, u64::MAX), "-1"),
            ("%5s|", (8, 5000), "  abc|"),
            ("%.1s", (8, 5000), "a"),
            ("%c", (4, 65), "A"),
            ("%g", double(1e-5), "1e-05"),
            ("%g", double(100_000.0), "100000"),
            ("%g", double(1_234_567.0), "1.23457e+06"),
            ("%#g", double(2.0), "2.00000"),
            ("%e", double(0.0), "0.000000e+00"),
            ("%.0f", double(2.5), "2"),
            ("%08.2f", double(-1.5), "-0001.50"),
            ("%5.1f|", double(f64::NEG_INFINITY), " -inf|"),
            ("%a", double(1.5), "0x1.8p+0"),
            ("%.1a", double(1.99), "0x2.0p+0"),
            ("%d%%", (4, 50), "50%"),
        ] {
            assert_eq!(
                written(format, &[argument]),
                (expected.to_owned(), 1),
                "{format}"
            );
        }
        assert_eq!(
            written("%*d|%.*f", &[(4, 4), (4, 1), (4, 2), double(0.5)]),
            ("   1|%.*f".to_owned(), 2)
        );
    }
}
