//! A GPU architecture, named the way either compiler names it.

use std::fmt;
use std::str::FromStr;

/// `75` with an optional suffix: `compute_75` to libNVVM, `sm_75` to rustc and
/// ptxas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arch {
    number: u32,
    suffix: Option<char>,
}

impl Arch {
    /// The one without a suffix.
    pub const fn new(number: u32) -> Self {
        Self {
            number,
            suffix: None,
        }
    }

    /// Ten times the compute capability: 75 is 7.5.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// rustc's and ptxas's name, `sm_75`.
    pub fn sm(&self) -> String {
        format!("sm_{self}")
    }

    /// libNVVM's name, `compute_75`.
    pub fn compute(&self) -> String {
        format!("compute_{self}")
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

impl FromStr for Arch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not an architecture; write compute_75, sm_75 or 75");
        let bare = text
            .strip_prefix("compute_")
            .or_else(|| text.strip_prefix("sm_"))
            .unwrap_or(text);
        let digits = bare.trim_end_matches(['a', 'f']);
        let suffix = match &bare[digits.len()..] {
            "" => None,
            "a" => Some('a'),
            "f" => Some('f'),
            _ => return Err(wrong()),
        };
        let number = digits.parse().map_err(|_| wrong())?;
        if !(20..1000).contains(&number) || digits.starts_with('+') {
            return Err(wrong());
        }
        Ok(Self { number, suffix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_name_is_understood() {
        for text in ["compute_75", "sm_75", "75"] {
            assert_eq!(text.parse(), Ok(Arch::new(75)));
        }
        let family: Arch = "compute_100f".parse().unwrap();
        assert_eq!(
            (family.sm(), family.compute()),
            ("sm_100f".into(), "compute_100f".into())
        );
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        for text in [
            "",
            "sm_",
            "compute_7.5",
            "sm_75x",
            "hopper",
            "sm_90aa",
            "sm_1",
            "+75",
        ] {
            assert!(text.parse::<Arch>().is_err(), "{text:?}");
        }
    }
}
