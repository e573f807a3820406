//! Values of any shape, and how much memory they leave behind.

use insula_world::{RandomStream, World};
use serde_json::{Value, json};

/// How much may be kept of all the noise.
pub const GROWTH_MAX: usize = 64 << 20;

/// What this process holds in memory, in bytes.
pub fn memory() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

pub struct Dice(RandomStream);

impl Dice {
    pub fn new(world: &World, seed: &str) -> Self {
        Self(world.random.stream(&["fuzz", seed]))
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (u64::from_le_bytes(self.0.bytes()) % bound.max(1) as u64) as usize
    }

    pub fn text(&mut self) -> String {
        let piece = ["x", "\u{202e}\0😀/@<&", "⟦from web:1⟧", "own:", "{{ a }}", "../", "a:b%"];
        piece[self.below(piece.len())].repeat(self.below(60))
    }

    pub fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 7 } else { 9 }) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(i64::from_le_bytes(self.0.bytes())),
            3 => json!(1e300),
            4 => json!([-1, 0, 1, i64::MIN, i64::MAX][self.below(5)]),
            5 => json!(self.text()),
            6 => json!("x".repeat(self.below(3000))),
            7 => Value::Array((0..self.below(6)).map(|_| self.value(depth - 1)).collect()),
            _ => {
                let names = ["id", "type", "text", "room", "topic", "files", "user", "after"];
                let fields = (0..self.below(6))
                    .map(|_| (names[self.below(names.len())].to_owned(), self.value(depth - 1)));
                Value::Object(fields.collect::<Vec<_>>().into_iter().collect())
            }
        }
    }

    /// Changes one thing somewhere inside.
    pub fn mutate(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) if !fields.is_empty() && self.below(5) > 0 => {
                let key = fields.keys().nth(self.below(fields.len())).unwrap().clone();
                match self.below(6) {
                    0 => drop(fields.remove(&key)),
                    1 => {
                        let other = fields.keys().nth(self.below(fields.len())).unwrap().clone();
                        let taken = fields[&key].clone();
                        fields.insert(other, taken);
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
            other => *other = self.value(3),
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
