//! Figures of several runs: the median, and the least and the most beside it.

use std::fmt;

/// One run.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// From exec to the `ready` line.
    pub ready_ms: f64,
    /// Resident at rest.
    pub resident_kb: f64,
    /// Resident at most.
    pub peak_kb: f64,
}

/// Several runs.
#[derive(Debug, Default)]
pub struct Figures {
    samples: Vec<Sample>,
}

impl Figures {
    /// Adds a run.
    pub fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// The median of what was resident at rest.
    pub fn resident_kb(&self) -> f64 {
        self.spread(|sample| sample.resident_kb)[1]
    }

    /// Least, median and most.
    fn spread(&self, of: impl Fn(&Sample) -> f64) -> [f64; 3] {
        let mut values: Vec<f64> = self.samples.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        match values.as_slice() {
            [] => [f64::NAN; 3],
            values => [values[0], values[values.len() / 2], values[values.len() - 1]],
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [least, median, most] = self.spread(|sample| sample.ready_ms);
        write!(f, "{median:.1} ({least:.1}–{most:.1}) | ")?;
        let [least, median, most] = self.spread(|sample| sample.resident_kb / 1e3);
        write!(f, "{median:.1} ({least:.1}–{most:.1}) | ")?;
        let [_, median, _] = self.spread(|sample| sample.peak_kb / 1e3);
        write!(f, "{median:.1}")
    }
}
