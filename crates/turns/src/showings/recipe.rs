//! How the body of a request is put together: of parts that many requests have in common, of
//! messages that the journal has, and of what stands between them. Taking a body apart and putting
//! it together again gives the same bytes, whatever its provider's format is: what is not found in
//! it stands in the recipe as it is.

use insula_store::Part;
use memchr::memmem;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The format of recipes: their first byte.
const FORMAT: u8 = 1;

/// Texts shorter than this are cheaper as they are than by reference.
const REFERENCE_BYTES_MIN: usize = 24;
/// What a text is looked for by.
const ANCHOR_BYTES: usize = 32;
/// How many places are looked at for one text. Who writes the same words over and over gets them
/// kept as they are.
const PLACES_MAX: usize = 16;

/// What stands before the tools, in every provider's format. In a text it would be escaped.
const TOOLS_BEGIN: &[u8] = b"\"tools\":[";
/// What stands before a picture in a text of its own.
const PICTURE_BEGINS: &str = ";base64,";

mod op {
    pub(super) const LITERAL: u8 = 0;
    pub(super) const PART_ESCAPED: u8 = 1;
    pub(super) const PART_RAW: u8 = 2;
    pub(super) const TEXT_ESCAPED: u8 = 3;
    pub(super) const TEXT_RAW: u8 = 4;
    pub(super) const TEXT_END: u8 = 5;
}

/// A message of the journal, by its place.
pub(crate) type Said<'s> = (u64, &'s [Part]);

/// A body that was taken apart.
pub(crate) struct TakenApart {
    pub(crate) recipe: Vec<u8>,
    /// Which blocks of the system prompt were found in it.
    pub(crate) found: Vec<bool>,
    /// Where its tools stand, which are the part after those blocks.
    pub(crate) tools: Option<Range<usize>>,
}

struct Cutter<'b> {
    body: &'b [u8],
    /// Up to where the recipe says what there is.
    at: usize,
    recipe: Vec<u8>,
    /// A text as it is written in JSON, without its quotation marks.
    escaped: Vec<u8>,
}

/// Takes a body apart. `first` is the number of the part that the first block of the system prompt
/// is; `last_tool` is how the arguments of the last tool are described.
pub(crate) fn take_apart<'s>(
    body: &[u8],
    (first, system): (usize, &[&str]),
    said: impl Iterator<Item = Said<'s>>,
    last_tool: Option<&str>,
) -> TakenApart {
    let mut cutter = Cutter { body, at: 0, recipe: vec![FORMAT], escaped: Vec::new() };
    let mut found = Vec::with_capacity(system.len());
    for (index, text) in system.iter().enumerate() {
        let place = cutter.escaped_at(text);
        found.push(place.is_some());
        if let Some(place) = place {
            cutter.refer(place, op::PART_ESCAPED, &[first + index]);
        }
    }
    for (seq, parts) in said {
        let seq = usize::try_from(seq).unwrap_or(usize::MAX);
        for (which, text) in texts(parts) {
            cutter.text(seq, which, text);
        }
    }
    let tools = last_tool.and_then(|last| cutter.tools(last));
    if let Some(tools) = &tools {
        cutter.refer(tools.clone(), op::PART_RAW, &[first + system.len()]);
    }
    cutter.literal(body.len());
    TakenApart { recipe: cutter.recipe, found, tools }
}

/// The texts of a message that requests repeat, each by its number there.
fn texts(parts: &[Part]) -> impl Iterator<Item = (usize, &str)> {
    parts.iter().enumerate().flat_map(|(index, part)| {
        let (first, second) = match part {
            Part::Text(text) | Part::Beside(text) => (text.as_str(), None),
            Part::ToolCall { arguments, .. } => (arguments.as_str(), None),
            Part::ToolResult { text, .. } => (text.as_str(), None),
            Part::Image { source, .. } => (&**source, None),
            Part::Reasoning { text, signature } => (text.as_str(), signature.as_deref()),
            Part::Attachment { .. } => ("", None),
        };
        let second = second.map(|it| (index * 2 + 1, it));
        [(index * 2, first)].into_iter().chain(second)
    })
}

