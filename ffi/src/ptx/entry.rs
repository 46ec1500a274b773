//! The kernels of a PTX text: their names, their parameters, and their code.

use core::fmt;

use super::PtxError;
use super::lexer::{Token, tokens};

/// A kernel that a PTX text defines: `.entry name(parameters) { body }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its parameters in order. A launch reads one argument for each.
    pub parameters: Vec<Parameter>,
    /// Its code with the braces around it, without comments.
    pub body: String,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The type of the value, or of each element of an array.
    pub scalar: Scalar,
    /// The number of elements of an array (compilers pass a struct as an array); `None`
    /// for a single value.
    pub elements: Option<usize>,
    /// The alignment in bytes, if the PTX states it.
    pub align: Option<usize>,
}

/// The type of a parameter, such as `.u64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `.b8` to `.b128`: this many bits of any kind.
    Bits(u32),
    /// `.u8` to `.u64`.
    Unsigned(u32),
    /// `.s8` to `.s64`.
    Signed(u32),
    /// `.f16` to `.f64`; `.f16x2` counts as 32 bits.
    Float(u32),
}

impl Scalar {
    /// Its size in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        let (Self::Bits(bits) | Self::Unsigned(bits) | Self::Signed(bits) | Self::Float(bits)) =
            self;
        bits as usize / 8
    }

    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            ".b8" => Self::Bits(8),
            ".b16" => Self::Bits(16),
            ".b32" => Self::Bits(32),
            ".b64" => Self::Bits(64),
            ".b128" => Self::Bits(128),
            ".u8" => Self::Unsigned(8),
            ".u16" => Self::Unsigned(16),
            ".u32" => Self::Unsigned(32),
            ".u64" => Self::Unsigned(64),
            ".s8" => Self::Signed(8),
            ".s16" => Self::Signed(16),
            ".s32" => Self::Signed(32),
            ".s64" => Self::Signed(64),
            ".f16" => Self::Float(16),
            ".f32" | ".f16x2" => Self::Float(32),
            ".f64" => Self::Float(64),
            _ => return None,
        })
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bits(bits) => write!(f, ".b{bits}"),
            Self::Unsigned(bits) => write!(f, ".u{bits}"),
            Self::Signed(bits) => write!(f, ".s{bits}"),
            Self::Float(bits) => write!(f, ".f{bits}"),
        }
    }
}

impl Parameter {
    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // `parse` refuses a parameter whose size overflows.
        self.scalar.bytes() * self.elements.unwrap_or(1)
    }

    /// Whether it is a single integer, or an address, of 64 bits.
    #[must_use]
    pub fn is_64_bit_integer(&self) -> bool {
        self.elements.is_none()
            && matches!(
                self.scalar,
                Scalar::Bits(64) | Scalar::Unsigned(64) | Scalar::Signed(64)
            )
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.scalar)?;
        match self.elements {
            Some(elements) => write!(f, "[{elements}]"),
            None => Ok(()),
        }
    }
}

/// Instructions that only read and write registers, or that end or delay a thread. These
/// are the names up to the first dot.
const REGISTERS_ALONE: &[&str] = &[
    "abs",
    "add",
    "addc",
    "and",
    "bfe",
    "bfi",
    "bfind",
    "bra",
    "brev",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "cvt",
    "div",
    "ex2",
    "exit",
    "fma",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "max",
    "min",
    "mov",
    "mul",
    "mul24",
    "nanosleep",
    "neg",
    "not",
    "or",
    "popc",
    "prmt",
    "rcp",
    "rem",
    "ret",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setp",
    "shf",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "sub",
    "subc",
    "tanh",
    "testp",
    "xor",
];

