//! What the runtime writes into a node's label.
//!
//! With the verbose flag a label is a record: rows between bars, each row a title
//! and values, or a group of titles followed by a group of as many values:
//! `{{bytesize | dptr} | {1048576 | 0x0000000302000000}}`. Without the flag it is
//! two lines, the node's number and its type or kernel. Runtimes differ in which
//! rows they write and in the space around them, so values are found by title.

use std::borrow::Cow;

/// What a label says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Facts<'l> {
    /// The type's name as written, or empty.
    pub(super) type_name: &'l str,
    /// The number of the node in its graph.
    pub(super) number: Option<u64>,
    /// A kernel's name with its launch configuration, or another node's second line.
    pub(super) title: Option<Cow<'l, str>>,
    /// `bytesize`, as written.
    pub(super) bytes: Option<&'l str>,
    /// `dptr`, as written.
    pub(super) address: Option<&'l str>,
    /// Pointers that a memset or memcpy names, as written.
    pub(super) pointers: Vec<&'l str>,
    /// Of an alloc node, as written: `allocType`, `location.type` and `location.id`.
    pub(super) location: Option<[&'l str; 3]>,
    /// Names of other graphs, such as `graph_2`: a child graph's node has one, and a
    /// conditional node one per body.
    pub(super) graphs: Vec<&'l str>,
    /// Whether it is a record, which only some flags give.
    pub(super) is_record: bool,
}

/// Reads a label.
pub(super) fn read(label: &str) -> Facts<'_> {
    let trimmed = label.trim_start();
    match trimmed.strip_prefix('{') {
        Some(body) => read_record(body),
        None => read_lines(trimmed),
    }
}

/// `0\nMEM_ALLOC\n`, the line breaks real or escaped.
fn read_lines(label: &str) -> Facts<'_> {
    let mut lines = label
        .split(['\n', '\r'])
        .flat_map(|line| line.split("\\n"))
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let mut facts = Facts::default();
    let mut first = lines.next().unwrap_or("");
    if let Some(number) = leading_number(first) {
        facts.number = Some(number);
        first = lines.next().unwrap_or("");
    }
    facts.type_name = first;
    facts.title = (!first.is_empty()).then_some(Cow::Borrowed(first));
    facts.graphs = std::iter::once(first)
        .chain(lines)
        .filter(|line| is_graph_name(line))
        .collect();
    facts
}

/// `graph_2`, as the runtime names graphs.
fn is_graph_name(text: &str) -> bool {
    let number = text.strip_prefix("graph_");
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

fn read_record(body: &str) -> Facts<'_> {
    let fields = fields(body);
    let mut facts = Facts {
        is_record: true,
        ..Facts::default()
    };
    facts.type_name = fields.first().map_or("", |field| field.text);
    facts.number = value_of(&fields, "ID").and_then(leading_number);
    if matches!(facts.type_name, "MEM_ALLOC" | "MEM_FREE" | "MEMSET") {
        facts.bytes = value_of(&fields, "bytesize");
        facts.address = value_of(&fields, "dptr");
    }
    if facts.type_name == "MEM_ALLOC" {
        facts.location = location(&fields);
    }
    match facts.type_name {
        // `{ID | 0 (topoId: 3) | name}`: the third field of its group.
        "KERNEL" => {
            let id = fields.iter().position(|field| field.text == "ID");
            let named = id.and_then(|id| fields.get(id..)).unwrap_or(&[]);
            let title = match named {
                [id, number, name, ..] if id.group == name.group => {
                    facts.number = leading_number(number.text);
                    Some(name.text)
                }
                _ => None,
            };
            facts.title = title.map(unescape);
        }
        "MEMCPY" => facts.pointers = values_of(&fields, "ptr").collect(),
        "MEMSET" => facts.pointers.extend(facts.address),
        "MEM_ALLOC" | "MEM_FREE" => {}
        _ => {
            facts.graphs = fields
                .iter()
                .map(|field| field.text)
                .filter(|t| is_graph_name(t))
                .collect()
        }
    }
    facts
}

