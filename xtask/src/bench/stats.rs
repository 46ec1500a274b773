//! Medians and quartiles of repeated timings.

use serde::Serialize;

/// The median and quartiles of a set of samples, in their unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Half of the samples are at most this.
    pub median: f64,
    /// A quarter of the samples are at most this.
    pub lower_quartile: f64,
    /// Three quarters of the samples are at most this.
    pub upper_quartile: f64,
    /// How many samples there are.
    pub samples: usize,
}

impl Spread {
    /// Of these samples; `None` without one.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.into_iter().filter(|x| x.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median: quantile(&sorted, 0.5)?,
            lower_quartile: quantile(&sorted, 0.25)?,
            upper_quartile: quantile(&sorted, 0.75)?,
            samples: sorted.len(),
        })
    }

    /// Of what `combine` makes of the pairs of samples that were taken together, so
    /// that what changes from round to round is the same for both.
    pub fn of_pairs(a: &[f64], b: &[f64], combine: impl Fn(f64, f64) -> f64) -> Option<Self> {
        Self::of(a.iter().zip(b).map(|(&a, &b)| combine(a, b)))
    }
}

/// The value below which that part of the sorted samples lies, between neighbours
/// in proportion.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let place = part * (sorted.len().checked_sub(1)? as f64);
    let below = place.floor();
    let low = *sorted.get(below as usize)?;
    let high = *sorted.get(place.ceil() as usize)?;
    Some(low + (high - low) * (place - below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(spread.median, 2.5);
        assert_eq!((spread.lower_quartile, spread.upper_quartile), (1.75, 3.25));
        assert_eq!(spread.samples, 4);
    }

    #[test]
    fn one_sample_is_all_quartiles_and_none_is_no_spread() {
        let one = Spread::of([7.0]).unwrap();
        assert_eq!(
            (one.median, one.lower_quartile, one.upper_quartile),
            (7.0, 7.0, 7.0)
        );
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([f64::NAN]), None);
    }

    #[test]
    fn pairs_cancel_what_both_sides_suffer() {
        // The machine is twice as slow in the second round, for both.
        let ratio = Spread::of_pairs(&[1.1, 2.2], &[1.0, 2.0], |a, b| a / b).unwrap();
        assert!((ratio.lower_quartile - 1.1).abs() < 1e-12);
        assert!((ratio.upper_quartile - 1.1).abs() < 1e-12);
    }
}
