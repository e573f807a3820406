//! Markup that a reader does not see, and marks by which models tell who speaks.

use super::Category::{Exfiltration, HiddenMarkup, InstructionOverride, RoleHijack};
use super::fold::Folded;
use super::{Category, Found, Uses};

const SPEAKS: &str = "marks that make text look like a message of the system";
const HIDDEN: &str = "markup that hides its text";
const COMMENT: &str = "a comment, which a reader does not see";
const COMMENT_INSTRUCTS: &str = "a comment that gives instructions";

/// Pieces of text that are reported wherever they stand. Folded, as what they are compared to.
const PIECES: &[(Category, &str, Uses, &str)] = &[
    (RoleHijack, SPEAKS, Uses::ALL, "<|im_start|>"),
    (RoleHijack, SPEAKS, Uses::ALL, "<|im_end|>"),
    (RoleHijack, SPEAKS, Uses::ALL, "<|system|>"),
    (RoleHijack, SPEAKS, Uses::ALL, "<|assistant|>"),
    (RoleHijack, SPEAKS, Uses::ALL, "<|start_header_id|>"),
    (RoleHijack, SPEAKS, Uses::ALL, "<|eot_id|>"),
    (RoleHijack, SPEAKS, Uses::ALL, "<|endoftext|>"),
    (RoleHijack, SPEAKS, Uses::ALL, "<<sys>>"),
    (RoleHijack, SPEAKS, Uses::ALL, "[inst]"),
    (RoleHijack, SPEAKS, Uses::ALL, "[/inst]"),
    (RoleHijack, SPEAKS, Uses::ALL, "</system>"),
    (RoleHijack, SPEAKS, Uses::NOT_SKILL, "<system>"),
    (RoleHijack, SPEAKS, Uses::NOT_SKILL, "<important>"),
    (RoleHijack, SPEAKS, Uses::NOT_SKILL, "[system message]"),
    (RoleHijack, SPEAKS, Uses::NOT_SKILL, "<system-reminder>"),
    (HiddenMarkup, HIDDEN, Uses::ALL, "display:none"),
    (HiddenMarkup, HIDDEN, Uses::ALL, "visibility:hidden"),
    (HiddenMarkup, HIDDEN, Uses::ALL, "font-size:0"),
    (HiddenMarkup, HIDDEN, Uses::ALL, "opacity:0;"),
    (HiddenMarkup, HIDDEN, Uses::ALL, "opacity:0\""),
    (HiddenMarkup, HIDDEN, Uses::NOT_SKILL, "color:white"),
    (HiddenMarkup, HIDDEN, Uses::NOT_SKILL, "color:#fff"),
    (HiddenMarkup, HIDDEN, Uses::NOT_SKILL, "color:transparent"),
    (InstructionOverride, "asks to set earlier instructions aside", Uses::ALL, "忽略之前"),
    (InstructionOverride, "asks to set earlier instructions aside", Uses::ALL, "忽略以上"),
    (InstructionOverride, "asks to set earlier instructions aside", Uses::ALL, "忽略所有"),
    (InstructionOverride, "asks to set earlier instructions aside", Uses::ALL, "無視して"),
];

/// Words that speak to a model, which an honest comment in a skill does not.
const INSTRUCTING: &[&str] = &[
    "ignore",
    "instruction",
    "assistant",
    "system prompt",
    "you must",
    "you are",
    "do not tell",
    "secret",
    "execute",
    "send",
    "curl",
    "password",
    "override",
    "model",
    "agent",
];

/// Who can be made to speak at the beginning of a line, where that counts, and what then
/// follows. A skill is made of instructions, and a heading that says so is ordinary in it.
const SPEAKERS: &[(Uses, &str)] = &[
    (Uses::ALL, "system:"),
    (Uses::ALL, "assistant:"),
    (Uses::ALL, "developer:"),
    (Uses::ALL, "### system"),
    (Uses::NOT_SKILL, "### instruction"),
    (Uses::ALL, "system prompt:"),
];
const SPOKEN: &[&str] = &[
    "you ",
    "ignore",
    "disregard",
    "forget",
    "override",
    "from now",
    "new instruction",
    "do not",
    "always ",
    "never ",
    "obey",
    "must ",
];
/// How much after a speaker is looked at, in bytes.
const SPOKEN_BYTES_MAX: usize = 120;
/// How much of a tag or a comment is looked at, in bytes.
const TAG_BYTES_MAX: usize = 512;

