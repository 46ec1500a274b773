//! Splits PTX into words and punctuation.

/// The text with every comment and every string replaced by white space, so that only code
/// is left. A comment or string without an end extends to the end of the text.
#[must_use]
pub fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"']) {
        let (before, from) = rest.split_at(at);
        code.push_str(before);
        let (kept, length) = if from.starts_with("//") {
            ("\n", from.find('\n').map_or(from.len(), |end| end + 1))
        } else if let Some(inside) = from.strip_prefix("/*") {
            (" ", inside.find("*/").map_or(from.len(), |end| end + 4))
        } else if let Some(inside) = from.strip_prefix('"') {
            // Strings are removed because a file name in one could look like a
            // directive.
            (" ", inside.find('"').map_or(from.len(), |end| end + 2))
        } else {
            ("/", 1)
        };
        code.push_str(kept);
        rest = from.get(length..).unwrap_or_default();
    }
    code + rest
}

/// A token of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'c> {
    /// A directive, an instruction, a name, or a number.
    Word(&'c str),
    /// One character of punctuation.
    Mark(char),
}

/// The tokens of code [without comments](without_comments), each with the byte at which
/// it begins.
pub(super) fn tokens(code: &str) -> impl Iterator<Item = (usize, Token<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = code.get(at..)?;
        let start = at + (rest.len() - rest.trim_start().len());
        let rest = code.get(start..)?;
        let first = rest.chars().next()?;
        if is_mark(first) {
            at = start + first.len_utf8();
            return Some((start, Token::Mark(first)));
        }
        let length = rest
            .find(|c: char| c.is_whitespace() || is_mark(c))
            .unwrap_or(rest.len());
        at = start + length;
        Some((start, Token::Word(rest.get(..length)?)))
    })
}

fn is_mark(c: char) -> bool {
    matches!(
        c,
        ',' | ';' | ':' | '(' | ')' | '{' | '}' | '[' | ']' | '<' | '>' | '@' | '!' | '=' | '|'
    )
}

#[cfg(test)]
mod tests {
    use super::Token::{Mark, Word};
    use super::*;

    #[test]
    fn words_and_marks_are_told_apart_whatever_stands_between() {
        let code = without_comments("@!%p1/**/bra\t$L__BB0_1 ; // x\n.b8 a[16]\"s\"");
        let found: Vec<_> = tokens(&code).map(|(_, token)| token).collect();
        assert_eq!(
            found,
            [
                Mark('@'),
                Mark('!'),
                Word("%p1"),
                Word("bra"),
                Word("$L__BB0_1"),
                Mark(';'),
                Word(".b8"),
                Word("a"),
                Mark('['),
                Word("16"),
                Mark(']'),
            ]
        );
    }
}
