//! Which model of ours a model of theirs is.

/// A provider of theirs that is built in here, and the secret it takes its key from.
pub(crate) const BUILT_IN: &[(&str, &str, Option<&str>)] = &[
    ("anthropic", "anthropic", Some("ANTHROPIC_API_KEY")),
    ("claude", "anthropic", Some("ANTHROPIC_API_KEY")),
    ("gemini", "google", Some("GOOGLE_API_KEY")),
    ("google", "google", Some("GOOGLE_API_KEY")),
    ("google-gemini", "google", Some("GOOGLE_API_KEY")),
    ("ollama", "ollama", None),
    ("openai", "openai", Some("OPENAI_API_KEY")),
    ("openai-api", "openai", Some("OPENAI_API_KEY")),
    ("openrouter", "openrouter", Some("OPENROUTER_API_KEY")),
];

/// How a key is called here that has this name there, if a built-in provider takes it.
pub(crate) fn provider_key(name: &str) -> Option<(&'static str, &'static str)> {
    let name = if name == "GEMINI_API_KEY" { "GOOGLE_API_KEY" } else { name };
    let of = BUILT_IN.iter().find(|(.., key)| *key == Some(name))?;
    Some((of.1, of.2?))
}

/// A model as it is written here.
pub(crate) fn model(provider: &str, model: &str, own: &[String]) -> Result<String, String> {
    let provider = provider.trim();
    let named = |ours: &str| {
        // Some write the provider in both places.
        let bare = model.strip_prefix(&format!("{provider}/")).unwrap_or(model);
        format!("{ours}/{bare}")
    };
    if let Some(ours) = own.iter().find(|it| *it == provider) {
        return Ok(named(ours));
    }
    if let Some((_, ours, _)) = BUILT_IN.iter().find(|(theirs, ..)| *theirs == provider) {
        return Ok(named(ours));
    }
    if provider.is_empty() || provider == "auto" {
        // The first part names the provider, or a maker whose models a router has.
        let Some((first, _)) = model.split_once('/') else {
            return Err(format!("no provider is named for `{model}`"));
        };
        let known = own.iter().any(|it| it == first) || BUILT_IN.iter().any(|it| it.1 == first);
        return Ok(if known { model.to_owned() } else { format!("openrouter/{model}") });
    }
    Err(format!("provider `{provider}` is not known here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_keep_their_names() {
        let own = ["local".to_owned()];
        for (provider, name, expected) in [
            ("anthropic", "claude-sonnet-4-5", Ok("anthropic/claude-sonnet-4-5")),
            ("anthropic", "anthropic/claude-sonnet-4-5", Ok("anthropic/claude-sonnet-4-5")),
            ("gemini", "gemini-2.5-pro", Ok("google/gemini-2.5-pro")),
            ("openrouter", "anthropic/claude", Ok("openrouter/anthropic/claude")),
            ("local", "small", Ok("local/small")),
            ("auto", "local/small", Ok("local/small")),
            ("", "qwen/qwen3", Ok("openrouter/qwen/qwen3")),
            ("", "qwen3", Err(())),
            ("nous", "hermes-4", Err(())),
        ] {
            let found = model(provider, name, &own);
            assert_eq!(found.as_deref().map_err(|_| ()), expected, "{provider} {name}");
        }
    }
}
