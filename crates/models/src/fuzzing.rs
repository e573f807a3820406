//! What fuzz targets call: answers of providers, cut into pieces anyhow. Built only for them.

use crate::reading::{Flow, Framing, Parser, Pieces};
use crate::{Answer, Gathering, anthropic, ollama, openai};
use std::collections::VecDeque;

/// The answer in these bytes as a provider's: 0 for OpenAI, 1 for Anthropic, 2 for Ollama. It
/// comes in pieces of `piece_len` bytes. `None` where it is none.
pub fn answer(provider: u8, piece_len: usize, bytes: &[u8]) -> Option<Answer> {
    match provider {
        0 => read(Framing::Sse, openai::parser(), piece_len, bytes),
        1 => read(Framing::Sse, anthropic::parser(), piece_len, bytes),
        _ => read(Framing::JsonLines, ollama::parser(), piece_len, bytes),
    }
}

fn read<P: Parser>(framing: Framing, parser: P, piece_len: usize, bytes: &[u8]) -> Option<Answer> {
    let mut pieces = Pieces::new(framing, parser);
    let mut ready = VecDeque::new();
    let mut flow = Flow::On;
    for piece in bytes.chunks(piece_len.max(1)) {
        flow = pieces.decode(piece, &mut ready).ok()?;
        if flow == Flow::End {
            break;
        }
    }
    match flow {
        Flow::End => pieces.end(&mut ready).ok()?,
        Flow::On => pieces.at_end(&mut ready).ok()?,
    }
    let mut gathering = Gathering::default();
    for event in ready {
        gathering.add(event);
    }
    Some(gathering.finish())
}
