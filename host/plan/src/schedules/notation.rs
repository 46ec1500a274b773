//! A schedule as people write it on a command line: `a b@1 wait trim`.

use std::fmt;
use std::sync::Arc;

use crate::graph::Graph;
use crate::scenario::{Instance, MOST_OBJECTS, Scenario, Step};

/// How a schedule is written, for help and errors.
pub const NOTATION: &str = "launches by graph name, with @N for stream N; wait, wait@N, trim, \
                            and free:NAME for all that a graph left allocated";

/// A word that is not part of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownWord {
    /// The word.
    pub word: String,
    /// The names that there are.
    pub names: Vec<String>,
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        let names = self.names.get(..SHOWN.min(self.names.len())).unwrap_or(&[]);
        let more = if self.names.len() > SHOWN {
            ", ..."
        } else {
            ""
        };
        write!(
            f,
            "`{}` is neither a graph nor a step; the graphs are {}{more}",
            self.word,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownWord {}

/// Graphs of these names, launched as the text says. A graph may also be named by its
/// place, 1 for the first, where no graph has that name.
///
/// # Errors
///
/// A word that is neither a graph nor a step, a stream that is not a number.
pub fn written(text: &str, instances: Vec<Instance>) -> Result<Scenario, UnknownWord> {
    let mut steps = Vec::new();
    let mut streams = 1;
    for word in text.split_whitespace() {
        let unknown = || UnknownWord {
            word: word.to_owned(),
            names: instances.iter().map(|one| one.name.clone()).collect(),
        };
        let find = |name: &str| {
            let named = instances.iter().position(|one| one.name == name);
            let place = || name.parse::<usize>().ok()?.checked_sub(1);
            named.or_else(|| place().filter(|&place| place < instances.len()))
        };
        // A graph's name may have an `@` of its own.
        let (name, stream) = match word.rsplit_once('@') {
            Some((name, number)) if find(word).is_none() => {
                let number = number.parse::<usize>().ok().filter(|&n| n < MOST_OBJECTS);
                (name, Some(number.ok_or_else(unknown)?))
            }
            _ => (word, None),
        };
        streams = streams.max(stream.map_or(1, |stream| stream + 1));
        let step = match (find(name), name, stream) {
            (Some(instance), _, _) => Step::Launch {
                instance,
                stream: stream.unwrap_or(0),
            },
            (None, "wait", _) => Step::Wait { stream },
            (None, "trim", None) => Step::Trim,
            (None, other, _) => {
                let instance = other
                    .strip_prefix("free:")
                    .and_then(find)
                    .ok_or_else(unknown)?;
                let graph = &instances[instance].graph;
                steps.extend(graph.unfreed().map(|node| Step::Free {
                    instance,
                    node,
                    stream,
                }));
                continue;
            }
        };
        steps.push(step);
    }
    Ok(Scenario {
        name: "schedule".to_owned(),
        about: text.split_whitespace().collect::<Vec<_>>().join(" "),
        instances,
        streams,
        steps,
    })
}

/// Each graph once, by its own name.
#[must_use]
pub fn instances(graphs: &[Arc<Graph>]) -> Vec<Instance> {
    let instance = |graph: &Arc<Graph>| Instance {
        name: graph.name.clone(),
        graph: Arc::clone(graph),
    };
    graphs.iter().map(instance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graphs() -> Vec<Instance> {
        let named = |name: &str| {
            Arc::new(Graph {
                name: name.to_owned(),
                ..Graph::default()
            })
        };
        instances(&["a", "b", "wait@home"].map(named))
    }

    #[test]
    fn words_become_steps() {
        let scenario = written("a b@1 wait wait@1\n trim 2 wait@home", graphs()).expect("words");
        let labels: Vec<String> = scenario
            .steps
            .iter()
            .map(|step| scenario.label(step))
            .collect();
        let expected = [
            "launch a on stream 0",
            "launch b on stream 1",
            "wait for all streams",
            "wait for stream 1",
            "trim",
            "launch b on stream 0",
            "launch wait@home on stream 0",
        ];
        assert_eq!(labels, expected);
        assert_eq!(scenario.streams, 2);
    }

    #[test]
    fn a_word_that_is_none_is_named() {
        for word in ["c", "a@x", "trim@1", "free:c", "4", "0", "a@99999999"] {
            let error = written(&format!("a {word}"), graphs()).expect_err(word);
            assert_eq!(error.word, word);
            assert!(error.to_string().contains("the graphs are a, b, wait@home"));
        }
    }
}
