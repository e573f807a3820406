//! What a model can be shown: how much at once, and whether pictures.

/// What a model can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Tokens that it can be shown and say at once.
    pub window: u32,
    /// Whether it can be shown pictures.
    pub sees_images: bool,
}

impl Abilities {
    /// What is said of it, and what its name says where nothing is.
    pub(crate) fn of(model: &str, window: Option<u32>, sees_images: Option<bool>) -> Self {
        Self {
            window: window.unwrap_or_else(|| context_window(model)),
            sees_images: sees_images.unwrap_or_else(|| sees_pictures(model)),
        }
    }

    /// What its name says.
    pub fn by_name(model: &str) -> Self {
        Self::of(model, None, None)
    }
}

/// Tokens taken for granted of a model nobody knows: what current small local models have.
const UNKNOWN: u32 = 32_000;

/// Windows by the beginning of the model's name, in tokens. The longest beginning counts.
const KNOWN: &[(&str, u32)] = &[
    ("claude-", 200_000),
    ("gpt-5", 272_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4o", 128_000),
    ("gpt-oss", 128_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("gemini-", 1_000_000),
    ("deepseek-", 128_000),
    ("qwen3", 32_000),
    ("llama3.1", 128_000),
    ("llama3.2", 128_000),
    ("llama3.3", 128_000),
    ("mistral-large", 128_000),
];

/// The window of a model, in tokens, by its name with or without a provider.
pub fn context_window(model: &str) -> u32 {
    let name = model.rsplit('/').next().unwrap_or(model);
    let known = KNOWN.iter().filter(|(beginning, _)| name.starts_with(beginning));
    known.max_by_key(|(beginning, _)| beginning.len()).map_or(UNKNOWN, |(_, window)| *window)
}

/// How the names of models begin that can be shown pictures. One that is not here is told of a
/// picture in words: a provider that can't take one refuses the whole request.
const SEEING: &[&str] = &[
    "claude-",
    "gpt-4o",
    "gpt-4.1",
    "gpt-4-turbo",
    "gpt-5",
    "o1",
    "o3",
    "o4",
    "chatgpt-4o",
    "gemini-",
    "gemma3",
    "gemma-3",
    "pixtral",
    "llava",
    "llama-4",
    "llama4",
    "llama3.2-vision",
    "llama-3.2-11b-vision",
    "llama-3.2-90b-vision",
    "minicpm-v",
    "mistral-medium-3",
    "mistral-small3",
    "qwen2-vl",
    "qwen2.5-vl",
    "qwen2.5vl",
    "qwen3-vl",
    "grok-4",
];

/// Whether a model can be shown pictures, by its name with or without a provider.
pub fn sees_pictures(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    SEEING.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_counts_and_the_provider_does_not() {
        assert_eq!(context_window("anthropic/claude-sonnet-4-5"), 200_000);
        assert_eq!(context_window("openrouter/openai/gpt-4.1-mini"), 1_000_000);
        assert_eq!(context_window("gpt-4o-mini"), 128_000);
        assert_eq!(context_window("local/something"), UNKNOWN);
    }

    #[test]
    fn a_model_that_nobody_knows_is_shown_no_pictures() {
        assert!(sees_pictures("anthropic/claude-sonnet-4-5") && sees_pictures("gpt-5-mini"));
        assert!(!sees_pictures("local/something") && !sees_pictures("gpt-3.5-turbo"));
    }
}
