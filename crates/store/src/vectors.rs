//! What texts mean, as a model sees it: vectors of entries of memory and of messages, kept beside
//! them, scope by scope. A search that brings the vector of its question finds what is near it,
//! inside its own scope, and joins that with what is found by words.

use std::collections::HashMap;
use std::hash::Hash;

/// Most numbers of one vector.
pub const VECTOR_LEN_MAX: usize = 8_192;
/// Most vectors of one commit.
pub const VECTORS_AT_ONCE_MAX: usize = 4_096;
/// Longest text that is given out to be embedded, in bytes: what a long one is about is said at
/// its beginning.
pub const EMBEDDED_BYTES_MAX: usize = 4_096;

/// How far down a list a place still counts: the constant that reciprocal rank fusion is known
/// by.
const RANK_OFFSET: f64 = 60.0;
/// What is found by words comes first. What is found by meaning alone begins to stand between it
/// from the eighth place on, and follows it where words find less.
const WORDS_WEIGHT: f64 = 1.0;
const MEANING_WEIGHT: f64 = 0.9;

/// Which model made a vector. Those of two models say nothing about each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VectorModel(pub(crate) i64);

impl VectorModel {
    /// The model that is told apart from others by this name.
    pub fn new(name: &str) -> Self {
        let hash = blake3::derive_key("insula model of vectors 1", name.as_bytes());
        let [a, b, c, d, e, f, g, h, ..] = hash;
        Self(i64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }
}

/// What has vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VectorKind {
    /// Entries of memory.
    Fragments,
    /// What was said.
    Messages,
}

impl VectorKind {
    pub(crate) fn code(self) -> i64 {
        match self {
            Self::Fragments => 0,
            Self::Messages => 1,
        }
    }
}

/// Something that has no vector of a model yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unembedded {
    /// By what the store finds it again.
    pub item: i64,
    pub text: String,
}

/// What a scope has that a model has not seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Backlog {
    pub texts: Vec<Unembedded>,
    /// How far sessions were looked through.
    pub looked_through: Vec<(i64, i64)>,
}

/// A vector as it is kept: of length one, each number in a byte.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    scale: f32,
    numbers: Vec<i8>,
}

/// The scale is a number.
impl Eq for Vector {}

impl Vector {
    /// A vector in the direction of these numbers; `None` where they have none.
    pub fn new(numbers: &[f32]) -> Option<Self> {
        let length = numbers.iter().map(|it| f64::from(*it).powi(2)).sum::<f64>().sqrt();
        if numbers.len() > VECTOR_LEN_MAX || !length.is_finite() || length <= f64::MIN_POSITIVE {
            return None;
        }
        let most = numbers.iter().fold(0.0_f32, |most, it| most.max(it.abs()));
        #[expect(clippy::cast_possible_truncation, reason = "between -127 and 127")]
        let small = |it: &f32| (f64::from(*it) / f64::from(most) * 127.0).round() as i8;
        let numbers: Vec<i8> = numbers.iter().map(small).collect();
        let length = numbers.iter().map(|it| f64::from(*it).powi(2)).sum::<f64>().sqrt();
        #[expect(clippy::cast_possible_truncation, reason = "at most one")]
        let scale = (1.0 / length) as f32;
        Some(Self { scale, numbers })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let numbers = self.numbers.iter().map(|it| it.cast_unsigned());
        self.scale.to_le_bytes().into_iter().chain(numbers).collect()
    }

    /// The cosine of the angle to a vector that is kept as these bytes; `None` where it has
    /// another length, as one of another model would.
    pub(crate) fn cosine(&self, bytes: &[u8]) -> Option<f32> {
        let (scale, numbers) = bytes.split_first_chunk::<4>()?;
        if numbers.len() != self.numbers.len() {
            return None;
        }
        let products = self.numbers.iter().zip(numbers);
        let sum: i64 =
            products.map(|(one, other)| i64::from(*one) * i64::from(other.cast_signed())).sum();
        #[expect(clippy::cast_precision_loss, reason = "far below what a float can't count")]
        let sum = sum as f32;
        Some(sum * self.scale * f32::from_le_bytes(*scale))
    }
}

