//! DOT's statements. What they say of CUDA graphs is for the collector.

use std::io::Read;

use super::DotError;
use super::collect::Collector;
use super::lexer::{Lexer, Position, Token};

/// What a node statement says that matters here.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    /// The label's text, escapes as in the file.
    label: Vec<u8>,
    has_label: bool,
    /// The shape, which tells kernels in dumps without the verbose flag.
    pub(super) shape: Vec<u8>,
    /// The name of the attribute at hand, and the value of one that says nothing here.
    key: Vec<u8>,
    other: Vec<u8>,
}

impl Attributes {
    /// The label, if there is one.
    pub(super) fn label(&self) -> Option<&[u8]> {
        self.has_label.then_some(&self.label)
    }
}

/// Reads a whole file into the collector.
pub(super) fn parse<R: Read>(input: R, collector: &mut Collector) -> Result<(), DotError> {
    let mut parser = Parser {
        lexer: Lexer::new(input),
        held: None,
        open: Vec::new(),
    };
    parser.file(collector)
}

struct Parser<R> {
    lexer: Lexer<R>,
    /// A token that was looked at and not used; the lexer still has its text.
    held: Option<Token>,
    /// Where each open brace is.
    open: Vec<Position>,
}

impl<R: Read> Parser<R> {
    fn file(&mut self, collector: &mut Collector) -> Result<(), DotError> {
        let mut graphs = 0_usize;
        loop {
            let token = self.next()?;
            match token {
                Token::End if graphs > 0 => return Ok(()),
                Token::End => {
                    return Err(
                        self.error("the file has no graph; a dump begins with `digraph dot {`")
                    );
                }
                Token::Punctuation(b';') => {}
                Token::Word => {
                    if self.is_keyword("strict") {
                        self.next()?;
                    }
                    if !(self.is_keyword("digraph") || self.is_keyword("graph")) {
                        return Err(self.error("this is no DOT file: `digraph` should be here"));
                    }
                    self.graph(collector)?;
                    graphs += 1;
                }
                _ => return Err(self.error("this is no DOT file: `digraph` should be here")),
            }
        }
    }

    fn graph(&mut self, collector: &mut Collector) -> Result<(), DotError> {
        let mut name = Vec::new();
        let mut token = self.next()?;
        if is_id(token) {
            self.id(token, &mut name)?;
            token = self.next()?;
        }
        if token != Token::Punctuation(b'{') {
            return Err(self.error("`{` should follow the graph's name"));
        }
        self.open.push(self.lexer.token_at);
        collector.begin_file_graph(&name);
        self.statements(collector)?;
        collector.end_file_graph()
    }

    fn statements(&mut self, collector: &mut Collector) -> Result<(), DotError> {
        let mut name = Vec::new();
        let mut attributes = Attributes::default();
        while let Some(&opened) = self.open.last() {
            let token = self.next()?;
            match token {
                Token::End => {
                    let what = format!(
                        "the file ends inside the graph that begins at {opened}: it was cut off"
                    );
                    return Err(self.error(what));
                }
                Token::Punctuation(b';' | b',') => {}
                Token::Punctuation(b'}') => {
                    self.open.pop();
                    if !self.open.is_empty() {
                        collector.end_cluster();
                        self.no_edge_of_a_subgraph()?;
                    }
                }
                Token::Punctuation(b'{') => self.open_cluster(collector, b"")?,
                Token::Word if self.is_keyword("subgraph") => {
                    name.clear();
                    let mut token = self.next()?;
                    if is_id(token) {
                        self.id(token, &mut name)?;
                        token = self.next()?;
                    }
                    if token != Token::Punctuation(b'{') {
                        return Err(self.error("`{` should follow `subgraph`"));
                    }
                    self.open_cluster(collector, &name)?;
                }
                Token::Word if self.is_keyword("graph") => {
                    let held = self.attributes(&mut attributes)?;
                    if !held {
                        return Err(self.error("`[` should follow `graph`"));
                    }
                    if let Some(label) = attributes.label() {
                        collector.cluster_label(label);
                    }
                }
                Token::Word if self.is_keyword("node") || self.is_keyword("edge") => {
                    if !self.attributes(&mut attributes)? {
                        return Err(self.error("`[` should follow `node` and `edge`"));
                    }
                }
                token if is_id(token) => {
                    self.node_or_edge(token, collector, &mut name, &mut attributes)?
                }
                _ => return Err(self.error("a node, an edge or `}` should be here")),
            }
        }
        Ok(())
    }

    fn open_cluster(&mut self, collector: &mut Collector, name: &[u8]) -> Result<(), DotError> {
        self.open.push(self.lexer.token_at);
        collector.begin_cluster(name);
        Ok(())
    }

    fn no_edge_of_a_subgraph(&mut self) -> Result<(), DotError> {
        let token = self.next()?;
        if token == Token::Edge {
            return Err(self.error("an edge of a whole subgraph, which no CUDA runtime writes"));
        }
        self.held = Some(token);
        Ok(())
    }

