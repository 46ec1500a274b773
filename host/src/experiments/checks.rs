//! Checks of error codes, upper bounds and times, and checks that are inconclusive.

use super::Notebook;
use crate::results::{Quantity, Verdict};
use cuda_graphs::{Result, cudaError_t};

impl Notebook<'_> {
    /// Checks the error code that a call returned.
    pub fn check_code<T>(
        &mut self,
        rule: &str,
        claim: &str,
        expected: cudaError_t,
        outcome: &Result<T>,
    ) {
        let measured = match outcome {
            Ok(_) => cudaError_t::SUCCESS,
            Err(error) => error.code,
        };
        let (expected, measured) = (Quantity::Code(expected.0), Quantity::Code(measured.0));
        self.check_equal(rule, claim, expected, measured);
    }

    /// Checks an upper bound.
    pub fn check_at_most(&mut self, rule: &str, claim: &str, most: u64, measured: u64) {
        self.note(
            rule,
            claim,
            Quantity::BytesAtMost(most),
            Quantity::Bytes(measured),
            measured <= most,
        );
    }

    /// Checks that one time is shorter than another, both in milliseconds.
    pub fn check_shorter(&mut self, rule: &str, claim: &str, below_ms: f64, measured_ms: f64) {
        self.note(
            rule,
            claim,
            Quantity::MillisecondsBelow(below_ms),
            Quantity::Milliseconds(measured_ms),
            measured_ms < below_ms,
        );
    }

    /// Records a claim that cannot be checked, because that needs `needed` bytes and only
    /// `there` bytes are free.
    pub fn too_little(&mut self, rule: &str, claim: &str, needed: u64, there: u64, reason: &str) {
        self.note_verdict(
            rule,
            claim,
            Quantity::BytesAtLeast(needed),
            Quantity::Bytes(there),
            Verdict::Inconclusive,
            Some(reason.to_owned()),
        );
    }

    /// Records a claim that cannot be checked, because the runtime lacks what that needs.
    pub fn not_supported(&mut self, rule: &str, claim: &str, reason: &str) {
        self.note_verdict(
            rule,
            claim,
            Quantity::Code(cudaError_t::SUCCESS.0),
            Quantity::Code(cudaError_t::NOT_SUPPORTED.0),
            Verdict::Inconclusive,
            Some(reason.to_owned()),
        );
    }
}
