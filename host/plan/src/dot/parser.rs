//! DOT's statements. What they say of CUDA graphs is for the collector.

use std::io::Read;

use super::collect::Collector;
use super::lexer::{Lexer, Token};
use super::raw::Attributes;
use crate::read_error::{Position, ReadError};

/// Reads a whole file into the collector.
pub(super) fn parse<R: Read>(input: R, collector: &mut Collector) -> Result<(), ReadError> {
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
    fn file(&mut self, collector: &mut Collector) -> Result<(), ReadError> {
        let mut graphs = 0_usize;
        while let Some(skipped) = self.lexer.skip_to_digraph()? {
            self.graph(skipped, collector)?;
            graphs += 1;
        }
        if graphs == 0 {
            return Err(ReadError::whole(
                "this is not a dump: no line begins with `digraph`, as in `digraph dot {`",
            ));
        }
        Ok(())
    }

    fn graph(&mut self, skipped: u64, collector: &mut Collector) -> Result<(), ReadError> {
        let mut name = Vec::new();
        self.open_brace(&mut name, "`{` should follow the graph's name")?;
        collector.begin_file_graph(&name, skipped);
        self.statements(collector)?;
        collector.end_file_graph()
    }

    /// Reads a name, which may be missing, and the `{` after it.
    fn open_brace(&mut self, name: &mut Vec<u8>, missing: &str) -> Result<(), ReadError> {
        name.clear();
        let mut token = self.next()?;
        if is_id(token) {
            self.id(name);
            token = self.next()?;
        }
        if token != Token::Punctuation(b'{') {
            return Err(self.error(missing));
        }
        self.open.push(self.lexer.token_at);
        Ok(())
    }

    fn statements(&mut self, collector: &mut Collector) -> Result<(), ReadError> {
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
                    }
                }
                Token::Word if self.is_keyword("subgraph") => {
                    self.open_brace(&mut name, "`{` should follow `subgraph`")?;
                    collector.begin_cluster(&name);
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
                token if is_id(token) => {
                    self.node_or_edge(collector, &mut name, &mut attributes)?
                }
                _ => return Err(self.error("a node, an edge or `}` should be here")),
            }
        }
        Ok(())
    }

    /// A statement that begins with a name.
    fn node_or_edge(
        &mut self,
        collector: &mut Collector,
        name: &mut Vec<u8>,
        attributes: &mut Attributes,
    ) -> Result<(), ReadError> {
        let at = self.lexer.token_at;
        self.id(name);
        let mut token = self.next()?;
        if token == Token::Punctuation(b'=') {
            return self.assignment(name, collector);
        }
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
            self.id(name);
            let to = collector.mention(name, at)?;
            collector.edge(from, to, at)?;
            from = to;
            token = self.next()?;
        }
        self.held = Some(token);
        self.attributes(attributes)?;
        Ok(())
    }

    fn assignment(&mut self, name: &[u8], collector: &mut Collector) -> Result<(), ReadError> {
        let token = self.next()?;
        if !is_id(token) {
            return Err(self.error("a value should follow `=`"));
        }
        let mut value = Vec::new();
        self.id(&mut value);
        if name == b"label" {
            collector.cluster_label(&value);
        }
        Ok(())
    }

    /// Reads `[...]`, any number of them; returns whether there was one.
    fn attributes(&mut self, attributes: &mut Attributes) -> Result<bool, ReadError> {
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
                        self.lexer.text.clone_into(&mut attributes.key);
                        self.value_of(attributes)?;
                    }
                    _ => return Err(self.error("an attribute or `]` should be here")),
                }
            }
        }
    }

    fn value_of(&mut self, attributes: &mut Attributes) -> Result<(), ReadError> {
        let token = self.next()?;
        if token != Token::Punctuation(b'=') {
            self.held = Some(token);
            return Ok(());
        }
        let token = self.next()?;
        if !is_id(token) {
            return Err(self.error("a value should follow `=`"));
        }
        let value = if attributes.key == b"label" {
            attributes.has_label = true;
            &mut attributes.label
        } else if attributes.key == b"shape" {
            &mut attributes.shape
        } else {
            &mut attributes.other
        };
        self.lexer.text.clone_into(value);
        Ok(())
    }

    /// The text of the name or string that was just read.
    fn id(&self, text: &mut Vec<u8>) {
        self.lexer.text.clone_into(text);
    }

    fn next(&mut self) -> Result<Token, ReadError> {
        match self.held.take() {
            Some(token) => Ok(token),
            None => self.lexer.next_token(),
        }
    }

    /// Whether the word just read is this keyword.
    fn is_keyword(&self, keyword: &str) -> bool {
        self.lexer.text == keyword.as_bytes()
    }

    fn error(&self, what: impl Into<String>) -> ReadError {
        ReadError::at(self.lexer.token_at, what)
    }
}

fn is_id(token: Token) -> bool {
    matches!(token, Token::Word | Token::Quoted)
}