/// One field of a record, and the innermost braces around it by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field<'l> {
    text: &'l str,
    group: usize,
}

/// All fields in order. Nesting is counted, not followed, so its depth is no matter.
fn fields(body: &str) -> Vec<Field<'_>> {
    let bytes = body.as_bytes();
    // Room for an ordinary node's label at once.
    let mut fields = Vec::with_capacity(32);
    let mut around = Vec::with_capacity(8);
    around.push(0);
    let mut groups = 1;
    let mut start = 0;
    for place in memchr::memchr3_iter(b'{', b'}', b'|', bytes) {
        let before = bytes.get(..place).unwrap_or(&[]);
        let backslashes = before.iter().rev().take_while(|&&byte| byte == b'\\');
        if backslashes.count() % 2 == 1 {
            continue;
        }
        let text = body.get(start..place).unwrap_or("").trim();
        let group = around.last().copied().unwrap_or(0);
        if !text.is_empty() {
            fields.push(Field { text, group });
        }
        start = place + 1;
        match bytes.get(place) {
            Some(b'{') => {
                around.push(groups);
                groups += 1;
            }
            Some(b'}') => {
                around.pop();
            }
            _ => {}
        }
    }
    let rest = body.get(start..).unwrap_or("").trim();
    if !rest.is_empty() {
        fields.push(Field {
            text: rest,
            group: around.last().copied().unwrap_or(0),
        });
    }
    fields
}

/// `{allocType | handleTypes | {location | {type | id}}} | {PINNED | NONE | DEVICE | 0}`:
/// the four values follow the last title.
fn location<'l>(fields: &[Field<'l>]) -> Option<[&'l str; 3]> {
    let titles = fields.iter().position(|field| field.text == "allocType")?;
    let fields = fields.get(titles..)?;
    let last = fields.iter().position(|field| field.text == "id")?;
    match fields.get(last + 1..)? {
        [alloc_type, _, place, id, ..] if alloc_type.group == id.group => {
            Some([alloc_type.text, place.text, id.text])
        }
        _ => None,
    }
}

/// The fields as groups: neighbours with the same braces around them.
fn groups<'f, 'l>(fields: &'f [Field<'l>]) -> impl Iterator<Item = &'f [Field<'l>]> {
    fields.chunk_by(|a, b| a.group == b.group)
}

fn value_of<'l>(fields: &[Field<'l>], title: &str) -> Option<&'l str> {
    values_of(fields, title).next()
}

/// The values under a title: of a group of titles the next group of as many, else
/// what follows the title in its own group (`{cooperative | 0}`).
fn values_of<'l>(fields: &[Field<'l>], title: &str) -> impl Iterator<Item = &'l str> {
    let mut groups =
        groups(fields).skip_while(move |titles| !titles.iter().any(|field| field.text == title));
    let titles = groups.next().unwrap_or(&[]);
    let values = groups.next().filter(|values| values.len() == titles.len());
    // Without such a group the title's own, by one further.
    let (values, most) = match values {
        Some(values) => (values, usize::MAX),
        None => (titles.get(1..).unwrap_or(&[]), 1),
    };
    titles
        .iter()
        .zip(values)
        .filter(move |(t, _)| t.text == title)
        .map(|(_, value)| value.text)
        .take(most)
}

/// `3` of `3 (topoId: 0)`.
fn leading_number(text: &str) -> Option<u64> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
    let rest = text.get(digits.len()..)?.trim_start();
    (rest.is_empty() || rest.starts_with('('))
        .then(|| digits.parse().ok())
        .flatten()
}

/// Record labels escape `< > { } |` and spaces with a backslash.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next()),
            other => plain.push(other),
        }
    }
    Cow::Owned(plain)
}

