//! What a person wants who speaks of calls: to see one, or to have done what it does. A call that
//! is shown though it was wanted costs a repetition; one that is made though it was to be shown may
//! cost a file. So whoever speaks of calls, JSON, syntax or examples is shown them, unless the
//! sentence orders something to be done. `asked_words.rs` has the words.

use super::asked_words as words;
use super::found::{Found, ToolNames};
use super::prose::{has, plain};
use super::repeated::{leaves, says, squeezed};
use super::shown::Shown;

/// A message longer than this is looked at no further: what is asked stands at its beginning or
/// its end.
const LOOKED_AT_BYTES: usize = 4_000;
/// A message of so few words that begins with `and` goes on with what was asked before.
const GOES_ON_WORDS: usize = 5;
/// How many words a word that denies may stand before what it denies.
const DENIED_WITHIN: usize = 3;

/// Whether somebody asks to be shown calls.
pub fn wants_it_shown(shown: &Shown, tools: &ToolNames) -> bool {
    let mut asked = shown.asked();
    let before = shown.asked_before();
    if asked.is_empty() {
        asked.extend(before.last().cloned());
    }
    asked.iter().any(|it| asks_for_call(it, tools))
        || asked.iter().all(|it| goes_on(it, tools))
            && before.last().is_some_and(|it| asks_for_call(it, tools))
}

/// Whether somebody tells to make this call, which was proposed to them in words: right before, or
/// at any time where they say themselves what it is to be made with.
pub fn orders(call: &Found, shown: &Shown) -> bool {
    let asked = shown.asked();
    let Some(asked) = asked.last() else { return false };
    let right_before = || shown.last_answer().is_some_and(|answer| says(answer, call));
    let ever = || shown.answers().any(|answer| says(answer, call));
    let (is_order, itself) = (is_order(asked, call), says_itself(asked, call));
    is_order && right_before() || itself && (is_order || begins_as_order(asked)) && ever()
}

/// Whether a message has what a call is made with, all of it.
fn says_itself(asked: &str, call: &Found) -> bool {
    let asked = squeezed(asked);
    let given = leaves(&call.arguments);
    !given.is_empty() && given.iter().all(|leaf| asked.contains(leaf.as_str()))
}

/// A message that says nothing but that it be done: words of ordering, and what the call says.
fn is_order(asked: &str, call: &Found) -> bool {
    let bare = asked.trim_matches(|c: char| !c.is_alphanumeric());
    if words::ORDER_UNSPACED.split('|').any(|it| it == bare) {
        return true;
    }
    if has(&without_complaints(asked), words::RETELLS) {
        return false;
    }
    let given = leaves(&call.arguments);
    let is_known = |word: &str| {
        has(&plain(word), words::ORDERS)
            || has(&plain(word), words::BESIDE_ORDERS)
            // `not` is no part of `notes.txt`.
            || !has(&plain(word), words::HOLDS_BACK) && given.iter().any(|leaf| leaf.contains(word))
    };
    sentences(asked).any(|sentence| {
        let sentence = without_complaints(sentence);
        has(&sentence, words::ORDERS) && sentence.split_whitespace().all(is_known)
    })
}

/// Whether a message begins as an order and makes it depend on nothing. That is enough of one that
/// says itself what is to be done.
fn begins_as_order(asked: &str) -> bool {
    let all = without_complaints(asked);
    let is_plain = !has(&all, words::RETELLS) && !has(&all, words::HOLDS_BACK);
    is_plain
        && sentences(asked).any(|sentence| {
            let sentence = without_complaints(sentence);
            let rest = without_leads(sentence.trim_start());
            words::ACT.split('|').any(|verb| begins(rest, verb))
        })
}

/// The plain words of a message without those that nothing was done: an order stands behind them.
fn without_complaints(asked: &str) -> String {
    let mut words = plain(asked);
    for complaint in words::COMPLAINTS.split('|') {
        words = words.replace(&format!(" {complaint} "), " ");
    }
    words
}

/// Whether a short message asks for more of what was asked for before.
fn goes_on(asked: &str, tools: &ToolNames) -> bool {
    let Sentence { plain, .. } = Sentence::of(asked, tools);
    plain.split_whitespace().count() <= GOES_ON_WORDS
        && !has(&plain, words::ORDERS)
        && words::AND.split('|').any(|it| {
            let rest = plain.trim_start().strip_prefix(it);
            rest.is_some_and(|rest| rest.starts_with(' ') || !it.is_ascii())
        })
}

/// Whether a message asks for a call that is looked at and not made.
fn asks_for_call(asked: &str, tools: &ToolNames) -> bool {
    let asked = looked_at(asked);
    if asks_unspaced(&marked(&asked, tools)) {
        return true;
    }
    let all: Vec<Sentence> = sentences(&asked).map(|it| Sentence::of(it, tools)).collect();
    let orders = all.iter().any(|it| it.orders);
    all.iter().any(|it| it.is_denied() || it.asks(orders))
}

