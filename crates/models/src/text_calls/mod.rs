//! Calls and thoughts that models print among their words, as most local ones do.
//!
//! A call in a text is one only if it names a tool that the model was shown in this request, and
//! if nothing says that it is an example, a quotation or somebody else's words: `meant.rs` decides
//! that, and `docs/text-calls.md` says it in words. It is taken out of what the person sees and
//! goes the same way as every other call. Knows no agents and runs nothing.

mod announced;
mod announced_words;
mod asked;
mod asked_words;
mod constrained;
mod deepseek;
mod fence;
mod found;
mod hearing;
mod in_words;
pub mod lenient;
mod listening;
mod marked;
mod meant;
mod mode;
mod next_step;
mod prose;
mod python;
mod quoted;
mod repeated;
mod scan;
mod sequence;
mod shape;
mod shown;
mod thoughts;
mod unmarked;

pub use found::Form;
pub use found::{TEXT_CALL_ID, text_call};
pub use mode::ToolCalls;
pub use quoted::is_placeholder;
pub use shown::ANSWER_NOW;

pub(crate) use in_words::{Style, in_words};
pub(crate) use listening::Listening;
pub(crate) use unmarked::SeenThinking;

#[cfg(test)]
mod adversarial_tests;
#[cfg(test)]
mod hearing_tests;
