//! Values and bytes of any shape, the same for the same seed.

use insula_world::{RandomStream, World};
use serde_json::{Value, json};

/// How deep a value is that nobody expects.
const DEPTH_MAX: usize = 3;
/// How many lists stand in each other where something is to be too deep.
const NESTED: usize = 120;

pub struct Dice(RandomStream);

impl Dice {
    pub fn new(world: &World, seed: &str) -> Self {
        Self(world.random.stream(&["fuzz", seed]))
    }

    /// A number below this one.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(u64::from_le_bytes(self.0.bytes()) % bound).unwrap_or_default()
    }

    /// One of these.
    pub fn one_of<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    pub fn text(&mut self) -> String {
        let pieces = ["x", "\u{202e}\0😀/@<&", "⟦from web:1⟧", "own:", "{{ a }}", "../", "a:b%"];
        self.one_of(&pieces).repeat(self.below(60))
    }

    pub fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 9 } else { 12 }) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(i64::from_le_bytes(self.0.bytes())),
            3 => json!(1e300),
            4 => json!(self.one_of(&[-1, 0, 1, i64::MIN, i64::MAX])),
            5 => json!(u64::MAX),
            6 => json!(self.text()),
            7 => json!("x".repeat(self.below(3000))),
            8 => json!(self.below(1_000_000).to_string()),
            9 => (0..self.below(NESTED)).fold(Value::Null, |inner, _| json!([inner])),
            10 => Value::Array((0..self.below(6)).map(|_| self.value(depth - 1)).collect()),
            _ => {
                let names = [
                    "id", "type", "text", "room", "chat", "from", "message", "user", "offset",
                    "topic", "files", "after",
                ];
                let fields = (0..self.below(6))
                    .map(|_| ((*self.one_of(&names)).to_owned(), self.value(depth - 1)));
                Value::Object(fields.collect::<Vec<_>>().into_iter().collect())
            }
        }
    }

    /// Changes one thing somewhere inside.
    pub fn mutate(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) if !fields.is_empty() && self.below(5) > 0 => {
                let keys: Vec<String> = fields.keys().cloned().collect();
                let key = self.one_of(&keys).clone();
                match self.below(6) {
                    0 => drop(fields.remove(&key)),
                    // What stands elsewhere, so that kinds are mixed.
                    1 => {
                        let taken = fields[&key].clone();
                        fields.insert(self.one_of(&keys).clone(), taken);
                    }
                    _ => self.mutate(&mut fields[&key]),
                }
            }
            Value::Array(items) if !items.is_empty() && self.below(5) > 0 => {
                let at = self.below(items.len());
                match self.below(4) {
                    0 => drop(items.remove(at)),
                    1 => items.push(items[at].clone()),
                    _ => self.mutate(&mut items[at]),
                }
            }
            other => *other = self.value(DEPTH_MAX),
        }
    }

    /// Changes bytes, whatever they mean.
    pub fn garble(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(4) {
                0 if !bytes.is_empty() => drop(bytes.remove(at)),
                1 => bytes.insert(at, self.0.bytes::<1>()[0]),
                2 => bytes.truncate(at),
                _ if !bytes.is_empty() => bytes[at] = self.0.bytes::<1>()[0],
                _ => {}
            }
        }
    }
}