impl Cutter<'_> {
    /// Where a text stands next, as JSON has it.
    fn escaped_at(&mut self, text: &str) -> Option<Range<usize>> {
        if text.len() < REFERENCE_BYTES_MIN {
            return None;
        }
        self.escaped.clear();
        serde_json::to_writer(&mut self.escaped, text).ok()?;
        let needle = self.escaped.get(1..self.escaped.len() - 1)?;
        find(self.body, self.at, needle)
    }

    fn text(&mut self, seq: usize, which: usize, text: &str) {
        if let Some(place) = self.escaped_at(text) {
            return self.refer(place, op::TEXT_ESCAPED, &[seq, which]);
        }
        // Some providers want arguments as JSON, and pictures without what says of which kind.
        if text.len() >= REFERENCE_BYTES_MIN
            && let Some(place) = find(self.body, self.at, text.as_bytes())
        {
            return self.refer(place, op::TEXT_RAW, &[seq, which]);
        }
        if let Some((_, picture)) = text.split_once(PICTURE_BEGINS)
            && let Some(place) = self.escaped_at(picture)
        {
            let skipped = text.len() - picture.len();
            self.refer(place, op::TEXT_END, &[seq, which, skipped]);
        }
    }

    /// Where the tools stand: from their beginning to behind the last one's arguments.
    fn tools(&self, last: &str) -> Option<Range<usize>> {
        let rest = &self.body[self.at..];
        let from = memmem::find(rest, TOOLS_BEGIN)?;
        let last_at = memmem::rfind(&rest[from..], last.as_bytes());
        let upto = last_at.map_or(rest.len(), |at| from + at + last.len());
        Some(self.at + from..self.at + upto)
    }

    fn refer(&mut self, place: Range<usize>, op: u8, to: &[usize]) {
        self.literal(place.start);
        self.recipe.push(op);
        to.iter().for_each(|it| put_number(&mut self.recipe, *it));
        self.at = place.end;
    }

    fn literal(&mut self, upto: usize) {
        let bytes = &self.body[self.at..upto];
        if !bytes.is_empty() {
            self.recipe.push(op::LITERAL);
            put_number(&mut self.recipe, bytes.len());
            self.recipe.extend_from_slice(bytes);
            self.at = upto;
        }
    }
}

fn find(body: &[u8], from: usize, needle: &[u8]) -> Option<Range<usize>> {
    let rest = body.get(from..)?;
    let anchor = &needle[..needle.len().min(ANCHOR_BYTES)];
    let places = memmem::find_iter(rest, anchor).take(PLACES_MAX);
    let at = places.into_iter().find(|at| rest[*at..].starts_with(needle))?;
    Some(from + at..from + at + needle.len())
}

/// Seven bits a byte, the lowest first.
fn put_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap_or_default());
}

/// Why a recipe can't be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfollowed {
    /// It is in a form that this version does not know.
    Format,
    /// A part is not there.
    Part,
    /// A message is not there, or is another.
    Message,
}

/// What a recipe says comes next.
enum Step<'r> {
    Literal(&'r [u8]),
    Part { number: usize, is_escaped: bool },
    Text { seq: u64, which: usize, skipped: usize, is_escaped: bool },
}

struct Reader<'r>(&'r [u8]);

