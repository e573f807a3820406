//! What models think, where they print it among their words: `<think>` and its kin.

/// Marks around thoughts. Case does not count.
const MARKS: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<inner_monologue>", "</inner_monologue>"),
    ("<seed:think>", "</seed:think>"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
];

/// Parts of the names of models that begin to think without saying so: the first mark stands in
/// their prompt, and their words begin in the middle of a thought.
const BEGIN_THINKING: &[&str] = &["thinking", "deepseek-r1", "qwq", "-r1-", "deepscaler"];

/// Whether a model of this name may begin in the middle of a thought.
pub fn begins_thinking(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    BEGIN_THINKING.iter().any(|part| model.contains(part))
}

/// What opens thoughts.
pub fn openers() -> impl Iterator<Item = &'static str> {
    MARKS.iter().map(|(open, _)| *open)
}

/// What closes them.
pub fn closers() -> impl Iterator<Item = &'static str> {
    MARKS.iter().map(|(_, close)| *close)
}

/// The mark that a text begins with: its length, and what closes it.
pub fn opened(text: &str) -> Option<(usize, &'static str)> {
    let (open, close) = MARKS.iter().find(|(open, _)| begins_with(text, open))?;
    Some((open.len(), close))
}

/// The length of the closing mark that a text begins with and that nothing opened.
pub fn stray(text: &str) -> Option<usize> {
    closers().find(|close| begins_with(text, close)).map(str::len)
}

/// Whether `text` begins with `mark`.
pub fn begins_with(text: &str, mark: &str) -> bool {
    text.get(..mark.len()).is_some_and(|head| head.eq_ignore_ascii_case(mark))
}

/// Whether `text` is a beginning of `mark`.
pub fn may_become(text: &str, mark: &str) -> bool {
    mark.get(..text.len()).is_some_and(|head| head.eq_ignore_ascii_case(text))
}

/// Where `mark` stands in a text.
pub fn find(text: &str, mark: &str) -> Option<usize> {
    let first = mark.chars().next()?;
    text.match_indices(first).map(|(at, _)| at).find(|at| begins_with(&text[*at..], mark))
}

/// The length of the end of a text that may be the beginning of `mark`.
pub fn held_len(text: &str, mark: &str) -> usize {
    let Some(first) = mark.chars().next() else { return 0 };
    let mut starts = text.match_indices(first).map(|(at, _)| at);
    let held = starts.find(|at| text.len() - at < mark.len() && may_become(&text[*at..], mark));
    held.map_or(0, |at| text.len() - at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_in_any_case_and_held_back_until_they_are_whole() {
        assert_eq!(opened("<THINK>so"), Some((7, "</think>")));
        assert_eq!(opened("[THINK]so"), Some((7, "[/think]")));
        assert_eq!(opened("<thin>"), None);
        assert_eq!(find("a < b </think>c", "</think>"), Some(6));
        assert_eq!(find("a </thin>", "</think>"), None);
        assert_eq!(held_len("so </thi", "</think>"), 5);
        assert_eq!(held_len("so </thin k", "</think>"), 0);
        assert_eq!(held_len("a<<", "</think>"), 1);
        assert_eq!(held_len("ü◁", "◁/think▷"), "◁".len());
        assert_eq!(stray("</THINK>\n"), Some(8));
        assert!(begins_thinking("Qwen/Qwen3-4B-Thinking-2507") && !begins_thinking("qwen2.5"));
    }
}
