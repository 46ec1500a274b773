//! The libraries that were tried, and why each was not used.

use core::ffi::c_int;
use core::fmt;
use std::path::PathBuf;

use super::Version;
use super::candidates::{Candidate, Place};

/// One candidate that the loader tried.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The candidate.
    pub candidate: Candidate,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is used.
    Chosen,
    /// There is no such file.
    Absent,
    /// An environment variable names its folder by a relative path.
    RelativeFolder,
    /// It could not be opened. The text says why.
    NotLoadable(String),
    /// It can be opened but lacks required functions.
    LacksFunctions(Vec<&'static str>),
    /// It can be used, but the driver is too old for it (code 35 although a driver is
    /// present).
    DriverTooOld {
        /// The newest CUDA version that the driver supports.
        driver: c_int,
        /// The library's version, if it is known.
        runtime: Option<c_int>,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen => f.write_str("used"),
            Self::Absent => f.write_str("not found"),
            Self::RelativeFolder => f.write_str(
                "not searched: the variable names a relative folder, which depends on where \
                 the program is started; set an absolute one",
            ),
            Self::NotLoadable(reason) => write!(f, "cannot be opened: {reason}"),
            Self::LacksFunctions(names) => {
                f.write_str("is not a CUDA runtime of 11.4 or later: it lacks ")?;
                match names.as_slice() {
                    [first, second, third, rest @ ..] if rest.len() > 1 => write!(
                        f,
                        "{first}, {second}, {third} and {} more functions",
                        rest.len()
                    ),
                    few => f.write_str(&few.join(", ")),
                }
            }
            Self::DriverTooOld { driver, runtime } => {
                write!(
                    f,
                    "needs a newer driver than this one, which supports CUDA {}",
                    Version(*driver)
                )?;
                match runtime {
                    Some(runtime) => write!(f, " (the library is {})", Version(*runtime)),
                    None => Ok(()),
                }
            }
        }
    }
}

/// No library could be used. The text is one line; [`report`](Self::report) lists all
/// libraries that were tried.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.headline())]
pub struct LoadError {
    /// The path that the user named, if any. If there is one, no other library was
    /// tried.
    pub explicit: Option<PathBuf>,
    /// Everything that was tried, in order.
    pub attempts: Vec<Attempt>,
}

impl LoadError {
    /// The summary, and below it one line for each attempt with target, place and
    /// outcome in columns.
    #[must_use]
    pub fn report(&self) -> String {
        let attempts = attempts_text(&self.attempts);
        if attempts.is_empty() {
            return self.headline();
        }
        format!("{}; tried in this order:\n{attempts}", self.headline())
    }

    fn headline(&self) -> String {
        let Some(path) = &self.explicit else {
            let there = |attempt: &&Attempt| {
                !matches!(attempt.outcome, Outcome::Absent | Outcome::RelativeFolder)
            };
            return match self.attempts.iter().filter(there).count() {
                0 => "no CUDA runtime library (libcudart) was found".to_owned(),
                1 => "no usable CUDA runtime library (libcudart) was found: the one found cannot be used".to_owned(),
                found => format!("no usable CUDA runtime library (libcudart) was found: none of the {found} found can be used"),
            };
        };
        match self.attempts.as_slice() {
            [] => format!("there is no libcudart in {}", path.display()),
            [
                Attempt {
                    outcome: Outcome::Absent,
                    ..
                },
            ] => format!("there is no libcudart at {}", path.display()),
            [Attempt { candidate, outcome }] => {
                format!("{} {outcome}", candidate.target.display())
            }
            several => format!(
                "none of the {} libraries in {} can be used",
                several.len(),
                path.display()
            ),
        }
    }
}

/// The attempts in columns, one line each, indented by two spaces: the candidate, how it
/// was found, and the outcome. The check for a library that the process has already opened
/// is listed only if it found one.
#[must_use]
pub fn attempts_text(attempts: &[Attempt]) -> String {
    let rows: Vec<[String; 3]> = attempts
        .iter()
        .filter(|attempt| {
            attempt.candidate.place != Place::AlreadyLoaded || attempt.outcome != Outcome::Absent
        })
        .map(|Attempt { candidate, outcome }| {
            [
                candidate.target.display().to_string(),
                candidate.place.to_string(),
                outcome.to_string(),
            ]
        })
        .collect();
    let width = |of: fn(&[String; 3]) -> &String| {
        let widths = rows.iter().map(|row| of(row).chars().count());
        widths.max().unwrap_or(0)
    };
    let (target_width, place_width) = (width(|[target, ..]| target), width(|[_, place, _]| place));
    let lines: Vec<_> = rows
        .iter()
        .map(|[target, place, outcome]| {
            format!("  {target:<target_width$}  {place:<place_width$}  {outcome}")
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(place: Place, target: &str, outcome: Outcome) -> Attempt {
        Attempt {
            candidate: Candidate {
                place,
                target: target.into(),
            },
            outcome,
        }
    }

    #[test]
    fn the_report_is_the_headline_and_the_attempts_in_columns() {
        let error = LoadError {
            explicit: None,
            attempts: vec![
                attempt(Place::AlreadyLoaded, "libcudart.so.13", Outcome::Absent),
                attempt(Place::SystemSearch, "libcudart.so.13", Outcome::Absent),
                attempt(
                    Place::UsrLocal,
                    "/usr/local/cuda/lib64/libcudart.so.12",
                    Outcome::NotLoadable("it is a directory".to_owned()),
                ),
                attempt(
                    Place::Variable("CUDA_HOME"),
                    "/opt/libcudart.so",
                    Outcome::LacksFunctions(vec!["a", "b", "c", "d", "e"]),
                ),
            ],
        };
        assert_eq!(
            error.report(),
            "\
no usable CUDA runtime library (libcudart) was found: none of the 2 found can be used; tried in this order:
  libcudart.so.13                        system library search  not found
  /usr/local/cuda/lib64/libcudart.so.12  /usr/local/cuda*       cannot be opened: it is a directory
  /opt/libcudart.so                      CUDA_HOME              is not a CUDA runtime of 11.4 or later: it lacks a, b, c and 2 more functions"
        );
        assert_eq!(error.to_string().lines().count(), 1);
    }

    #[test]
    fn a_named_path_is_in_the_headline() {
        let named = |attempts| LoadError {
            explicit: Some("/opt/here".into()),
            attempts,
        };
        let there = "/opt/here/libcudart.so.12";
        let lacks = || Outcome::LacksFunctions(vec!["cudaGraphLaunch"]);
        assert_eq!(
            named(Vec::new()).to_string(),
            "there is no libcudart in /opt/here"
        );
        assert_eq!(
            named(vec![attempt(Place::Explicit, there, lacks())]).to_string(),
            "/opt/here/libcudart.so.12 is not a CUDA runtime of 11.4 or later: it lacks cudaGraphLaunch"
        );
        let two = vec![
            attempt(Place::Explicit, there, lacks()),
            attempt(Place::Explicit, "/opt/here/libcudart.so", Outcome::Absent),
        ];
        assert_eq!(
            named(two).to_string(),
            "none of the 2 libraries in /opt/here can be used"
        );
    }
}
