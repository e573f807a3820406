//! Names of theirs as names of ours.

use insula_domain::{AgentId, Platform};

/// What a platform of theirs is called here; `None` for one we do not know.
pub(crate) fn platform(theirs: &str) -> Option<Platform> {
    let name = match theirs {
        "msteams" => "teams",
        "nextcloud-talk" => "nextcloud",
        "whatsapp_cloud" | "whatsapp-cloud" => "whatsapp",
        "wecom_callback" => "wecom",
        "api_server" => "api",
        other => other,
    };
    Platform::new(name).ok()
}

/// An agent's id, made of a name of theirs; `None` where nothing of it can be one.
pub(crate) fn agent_id(theirs: &str) -> Option<AgentId> {
    if let Ok(id) = AgentId::new(theirs) {
        return Some(id);
    }
    let fit = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '_' | '-') => c,
        _ => '-',
    };
    let name: String = theirs.chars().map(fit).collect();
    let name = name.trim_matches(['-', '_']);
    AgentId::new(name.get(..name.len().min(64)).unwrap_or_default()).ok()
}

/// Whether what has this name is kept from sight, whatever it is.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let marks = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTHORIZATION"];
    !value.is_empty()
        && !value.starts_with("${")
        && (name.split(['_', '-', '.']).any(|part| marks.contains(&part) || part.ends_with("KEY"))
            || ["APIKEY", "BOTTOKEN", "APPTOKEN"].iter().any(|it| name.ends_with(it))
            || insula_config::looks_like_credential(value))
}

/// A text as the name of a secret: letters, digits and `_`.
pub(crate) fn secret_name(parts: &[&str]) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = parts.join("_").chars().map(fit).collect();
    let name =
        if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name };
    name.chars().take(128).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_become_ids_where_they_can() {
        for (theirs, ours) in [
            ("coder", Some("coder")),
            ("Family Bot", Some("family-bot")),
            ("../../etc", Some("etc")),
            ("---", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(agent_id(theirs).as_ref().map(AgentId::as_str), ours, "{theirs}");
        }
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in ["ANTHROPIC_API_KEY", "botToken", "GITHUB_TOKEN", "db_password", "apiKey"] {
            assert!(is_secret(name, "something"), "{name}");
        }
        for name in ["TELEGRAM_ALLOWED_USERS", "KEYBOARD", "MODEL"] {
            assert!(!is_secret(name, "12345"), "{name}");
        }
        assert!(!is_secret("API_KEY", ""));
        assert!(!is_secret("API_KEY", "${secret:X}"));
    }

    proptest! {
        #[test]
        fn a_hostile_name_is_no_path(theirs in "\\PC{0,80}") {
            if let Some(id) = agent_id(&theirs) {
                prop_assert!(!id.as_str().contains(['/', '.', '\0']));
            }
        }

        #[test]
        fn the_name_of_a_secret_is_one(parts in prop::collection::vec("\\PC{0,20}", 1..4)) {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let name = secret_name(&parts);
            prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
            prop_assert!(!name.starts_with(|c: char| c.is_ascii_digit()) && name.len() <= 128);
        }
    }
}
