//! DOT's tokens, read from a stream so that a file of any size takes no more
//! memory than its longest token.

use std::io::Read;

use crate::read_error::{Position, ReadError};

/// How much is read at once.
const CHUNK: usize = 1 << 16;

/// The longest token: the label of a kernel node with a very long name is a few
/// KiB. It bounds what an unclosed quote can take.
const LONGEST_TOKEN: usize = 1 << 20;

/// The kinds of tokens. The text of a name or a string is the lexer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, a number or a keyword.
    Word,
    /// A string in quotes, without them; `\"` is made a quote, all other
    /// backslashes are as in the file.
    Quoted,
    /// One of `{ } [ ] ; , =`.
    Punctuation(u8),
    /// `->`.
    Edge,
    /// The end of the file.
    End,
}

pub(super) struct Lexer<R> {
    input: R,
    chunk: Vec<u8>,
    next: usize,
    /// The line of the next byte, and how many bytes of that line come before it.
    here: Position,
    /// Where the last token began.
    pub(super) token_at: Position,
    /// The text of the last word or string.
    pub(super) text: Vec<u8>,
    failed: Option<ReadError>,
}

impl<R: Read> Lexer<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            chunk: Vec::new(),
            next: 0,
            here: Position { line: 1, column: 1 },
            token_at: Position::default(),
            text: Vec::new(),
            failed: None,
        }
    }

    pub(super) fn next_token(&mut self) -> Result<Token, ReadError> {
        self.skip_space();
        self.token_at = self.here;
        self.text.clear();
        let Some(byte) = self.peek() else {
            return match &self.failed {
                Some(error) => Err(error.clone()),
                None => Ok(Token::End),
            };
        };
        match byte {
            b'"' => self.quoted(),
            b'{' | b'}' | b'[' | b']' | b';' | b',' | b'=' => {
                self.bump();
                Ok(Token::Punctuation(byte))
            }
            b'-' => self.edge(),
            _ if is_word(byte) || byte == b'.' => self.word(),
            _ => Err(self.unexpected(byte)),
        }
    }

    /// The text of the last token, what is not UTF-8 replaced.
    #[cfg(test)]
    pub(super) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }

    fn edge(&mut self) -> Result<Token, ReadError> {
        self.bump();
        match self.peek() {
            Some(b'>') => {
                self.bump();
                Ok(Token::Edge)
            }
            _ => Err(self.ended(self.token_at, "a `-` that does not begin `->`")),
        }
    }

    fn word(&mut self) -> Result<Token, ReadError> {
        let other = |byte: &u8| !(is_word(*byte) || *byte == b'.');
        self.take_until(|rest| rest.iter().position(other))?;
        Ok(Token::Word)
    }

    fn quoted(&mut self) -> Result<Token, ReadError> {
        self.bump();
        loop {
            self.take_until(|rest| memchr::memchr3(b'"', b'\\', b'\n', rest))?;
            match self.peek() {
                None => {
                    return Err(
                        self.ended(self.token_at, "the file ends in a string: no closing quote")
                    );
                }
                Some(b'"') => {
                    self.bump();
                    return Ok(Token::Quoted);
                }
                Some(b'\\') => {
                    self.bump();
                    match self.peek() {
                        Some(b'"') => self.push(b'"')?,
                        // A line continued: neither is part of the string.
                        Some(b'\n') => self.bump(),
                        Some(byte) => {
                            self.text.push(b'\\');
                            self.push(byte)?;
                        }
                        None => {}
                    }
                }
                Some(byte) => self.push(byte)?,
            }
        }
    }

    /// Takes the bytes before the first at which `end` says that others begin, many at
    /// once. There must be no line break among them, since only columns are counted.
    fn take_until(&mut self, end: impl Fn(&[u8]) -> Option<usize>) -> Result<(), ReadError> {
        loop {
            let rest = self.chunk.get(self.next..).unwrap_or(&[]);
            let end = end(rest);
            let count = end.unwrap_or(rest.len());
            self.text
                .extend_from_slice(rest.get(..count).unwrap_or(&[]));
            self.next += count;
            self.here.column += count as u64;
            self.check_length()?;
            if end.is_some() || self.peek().is_none() {
                return Ok(());
            }
        }
    }

    /// Skips whole lines up to one that begins with `digraph`, and that word. Says how
    /// many lines with text were skipped; `None` where no line begins so.
    pub(super) fn skip_to_digraph(&mut self) -> Result<Option<u64>, ReadError> {
        const KEYWORD: &[u8] = b"digraph";
        let mut skipped = 0;
        loop {
            self.skip_space();
            let mut matched = 0;
            while matched < KEYWORD.len() && self.peek() == KEYWORD.get(matched).copied() {
                self.bump();
                matched += 1;
            }
            match self.peek() {
                None => match self.failed.take() {
                    Some(error) => return Err(error),
                    None => return Ok(None),
                },
                Some(next) if matched == KEYWORD.len() && !is_word(next) => {
                    return Ok(Some(skipped));
                }
                Some(_) => {}
            }
            self.skip_line();
            skipped += 1;
        }
    }

    fn skip_space(&mut self) {
        // A byte order mark, where a file begins with one.
        if self.here == (Position { line: 1, column: 1 }) {
            self.peek();
            let rest = self.chunk.get(self.next..).unwrap_or(&[]);
            if rest.starts_with(b"\xEF\xBB\xBF") {
                self.next += 3;
            }
        }
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n' | b'\x0C')) {
            self.bump();
        }
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.bump();
        }
    }

    /// The next byte. None at the end, or where it cannot be read on: then `failed`
    /// says why.
    fn peek(&mut self) -> Option<u8> {
        match self.chunk.get(self.next) {
            Some(&byte) => Some(byte),
            None => self.read_on(),
        }
    }

    #[cold]
    fn read_on(&mut self) -> Option<u8> {
        if self.failed.is_some() {
            return None;
        }
        self.chunk.resize(CHUNK, 0);
        self.next = 0;
        let count = loop {
            match self.input.read(&mut self.chunk) {
                Ok(count) => break count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed =
                        Some(ReadError::at(self.here, format!("cannot read on: {error}")));
                    break 0;
                }
            }
        };
        self.chunk.truncate(count);
        self.chunk.first().copied()
    }

    /// Why the file ends here: a read that failed, else `what`.
    fn ended(&self, at: Position, what: &str) -> ReadError {
        let failed = self.failed.clone();
        failed.unwrap_or_else(|| ReadError::at(at, what))
    }

    /// Steps over the byte that [`peek`](Self::peek) gave.
    fn bump(&mut self) {
        if self.chunk.get(self.next) == Some(&b'\n') {
            self.here.line += 1;
            self.here.column = 1;
        } else {
            self.here.column += 1;
        }
        self.next += 1;
    }

    fn push(&mut self, byte: u8) -> Result<(), ReadError> {
        self.text.push(byte);
        self.bump();
        self.check_length()
    }

    fn check_length(&self) -> Result<(), ReadError> {
        if self.text.len() > LONGEST_TOKEN {
            let what = format!(
                "a name or string of more than {LONGEST_TOKEN} bytes; is a quote not closed?"
            );
            return Err(ReadError::at(self.token_at, what));
        }
        Ok(())
    }

    fn unexpected(&self, byte: u8) -> ReadError {
        let shown = match byte {
            b'!'..=b'~' => format!("`{}`", char::from(byte)),
            _ => format!("the byte 0x{byte:02x}"),
        };
        ReadError::at(
            self.here,
            format!("{shown} where a dump has no such character"),
        )
    }
}

