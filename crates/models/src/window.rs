//! How much a model can be shown at once.

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
}
