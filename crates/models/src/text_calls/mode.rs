//! Which providers' models are listened to for calls and thoughts that come as text.

/// How a provider's models call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolCalls {
    /// As the protocol has it, and in no other way.
    Native,
    /// As text: tools and calls are described in words, for servers that know no tools.
    Text,
    /// As the protocol has it, or as text where the provider is not known to print none.
    #[default]
    Auto,
}

impl ToolCalls {
    /// What a setting means.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "native" => Some(Self::Native),
            "text" => Some(Self::Text),
            "auto" => Some(Self::Auto),
            _ => None,
        }
    }
}

/// Hosts that serve models of their own, whose calls they read themselves: what one of their
/// models prints is meant to be read by people. Every other server hands on what a model prints:
/// llama.cpp, LM Studio, vLLM, Ollama and whoever sells such models.
const READ_THEMSELVES: &[&str] = &[
    "api.openai.com",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
    "api.mistral.ai",
    "api.x.ai",
    "api.deepseek.com",
    "api.cohere.com",
];
/// The same by the end of the host's name.
const READ_THEMSELVES_UNDER: &[&str] = &[".openai.azure.com", ".amazonaws.com"];

/// Whether a host reads what its models print.
pub fn reads_itself(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    READ_THEMSELVES.contains(&&*host) || READ_THEMSELVES_UNDER.iter().any(|end| host.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_their_own_models_read_themselves_and_nobody_else_does() {
        for (host, expected) in [
            ("api.openai.com", true),
            ("API.OpenAI.com", true),
            ("house.openai.azure.com", true),
            ("api.openai.com.evil.test", false),
            ("generativelanguage.googleapis.com", true),
            ("api.anthropic.com", true),
            ("openrouter.ai", false),
            ("127.0.0.1", false),
            ("localhost", false),
            ("[::1]", false),
            ("models.house.test", false),
            ("", false),
        ] {
            assert_eq!(reads_itself(host), expected, "{host}");
        }
    }
}