/// Notes hidden markup and marks of speakers.
pub(super) fn look(folded: &Folded, found: &mut Found) {
    // Style sheets may have a space after the colon, which changes nothing.
    for &(category, what, uses, piece) in PIECES {
        let places =
            [Some(piece.to_owned()), piece.contains(':').then(|| piece.replacen(':', ": ", 1))];
        for place in places.iter().flatten().filter_map(|piece| find_whole(&folded.text, piece)) {
            found.note(uses, category, what, folded.origin(place));
        }
    }
    comments(folded, found);
    hidden_attribute(folded, found);
    speakers(folded, found);
    headings(folded, found);
    images(folded, found);
}

/// How the block of memory in a prompt begins, and how a find in memory does.
const BLOCK_HEADS: &[&str] =
    &["what you remember, as of", "[memory]", "[user]", "[memory everywhere]", "[user everywhere]"];

/// Lines that look as if another list of memory, or another find, began there.
fn headings(folded: &Folded, found: &mut Found) {
    let mut start = 0;
    for line in folded.text.split_inclusive('\n') {
        let said = line.trim_start_matches([' ', '>', '-', '*', '#', '`', '=', '_']);
        let is_head = BLOCK_HEADS.iter().any(|head| said.starts_with(head));
        if is_head || is_list_heading(said) {
            let what = "looks like a heading of memory itself";
            found.note(Uses::MEMORY, RoleHijack, what, folded.origin(start));
        }
        start += line.len();
    }
}

/// `MEMORY (here) [12%: …`, or the same with less of it.
fn is_list_heading(line: &str) -> bool {
    let name = ["memory", "user"].iter().find_map(|name| line.strip_prefix(name));
    let Some(rest) = name.map(|rest| rest.trim_start_matches([' ', '*', '_'])) else {
        return false;
    };
    let place = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (place, rest) = place.map_or(("", rest), |(place, rest)| (place.trim(), rest));
    let rest = rest.trim_start_matches([' ', '*', '_']);
    let figure = beginning(rest, 8).strip_prefix('[').and_then(|rest| rest.split_once('%'));
    let has_figure = figure.is_some_and(|(number, _)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    let ends = rest.trim().is_empty() || rest.starts_with([':', '[']);
    has_figure || (matches!(place, "everywhere" | "here") && ends)
}

/// The first place of a piece that does not go on as a longer number (`font-size:0.9em`).
fn find_whole(text: &str, piece: &str) -> Option<usize> {
    let goes_on = |after: &str| {
        let digits = after.strip_prefix('.').unwrap_or_default();
        piece.ends_with('0') && digits.starts_with(|digit| ('1'..='9').contains(&digit))
    };
    let mut places = text.match_indices(piece).map(|(at, _)| at);
    places.find(|at| !goes_on(text.get(at + piece.len()..).unwrap_or_default()))
}

/// Comments of HTML, and of Markdown (`[//]: # (…)`).
fn comments(folded: &Folded, found: &mut Found) {
    let mut rest = 0;
    while let Some(at) =
        folded.text.get(rest..).and_then(|text| text.find("<!--")).map(|at| at + rest)
    {
        let body = folded.text.get(at + 4..).unwrap_or_default();
        let length = body.find("-->").unwrap_or(body.len());
        comment(folded, at, body.get(..length).unwrap_or_default(), found);
        rest = at + 4 + length;
    }
    let mut start = 0;
    for line in folded.text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if trimmed.starts_with("[//]:") || trimmed.starts_with("[comment]:") {
            comment(folded, start, trimmed, found);
        }
        start += line.len();
    }
}

fn comment(folded: &Folded, at: usize, body: &str, found: &mut Found) {
    let origin = folded.origin(at);
    found.note(Uses::NOT_SKILL, HiddenMarkup, COMMENT, origin);
    if INSTRUCTING.iter().any(|word| body.contains(word)) {
        found.note(Uses::ALL, HiddenMarkup, COMMENT_INSTRUCTS, origin);
    }
}