impl<'r> Reader<'r> {
    fn of(recipe: &'r [u8]) -> Result<Self, Unfollowed> {
        match recipe.split_first() {
            Some((&FORMAT, rest)) => Ok(Self(rest)),
            _ => Err(Unfollowed::Format),
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = 0_usize;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= usize::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn step(&mut self) -> Option<Step<'r>> {
        Some(match self.byte()? {
            op::LITERAL => {
                let (literal, rest) = self.number().and_then(|len| self.0.split_at_checked(len))?;
                self.0 = rest;
                Step::Literal(literal)
            }
            op::PART_ESCAPED => Step::Part { number: self.number()?, is_escaped: true },
            op::PART_RAW => Step::Part { number: self.number()?, is_escaped: false },
            op @ (op::TEXT_ESCAPED | op::TEXT_RAW | op::TEXT_END) => {
                let (seq, which) = (self.number()? as u64, self.number()?);
                let skipped = if op == op::TEXT_END { self.number()? } else { 0 };
                Step::Text { seq, which, skipped, is_escaped: op != op::TEXT_RAW }
            }
            _ => return None,
        })
    }

    fn next(&mut self) -> Result<Option<Step<'r>>, Unfollowed> {
        match self.0.is_empty() {
            true => Ok(None),
            false => self.step().map(Some).ok_or(Unfollowed::Format),
        }
    }
}

/// The messages that a recipe refers to.
pub(super) fn refers_to(recipe: &[u8]) -> Result<BTreeSet<u64>, Unfollowed> {
    let mut reader = Reader::of(recipe)?;
    let mut all = BTreeSet::new();
    while let Some(step) = reader.next()? {
        if let Step::Text { seq, .. } = step {
            all.insert(seq);
        }
    }
    Ok(all)
}

/// Puts a body together again.
pub(super) fn put_together<'p>(
    recipe: &[u8],
    part: impl Fn(usize) -> Option<&'p [u8]>,
    said: &BTreeMap<u64, Vec<Part>>,
) -> Result<Vec<u8>, Unfollowed> {
    let mut reader = Reader::of(recipe)?;
    let mut body = Vec::new();
    while let Some(step) = reader.next()? {
        match step {
            Step::Literal(literal) => body.extend_from_slice(literal),
            Step::Part { number, is_escaped } => {
                let bytes = part(number).ok_or(Unfollowed::Part)?;
                match is_escaped {
                    true => escape(&mut body, std::str::from_utf8(bytes).ok())?,
                    false => body.extend_from_slice(bytes),
                }
            }
            Step::Text { seq, which, skipped, is_escaped } => {
                let parts = said.get(&seq).ok_or(Unfollowed::Message)?;
                let text = texts(parts).find(|(at, _)| *at == which).map(|(_, text)| text);
                let text = text.and_then(|text| text.get(skipped..));
                match is_escaped {
                    true => escape(&mut body, text)?,
                    false => body.extend(text.ok_or(Unfollowed::Message)?.as_bytes()),
                }
            }
        }
    }
    Ok(body)
}

fn escape(body: &mut Vec<u8>, text: Option<&str>) -> Result<(), Unfollowed> {
    let text = serde_json::to_string(text.ok_or(Unfollowed::Message)?);
    let text = text.map_err(|_| Unfollowed::Format)?;
    body.extend(&text.as_bytes()[1..text.len() - 1]);
    Ok(())
}

