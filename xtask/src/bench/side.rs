//! One of the two compared programs: it reads operations and writes results, one per
//! line.
//!
//! Both programs run at the same time and take turns, so that their rounds alternate and
//! each creates its context once.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Map, Value};

use super::results;

/// How long a program may take to load, make a context and say what it is.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A running program.
#[derive(Debug)]
pub struct Side {
    /// Whose it is.
    pub whose: results::Side,
    /// What it said of itself.
    pub hello: Answer,
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<String>,
}

/// One answer: numbers by name, with their unit in the name.
#[derive(Debug, Clone)]
pub struct Answer(Map<String, Value>);

impl Side {
    /// Starts a program and waits until it has said what it is.
    ///
    /// # Errors
    ///
    /// When it does not start, or ends or stays silent instead; what it wrote to
    /// standard error has gone there.
    pub fn start(whose: results::Side, command: &mut Command) -> anyhow::Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let requests = child.stdin.take();
        let (send, answers) = mpsc::channel();
        if let Some(out) = child.stdout.take() {
            // Ends with the program, whose end closes the pipe.
            thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if send.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let mut side = Self {
            whose,
            hello: Answer(Map::new()),
            child,
            requests,
            answers,
        };
        side.hello = side
            .next_answer(START_LIMIT)
            .with_context(|| format!("{program} did not get ready"))?;
        Ok(side)
    }

    /// Requests one operation.
    ///
    /// # Errors
    ///
    /// What the program says went wrong, or that it ended or took longer than the
    /// limit; then it is killed, since it would answer the wrong question next.
    pub fn ask(&mut self, request: &str, limit: Duration) -> anyhow::Result<Answer> {
        let pipe = self.requests.as_mut().context("the program was stopped")?;
        writeln!(pipe, "{request}")
            .and_then(|()| pipe.flush())
            .with_context(|| format!("{} takes no more requests", self.whose))?;
        self.next_answer(limit)
            .with_context(|| format!("{}: {request}", self.whose))
    }

    fn next_answer(&mut self, limit: Duration) -> anyhow::Result<Answer> {
        let line = match self.answers.recv_timeout(limit) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                self.stop();
                anyhow::bail!("no answer within {} s", limit.as_secs());
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait().map(|status| status.to_string());
                anyhow::bail!("it ended: {}", status.unwrap_or_else(|e| e.to_string()));
            }
        };
        Answer::parse(&line)
    }

    fn stop(&mut self) {
        self.requests = None;
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // The end of its input ends it; one that hangs would hold the GPU.
        self.requests = None;
        match self.answers.recv_timeout(Duration::from_secs(5)) {
            Err(RecvTimeoutError::Disconnected) => {
                let _ = self.child.wait();
            }
            _ => self.stop(),
        }
    }
}

impl Answer {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// What the program says went wrong, or a line that is no answer.
    pub fn parse(line: &str) -> anyhow::Result<Self> {
        let fields: Map<String, Value> =
            serde_json::from_str(line).with_context(|| format!("no answer: {line}"))?;
        match fields.get("error") {
            Some(error) => anyhow::bail!("{}", error.as_str().unwrap_or("an unnamed error")),
            None => Ok(Self(fields)),
        }
    }

    /// A number.
    ///
    /// # Errors
    ///
    /// When the answer lacks it.
    pub fn number(&self, name: &str) -> anyhow::Result<f64> {
        let value = self.0.get(name).and_then(Value::as_f64);
        value.with_context(|| format!("the answer has no number {name}"))
    }

    /// A number, if the answer has it.
    pub fn integer(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    /// A text, if the answer has it.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> anyhow::Result<Side> {
        Side::start(results::Side::Ours, Command::new("sh").args(["-c", script]))
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_program_answers_in_turn_and_says_what_went_wrong() {
        let mut side = shell(
            "echo '{\"device\": \"a\"}'; read a; echo '{\"launch_ns\": 12}'; \
             read b; echo \"{\\\"error\\\": \\\"no $b\\\"}\"",
        )
        .unwrap();
        assert_eq!(side.hello.text("device"), Some("a"));
        let answer = side.ask("relaunch", LONG).unwrap();
        assert_eq!(answer.number("launch_ns").unwrap(), 12.0);
        assert!(answer.number("life_ns").is_err());
        let error = side.ask("nothing", LONG).unwrap_err();
        assert_eq!(error.root_cause().to_string(), "no nothing");
    }

    #[test]
    fn a_program_that_ends_early_is_told_from_one_that_is_silent() {
        let ended = shell("exit 3").unwrap_err();
        assert!(format!("{ended:#}").contains("exit status: 3"), "{ended:#}");
        let mut silent = shell("echo '{}'; read a; read b").unwrap();
        let error = silent.ask("relaunch", Duration::ZERO).unwrap_err();
        assert!(
            format!("{error:#}").contains("no answer within"),
            "{error:#}"
        );
        assert!(silent.ask("relaunch", LONG).is_err(), "it was stopped");
    }
}
