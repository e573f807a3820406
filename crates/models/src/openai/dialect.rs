//! What differs between servers of chat completions.

use crate::fit::{Calls, Fit, Ids, Pictures, System, Taken, ToolPictures, Turns};
use crate::manner::{LengthName, Manner};
use crate::options::ModelOptions;
use crate::window::Abilities;

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAI itself, whose newer models refuse `max_tokens`, and which refuses what it does not
    /// know.
    OpenAi,
    /// Google's compatible server: it wants its own marks on calls back, knows little of a schema
    /// and refuses members it does not know.
    Google,
    /// Mistral: ids of nine letters and digits, people and model in turns, and no member that it
    /// does not know.
    Mistral,
    /// OpenRouter, behind which is any of the others.
    OpenRouter,
    /// Everyone else: llama.cpp, vLLM, LM Studio and their kin, which put a conversation through
    /// the template of a model. Some do not know `max_completion_tokens`.
    Compatible,
}

/// Tokens of an answer where nobody says, on servers of one's own: long enough for a file, and an
/// end to what does not find one.
const ANSWER_TOKENS: u32 = 8_192;
/// The least of them.
const ANSWER_TOKENS_MIN: u32 = 256;
/// Tokens of an answer of models that think first, since their thoughts count.
const THINKING_TOKENS: u32 = 32_768;
/// What large models of OpenAI can say at once.
const LARGE_TOKENS: u32 = 16_384;
/// What its old ones can.
const OLD_TOKENS: u32 = 4_096;

impl Dialect {
    /// The dialect of the server at an address.
    pub(super) fn at(base_url: &str) -> Self {
        let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
        let host = rest.split(['/', ':', '?']).next().unwrap_or_default().to_ascii_lowercase();
        match host.as_str() {
            "api.openai.com" => Self::OpenAi,
            "generativelanguage.googleapis.com" => Self::Google,
            "openrouter.ai" => Self::OpenRouter,
            host if host == "api.mistral.ai" || host.ends_with(".mistral.ai") => Self::Mistral,
            _ => Self::Compatible,
        }
    }

    /// How a question is put first.
    pub(super) fn manner(self, abilities: &Abilities, options: &ModelOptions) -> Manner {
        let pictures = match abilities.sees_images {
            true => Pictures::Shown(Taken::Anywhere),
            false => Pictures::InWords,
        };
        let calls = match (self, options.parallel_calls) {
            // One of parallel calls has the mark for all of them.
            (Self::Google, _) => Calls::Together,
            (_, Some(false)) => Calls::Single,
            _ => Calls::Together,
        };
        let (turns, ids) = match self {
            Self::OpenAi => (Turns::Free, Ids::Kept),
            Self::Google => (Turns::Alternating, Ids::Kept),
            Self::Mistral | Self::OpenRouter | Self::Compatible => (Turns::Alternating, Ids::Nine),
        };
        let system = System::Apart;
        let length = match self {
            Self::OpenAi => LengthName::MaxCompletionTokens,
            _ => LengthName::MaxTokens,
        };
        let fit = Fit { pictures, tool_pictures: ToolPictures::After, calls, turns, ids, system };
        Manner::new(fit, length)
    }

    /// The most tokens of an answer where nobody says.
    pub(super) fn answer_tokens(self, model: &str, window: u32) -> u32 {
        let name = model.rsplit('/').next().unwrap_or(model);
        let begins = |beginnings: &[&str]| beginnings.iter().any(|it| name.starts_with(it));
        match self {
            Self::OpenAi if thinks(name) => THINKING_TOKENS,
            Self::OpenAi if begins(&["gpt-4o", "gpt-4.1", "chatgpt-"]) => LARGE_TOKENS,
            Self::OpenAi => OLD_TOKENS,
            Self::Google if begins(&["gemini-2.5", "gemini-3"]) => THINKING_TOKENS,
            // Beside the question, which may be most of the window: vLLM refuses a sum above it.
            _ => ANSWER_TOKENS.min(window / 5).max(ANSWER_TOKENS_MIN),
        }
    }

    /// Whether the server is asked how much its models can be shown.
    pub(super) fn tells(self) -> bool {
        self == Self::Compatible
    }
}

/// Whether a model of OpenAI thinks before it answers. Such refuse most of sampling.
pub(super) fn thinks(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    ["o1", "o3", "o4", "gpt-5"].iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_is_told_by_the_host_alone() {
        for (url, expected) in [
            ("https://api.openai.com/v1", Dialect::OpenAi),
            ("https://API.OpenAI.com/v1", Dialect::OpenAi),
            ("https://api.openai.com.evil.test/v1", Dialect::Compatible),
            ("http://127.0.0.1:8080/api.openai.com", Dialect::Compatible),
            ("https://generativelanguage.googleapis.com/v1beta/openai", Dialect::Google),
            ("https://api.mistral.ai/v1", Dialect::Mistral),
            ("https://openrouter.ai/api/v1", Dialect::OpenRouter),
        ] {
            assert_eq!(Dialect::at(url), expected, "{url}");
        }
    }

    #[test]
    fn an_answer_has_a_bound_that_fits_the_window() {
        assert_eq!(Dialect::Compatible.answer_tokens("qwen", 4_096), 819);
        assert_eq!(Dialect::Compatible.answer_tokens("qwen", 1_000_000), ANSWER_TOKENS);
        assert_eq!(Dialect::Compatible.answer_tokens("qwen", 0), ANSWER_TOKENS_MIN);
        assert_eq!(Dialect::OpenAi.answer_tokens("gpt-5-mini", 272_000), THINKING_TOKENS);
        assert_eq!(Dialect::OpenAi.answer_tokens("gpt-4-turbo", 128_000), OLD_TOKENS);
    }
}