/// How much two recipes have in common at their beginning.
pub(crate) fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn again(
        body: &[u8],
        system: &[&str],
        said: &BTreeMap<u64, Vec<Part>>,
        last: Option<&str>,
    ) -> (TakenApart, Vec<u8>) {
        let of = said.iter().map(|(seq, parts)| (*seq, &parts[..]));
        let apart = take_apart(body, (1, system), of, last);
        let part = |number: usize| match number.checked_sub(1)? {
            at if at < system.len() => Some(system[at].as_bytes()),
            _ => apart.tools.clone().map(|place| &body[place]),
        };
        let whole = put_together(&apart.recipe, part, said).unwrap();
        (apart, whole)
    }

    fn text(text: &str) -> Vec<Part> {
        vec![Part::Text(text.to_owned())]
    }

    #[test]
    fn what_is_known_is_referred_to_and_the_rest_stands_there() {
        let soul = "You are \"somebody\",\nand speak plainly about what you know.";
        let said = "How far is it from the river to the old bridge?";
        let picture = format!("data:image/png;base64,{}", "QUJD".repeat(20));
        let arguments = r#"{"path":"notes/today.md","from":1}"#;
        let parameters = r#"{"type":"object","properties":{}}"#;
        let said: BTreeMap<u64, Vec<Part>> = [
            (7, text(said)),
            (8, vec![Part::Image { source: picture.into(), media_type: "image/png".into() }]),
            (
                9,
                vec![Part::ToolCall {
                    id: "1".into(),
                    name: "n".into(),
                    arguments: arguments.into(),
                }],
            ),
            (10, text("A message that is not shown any more, long as it is")),
        ]
        .into();
        let Part::Text(asked) = &said[&7][0] else { unreachable!() };
        let body = format!(
            r#"{{"model":"m","messages":[{},{},{{"data":"{}"}},{{"input":{arguments}}}],"tools":[{{"parameters":{parameters}}}],"cache":"of this session"}}"#,
            json!({"system": soul}),
            json!({"content": format!("{asked}\n⟦said on Monday⟧")}),
            "QUJD".repeat(20),
        );
        let (apart, whole) = again(body.as_bytes(), &[soul], &said, Some(parameters));
        assert_eq!(String::from_utf8(whole).unwrap(), body);
        assert_eq!(apart.found, [true]);
        assert_eq!(refers_to(&apart.recipe).unwrap(), [7, 8, 9].into());
        let tools = &body[apart.tools.unwrap()];
        assert!(tools.starts_with(r#""tools":["#) && tools.ends_with(parameters), "{tools}");
        let recipe = String::from_utf8_lossy(&apart.recipe).into_owned();
        for known in ["speak plainly", "old bridge", "QUJDQUJD", "today.md", "parameters"] {
            assert!(!recipe.contains(known), "{known} in {recipe}");
        }
        assert!(recipe.contains("said on Monday") && recipe.contains("of this session"));
    }

    #[test]
    fn what_is_gone_or_unknown_is_said() {
        let soul = "You are somebody who speaks plainly.";
        let asked = "How far is it to the old bridge?";
        let said: BTreeMap<u64, Vec<Part>> = [(1, text(asked))].into();
        let body = json!([soul, asked]).to_string();
        let recipe = again(body.as_bytes(), &[soul], &said, None).0.recipe;
        let soul = |_| Some(soul.as_bytes());
        let none = |_| None;
        assert_eq!(put_together(&recipe, none, &said), Err(Unfollowed::Part));
        assert_eq!(put_together(&recipe, soul, &BTreeMap::new()), Err(Unfollowed::Message));
        for cut in 0..recipe.len() {
            // Whatever is left of it, nothing is made up and nothing panics.
            let _ = put_together(&recipe[..cut], soul, &said);
            let _ = refers_to(&recipe[..cut]);
        }
        let later = [&[FORMAT + 1], &recipe[1..]].concat();
        assert_eq!(put_together(&later, soul, &said), Err(Unfollowed::Format));
        assert_eq!(put_together(&[FORMAT, 200], soul, &said), Err(Unfollowed::Format));
    }

    proptest! {
        #[test]
        fn every_body_comes_out_as_it_went_in(
            system in prop::collection::vec("[a-c\"\\\\\n ]{0,60}", 0..4),
            said in prop::collection::vec("[a-c\"\\\\\n⟦ ]{0,60}", 0..6),
            between in prop::collection::vec("[a-c\"\n]{0,40}", 0..6),
            shuffled in any::<bool>(),
        ) {
            let mut pieces: Vec<String> = system.iter().chain(&said).cloned().collect();
            if shuffled {
                pieces.reverse();
            }
            pieces.extend(between);
            let body = serde_json::to_vec(&json!({"messages": pieces, "tools": [{"p": {}}]})).unwrap();
            let said: BTreeMap<u64, Vec<Part>> = (1..).zip(said.iter().map(|it| text(it))).collect();
            let system: Vec<&str> = system.iter().map(String::as_str).collect();
            let (_, whole) = again(&body, &system, &said, Some("{}"));
            prop_assert_eq!(whole, body);
        }
    }
}