/// `<span hidden>` and `aria-hidden` with text.
fn hidden_attribute(folded: &Folded, found: &mut Found) {
    for (at, _) in folded.text.match_indices('<') {
        let tag = folded.text.get(at + 1..).unwrap_or_default();
        if !tag.starts_with(|first: char| first.is_ascii_alphabetic()) {
            continue;
        }
        // A tag has no `<` inside, so no byte is looked at twice.
        let end = tag.bytes().take(TAG_BYTES_MAX).position(|byte| byte == b'>' || byte == b'<');
        let Some(tag) = end.and_then(|end| tag.get(..end)) else { continue };
        let mut words = tag.split_ascii_whitespace();
        let element = words.next().unwrap_or_default();
        let html =
            ["div", "span", "p", "section", "font", "details", "b", "i", "a", "td", "article"];
        if html.contains(&element)
            && words.any(|word| word == "hidden" || word.starts_with("hidden="))
        {
            found.note(Uses::ALL, HiddenMarkup, HIDDEN, folded.origin(at));
        }
    }
}

/// Lines that begin as if the system spoke.
fn speakers(folded: &Folded, found: &mut Found) {
    let (mut start, mut is_code) = (0, false);
    for line in folded.text.split_inclusive('\n') {
        let is_fence = ["```", "~~~"].iter().any(|fence| line.trim_start().starts_with(fence));
        is_code ^= is_fence;
        let said = line.trim_start_matches([' ', '>', '-', '*', '[', '#', '"']);
        let spoken = SPEAKERS.iter().find_map(|(uses, speaker)| {
            let spoken = said.strip_prefix(speaker.trim_start_matches(['#', ' ']))?;
            let is_speaker = !speaker.starts_with('#') || line.trim_start().starts_with('#');
            // `system:` is a key of many a file, and skills show how such files are written.
            let uses = if is_code { Uses::NOT_SKILL } else { *uses };
            is_speaker.then_some((uses, spoken))
        });
        if let Some((uses, spoken)) = spoken {
            let next_line = folded.text.get(start + line.len()..).unwrap_or_default();
            let spoken = if spoken.trim().len() < 3 { next_line } else { spoken };
            let spoken = beginning(
                spoken.trim_start_matches([' ', ':', '*', ']', '\n', '"']),
                SPOKEN_BYTES_MAX,
            );
            if SPOKEN.iter().any(|word| spoken.starts_with(word)) {
                found.note(uses, RoleHijack, SPEAKS, folded.origin(start));
            }
        }
        start += line.len();
    }
}

/// Pictures whose address carries what a model fills in.
fn images(folded: &Folded, found: &mut Found) {
    for (at, _) in folded.text.match_indices("](http") {
        let address = folded.text.get(at + 2..).unwrap_or_default();
        let end = address
            .bytes()
            .take(TAG_BYTES_MAX)
            .position(|byte| matches!(byte, b')' | b'\n' | b' '));
        let Some(address) = end.and_then(|end| address.get(..end)) else { continue };
        let query = address.split_once('?').map(|(_, query)| query).unwrap_or_default();
        // A picture is fetched by showing it, so what its address is to carry need only be named.
        let is_picture = folded.text.get(..at).is_some_and(|before| {
            // Not back to the beginning each time: a text can be made of nothing else.
            let from = before.floor_char_boundary(at.saturating_sub(TAG_BYTES_MAX));
            let bracket = before[from..].rfind('[').map(|bracket| from + bracket);
            bracket.is_some_and(|bracket| before.as_bytes()[..bracket].ends_with(b"!"))
        });
        let asks = query.contains(['{', '<', '$'])
            || (is_picture && CARRIED.iter().any(|word| query.contains(word)));
        let what = "a link or picture whose address is filled with data";
        if asks {
            found.note(Uses::NOT_SKILL, Exfiltration, what, folded.origin(at));
        }
    }
}

/// What the address of a picture has no business to carry.
const CARRIED: &[&str] =
    &["secret", "password", "credential", "conversation", "history", "api_key", "apikey", "memory"];

/// As much of a text as fits, in whole characters.
fn beginning(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}