/// The beginning and the end of a message, without blocks of code.
fn looked_at(asked: &str) -> String {
    let pieces = asked.split("```").step_by(2);
    let text: String = pieces.collect::<Vec<_>>().join("\n");
    if text.len() <= LOOKED_AT_BYTES {
        return text;
    }
    let (mut head, mut tail) = (LOOKED_AT_BYTES / 2, text.len() - LOOKED_AT_BYTES / 2);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}\n{}", &text[..head], &text[tail..])
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ends = |(at, c): (usize, char)| {
            let behind = at + c.len_utf8();
            let is_last = || {
                let next = rest[behind..].chars().next();
                next.is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\'' | ')'))
            };
            match c {
                '\n' | '。' | '！' | '？' => Some(behind),
                '.' | '!' | '?' | ';' if is_last() => Some(behind),
                _ => None,
            }
        };
        let at = rest.char_indices().find_map(ends).unwrap_or(rest.len());
        let (sentence, behind) = rest.split_at(at);
        rest = behind;
        Some(sentence)
    })
}

/// A text in lower case in which tools and files are marks: `@t`, `@n` and `@f`.
fn marked(text: &str, tools: &ToolNames) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let mut marked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if len == 0 {
            marked.extend(c.to_lowercase());
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let word = rest[..len].trim_end_matches(['.', '-', '/']);
        let mut word = if word.is_empty() { &rest[..len] } else { word };
        if let (None, Some(at @ 1..)) = (mark(word, tools), word.find('-')) {
            word = &word[..at];
        }
        match mark(word, tools) {
            Some(mark) => marked.push_str(&format!(" {mark} ")),
            None => marked.push_str(&word.to_lowercase()),
        }
        rest = &rest[word.len()..];
    }
    marked
}

fn mark(word: &str, tools: &ToolNames) -> Option<&'static str> {
    let name = tools.all().find(|name| name.eq_ignore_ascii_case(word));
    match name {
        Some(name) if name.contains('_') => Some("@t"),
        Some(_) => Some("@n"),
        None if matches!(word, "e.g" | "i.e" | "z.B" | "p.ej") => None,
        None if word.trim_matches('.').contains(['.', '/']) => Some("@f"),
        None => None,
    }
}

/// One sentence: its words between single blanks, and what it is.
struct Sentence {
    plain: String,
    /// Whether it begins as an order to do something.
    orders: bool,
}

