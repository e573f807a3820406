//! Which values are not shown: what stands where credentials stand, unless it only refers
//! to one.

/// What is shown instead.
pub const HIDDEN: &str = "…";

/// Whether the setting at `path` (parts joined by dots) holds what might be a credential.
/// `env` and `headers` hold whatever somebody put there.
pub fn is_sensitive(path: &str) -> bool {
    path.split('.').any(|part| {
        let part = part.to_ascii_lowercase();
        matches!(&*part, "env" | "headers" | "secret" | "token" | "password" | "authorization")
            || ["_key", "_token", "_secret", "_password", "apikey"]
                .iter()
                .any(|end| part.ends_with(end))
    })
}

/// Whether a text says nothing but which secret to use, so that it can be shown.
pub fn only_refers(text: &str) -> bool {
    let mut rest = text.to_owned();
    let mut refers = false;
    while let Some(at) = rest.find("${secret:").or_else(|| rest.find("${env:")) {
        let Some(end) = rest[at..].find('}') else { return false };
        rest.replace_range(at..=at + end, "");
        refers = true;
    }
    refers && ["", "bearer", "basic", "token"].contains(&&*rest.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_might_be_a_credential_is_hidden_unless_it_only_refers_to_one() {
        for path in ["env.TOKEN", "mcp_servers.github.headers.X", "providers.a.api_key", "token"] {
            assert!(is_sensitive(path), "{path}");
        }
        for path in ["model", "secrets", "budget.tokens_per_day", "tools.allow", "metadata.org"] {
            assert!(!is_sensitive(path), "{path}");
        }
        for text in ["${secret:A}", "Bearer ${secret:A}", "${env:A}"] {
            assert!(only_refers(text), "{text}");
        }
        for text in ["", "abc", "abc${secret:A}", "Bearer abc", "${secret:A"] {
            assert!(!only_refers(text), "{text}");
        }
    }
}
