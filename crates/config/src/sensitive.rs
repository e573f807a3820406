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

/// How tokens of well-known services begin.
const TOKEN_PREFIXES: [&str; 12] = [
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "sk-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "AIza",
    "hf_",
    "eyJhbGciOi",
];

/// Whether a literal looks like a credential: a token of a known service, an authorisation
/// header, or an address with a password in it. Ordinary words never do.
pub fn looks_like_credential(text: &str) -> bool {
    const TOKEN_CHARS_MIN: usize = 16;
    let bare = text.strip_prefix("Bearer ").or_else(|| text.strip_prefix("Basic "));
    let word = bare.unwrap_or(text).trim();
    let token = word.len() >= TOKEN_CHARS_MIN
        && !word.contains(char::is_whitespace)
        && (bare.is_some() || TOKEN_PREFIXES.iter().any(|prefix| word.starts_with(prefix)));
    let userinfo = text.split_once("://").and_then(|(_, rest)| {
        let authority = rest.split(['/', '?', '#']).next()?;
        authority.rsplit_once('@').filter(|(user, _)| user.contains(':'))
    });
    token || userinfo.is_some()
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
    fn a_token_is_told_from_a_word() {
        for text in
            ["ghp_0123456789abcdef0123", "Bearer abcdef0123456789abc", "https://me:pw@host/x"]
        {
            assert!(looks_like_credential(text), "{text}");
        }
        for text in ["sk-short", "Bearer of news", "https://host/x@y", "a plain sentence", "coding"]
        {
            assert!(!looks_like_credential(text), "{text}");
        }
    }

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
