//! "Did you mean …?"

/// The name most like `text`, if any is like it.
pub fn nearest<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let plain = |name: &str| name.to_lowercase().replace(['-', ' ', '.'], "_");
    let text = plain(text);
    // A third of the letters may differ: `tolls` finds `tools`, `x` finds nothing.
    let tolerance = (text.chars().count() / 3).max(1);
    names
        .into_iter()
        .filter_map(|name| {
            let other = plain(name);
            let distance = strsim::damerau_levenshtein(&text, &other);
            // `pre_tool` is the beginning of `pre_tool_call`, and further from it than a slip.
            let begins = text.chars().count() >= 4 && other.starts_with(&text);
            (distance <= tolerance || begins).then_some((distance, name))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_finds_its_key_and_a_stranger_finds_none() {
        let keys = ["tools", "model", "memory", "mcp_servers"];
        assert_eq!(nearest("tolls", keys), Some("tools"));
        assert_eq!(nearest("MCP-servers", keys), Some("mcp_servers"));
        assert_eq!(nearest("memroy", keys), Some("memory"));
        assert_eq!(nearest("mcp_", keys), Some("mcp_servers"));
        assert_eq!(nearest("zzz", keys), None);
    }
}
