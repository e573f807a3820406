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
const BEGIN_THINKING: &[&str] = &[
    "thinking",
    "thinker",
    "reasoning",
    "reasoner",
    "deepseek-r1",
    "r1-distill",
    "-r1-",
    "qwq",
    "deepscaler",
    "minimax-m2",
];

/// What a mark stands behind that is talked about.
const QUOTES: &[char] = &['"', '\'', '`', '“', '‘', '„', '«', '‹', '(', '[', '{', '=', '/', '|'];

/// What stands right behind a mark that is talked about.
const STOPS: &[char] = &['.', ',', ';', ':', '!', '?', ')', '"', '\'', '`', '”', '’', '»'];

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

/// Whether a text begins with a mark of any kind.
pub fn is_mark(text: &str) -> bool {
    opened(text).is_some() || stray(text).is_some()
}

/// Whether a mark that opens thoughts does so where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    Surely,
    /// Where it is closed. Else somebody speaks of it.
    IfClosed,
    /// It is shown.
    Never,
}

/// Whether a mark begins a thought, by what stands behind it and the last that was said before;
/// `None` where more has to come. Models open their thoughts at the very beginning and go on in
/// the next line, or right behind the mark: such a thought may be cut off and is one. Whoever
/// speaks of the mark goes on with a blank and more of the sentence, or has spoken before.
pub fn begins_a_thought(behind: &str, last_said: Option<char>, is_open: bool) -> Option<Begins> {
    if matches!(last_said, Some(':' | '：')) {
        return Some(Begins::Never);
    }
    if last_said.is_some() {
        return Some(Begins::IfClosed);
    }
    let blanks = behind.len() - behind.trim_start_matches([' ', '\t', '\r']).len();
    match behind[blanks..].chars().next() {
        None if is_open => None,
        Some('\n') | None => Some(Begins::Surely),
        Some(_) if blanks == 0 => Some(Begins::Surely),
        Some(_) => Some(Begins::IfClosed),
    }
}

/// The end of a doubted thought in `text[from..]`. A mark in quotes, with a stop behind it, or
/// between blanks with a sentence going on, is one that is spoken of.
pub fn closed(text: &str, from: usize, close: &str, is_open: bool) -> Ending {
    let mut from = from;
    while let Some(at) = find(&text[from..], close).map(|at| from + at) {
        let (before, behind) = (&text[..at], &text[at + close.len()..]);
        if behind.is_empty() && is_open {
            return Ending::Open { at };
        }
        let is_attached = before.ends_with(|c: char| !c.is_whitespace() || c == '\n');
        let next = behind.trim_start_matches([' ', '\t', '\r']).chars().next();
        let is_spoken_of = match next {
            _ if before.ends_with(QUOTES) || behind.starts_with(STOPS) => true,
            _ if is_attached => false,
            None if is_open => return Ending::Open { at },
            next => next.is_none_or(char::is_lowercase),
        };
        if !is_spoken_of {
            return Ending::Found { at, len: close.len() };
        }
        from = at + close.len();
    }
    match is_open {
        true => Ending::Open { at: text.len() - held_len(&text[from..], close) },
        false => Ending::None,
    }
}

/// The end of a thought among words, where its beginning was not marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// There is none.
    None,
    /// The mark that begins here may be one: more has to come.
    Open { at: usize },
    /// This mark.
    Found { at: usize, len: usize },
}

/// The first end of a thought in `text[from..upto]`, which is the rest of a line, or what came of
/// it while it `is_open`. Models that stop thinking print the mark right behind their last word,
/// or at the end of its line; whoever writes about marks quotes them, opens them first, or has
/// them among the words of a sentence.
pub fn ending(text: &str, from: usize, upto: usize, is_open: bool) -> Ending {
    let is_open = is_open && upto == text.len() && !text[from..upto].ends_with('\n');
    for (at, _) in text[from..upto].match_indices(['<', '[', '◁']) {
        let at = from + at;
        let rest = &text[at..upto];
        if let Some((open, close)) = MARKS.iter().find(|(_, close)| begins_with(rest, close)) {
            let before = &text[..at];
            let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
            let is_code = line.matches('`').count() % 2 == 1;
            let is_quoted = line.ends_with(QUOTES);
            if is_code || is_quoted || find(before, open).is_some() {
                continue;
            }
            let is_attached = !line.is_empty() && !line.ends_with(char::is_whitespace);
            let behind = &rest[close.len()..];
            if is_attached || behind.trim().is_empty() && !is_open {
                return Ending::Found { at, len: close.len() };
            }
            if behind.trim().is_empty() {
                return Ending::Open { at };
            }
        } else if is_open && closers().any(|close| may_become(rest, close)) {
            return Ending::Open { at };
        }
    }
    Ending::None
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