/// Letters, digits and underscores, and all that is not ASCII.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<(Token, String)> {
        let mut lexer = Lexer::new(text.as_bytes());
        let mut all = Vec::new();
        loop {
            let token = lexer.next_token().expect("well-formed");
            if token == Token::End {
                return all;
            }
            all.push((token, lexer.text().into_owned()));
        }
    }

    fn fails(text: &str) -> String {
        let mut lexer = Lexer::new(text.as_bytes());
        loop {
            match lexer.next_token() {
                Ok(Token::End) => return String::new(),
                Ok(_) => {}
                Err(error) => return error.to_string(),
            }
        }
    }

    #[test]
    fn names_strings_and_numbers() {
        let text = "\u{feff}a_1 \"b \\\"c\\\" \\<\" 1.5 -> ;";
        let expected = [
            (Token::Word, "a_1"),
            (Token::Quoted, "b \"c\" \\<"),
            (Token::Word, "1.5"),
            (Token::Edge, ""),
            (Token::Punctuation(b';'), ""),
        ];
        let expected = expected.map(|(token, text)| (token, text.to_owned()));
        assert_eq!(tokens(text), expected);
    }

    #[test]
    fn lines_before_a_graph_are_skipped_and_counted() {
        let after = |text: &str| {
            let mut lexer = Lexer::new(text.as_bytes());
            let skipped = lexer.skip_to_digraph().expect("readable");
            (skipped, lexer.here.line)
        };
        assert_eq!(after("digraph dot {"), (Some(0), 1));
        assert_eq!(after("\n  digraph{"), (Some(0), 2));
        assert_eq!(
            after("[INFO] a \"quote\ndigraphs\n\ndigraph {"),
            (Some(2), 4)
        );
        assert_eq!(after("a digraph {\n").0, None);
        assert_eq!(after("digraph").0, None);
    }

    #[test]
    fn a_line_continued_in_a_string_is_joined() {
        assert_eq!(tokens("\"a\\\nb\""), [(Token::Quoted, "ab".to_owned())]);
        assert_eq!(
            tokens("\"a\nb\\n\""),
            [(Token::Quoted, "a\nb\\n".to_owned())]
        );
    }

    #[test]
    fn a_string_longer_than_a_chunk_is_whole() {
        let long = "x".repeat(3 * CHUNK + 1);
        assert_eq!(tokens(&format!("\"{long}\"")), [(Token::Quoted, long)]);
    }

    #[test]
    fn what_is_not_closed_is_said_where_it_began() {
        assert!(fails("a\n  \"b").starts_with("2:3: the file ends in a string"));
        assert!(fails("a <b>").starts_with("1:3: `<` where a dump"));
        assert!(fails("a\r\n\x01").starts_with("2:1: the byte 0x01"));
        assert!(
            fails(&format!("\"{}\"", "x".repeat(LONGEST_TOKEN + 1)))
                .contains("is a quote not closed")
        );
    }
}