/// A number as the runtime writes it: decimal, or hexadecimal after `0x`.
///
/// # Errors
///
/// What is wrong with it, in words.
pub(super) fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| match error.kind() {
        std::num::IntErrorKind::PosOverflow => format!("{text} does not fit into 64 bits"),
        _ => format!("{text:?} is no number"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alloc_node_of_runtime_13_0() {
        let facts = read(
            "{\nMEM_ALLOC\n| {{ID | node handle} | {0 (topoId: 2) | 0x000055A81DF4CE70}}\n\
             | {{{poolProps | {allocType | handleTypes | {location | {type | id}}} | \
             {PINNED | NONE | DEVICE | 0}}}}\n\
             | {{bytesize | dptr} | {34603008 | 0x0000000302000000}}\n}",
        );
        assert_eq!((facts.type_name, facts.number), ("MEM_ALLOC", Some(0)));
        assert_eq!(
            (facts.bytes, facts.address),
            (Some("34603008"), Some("0x0000000302000000"))
        );
    }

    #[test]
    fn a_kernel_node_with_its_launch_configuration() {
        let facts = read(
            "{KERNEL\n| {ID | 3 (topoId: 1) | gemm\\<\\<\\<\\{16,10,2\\},128,0\\>\\>\\>}\n| {priority | 0}\n}",
        );
        assert_eq!((facts.type_name, facts.number), ("KERNEL", Some(3)));
        assert_eq!(facts.title.as_deref(), Some("gemm<<<{16,10,2},128,0>>>"));
    }

    #[test]
    fn copies_and_sets_tell_their_pointers() {
        let facts = read(
            "{\nMEMCPY\n| {{ID | node handle} | {2 (topoId: 1) | 0x0A}}\n| {kind | DtoD}\n\
             | {{srcPtr | dstPtr} | {pitch | ptr | xsize | ysize | pitch | ptr | xsize | ysize} | \
             {0 | 0x302000000 | 0 | 0 | 0 | 0x302001200 | 0 | 0}}\n}",
        );
        assert_eq!(facts.pointers, ["0x302000000", "0x302001200"]);
        let facts = read(
            "{MEMSET\n| {{ID | node handle | dptr | pitch | value | elementSize | width | height} | \
             {0 (topoId: 20) | 0x0A | 0x7FC45DC00000 | 0 | 0 | 1 | 640 | 1}}}",
        );
        assert_eq!(
            (facts.number, &*facts.pointers),
            (Some(0), &["0x7FC45DC00000"][..])
        );
    }

    #[test]
    fn without_the_verbose_flag_there_are_two_lines() {
        for label in [
            "1\nMEM_ALLOC\n",
            "1\\nMEM_ALLOC\\n",
            "1 (topoId: 0)\r\nMEM_ALLOC",
        ] {
            let facts = read(label);
            assert_eq!(
                (facts.number, facts.type_name),
                (Some(1), "MEM_ALLOC"),
                "{label:?}"
            );
            assert!(!facts.is_record && facts.bytes.is_none());
        }
        assert_eq!(read("").type_name, "");
        assert_eq!(read("build step").type_name, "build step");
    }

    #[test]
    fn numbers_that_are_none_are_named() {
        assert_eq!(number("0x0000000302000000"), Ok(0x3_0200_0000));
        assert!(
            number("18446744073709551616")
                .unwrap_err()
                .contains("64 bits")
        );
        assert!(number("0x").unwrap_err().contains("no number"));
        assert!(number("-1").unwrap_err().contains("no number"));
    }

    #[test]
    fn braces_that_do_not_match_are_no_matter() {
        for label in [
            "{",
            "}",
            "{}}}|",
            "{{{{|",
            "{MEM_ALLOC | {bytesize",
            "{\\",
            "{MEM_FREE|{{dptr}|{}}}",
        ] {
            let _ = read(label);
        }
        let deep = "{".repeat(100_000);
        assert!(read(&deep).type_name.is_empty());
    }
}
