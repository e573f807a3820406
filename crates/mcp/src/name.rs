//! What a server's tool is called here.

use insula_domain::selector::McpName;

/// Longest name, in bytes: what every provider takes.
pub const NAME_BYTES_MAX: usize = 64;
/// Hexadecimal digits that tell shortened names apart.
const MARK_LEN: usize = 8;

/// The name by which a model calls the tool `tool` of `server`. Characters that a model's
/// name can't have become `_`, and what is too long is shortened; two tools of a server that
/// come to the same name are told apart by nobody, so both are refused elsewhere. `None` when
/// nothing is left of the name, or the server's own is too long.
pub fn full_name(server: &str, tool: &str) -> Option<String> {
    let plain = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let part: String = tool.chars().map(|it| if plain(it) { it } else { '_' }).collect();
    if !part.chars().any(|it| it.is_ascii_alphanumeric()) {
        return None;
    }
    let mut name = McpName { server, tool: &part }.to_string();
    if name.len() > NAME_BYTES_MAX {
        let mark = &blake3::hash(tool.as_bytes()).to_hex()[..MARK_LEN];
        // Plain characters only, so any place is one between two.
        name.truncate(NAME_BYTES_MAX - MARK_LEN - 1);
        name = format!("{name}_{mark}");
    }
    McpName::parse(&name).filter(|it| it.server == server)?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_short_and_stay_with_their_server() {
        let name = |tool: &str| full_name("git", tool);
        assert_eq!(name("list").as_deref(), Some("mcp__git__list"));
        assert_eq!(name("a.b/c d").as_deref(), Some("mcp__git__a_b_c_d"));
        assert_eq!(name("вася"), None);
        assert_eq!(name(""), None);
        assert_eq!(name("__x").as_deref(), Some("mcp__git____x"));
        let (one, other) = (name(&"x".repeat(200)).unwrap(), name(&"x".repeat(201)).unwrap());
        assert!(one.len() == NAME_BYTES_MAX && other.len() == NAME_BYTES_MAX && one != other);
        assert_eq!(full_name(&"s".repeat(64), "list"), None);
    }
}
