//! A figure of several runs: the median, and the least and the most beside it.

use std::fmt;

/// The same figure, once a run.
#[derive(Debug, Clone, Default)]
pub struct Figure(Vec<f64>);

impl Figure {
    /// Adds a run.
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    /// The median, between the middle two of an even number; not a number before the first run.
    pub fn median(&self) -> f64 {
        let [low, high] = [self.0.len().saturating_sub(1) / 2, self.0.len() / 2];
        let at = |index: usize| self.0.get(index).copied().unwrap_or(f64::NAN);
        f64::midpoint(at(low), at(high))
    }
}

impl fmt::Display for Figure {
    /// With as many digits after the point as asked for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(1);
        write!(f, "{:.digits$}", self.median())?;
        match self.0.as_slice() {
            [least, .., most] => write!(f, " ({least:.digits$}–{most:.digits$})"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_shows_its_median_and_its_spread() {
        let mut figure = Figure::default();
        figure.add(3.0);
        assert_eq!(figure.to_string(), "3.0");
        figure.add(1.0);
        assert_eq!(figure.to_string(), "2.0 (1.0–3.0)");
        figure.add(2.26);
        assert_eq!(format!("{figure:.1}"), "2.3 (1.0–3.0)");
    }
}