    /// A statement that begins with a name.
    fn node_or_edge(
        &mut self,
        first: Token,
        collector: &mut Collector,
        name: &mut Vec<u8>,
        attributes: &mut Attributes,
    ) -> Result<(), DotError> {
        let at = self.lexer.token_at;
        self.id(first, name)?;
        let token = self.next()?;
        if token == Token::Punctuation(b'=') {
            return self.assignment(name, collector);
        }
        let mut token = self.skip_port(token)?;
        if token != Token::Edge {
            self.held = Some(token);
            if self.attributes(attributes)? {
                return collector.node(name, attributes, at);
            }
            collector.mention(name, at)?;
            return Ok(());
        }
        let mut from = collector.mention(name, at)?;
        while token == Token::Edge {
            let next = self.next()?;
            let at = self.lexer.token_at;
            if !is_id(next) || next == Token::Word && self.is_keyword("subgraph") {
                return Err(self.error("the name of a node should follow the arrow"));
            }
            self.id(next, name)?;
            let to = collector.mention(name, at)?;
            collector.edge(from, to, at)?;
            from = to;
            let after = self.next()?;
            token = self.skip_port(after)?;
        }
        self.held = Some(token);
        self.attributes(attributes)?;
        Ok(())
    }

    fn assignment(&mut self, name: &[u8], collector: &mut Collector) -> Result<(), DotError> {
        let token = self.next()?;
        if !is_id(token) {
            return Err(self.error("a value should follow `=`"));
        }
        let mut value = Vec::new();
        self.id(token, &mut value)?;
        if name.eq_ignore_ascii_case(b"label") {
            collector.cluster_label(&value);
        }
        Ok(())
    }

    /// Passes over `:port` and `:port:compass`.
    fn skip_port(&mut self, mut token: Token) -> Result<Token, DotError> {
        while token == Token::Punctuation(b':') {
            let port = self.next()?;
            if !is_id(port) {
                return Err(self.error("a port should follow `:`"));
            }
            token = self.next()?;
        }
        Ok(token)
    }

    /// Reads `[...]`, any number of them; tells whether there was one.
    fn attributes(&mut self, attributes: &mut Attributes) -> Result<bool, DotError> {
        attributes.has_label = false;
        attributes.shape.clear();
        let mut any = false;
        loop {
            let token = self.next()?;
            if token != Token::Punctuation(b'[') {
                self.held = Some(token);
                return Ok(any);
            }
            any = true;
            let opened = self.lexer.token_at;
            loop {
                let token = self.next()?;
                match token {
                    Token::Punctuation(b']') => break,
                    Token::Punctuation(b';' | b',') => {}
                    Token::End => {
                        let what =
                            format!("the file ends inside the `[` at {opened}: it was cut off");
                        return Err(self.error(what));
                    }
                    token if is_id(token) => {
                        self.id(token, &mut attributes.key)?;
                        self.value_of(attributes)?;
                    }
                    _ => return Err(self.error("an attribute or `]` should be here")),
                }
            }
        }
    }

    fn value_of(&mut self, attributes: &mut Attributes) -> Result<(), DotError> {
        let token = self.next()?;
        if token != Token::Punctuation(b'=') {
            self.held = Some(token);
            return Ok(());
        }
        let token = self.next()?;
        if !is_id(token) {
            return Err(self.error("a value should follow `=`"));
        }
        let value = if attributes.key.eq_ignore_ascii_case(b"label") {
            attributes.has_label = true;
            &mut attributes.label
        } else if attributes.key.eq_ignore_ascii_case(b"shape") {
            &mut attributes.shape
        } else {
            &mut attributes.other
        };
        self.id(token, value)
    }

    /// The text of an id whose first token was just read; `"a" + "b"` is one.
    fn id(&mut self, token: Token, text: &mut Vec<u8>) -> Result<(), DotError> {
        text.clear();
        text.extend_from_slice(&self.lexer.text);
        if token != Token::Quoted {
            return Ok(());
        }
        loop {
            let next = self.next()?;
            if next != Token::Punctuation(b'+') {
                self.held = Some(next);
                return Ok(());
            }
            if self.next()? != Token::Quoted {
                return Err(self.error("a string should follow `+`"));
            }
            text.extend_from_slice(&self.lexer.text);
        }
    }

    fn next(&mut self) -> Result<Token, DotError> {
        match self.held.take() {
            Some(token) => Ok(token),
            None => self.lexer.next_token(),
        }
    }

    /// Whether the word just read is this keyword; DOT does not tell cases apart.
    fn is_keyword(&self, keyword: &str) -> bool {
        self.lexer.text.eq_ignore_ascii_case(keyword.as_bytes())
    }

    fn error(&self, what: impl Into<String>) -> DotError {
        DotError::at(self.lexer.token_at, what)
    }
}

fn is_id(token: Token) -> bool {
    matches!(token, Token::Word | Token::Quoted | Token::Html)
}
