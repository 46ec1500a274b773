//! Elements of HTML and SVG, escaped by construction.

use std::fmt;

use safe_io::visible;

/// An element with attributes and content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Element(Element),
    Text(String),
}

/// HTML elements that have neither content nor an end tag.
const VOID: [&str; 3] = ["br", "hr", "meta"];

/// An element of this name.
pub(super) fn element(name: &'static str) -> Element {
    Element {
        name,
        attributes: Vec::new(),
        children: Vec::new(),
    }
}

impl Element {
    /// Adds an attribute.
    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// Sets the class.
    #[must_use]
    pub(super) fn class(self, class: &str) -> Self {
        self.with("class", class)
    }

    /// Adds text.
    #[must_use]
    pub(super) fn text(mut self, text: impl fmt::Display) -> Self {
        self.children.push(Node::Text(text.to_string()));
        self
    }

    /// Adds an element.
    #[must_use]
    pub(super) fn child(mut self, child: Element) -> Self {
        self.push(child);
        self
    }

    /// Adds elements.
    #[must_use]
    pub(super) fn children(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        children.into_iter().for_each(|child| self.push(child));
        self
    }

    /// Adds an element.
    pub(super) fn push(&mut self, child: Element) {
        self.children.push(Node::Element(child));
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.name)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"")?;
            escape(f, value)?;
            write!(f, "\"")?;
        }
        write!(f, ">")?;
        if VOID.contains(&self.name) {
            return Ok(());
        }
        for child in &self.children {
            match child {
                Node::Element(element) => write!(f, "{element}")?,
                Node::Text(text) => escape(f, text)?,
            }
        }
        write!(f, "</{}>", self.name)
    }
}

/// Escapes text. `>` is not escaped, because a `style` element must contain it as it is.
/// Control characters are replaced by visible escapes, because XML does not even allow
/// references to most of them.
fn escape(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let text = visible::lines(text);
    for part in text.split_inclusive(['&', '<', '"']) {
        let (plain, special) = match part.char_indices().next_back() {
            Some((at, last @ ('&' | '<' | '"'))) => (part.get(..at).unwrap_or(part), Some(last)),
            _ => (part, None),
        };
        f.write_str(plain)?;
        f.write_str(match special {
            Some('&') => "&amp;",
            Some('<') => "&lt;",
            Some(_) => "&quot;",
            None => "",
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_in_markup_is_escaped() {
        let page = element("p")
            .with("title", "\"a\" & b")
            .text("1 < 2 & 3 > 2 ü")
            .child(element("br"))
            .child(element("b"));
        assert_eq!(
            page.to_string(),
            "<p title=\"&quot;a&quot; &amp; b\">1 &lt; 2 &amp; 3 > 2 ü<br><b></b></p>"
        );
        let hostile = element("p")
            .with("title", "\u{1}")
            .text("\u{1b}[31m\u{2066}");
        assert_eq!(
            hostile.to_string(),
            r#"<p title="\u{1}">\u{1b}[31m\u{2066}</p>"#
        );
    }
}
