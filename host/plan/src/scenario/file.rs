//! The TOML form, as it is in the file.

use serde::Deserialize;
use toml::Spanned;

/// A scenario file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioFile {
    /// The form's version.
    pub(super) scenario: Spanned<i64>,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default)]
    pub(super) graph: Vec<Spanned<GraphEntry>>,
    /// Files from before the first release name it `programme`.
    #[serde(default, alias = "programme")]
    pub(super) schedule: Schedule,
}

/// A graph, or several alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GraphEntry {
    pub(super) name: Spanned<String>,
    /// Makes `name[0]`, `name[1]` and so on of it.
    pub(super) copies: Option<Spanned<usize>>,
    /// The graph runs at least this long.
    #[serde(rename = "spin_time", alias = "hold")]
    pub(super) spin: Option<Spanned<String>>,
    /// AutoFreeOnLaunch.
    #[serde(default)]
    pub(super) auto_free: bool,
    #[serde(default)]
    pub(super) nodes: Vec<Spanned<NodeEntry>>,
}

/// A node: a name and one of `alloc`, `free`, `kernel` and `work`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeEntry {
    pub(super) name: Spanned<String>,
    /// The size.
    pub(super) alloc: Option<Spanned<Size>>,
    /// The GPU that an alloc node allocates on; 0 if not said.
    pub(super) device: Option<Spanned<u16>>,
    /// Managed memory; pinned if not said.
    #[serde(default)]
    pub(super) managed: bool,
    /// Where memory is that is on no GPU: one of the words of `PLACES`.
    pub(super) place: Option<Spanned<String>>,
    /// The alloc node whose allocation it frees, or `graph.node` of another graph.
    pub(super) free: Option<Spanned<String>>,
    /// The kernel's name.
    pub(super) kernel: Option<String>,
    /// What else it does: `memset`, `memcpy`, `host`, `empty` or any word.
    pub(super) work: Option<String>,
    /// The `child-begin` node of the child graph that ends here: what is between is in it.
    pub(super) ends: Option<String>,
    /// How long a kernel spins.
    #[serde(rename = "spin_time", alias = "hold")]
    pub(super) spin: Option<Spanned<String>>,
    /// The nodes that it depends on.
    #[serde(default)]
    pub(super) after: Names,
    /// The alloc nodes whose allocations it reads or writes.
    #[serde(default)]
    pub(super) uses: Names,
}

/// `"64MiB"`, or bytes.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a size is a number of bytes or text such as \"64MiB\""
)]
pub(super) enum Size {
    Bytes(u64),
    Text(String),
}

/// One name, or a list of them.
#[derive(Debug, Default, Deserialize)]
#[serde(
    untagged,
    expecting = "a node's name, or a list of names, should be here"
)]
pub(super) enum Names {
    #[default]
    None,
    One(String),
    Several(Vec<String>),
}

impl Names {
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let names = match self {
            Self::None => &[][..],
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        };
        names.iter().map(String::as_str)
    }
}

/// The streams, and what is done.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Schedule {
    /// How many streams there are; as many as the steps name if not said.
    pub(super) streams: Option<Spanned<usize>>,
    #[serde(default)]
    pub(super) steps: Vec<Spanned<StepEntry>>,
}

/// A step: one of the actions, and where.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepEntry {
    /// A graph; of several alike each in turn.
    pub(super) launch: Option<String>,
    /// A graph; of several alike each in turn.
    pub(super) upload: Option<String>,
    /// `all`, or a stream.
    pub(super) wait: Option<StreamName>,
    /// `graph.node`; of several graphs alike each in turn.
    pub(super) free: Option<String>,
    /// A graph; of several alike each in turn.
    pub(super) destroy: Option<String>,
    /// `true`.
    pub(super) trim: Option<bool>,
    /// For `launch` (0 if not said), `upload` and `free`: a stream, or `each`: the
    /// first graph in stream 0, the second in stream 1, and so on.
    pub(super) stream: Option<StreamName>,
    /// How often; 1 if not said.
    pub(super) times: Option<usize>,
}

/// A stream's number, or a word.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a stream is a number or a word")]
pub(super) enum StreamName {
    Number(usize),
    Word(String),
}
