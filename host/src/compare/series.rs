//! A series of footprints from a result or a log, and the alignment of two series.

use crate::results::{Action, ExperimentResult};
use cuda_graphs::Snapshot;

/// The footprints of one experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// The experiment's name, with the device if there are several.
    pub name: String,
    /// The steps.
    pub points: Vec<Point>,
}

/// The footprint after one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// The description of the step, or its number in a log.
    pub label: String,
    /// The kind of action.
    pub action: Action,
    /// The footprint.
    pub footprint: Footprint,
}

/// A footprint: one attribute, or all four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Footprint {
    /// Only the used memory, in bytes.
    Used(u64),
    /// All four attributes.
    All(Snapshot),
}

/// Two aligned steps; one of them may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair<'s> {
    /// The step of the first series.
    pub left: Option<&'s Point>,
    /// The step of the second series.
    pub right: Option<&'s Point>,
}

impl Footprint {
    /// The used memory, in bytes.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        match self {
            Self::Used(bytes) => *bytes,
            Self::All(memory) => memory.used_bytes,
        }
    }

    /// The attributes in which two footprints differ: name and both values in bytes.
    /// Attributes that only one side has are left out.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<(&'static str, u64, u64)> {
        let all = match (self, other) {
            (Self::All(a), Self::All(b)) => vec![
                ("used", a.used_bytes, b.used_bytes),
                ("used, high", a.used_high_bytes, b.used_high_bytes),
                ("reserved", a.reserved_bytes, b.reserved_bytes),
                (
                    "reserved, high",
                    a.reserved_high_bytes,
                    b.reserved_high_bytes,
                ),
            ],
            _ => vec![("used", self.used_bytes(), other.used_bytes())],
        };
        all.into_iter().filter(|(_, a, b)| a != b).collect()
    }
}

impl Pair<'_> {
    /// Whether both steps exist and their footprints are equal.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        match (self.left, self.right) {
            (Some(a), Some(b)) => a.footprint.differences(&b.footprint).is_empty(),
            _ => false,
        }
    }
}

impl Series {
    /// The footprints of an experiment's steps.
    #[must_use]
    pub fn of(name: String, experiment: &ExperimentResult) -> Self {
        let points = experiment.steps.iter().map(|step| Point {
            label: step.label.clone(),
            action: step.action,
            footprint: Footprint::All(step.memory),
        });
        Self {
            name,
            points: points.collect(),
        }
    }
}

/// Aligns two series by their actions: as many steps as possible, in order, are paired
/// with a step of the same action. The others have no partner.
#[must_use]
pub fn side_by_side<'s>(left: &'s [Point], right: &'s [Point]) -> Vec<Pair<'s>> {
    let same = |(a, b): &(&Point, &Point)| a.action == b.action;
    let start = left.iter().zip(right).take_while(same).count();
    let (left_rest, right_rest) = (
        left.get(start..).unwrap_or_default(),
        right.get(start..).unwrap_or_default(),
    );
    let both = |(a, b): (&'s Point, &'s Point)| Pair {
        left: Some(a),
        right: Some(b),
    };
    let mut pairs: Vec<_> = left.iter().zip(right).take(start).map(both).collect();
    if left_rest.len().saturating_mul(right_rest.len()) <= MOST_PLACES {
        pairs.extend(by_longest_common(left_rest, right_rest));
    } else {
        let longest = left_rest.len().max(right_rest.len());
        pairs.extend((0..longest).map(|index| Pair {
            left: left_rest.get(index),
            right: right_rest.get(index),
        }));
    }
    pairs
}

/// The largest table for the alignment; larger series are paired by position.
const MOST_PLACES: usize = 1 << 24;

/// The longest common subsequence of actions.
fn by_longest_common<'s>(left: &'s [Point], right: &'s [Point]) -> Vec<Pair<'s>> {
    // How much is common from each place on; one row and column more.
    let width = right.len() + 1;
    let mut common = vec![0_u32; (left.len() + 1) * width];
    let at = |common: &[u32], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or(0);
    for (i, a) in left.iter().enumerate().rev() {
        for (j, b) in right.iter().enumerate().rev() {
            let length = if a.action == b.action {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(place) = common.get_mut(i * width + j) {
                *place = length;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    loop {
        let (a, b) = (left.get(i), right.get(j));
        let (left, right) = match (a, b) {
            (None, None) => return pairs,
            (Some(x), Some(y)) if x.action == y.action => (a, b),
            (Some(_), Some(_)) if at(&common, i + 1, j) >= at(&common, i, j + 1) => (a, None),
            (Some(_), None) => (a, None),
            (_, Some(_)) => (None, b),
        };
        i += usize::from(left.is_some());
        j += usize::from(right.is_some());
        pairs.push(Pair { left, right });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(actions: &[Action]) -> Vec<Point> {
        let point = |&action: &Action| Point {
            label: String::new(),
            action,
            footprint: Footprint::Used(0),
        };
        actions.iter().map(point).collect()
    }

    /// `=` beside each other, `<` left alone, `>` right alone.
    fn layout(left: &[Action], right: &[Action]) -> String {
        let (left, right) = (points(left), points(right));
        let pairs = side_by_side(&left, &right);
        let sign = |pair: &Pair<'_>| match (pair.left, pair.right) {
            (Some(_), Some(_)) => '=',
            (Some(_), None) => '<',
            _ => '>',
        };
        pairs.iter().map(sign).collect()
    }

    #[test]
    fn steps_that_a_log_leaves_out_stand_alone() {
        use Action::{Baseline, Free, Instantiate, Launch, Synchronize, Trim};
        let ours = [Baseline, Instantiate, Launch, Launch, Synchronize, Trim];
        assert_eq!(layout(&ours, &ours), "======");
        assert_eq!(layout(&ours, &[Launch, Launch, Trim]), "<<==<=");
        assert_eq!(layout(&[Launch, Trim], &ours), ">>=>>=");
        // The launch that one side has more is its last.
        assert_eq!(layout(&ours, &[Baseline, Launch, Trim]), "=<=<<=");
        assert_eq!(
            layout(&[Trim, Free, Trim], &[Trim, Free, Trim, Trim]),
            "===>"
        );
        assert_eq!(layout(&[], &[Trim]), ">");
    }

    #[test]
    fn only_what_both_know_is_compared() {
        let all = |used_bytes, reserved_bytes| {
            Footprint::All(Snapshot {
                used_bytes,
                reserved_bytes,
                ..Snapshot::default()
            })
        };
        assert_eq!(all(1, 1).differences(&all(1, 2)), [("reserved", 1, 2)]);
        assert_eq!(all(1, 1).differences(&Footprint::Used(1)), []);
        assert_eq!(Footprint::Used(1).differences(&all(2, 2)), [("used", 1, 2)]);
    }
}
