//! Text from outside, made safe to show.
//!
//! A file, a driver, an environment variable or an argument may contain characters that
//! do something where they are shown: escape sequences move a terminal's cursor and set
//! its title, bidirectional controls change the order in which text is displayed, and
//! invisible characters hide text. All of them appear as escapes instead: `\n`, `\t`,
//! `\u{1b}`, `\u{202e}`.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, Write};

/// The text as one line: every control character, line ends and tabs included, and every
/// bidirectional or invisible character appears as an escape.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_active)
}

/// The same for text of several lines: line ends and tabs stay as they are.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_active(c) && !matches!(c, '\n' | '\t'))
}

/// The same for text of several lines within a report or a message: all but the first are
/// indented, so that none can be taken for a line of the program's own.
#[must_use]
pub fn indented(text: &str) -> String {
    lines(text).trim_end().replace('\n', "\n    ")
}

/// Whether the text is shown as it is: nothing in it is active, and it is one line.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    !text.contains(is_active)
}

/// The text as a TOML basic string, with its quotes.
#[must_use]
pub fn toml_string(text: &str) -> String {
    let mut string = String::with_capacity(text.len() + 2);
    string.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => string.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(string, "\\u{:04X}", u32::from(c));
            }
            c => string.push(c),
        }
    }
    string.push('"');
    string
}

/// Shows a value as one line, as [`line()`] does: `format!("{}", Shown(path.display()))`.
#[derive(Debug, Clone, Copy)]
pub struct Shown<T>(pub T);

impl<T: fmt::Display> fmt::Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&line(&self.0.to_string()))
    }
}

/// Passes JSON text on, with DEL and every bidirectional or invisible character in it as
/// `\uXXXX`. Readers get the same strings; JSON itself escapes the other control
/// characters. Each write has to end at a character's boundary, as serde_json's do.
#[derive(Debug)]
pub struct JsonText<W>(pub W);

impl<W: Write> Write for JsonText<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let active = |c: char| c > '~' && is_active(c);
        match str::from_utf8(bytes) {
            Ok(text) if text.contains(active) => {
                let mut safe = String::with_capacity(text.len() + 8);
                for c in text.chars() {
                    if active(c) {
                        for unit in c.encode_utf16(&mut [0; 2]) {
                            // Writing to a string cannot fail.
                            let _ = write!(safe, "\\u{unit:04x}");
                        }
                    } else {
                        safe.push(c);
                    }
                }
                self.0.write_all(safe.as_bytes())?;
            }
            _ => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn escaped(text: &str, active: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&active) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if active(c) {
            // `\n` and the like, else `\u{...}`.
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Whether a character does something other than appear.
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Arabic letter mark; left-to-right and right-to-left marks.
            '\u{61c}' | '\u{200e}' | '\u{200f}'
            // Bidirectional embeddings, overrides and isolates (UAX 9).
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Line and paragraph separators.
            | '\u{2028}' | '\u{2029}'
            // Zero width space, word joiner and invisible operators, byte order mark.
            | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
            // Deprecated formatting, interlinear annotations, tags.
            | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_characters_appear_as_escapes() {
        assert_eq!(line("a\u{1b}[31m\nb\tc"), r"a\u{1b}[31m\nb\tc");
        assert_eq!(lines("a\u{1b}[31m\nb\tc"), "a\\u{1b}[31m\nb\tc");
        assert_eq!(
            line("\u{202e}gpj.exe\u{9b}2J\u{7f}"),
            r"\u{202e}gpj.exe\u{9b}2J\u{7f}"
        );
        assert_eq!(Shown("a\rb").to_string(), r"a\rb");
        assert_eq!(format!("[{:>4}]", Shown("x")), "[   x]");
    }

    #[test]
    fn every_bidirectional_control_is_active() {
        // Bidi_Control of the Unicode character database.
        let bidi = ['\u{61c}', '\u{200e}', '\u{200f}']
            .into_iter()
            .chain('\u{202a}'..='\u{202e}')
            .chain('\u{2066}'..='\u{2069}');
        for c in bidi {
            assert!(is_active(c), "{c:?}");
        }
    }

    #[test]
    fn other_text_is_not_copied() {
        for text in ["", "graph_1_node_2", "Größe \u{1f600} שלום मेमोरी \\u{1b}"]
        {
            assert!(
                matches!(line(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }

    #[test]
    fn a_toml_string_is_one_string_whatever_it_contains() {
        assert_eq!(
            toml_string("a\"b\\c\n\u{1b}"),
            "\"a\\\"b\\\\c\\u000A\\u001B\""
        );
    }

    #[test]
    fn json_keeps_its_strings() {
        let mut out = JsonText(Vec::new());
        let text = "\"a\u{202e}b\u{e0041}c\u{7f} ü\"";
        out.write_all(text.as_bytes()).expect("memory");
        let written = String::from_utf8(out.0).expect("UTF-8");
        assert_eq!(written, r#""a\u202eb\udb40\udc41c\u007f ü""#);
    }
}
