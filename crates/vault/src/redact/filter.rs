//! Says quickly where a needle can't begin, so that a text without secrets is hardly looked
//! at. May be wrong in one direction only: a place it lets pass need not be one.
//!
//! Blocks of four bytes are hashed into bits, as Wu and Manber do it: a block that is nowhere
//! in the first bytes of any needle rules out every beginning up to it at once.

/// The bytes of a block, and of the shortest needle.
pub(super) const BLOCK_BYTES: usize = 4;

/// The most bytes of a needle that are looked at: more would allow longer steps, and be in
/// the way of more blocks.
const WINDOW_BYTES_MAX: usize = 8;

/// Bits for each block. One in so many foreign blocks is let pass.
const BITS_PER_BLOCK: usize = 16;

/// The fewest and the most bits, as powers of two: from 4 KiB, so that a few secrets cost
/// next to nothing, to 1 MiB, which a processor's cache still holds.
const BITS_LOG: (u32, u32) = (15, 23);

#[derive(Default)]
pub(super) struct Filter {
    /// Blocks anywhere in the windows of needles.
    anywhere: Bits,
    /// Blocks that needles begin with, and the one, two and three bytes these begin with.
    beginnings: Bits,
    less: [Bits; BLOCK_BYTES - 1],
    /// How many beginnings one block rules out.
    step: usize,
}

impl Filter {
    /// A filter for these needles, none of them shorter than a block.
    pub(super) fn new<'n>(needles: impl ExactSizeIterator<Item = &'n [u8]> + Clone) -> Self {
        let shortest = needles.clone().map(<[u8]>::len).min().unwrap_or(BLOCK_BYTES);
        let step = shortest.clamp(BLOCK_BYTES, WINDOW_BYTES_MAX) - BLOCK_BYTES + 1;
        let mut anywhere = Bits::for_blocks(needles.len() * step);
        let mut beginnings = Bits::for_blocks(needles.len());
        let mut less = std::array::from_fn(|_| Bits::for_blocks(needles.len()));
        for needle in needles {
            for block in needle.windows(BLOCK_BYTES).take(step) {
                anywhere.add(&padded(block));
            }
            beginnings.add(&padded(&needle[..BLOCK_BYTES]));
            for (len, bits) in (1..).zip(&mut less) {
                bits.add(&padded(&needle[..len]));
            }
        }
        Self { anywhere, beginnings, less, step }
    }

    /// The first place at or after `from` where a needle may begin.
    pub(super) fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            // The last block of the window at each place: it rules out the places up to it.
            let mut blocks = text.get(at + self.step - 1..)?.array_windows();
            let known = |block| self.anywhere.has(block);
            at += match self.step {
                // A step that is known to be one is twice as fast.
                1 => blocks.position(known)?,
                step => blocks.step_by(step).position(known)? * step,
            };
            let found = (at..at + self.step).find(|at| self.may_begin(&text[*at..]));
            if found.is_some() {
                return found;
            }
            at += self.step;
        }
    }

    /// Whether a needle may begin like this.
    pub(super) fn may_begin(&self, text: &[u8]) -> bool {
        match (text.first_chunk(), text.len()) {
            (Some(block), _) => self.beginnings.has(block),
            (None, 0) => true,
            (None, len) => self.less[len - 1].has(&padded(text)),
        }
    }
}

/// A block that begins with these few bytes.
fn padded(bytes: &[u8]) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    block[..bytes.len()].copy_from_slice(bytes);
    block
}

/// A set of blocks by their hashes.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    /// What makes a place in `words` of a hash.
    shift: u32,
}

impl Bits {
    fn for_blocks(count: usize) -> Self {
        let log = (count * BITS_PER_BLOCK).next_power_of_two().ilog2();
        let log = log.clamp(BITS_LOG.0, BITS_LOG.1);
        Self { words: vec![0; 1 << (log - 6)], shift: 32 - log }
    }

    fn add(&mut self, block: &[u8; BLOCK_BYTES]) {
        let place = self.place(block);
        self.words[place / 64] |= 1 << (place % 64);
    }

    fn has(&self, block: &[u8; BLOCK_BYTES]) -> bool {
        let place = self.place(block);
        self.words[place / 64] >> (place % 64) & 1 == 1
    }

    fn place(&self, block: &[u8; BLOCK_BYTES]) -> usize {
        (u32::from_le_bytes(*block).wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }
}
