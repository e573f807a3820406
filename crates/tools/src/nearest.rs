//! The tools that a name may have meant that is none: by its letters, by its words, and by what
//! such tools are called elsewhere.

/// Names that are told.
const NAMES_MAX: usize = 3;

/// What tools are called elsewhere, and what does that here.
const ELSEWHERE: &[(&str, &[&str])] = &[
    ("bash", &["terminal"]),
    ("shell", &["terminal"]),
    ("sh", &["terminal"]),
    ("exec", &["terminal", "execute_code"]),
    ("execute", &["terminal", "execute_code"]),
    ("run", &["terminal", "execute_code"]),
    ("command", &["terminal"]),
    ("python", &["execute_code", "terminal"]),
    ("code", &["execute_code"]),
    ("cat", &["read_file"]),
    ("open", &["read_file", "web_extract"]),
    ("view", &["read_file", "skill_view"]),
    ("create", &["write_file"]),
    ("save", &["write_file", "memory"]),
    ("edit", &["patch", "write_file"]),
    ("replace", &["patch"]),
    ("str", &["patch"]),
    ("modify", &["patch"]),
    ("update", &["patch", "memory"]),
    ("grep", &["search_files"]),
    ("find", &["search_files"]),
    ("ls", &["search_files", "terminal"]),
    ("glob", &["search_files"]),
    ("list", &["search_files", "skills_list"]),
    ("directory", &["search_files"]),
    ("fetch", &["web_extract"]),
    ("browse", &["web_extract"]),
    ("url", &["web_extract"]),
    ("http", &["web_extract"]),
    ("google", &["web_search"]),
    ("internet", &["web_search"]),
    ("remember", &["memory"]),
    ("store", &["memory"]),
    ("recall", &["memory_search", "session_search"]),
    ("history", &["session_search"]),
    ("ask", &["clarify"]),
    ("question", &["clarify"]),
    ("subagent", &["delegate_task"]),
    ("agent", &["delegate_task"]),
    ("spawn", &["delegate_task"]),
    ("delegate", &["delegate_task"]),
    ("task", &["delegate_task", "todo"]),
    ("plan", &["todo"]),
    ("skill", &["skill_view", "skills_list"]),
    ("send", &["send_message"]),
    ("message", &["send_message"]),
    ("kill", &["process"]),
];

/// The names among `names` that `wanted` may have meant, the likeliest first.
pub fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let plain = plain(wanted);
    let words: Vec<&str> = plain.split('_').filter(|word| !word.is_empty()).collect();
    let mut scored: Vec<(usize, &str)> =
        names.into_iter().filter_map(|name| Some((score(&plain, &words, name)?, name))).collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(NAMES_MAX).map(|(_, name)| name).collect()
}

/// `readFile`, `Read-File` and `read_file` are one name.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    let mut was_lower = false;
    for c in name.chars().take(100) {
        if c.is_uppercase() && was_lower {
            plain.push('_');
        }
        was_lower = c.is_lowercase();
        match c.is_alphanumeric() {
            true => plain.extend(c.to_lowercase()),
            false => plain.push('_'),
        }
    }
    plain
}

/// How far a name is from what was wanted; nothing where it is another altogether.
fn score(wanted: &str, words: &[&str], name: &str) -> Option<usize> {
    let own = plain(name);
    let distance = strsim::damerau_levenshtein(wanted, &own);
    // A quarter of the letters may differ.
    if distance <= (wanted.chars().count() / 4).max(1) {
        return Some(distance);
    }
    let own_words: Vec<&str> = own.split('_').filter(|word| word.len() > 1).collect();
    // `save_memory` has the whole name in it.
    if words.contains(&&*own) {
        return Some(50);
    }
    let shared = words.iter().filter(|word| own_words.contains(word)).count();
    // `create_issue` is what a server's `mcp__git__create_issue` is called by itself.
    if shared > 0 && shared == words.len() {
        return Some(60);
    }
    let elsewhere = ELSEWHERE
        .iter()
        .filter(|(word, _)| words.contains(word))
        .filter_map(|(_, meant)| meant.iter().position(|it| *it == name))
        .min();
    // Behind what was only misspelt: first what does the same, then what shares a word.
    match (elsewhere, shared) {
        (Some(place), shared) => Some(100 + place * 10 - shared.min(5)),
        (None, 0) => None,
        (None, shared) => Some(200 - shared.min(50)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &[
        "clarify",
        "delegate_task",
        "execute_code",
        "mcp__git__create_issue",
        "memory",
        "memory_search",
        "patch",
        "read_file",
        "search_files",
        "terminal",
        "web_extract",
        "web_search",
        "write_file",
    ];

    fn near(wanted: &str) -> Vec<&'static str> {
        nearest(wanted, NAMES.iter().copied())
    }

    #[test]
    fn a_misspelt_name_finds_its_tool_and_an_invented_one_what_does_the_same() {
        for (wanted, first) in [
            ("readfile", "read_file"),
            ("readFile", "read_file"),
            ("read_files", "read_file"),
            ("terminl", "terminal"),
            ("bash", "terminal"),
            ("run_command", "terminal"),
            ("python", "execute_code"),
            ("create_file", "write_file"),
            ("edit_file", "patch"),
            ("list_files", "search_files"),
            ("fetch_url", "web_extract"),
            ("google_search", "web_search"),
            ("save_memory", "memory"),
            ("create_issue", "mcp__git__create_issue"),
            ("spawn_agent", "delegate_task"),
        ] {
            assert!(near(wanted).first() == Some(&first), "{wanted}: {:?}", near(wanted));
        }
    }

    #[test]
    fn what_is_like_nothing_finds_nothing_and_nobody_finds_what_they_do_not_have() {
        assert!(near("quux").is_empty() && near("").is_empty());
        assert_eq!(nearest("bash", ["read_file"]), Vec::<&str>::new());
        assert!(near(&"x".repeat(100_000)).is_empty());
    }

    #[test]
    fn what_is_meant_elsewhere_is_there() {
        for (_, meant) in ELSEWHERE {
            for name in *meant {
                assert!(insula_domain::tool::find(name).is_some(), "{name}");
            }
        }
    }
}
