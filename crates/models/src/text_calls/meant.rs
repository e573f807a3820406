//! Whether the calls that stand in an answer are meant. The one place that decides it; why they
//! are not is a value. `docs/text-calls.md` says the same in words.

use super::announced::announces;
use super::asked::{orders, wants_it_shown};
use super::found::{Form, Found, ToolNames};
use super::quoted;
use super::repeated::{has_broken_call, is_repeated};
use super::scan::Piece;
use super::shown::Shown;
use super::thoughts;

/// Calls in one answer; more is a list of something else.
pub const CALLS_MAX: usize = 32;

/// Why calls in a text are not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotMeant {
    /// There are none.
    Nothing,
    /// Words stand behind them, or before them and do not announce them.
    AmongWords,
    /// Words before them say so.
    Disowned,
    /// Somebody asked to be shown them.
    WantedShown,
    /// One that can't be read stands before them: what is left may make no sense without it.
    AfterBroken,
    /// An argument that is needed is a place to be filled in.
    Placeholder,
    /// A text that the model was shown holds the same call.
    Repeated,
    /// There are too many.
    TooMany,
}

/// The calls of an answer, if they are meant: all of them or none.
pub fn meant<'p>(
    pieces: &'p [Piece],
    text: &str,
    tools: &ToolNames,
    shown: &Shown,
) -> Result<Vec<(&'p Found, Form)>, NotMeant> {
    let mut calls = vec![];
    // The words before each block, and behind the last.
    let mut gaps = vec![String::new()];
    for piece in pieces {
        match piece {
            Piece::Words(span) => {
                if let Some(gap) = gaps.last_mut() {
                    gap.push_str(&text[span.clone()]);
                }
            }
            Piece::Block { calls: found, form, .. } => {
                calls.extend(found.iter().map(|call| (call, *form)));
                gaps.push(String::new());
            }
            Piece::Thought(_) | Piece::ThoughtSoFar => {}
        }
    }
    let (Some((behind, before)), false) = (gaps.split_last(), calls.is_empty()) else {
        return Err(NotMeant::Nothing);
    };
    if calls.len() > CALLS_MAX {
        return Err(NotMeant::TooMany);
    }
    let leads_to_it = |gap: &String| quoted::is_blank(gap) || announces(gap);
    if !quoted::is_blank(behind) || !before.iter().all(leads_to_it) {
        return Err(NotMeant::AmongWords);
    }
    // What may be a thought that was not ended is no decision.
    if before.iter().any(|gap| thoughts::openers().any(|it| thoughts::find(gap, it).is_some())) {
        return Err(NotMeant::AmongWords);
    }
    if before.iter().any(|gap| has_broken_call(gap, tools)) {
        return Err(NotMeant::AfterBroken);
    }
    if before.iter().any(|gap| quoted::disowns(gap)) {
        return Err(NotMeant::Disowned);
    }
    // What a tool can do without may be left open by a model that writes down all there is.
    let has_placeholder = |call: &Found| {
        let counts = |argument: &str| !tools.is_optional(&call.name, argument);
        quoted::has_placeholder(&call.arguments, counts)
    };
    if calls.iter().any(|(call, _)| has_placeholder(call)) {
        return Err(NotMeant::Placeholder);
    }
    is_own(calls.iter().map(|(call, _)| *call), tools, shown)?;
    Ok(calls)
}

/// Whether calls are the model's own decision: nobody asked only to see them, and it does not say
/// again what it was shown.
pub fn is_own<'f>(
    mut calls: impl Iterator<Item = &'f Found>,
    tools: &ToolNames,
    shown: &Shown,
) -> Result<(), NotMeant> {
    if wants_it_shown(shown, tools) {
        return Err(NotMeant::WantedShown);
    }
    match calls.any(|call| is_repeated(call, shown, || orders(call, shown))) {
        true => Err(NotMeant::Repeated),
        false => Ok(()),
    }
}
