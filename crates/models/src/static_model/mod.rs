//! A static model: a vector for each piece of a word, and the mean of them for a text. It runs
//! here, in microseconds. Reads what `model2vec` and its kin write: `model.safetensors` with a
//! tensor `embeddings`, and a `tokenizer.json` of WordPiece. Opens no files itself.

mod word_piece;

use safetensors::{Dtype, SafeTensors};
use word_piece::WordPiece;

/// Most bytes of a table: a hundred thousand pieces of 1,024 numbers fit.
pub const TABLE_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Most bytes of a tokenizer.
pub const TOKENIZER_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Most pieces of one text that count.
const PIECES_MAX: usize = 2_048;
/// What the tensor is called.
const TENSOR: &str = "embeddings";

/// Why a model can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StaticModelError(String);

fn error(what: impl Into<String>) -> StaticModelError {
    StaticModelError(what.into())
}

/// A static model, in memory.
pub struct StaticModel {
    pieces: WordPiece,
    /// One row after the other.
    table: Vec<f32>,
    dimensions: usize,
    name: String,
}

impl StaticModel {
    /// Reads one from the bytes of its two files.
    pub fn read(tokenizer: &[u8], table: &[u8]) -> Result<Self, StaticModelError> {
        let pieces =
            WordPiece::read(tokenizer).map_err(|why| error(format!("tokenizer.json: {why}")))?;
        let in_table = |why: String| error(format!("model.safetensors: {why}"));
        let tensors = SafeTensors::deserialize(table).map_err(|why| in_table(why.to_string()))?;
        if let Some(other) = tensors.names().iter().find(|it| ***it != *TENSOR) {
            return Err(in_table(format!("has a tensor `{other}`; only `{TENSOR}` is known here")));
        }
        let tensor = tensors.tensor(TENSOR).map_err(|why| in_table(why.to_string()))?;
        let &[rows, dimensions] = tensor.shape() else {
            return Err(in_table(format!("`{TENSOR}` is no table")));
        };
        if rows < pieces.rows() || dimensions == 0 || dimensions > super::embedding::DIMENSIONS_MAX
        {
            return Err(in_table(format!(
                "has {rows} rows of {dimensions} numbers; the tokenizer needs {} rows",
                pieces.rows()
            )));
        }
        let data = tensor.data();
        let table: Vec<f32> = match tensor.dtype() {
            Dtype::F32 => {
                data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
            }
            Dtype::F16 => data
                .as_chunks::<2>()
                .0
                .iter()
                .map(|bytes| from_half(u16::from_le_bytes(*bytes)))
                .collect(),
            other => {
                return Err(in_table(format!(
                    "has numbers of type {other:?}; F32 and F16 are read"
                )));
            }
        };
        if !table.iter().all(|number| number.is_finite()) {
            return Err(in_table("has numbers that are none".to_owned()));
        }
        Ok(Self { pieces, table, dimensions, name: named(tokenizer, data) })
    }

    /// What tells it apart from others: its content.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The mean of the vectors of the pieces of a text; zeros for one that has none it knows.
    pub fn embed(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0_f32; self.dimensions];
        let mut count = 0.0_f32;
        for piece in self.pieces.pieces(text).into_iter().take(PIECES_MAX) {
            let from = piece * self.dimensions;
            let Some(row) = self.table.get(from..from + self.dimensions) else { continue };
            sum.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
            count += 1.0;
        }
        if count > 0.0 {
            sum.iter_mut().for_each(|number| *number /= count);
        }
        sum
    }
}

/// A name by content, so that another model in the same folder is another model.
fn named(tokenizer: &[u8], table: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("insula static model 1");
    hasher.update(&(tokenizer.len() as u64).to_le_bytes());
    hasher.update(tokenizer);
    hasher.update(table);
    hasher.finalize().to_hex()[..16].to_owned()
}

/// A number of half precision.
fn from_half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff) / 1_024.0);
    sign * match exponent {
        0 => fraction * 2.0_f32.powi(-14),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction) * 2.0_f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::TensorView;

    const TOKENIZER: &str = r###"{"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{"[UNK]":0,"red":1,"apple":2,"##s":3}}}"###;

    fn table(dtype: Dtype, shape: Vec<usize>, bytes: &[u8]) -> Vec<u8> {
        let view = TensorView::new(dtype, shape, bytes).unwrap();
        safetensors::serialize([(TENSOR, view)], None).unwrap()
    }

    fn floats(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|it| it.to_le_bytes()).collect()
    }

    #[test]
    fn a_text_is_the_mean_of_its_pieces_and_what_is_unknown_does_not_count() {
        let bytes = floats(&[9.0, 9.0, 1.0, 0.0, 0.0, 1.0, 0.0, 3.0]);
        let model = StaticModel::read(TOKENIZER.as_bytes(), &table(Dtype::F32, vec![4, 2], &bytes));
        let model = model.unwrap();
        assert_eq!(model.embed("Red"), [1.0, 0.0]);
        assert_eq!(model.embed("apples"), [0.0, 2.0]);
        assert_eq!(model.embed("réd, zebra"), [1.0, 0.0]);
        assert_eq!(model.embed("zebra"), [0.0, 0.0]);
        assert_eq!(model.embed(""), [0.0, 0.0]);
        let other = floats(&[9.0, 9.0, 1.0, 0.0, 0.0, 1.0, 0.0, 4.0]);
        let other = StaticModel::read(TOKENIZER.as_bytes(), &table(Dtype::F32, vec![4, 2], &other));
        assert_ne!(other.unwrap().name(), model.name());
    }

    #[test]
    fn half_precision_is_read() {
        let halves = [0x0000_u16, 0x3c00, 0xc000, 0x3800, 0x0001, 0x7bff];
        let numbers: Vec<f32> = halves.iter().map(|it| from_half(*it)).collect();
        assert_eq!(numbers, [0.0, 1.0, -2.0, 0.5, 2.0_f32.powi(-24), 65_504.0]);
        assert!(from_half(0x7c01).is_nan() && from_half(0x7c00).is_infinite());
    }

    #[test]
    fn what_can_not_be_read_says_what_and_where() {
        let good = table(Dtype::F32, vec![4, 1], &floats(&[0.0; 4]));
        let why = |tokenizer: &str, table: &[u8]| {
            StaticModel::read(tokenizer.as_bytes(), table).err().unwrap().to_string()
        };
        assert!(why("{}", &good).starts_with("tokenizer.json: "));
        assert!(why(TOKENIZER, b"nonsense").starts_with("model.safetensors: "));
        let few = table(Dtype::F32, vec![3, 1], &floats(&[0.0; 3]));
        assert!(why(TOKENIZER, &few).contains("needs 4 rows"));
        let odd = table(Dtype::I8, vec![4, 1], &[0; 4]);
        assert!(why(TOKENIZER, &odd).contains("F32 and F16"));
        let none = table(Dtype::F32, vec![4, 1], &floats(&[f32::NAN; 4]));
        assert!(why(TOKENIZER, &none).contains("none"));
        let bpe = TOKENIZER.replace("WordPiece", "BPE");
        assert!(why(&bpe, &good).contains("WordPiece"));
    }
}
