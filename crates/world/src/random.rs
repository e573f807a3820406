//! Randomness that can be replayed: every stream is derived from one seed and the path of
//! its purpose, never from what was drawn before it elsewhere.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng as _};

/// The source of all randomness of one world.
#[derive(Clone)]
pub struct Random {
    seed: [u8; 32],
}

impl Random {
    /// A source that yields the same streams for the same seed.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self { seed }
    }

    /// The stream for one purpose, such as `["audit", "coder", "salt", "17"]`.
    ///
    /// Two purposes share no bytes, and a draw from one does not move the other: what one
    /// agent draws can't be seen in what another gets.
    pub fn stream(&self, purpose: &[&str]) -> RandomStream {
        let mut hasher = blake3::Hasher::new_keyed(&self.seed);
        for part in purpose {
            // The length first, so that ["ab", "c"] and ["a", "bc"] are different purposes.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        RandomStream { rng: ChaCha20Rng::from_seed(*hasher.finalize().as_bytes()) }
    }
}

/// A stream of random bytes for one purpose.
pub struct RandomStream {
    rng: ChaCha20Rng,
}

impl RandomStream {
    /// The next `N` bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }

    /// The next identifier: 128 bits in lower-case hexadecimal.
    pub fn id(&mut self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_purpose_give_the_same_bytes() {
        let draw = |seed, purpose: &[&str]| Random::from_seed(seed).stream(purpose).id();
        assert_eq!(draw([1; 32], &["a", "b"]), draw([1; 32], &["a", "b"]));
        assert_ne!(draw([1; 32], &["a", "b"]), draw([2; 32], &["a", "b"]));
        assert_ne!(draw([1; 32], &["a", "b"]), draw([1; 32], &["ab"]));
        assert_ne!(draw([1; 32], &["ab", "c"]), draw([1; 32], &["a", "bc"]));
    }

    #[test]
    fn a_draw_from_one_stream_does_not_move_another() {
        let random = Random::from_seed([7; 32]);
        let before = random.stream(&["b"]).id();
        random.stream(&["a"]).id();
        assert_eq!(random.stream(&["b"]).id(), before);
    }
}