impl Sentence {
    fn of(sentence: &str, tools: &ToolNames) -> Self {
        let mut plain = " ".to_owned();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '@' | '_');
        let marked = marked(&without_quoted(sentence), tools);
        for word in marked.split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
            plain.push_str(word);
            plain.push(' ');
        }
        for lead in words::NO_EXAMPLE.split('|') {
            plain = plain.replace(&format!(" {lead} "), " ");
        }
        for by in words::BY_CALL.split('|') {
            plain = plain.replace(&format!(" {by} "), " ");
        }
        let rest = without_leads(plain.trim_start());
        let orders = words::ACT.split('|').any(|verb| begins(rest, verb));
        Self { plain, orders }
    }

    fn has(&self, phrases: &str) -> bool {
        has(&self.plain, phrases)
    }

    fn verb_is(&self, verbs: &str) -> bool {
        let rest = without_leads(self.plain.trim_start());
        verbs.split('|').any(|verb| begins(rest, verb))
    }

    /// Whether it says that nothing be run, or that somebody else does.
    fn is_denied(&self) -> bool {
        if self.has(words::NOT_RUN) || self.has(words::RUNS_NOT) {
            return true;
        }
        let all: Vec<&str> = self.plain.split_whitespace().collect();
        let is_run = |word: &&str| words::RUNS.iter().any(|run| word.starts_with(run));
        let denies = |word: &&str| words::DENIES.split('|').any(|it| it == *word);
        let ends = all.iter().enumerate().filter(|(_, word)| is_run(word)).map(|(at, _)| at);
        ends.into_iter().any(|at| all[at.saturating_sub(DENIED_WITHIN)..at].iter().any(&denies))
    }

    /// Whether it asks to see a call. `ordered` is whether the message also orders something.
    fn asks(&self, ordered: bool) -> bool {
        let shows = self.has(words::SHOW) || self.has(words::FORMAT) || self.has(words::EXAMPLE);
        let writes = !self.orders || self.verb_is(words::WRITES) && !self.is_to_be_made();
        let shapes = self.has(words::EXAMPLE) || self.has(words::SYNTAX) || self.has(words::FORMAT);
        if self.has(words::CALL) {
            return writes || shapes;
        }
        let speaks = self.has(words::MAYBE_CALL) && !self.has(words::WITH_SOMEBODY);
        if speaks && (self.has(words::EXAMPLE) || writes && shows) {
            return true;
        }
        if self.orders {
            let writes_json =
                self.has(words::THE_JSON) && (self.tool_is_topic() || !self.has("@f"));
            return self.verb_is(words::WRITES) && (self.example_alone() || writes_json);
        }
        self.has(words::WOULD)
            || self.has(words::SYNTAX)
            || self.tool_is_topic() && (shows || shapes)
            || !ordered && (self.has(words::THE_JSON) || self.asks_for_example())
    }

    /// `Make a tool call` orders it; `make an example of a tool call` does not.
    fn is_to_be_made(&self) -> bool {
        self.verb_is("make|do") && !self.has(words::EXAMPLE)
    }

    /// Whether a tool is what it is about, and not what something is to be done with.
    fn tool_is_topic(&self) -> bool {
        let all: Vec<&str> = self.plain.split_whitespace().collect();
        let is = |word: &str, list: &str| list.split('|').any(|it| it == word);
        let shapes = self.has(words::EXAMPLE) || self.has(words::SYNTAX);
        all.iter().enumerate().any(|(at, word)| {
            let before = all[..at].iter().rev().find(|word| !is(word, words::THE));
            let is_with = before.is_some_and(|word| is(word, words::WITH));
            let is_called = all.get(at + 1).is_some_and(|next| matches!(*next, "tool" | "@f"));
            match *word {
                "@t" => !is_with && (shapes || all.get(at + 1).is_none_or(|next| *next != "@f")),
                "@n" => !is_with && is_called && shapes,
                _ => false,
            }
        })
    }

    /// Whether it wants an example and says nothing of what is to become of it.
    fn example_alone(&self) -> bool {
        let last =
            self.plain.trim_end().rsplit(' ').find(|word| !matches!(*word, "please" | "bitte"));
        let is_last = last.is_some_and(|last| has(&format!(" {last} "), words::EXAMPLE));
        is_last && !self.has("@f") && !self.has(words::THING)
    }

    fn asks_for_example(&self) -> bool {
        let all: Vec<&str> = self.plain.split_whitespace().collect();
        let is = |word: Option<&&str>, list: &str| {
            word.is_some_and(|word| list.split('|').any(|it| it == *word))
        };
        all.iter().enumerate().any(|(at, _)| {
            let (word, next) = (all.get(at), all.get(at + 1));
            let before = at.checked_sub(1).and_then(|at| all.get(at));
            let wanted = is(before, words::EXAMPLE_BEFORE)
                || next.is_none()
                || is(next, words::EXAMPLE_BEHIND);
            is(word, words::EXAMPLE)
                && wanted
                && !is(next, words::THING)
                && !all[..at].iter().rev().take(2).any(|it| is(Some(it), words::THING))
        })
    }
}

/// The same question of scripts that put no blanks between words.
fn asks_unspaced(text: &str) -> bool {
    let has = |list: &str| list.split('|').any(|word| text.contains(word));
    if has(words::NOT_RUN_UNSPACED) {
        return true;
    }
    let (calls, shows) = (has(words::CALL_UNSPACED), has(words::SHOW_UNSPACED));
    let things = has(words::THING_UNSPACED);
    let (example, syntax) = (has(words::EXAMPLE_UNSPACED) && !things, has(words::SYNTAX_UNSPACED));
    let is_foreign = calls || shows || example || syntax;
    let acts = has(words::ACT_UNSPACED);
    let names = has("@t|json");
    let bare = text.trim_start_matches(|c: char| c.is_whitespace() || c == '请' || c == '請');
    let is_called = bare.starts_with("调用") || bare.starts_with("調用");
    is_foreign
        && (calls && (example || syntax || shows && !acts && !is_called)
            || syntax && names && !acts
            || example && !acts
            || names && shows && !acts)
}

/// What somebody quotes is what they speak of, and no wish; one word in quotes is a name.
fn without_quoted(sentence: &str) -> String {
    let mut kept = String::new();
    for (at, piece) in sentence.split(['"', '“', '”', '„']).enumerate() {
        let is_quoted = at % 2 == 1 && piece.split_whitespace().count() > 2;
        kept.push_str(if is_quoted { " " } else { piece });
        kept.push(' ');
    }
    kept
}

fn without_leads(plain: &str) -> &str {
    let mut rest = plain;
    while let Some(after) =
        words::LEADS.split('|').find_map(|lead| rest.strip_prefix(lead)?.strip_prefix(' '))
    {
        rest = after;
    }
    rest
}

fn begins(plain: &str, verb: &str) -> bool {
    plain.strip_prefix(verb).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
