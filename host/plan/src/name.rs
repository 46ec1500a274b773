//! Names of nodes.

use std::fmt;
use std::sync::Arc;

use safe_io::visible;
use serde::{Serialize, Serializer};

/// A node's name. Those that the runtime gives in dumps are kept as their numbers, so
/// that a million of them take no memory of their own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// `graph_1_node_2`.
    Dumped {
        /// The graph's number.
        graph: u32,
        /// The node's.
        node: u32,
    },
    /// Any other.
    Text(Arc<str>),
}

impl Name {
    /// The number of the node in its graph, if the name has it.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Dumped { node, .. } => Some(u64::from(*node)),
            Self::Text(text) => text.rsplit_once("_node_")?.1.parse().ok(),
        }
    }

    /// Whether this is how the name is written.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        match self {
            Self::Dumped { .. } => *self == Self::from(text),
            Self::Text(own) => **own == *text,
        }
    }
}

/// `graph_1_node_2` as its numbers; what would not come out the same is none.
fn dumped(text: &str) -> Option<Name> {
    let (graph, node) = text.strip_prefix("graph_")?.split_once('_')?;
    let node = node.strip_prefix("node_")?;
    Some(Name::Dumped {
        graph: plain_number(graph)?,
        node: plain_number(node)?,
    })
}

fn plain_number(text: &str) -> Option<u32> {
    let plain =
        text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        dumped(text).unwrap_or_else(|| Self::Text(text.into()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dumped { graph, node } => write!(f, "graph_{graph}_node_{node}"),
            // Names come from files: nothing in them may steer what shows them.
            Self::Text(text) => f.write_str(&visible::line(text)),
        }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_out_as_it_went_in() {
        let long = "graph_1_node_4294967296";
        for text in [
            "graph_1_node_2",
            "graph_0_node_0",
            "graph_01_node_2",
            "graph_1_node_",
            "graph_1_node_2 ",
            "x",
            "",
            long,
        ] {
            let name = Name::from(text);
            assert_eq!(name.to_string(), text);
            assert!(name.is(text) && !name.is("other"));
            assert_eq!(
                matches!(name, Name::Dumped { .. }),
                ["graph_1_node_2", "graph_0_node_0"].contains(&text),
                "{text}"
            );
        }
        assert_eq!(Name::from("graph_1_node_7").number(), Some(7));
        assert_eq!(Name::from(long).number(), Some(4_294_967_296));
        assert_eq!(Name::from("seven").number(), None);
        assert!(std::mem::size_of::<Name>() <= 16);
        assert_eq!(Name::from("a\u{1b}[31m\nb").to_string(), r"a\u{1b}[31m\nb");
    }
}
