//! Titles of nodes, such as kernels' names, each once.

use std::collections::HashMap;
use std::sync::Arc;

use safe_io::visible;

/// Titles that are being collected, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Titles {
    list: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Titles {
    /// The number of a title, which is made safe to show; none of an empty one.
    pub(crate) fn number(&mut self, title: &str) -> Option<u32> {
        // Almost all titles are safe as they are, and known.
        if let Some(&number) = self.numbers.get(title) {
            return Some(number);
        }
        let title = visible::line(title);
        if title.is_empty() {
            return None;
        }
        if let Some(&number) = self.numbers.get(&*title) {
            return Some(number);
        }
        let number = self.list.len() as u32;
        self.list.push(title.as_ref().into());
        self.numbers.insert(title.into(), number);
        Some(number)
    }

    /// All titles by number.
    pub(crate) fn into_list(self) -> Arc<[Box<str>]> {
        self.list.into()
    }
}
