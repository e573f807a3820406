//! How fast texts pass a redactor: `cargo run --release -p insula-vault --example throughput`.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a measuring program: the clock"
)]

use insula_vault::{Redactor, Secret, StreamRedactor};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// What is measured each time.
const TEXT_BYTES: usize = 4 * 1024 * 1024;
const ROUNDS: u32 = 20;

/// A word of random letters, the same in every run.
fn letters(seed: u64, len: usize) -> String {
    let alphabet = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(alphabet[(state >> 33) as usize % alphabet.len()])
    };
    (0..len).map(|_| draw()).collect()
}

fn prose() -> String {
    let words = "The quick brown fox, 42 years old, jumps over the lazy dog; {\"path\": \
                 \"/home/me/src/main.rs\", \"line\": 17}\nand says: skip the token, pass the key. ";
    words.repeat(TEXT_BYTES / words.len())
}

fn megabytes_per_second(bytes: usize, mut work: impl FnMut()) -> f64 {
    let best = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    bytes as f64 / 1e6 / best.fold(f64::INFINITY, f64::min)
}

fn main() {
    let mixed = letters(7, TEXT_BYTES);
    let prose = prose();
    println!("secrets  bytes  build ms  prose MB/s  random MB/s  pieces of 16 B MB/s");
    for (count, len) in
        [(0, 0), (1, 40), (10, 40), (100, 60), (1_000, 60), (5_000, 60), (4, 65_536)]
    {
        let values: Vec<Secret> = (0..count)
            .map(|index| {
                let prefix = ["sk-proj-", "ghp_", "xoxb-", "eyJhbGciOi"][index % 4];
                Secret::new(format!("{prefix}{}", letters(index as u64 + 1_000, len - 10)))
            })
            .collect();
        measure(&values, &format!("{count:7} {len:6}"), &prose, &mixed);
    }
    let short = [Secret::new("4711"), Secret::new(letters(5, 40))];
    measure(&short, "one is short  ", &prose, &mixed);
}

fn measure(values: &[Secret], label: &str, prose: &str, mixed: &str) {
    let start = Instant::now();
    let redactor = Arc::new(Redactor::new(values));
    let build_ms = start.elapsed().as_secs_f64() * 1e3;
    let whole = |text: &str| {
        megabytes_per_second(text.len(), || {
            assert!(matches!(black_box(redactor.redact(text)), std::borrow::Cow::Borrowed(_)));
        })
    };
    let pieces = megabytes_per_second(prose.len(), || {
        let mut stream = StreamRedactor::new(redactor.clone());
        for piece in prose.as_bytes().chunks(16) {
            black_box(stream.push(std::str::from_utf8(piece).unwrap()));
        }
    });
    let (prose, mixed) = (whole(prose), whole(mixed));
    println!("{label} {build_ms:9.1} {prose:11.0} {mixed:12.0} {pieces:20.0}");
}