/// A question as a vector, and the model that made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    pub model: VectorModel,
    pub vector: Vector,
}

/// Two lists, best first, as one, by the reciprocals of places, so that no score has to mean the
/// same as another. Of what is in both the better place counts, and not the sum: small talk that
/// has the words of a question and is near it would go before the answer, which has neither and
/// stands beside (of the own set 0.67 were found so, and 0.77 are). Ties go to words.
pub(crate) fn fused<T: Copy + Eq + Hash>(
    by_words: &[T],
    by_meaning: &[T],
    limit: usize,
) -> Vec<(T, f64)> {
    let mut all: Vec<(T, f64)> = Vec::new();
    let mut places: HashMap<T, usize> = HashMap::new();
    for (list, weight) in [(by_words, WORDS_WEIGHT), (by_meaning, MEANING_WEIGHT)] {
        for (rank, item) in list.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
            let score = weight / (RANK_OFFSET + 1.0 + rank as f64);
            let place = *places.entry(*item).or_insert_with(|| {
                all.push((*item, 0.0));
                all.len() - 1
            });
            if let Some((_, best)) = all.get_mut(place) {
                *best = best.max(score);
            }
        }
    }
    all.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    all.truncate(limit);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn cosine(one: &[f32], other: &[f32]) -> f64 {
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
    }

    #[test]
    fn what_has_no_direction_is_no_vector() {
        for numbers in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY]] {
            assert_eq!(Vector::new(numbers), None, "{numbers:?}");
        }
        assert_eq!(Vector::new(&vec![1.0; VECTOR_LEN_MAX + 1]), None);
        let one = Vector::new(&[1.0, 0.0]).unwrap();
        assert_eq!(one.cosine(&Vector::new(&[1.0]).unwrap().to_bytes()), None);
        assert_eq!(one.cosine(b"abc"), None);
    }

    proptest! {
        #[test]
        fn a_kept_vector_points_where_it_pointed(
            one in prop::collection::vec(-1.0_f32..1.0, 64),
            other in prop::collection::vec(-1.0_f32..1.0, 64),
        ) {
            let (Some(a), Some(b)) = (Vector::new(&one), Vector::new(&other)) else {
                return Ok(());
            };
            let kept = f64::from(a.cosine(&b.to_bytes()).unwrap());
            prop_assert!((kept - cosine(&one, &other)).abs() < 0.02);
            prop_assert!((a.cosine(&a.to_bytes()).unwrap() - 1.0).abs() < 1e-3);
        }

        #[test]
        fn one_list_made_of_two_has_each_once_and_keeps_the_order_of_both(
            words in prop::collection::hash_set(0..40u8, 0..20),
            meaning in prop::collection::hash_set(0..40u8, 0..20),
            limit in 0..50usize,
        ) {
            let (words, meaning): (Vec<u8>, Vec<u8>) =
                (words.into_iter().collect(), meaning.into_iter().collect());
            let all = fused(&words, &meaning, usize::MAX);
            let items: Vec<u8> = all.iter().map(|it| it.0).collect();
            let unique: HashSet<u8> = words.iter().chain(&meaning).copied().collect();
            prop_assert_eq!(items.iter().copied().collect::<HashSet<_>>(), unique.clone());
            prop_assert_eq!(items.len(), unique.len());
            // Of those that one list alone has, the order is that list's.
            for (list, other) in [(&words, &meaning), (&meaning, &words)] {
                let alone: Vec<u8> = list.iter().copied().filter(|it| !other.contains(it)).collect();
                let kept: Vec<u8> = items.iter().copied().filter(|it| alone.contains(it)).collect();
                prop_assert_eq!(kept, alone);
            }
            let first = words.first().or(meaning.first());
            prop_assert_eq!(items.first(), first, "what words find best stays the best");
            let cut = fused(&words, &meaning, limit);
            prop_assert_eq!(&cut[..], &all[..limit.min(all.len())]);
            if meaning.is_empty() {
                prop_assert_eq!(items, words);
            }
        }
    }
}
