//! The styles of all texts.

use clap::builder::styling::{AnsiColor, Style};

use graph_memory_plan::findings::Severity;

use crate::results::Verdict;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();

/// The style of a verdict.
pub(crate) fn of(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Pass => GREEN,
        Verdict::Inconclusive => YELLOW,
        Verdict::Fail => RED,
    }
}

/// The style and the word of a severity, all words of one width.
pub(crate) fn severity(severity: Severity) -> (Style, &'static str) {
    match severity {
        Severity::Error => (RED, "ERROR "),
        Severity::Hazard => (RED, "HAZARD"),
        Severity::Saving => (YELLOW, "SAVING"),
        Severity::Note => (DIM, "note  "),
    }
}