impl Entry {
    /// Whether the code proves that the kernel accesses no memory except its own
    /// parameters. This holds if every word is a register, a label, a number, a
    /// declaration of registers, or one of the instructions above. A call of a function
    /// is no such word, nor is an instruction that the list does not contain.
    #[must_use]
    pub fn accesses_no_memory(&self) -> bool {
        let words: Vec<_> = tokens(&self.body).map(|(_, token)| token).collect();
        let labels: Vec<_> = words
            .windows(2)
            .filter_map(|pair| match *pair {
                // A label. No instruction begins with a word and a colon.
                [Token::Word(label), Token::Mark(':')]
                    if label.starts_with(|c: char| {
                        matches!(c, '$' | '_') || c.is_ascii_uppercase()
                    }) =>
                {
                    Some(label)
                }
                _ => None,
            })
            .collect();
        let is_own = |name: &str| self.parameters.iter().any(|p| p.name == name);
        let mut before = None;
        words.iter().all(|&token| {
            let previous = before.replace(token);
            let Token::Word(word) = token else {
                return true;
            };
            // The brackets contain the address that `ld.param` reads.
            if previous == Some(Token::Mark('[')) {
                return is_own(word.split('+').next().unwrap_or_default());
            }
            let is_declaration = |word: &str| {
                matches!(word, ".reg" | ".pred" | ".loc" | ".pragma")
                    || Scalar::parse(word).is_some()
            };
            match word.chars().next() {
                Some('%') | Some('0'..='9') | Some('-') => true,
                Some('.') => is_declaration(word),
                _ if labels.contains(&word) => true,
                _ => {
                    let name = word.split('.').next().unwrap_or_default();
                    word.starts_with("ld.param.") || REGISTERS_ALONE.contains(&name)
                }
            }
        })
    }
}

/// The kernels that a text [without comments](super::without_comments) defines, in its
/// order.
pub(super) fn entries(code: &str) -> Result<Vec<Entry>, PtxError> {
    let mut found: Vec<Entry> = Vec::new();
    let mut tokens = tokens(code);
    let mut depth = 0_u32;
    while let Some((_, token)) = tokens.next() {
        match token {
            Token::Mark('{') => depth += 1,
            Token::Mark('}') => depth = depth.checked_sub(1).ok_or(PtxError::Braces)?,
            Token::Word(".entry") if depth == 0 => {
                let Some(entry) = entry(code, &mut tokens)? else {
                    continue;
                };
                if found.iter().any(|other| other.name == entry.name) {
                    return Err(PtxError::TwoEntries(entry.name));
                }
                found.push(entry);
            }
            _ => {}
        }
    }
    if depth == 0 {
        Ok(found)
    } else {
        Err(PtxError::Braces)
    }
}

/// Reads what follows `.entry`. `None` for a declaration, which has no body.
fn entry<'c>(
    code: &'c str,
    tokens: &mut impl Iterator<Item = (usize, Token<'c>)>,
) -> Result<Option<Entry>, PtxError> {
    let name = match tokens.next() {
        Some((_, Token::Word(name))) if is_name(name) => name,
        _ => return Err(PtxError::EntryWithoutName),
    };
    let broken = |what: &'static str| PtxError::BadEntry(name.to_owned(), what);
    let mut parameters = None;
    // Between parameters and body there can be directives such as `.maxntid 128, 1, 1`.
    let start = loop {
        match tokens.next() {
            Some((at, Token::Mark('{'))) => break at,
            Some((_, Token::Mark(';'))) => return Ok(None),
            Some((_, Token::Mark('('))) if parameters.is_none() => {
                parameters = Some(list(name, tokens)?);
            }
            Some((_, Token::Word(_) | Token::Mark(',' | '='))) => {}
            Some(_) => {
                return Err(broken(
                    "has unexpected punctuation where its body should begin",
                ));
            }
            None => return Err(broken("has no body")),
        }
    };
    let mut depth = 1_u32;
    let end = loop {
        match tokens.next() {
            Some((_, Token::Mark('{'))) => depth += 1,
            Some((at, Token::Mark('}'))) => {
                depth -= 1;
                if depth == 0 {
                    break at;
                }
            }
            Some(_) => {}
            None => return Err(broken("has a body that does not end")),
        }
    };
    Ok(Some(Entry {
        name: name.to_owned(),
        parameters: parameters.unwrap_or_default(),
        body: code.get(start..=end).unwrap_or_default().to_owned(),
    }))
}

