//! Chance for traces: a small generator whose numbers follow from its seed alone, so that a trace
//! that found something is found again.

/// A stream of numbers.
#[derive(Debug, Clone)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// The stream of one seed and purpose.
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut dice = Self { state: seed ^ purpose.wrapping_mul(0xA24B_AED4_963E_E407) };
        // Neighbouring seeds are far apart after the first number.
        dice.next();
        dice
    }

    /// The next number (SplitMix64).
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }

    /// True in `of` out of a hundred.
    pub fn percent(&mut self, of: usize) -> bool {
        self.below(100) < of
    }

    /// One of `from`, which is not empty.
    pub fn pick<'f, T>(&mut self, from: &'f [T]) -> &'f T {
        &from[self.below(from.len())]
    }
}