/// Reads the parameters, from behind the opening parenthesis to the closing one.
fn list<'c>(
    entry: &str,
    tokens: &mut impl Iterator<Item = (usize, Token<'c>)>,
) -> Result<Vec<Parameter>, PtxError> {
    let mut found = Vec::new();
    let mut words: Vec<Token<'_>> = Vec::new();
    loop {
        let token = match tokens.next() {
            Some((_, token)) => token,
            None => {
                let what = "has parameters that do not end";
                return Err(PtxError::BadEntry(entry.to_owned(), what));
            }
        };
        let is_last = token == Token::Mark(')');
        if is_last && words.is_empty() && found.is_empty() {
            return Ok(found);
        }
        if is_last || token == Token::Mark(',') {
            let parameter = parameter(&words).ok_or_else(|| PtxError::BadParameter {
                entry: entry.to_owned(),
                number: found.len() + 1,
            })?;
            found.push(parameter);
            words.clear();
        } else {
            words.push(token);
        }
        if is_last {
            return Ok(found);
        }
    }
}

/// One parameter, such as `.param .u64 name`, `.param .align 8 .b8 name[40]`, or
/// `.param .u64 .ptr .global .align 4 name`.
fn parameter(tokens: &[Token<'_>]) -> Option<Parameter> {
    let (first, mut rest) = tokens.split_first()?;
    if *first != Token::Word(".param") {
        return None;
    }
    let (mut scalar, mut align, mut is_pointer) = (None, None, false);
    let name = loop {
        let (Token::Word(word), after) = rest.split_first()? else {
            return None;
        };
        rest = after;
        match *word {
            ".align" => {
                let (Token::Word(number), after) = rest.split_first()? else {
                    return None;
                };
                // After `.ptr`, the alignment is that of the memory that the
                // pointer points to.
                let bytes = integer(number).filter(|bytes| bytes.is_power_of_two())?;
                if !is_pointer {
                    align = Some(bytes);
                }
                rest = after;
            }
            ".ptr" => is_pointer = true,
            ".global" | ".const" | ".local" | ".shared" | ".generic" if is_pointer => {}
            word => match Scalar::parse(word) {
                Some(found) if scalar.is_none() => scalar = Some(found),
                Some(_) => return None,
                None => break word,
            },
        }
    };
    let scalar = scalar?;
    let elements = match *rest {
        [] => None,
        [Token::Mark('['), Token::Word(number), Token::Mark(']')] => Some(integer(number)?),
        _ => return None,
    };
    elements.unwrap_or(1).checked_mul(scalar.bytes())?;
    is_name(name).then(|| Parameter {
        name: name.to_owned(),
        scalar,
        elements,
        align,
    })
}

/// An integer constant: decimal, hexadecimal, octal or binary, written as in C, with or
/// without the suffix `U`.
fn integer(text: &str) -> Option<usize> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X"))
    {
        (digits, 16)
    } else if let Some(digits) = text.strip_prefix("0b").or(text.strip_prefix("0B")) {
        (digits, 2)
    } else if text.len() > 1 && text.starts_with('0') {
        (text, 8)
    } else {
        (text, 10)
    };
    // `from_str_radix` alone would accept a sign.
    let all_digits = digits.chars().all(|digit| digit.is_digit(radix));
    usize::from_str_radix(digits, radix)
        .ok()
        .filter(|_| all_digits)
}

/// Whether a word is an identifier: `[a-zA-Z][a-zA-Z0-9_$]*`, or `[_$%]` followed by at
/// least one of `[a-zA-Z0-9_$]`.
fn is_name(word: &str) -> bool {
    let follows = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let mut chars = word.chars();
    match chars.next() {
        Some(first) if first.is_ascii_alphabetic() => chars.all(follows),
        Some('_' | '$' | '%') => word.len() > 1 && chars.all(follows),
        _ => false,
    }
}
