//! A PDF file: where its objects are, and what its streams hold.
//!
//! Objects are found by going through the file from its beginning, not by its own table of
//! places: a table that lies or is damaged then misleads nobody, and the last version of an
//! object wins, as it should.

use super::super::charset::find;
use super::super::packed::inflate;
use super::object::{Budget, Dict, Lexer, Object, Refs, hex, is_space};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Objects of a file.
const OBJECTS_MAX: usize = 300_000;
/// Objects that are read, over and over included.
const READS_MAX: u32 = 8_000_000;
/// Bytes that all streams together may unpack to.
const UNPACKED_MAX: usize = 96 << 20;
/// Bytes that one stream may unpack to.
const STREAM_MAX: usize = 12 << 20;
/// Bytes in one row of what was written as differences.
const ROW_MAX: usize = 1 << 18;
/// Filters on one stream.
const FILTERS_MAX: usize = 4;
/// Steps from a reference to what it means.
const HOPS_MAX: usize = 8;
/// Streams of objects that are kept unpacked at once.
const PACKS_MAX: usize = 8;

enum Place {
    /// In the file.
    At(usize),
    /// In a stream of objects.
    In { stream: u32, at: usize },
}

/// A file whose objects have been found.
pub(super) struct File<'b> {
    bytes: &'b [u8],
    places: BTreeMap<u32, Place>,
    trailers: Vec<Dict>,
    budget: Budget,
    packs: RefCell<HashMap<u32, Rc<Vec<u8>>>>,
    /// A stream of objects is being unpacked: what it says of itself can't stand in another,
    /// or a file could send us round and round.
    is_unpacking: Cell<bool>,
}

impl<'b> File<'b> {
    pub(super) fn open(bytes: &'b [u8]) -> Self {
        let budget = Budget { objects: Cell::new(READS_MAX), bytes: Cell::new(UNPACKED_MAX) };
        let mut file = Self {
            bytes,
            places: BTreeMap::new(),
            trailers: Vec::new(),
            budget,
            packs: RefCell::default(),
            is_unpacking: Cell::new(false),
        };
        file.find_objects();
        file.find_trailers();
        file
    }

    /// Whether nothing more can be read.
    pub(super) fn is_spent(&self) -> bool {
        self.budget.objects.get() == 0 || self.budget.bytes.get() == 0
    }

    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    fn find_objects(&mut self) {
        let mut from = 0;
        while let Some(found) = self.bytes.get(from..).and_then(|rest| find(rest, b"obj")) {
            let at = from + found;
            from = at + 3;
            let Some(number) = number_before(self.bytes, at) else { continue };
            if self.places.len() >= OBJECTS_MAX || self.is_spent() {
                return;
            }
            self.places.insert(number, Place::At(from));
            let Some((object, data)) = self.read_at(from) else { continue };
            let Object::Dict(dict) = object else { continue };
            if let Some((start, len)) = data {
                // What is inside of a stream is no object of this file.
                from = start + len;
            }
            if dict.is(b"Type", b"ObjStm") {
                self.find_packed(number, &dict);
            } else if dict.is(b"Type", b"XRef") {
                self.trailers.push(dict);
            }
        }
    }

    fn find_packed(&mut self, stream: u32, dict: &Dict) {
        let index = |key: &[u8]| dict.get(key).map(|it| self.resolve(it)).and_then(|it| it.index());
        let (Some(count), Some(first)) = (index(b"N"), index(b"First")) else { return };
        let Some(bytes) = self.pack(stream) else { return };
        let mut places = Vec::new();
        let mut lexer = Lexer::new(&bytes, 0, Refs::Unknown, &self.budget);
        for _ in 0..count.min(OBJECTS_MAX) {
            let pair =
                (lexer.next().and_then(|it| it.index()), lexer.next().and_then(|it| it.index()));
            let (Some(number), Some(offset)) = pair else { break };
            let Ok(number) = u32::try_from(number) else { continue };
            places.push((number, first.saturating_add(offset)));
        }
        for (number, at) in places {
            if self.places.len() < OBJECTS_MAX && number != stream {
                self.places.insert(number, Place::In { stream, at });
            }
        }
    }

    fn find_trailers(&mut self) {
        const TRAILERS_MAX: usize = 64;
        let mut from = 0;
        while let Some(found) = self.bytes.get(from..).and_then(|rest| find(rest, b"trailer")) {
            from += found + b"trailer".len();
            let mut lexer = Lexer::new(self.bytes, from, Refs::Read, &self.budget);
            if let Some(Object::Dict(dict)) = lexer.next() {
                self.trailers.push(dict);
            }
            if self.trailers.len() >= TRAILERS_MAX {
                return;
            }
        }
    }

    /// An entry of the trailer, the latest one first.
    pub(super) fn trailer(&self, key: &[u8]) -> Option<Object> {
        let entry = self.trailers.iter().rev().find_map(|trailer| trailer.get(key))?;
        (*entry != Object::Null).then(|| entry.clone())
    }

    /// The object at a place, and where the data of its stream is.
    fn read_at(&self, at: usize) -> Option<(Object, Option<(usize, usize)>)> {
        let mut lexer = Lexer::new(self.bytes, at, Refs::Read, &self.budget);
        let object = lexer.next()?;
        let Object::Dict(dict) = &object else { return Some((object, None)) };
        if !lexer.take(b"stream") {
            return Some((object, None));
        }
        let rest = self.bytes.get(lexer.at..)?;
        let skipped = if rest.starts_with(b"\r\n") {
            2
        } else {
            usize::from(rest.first().is_some_and(|it| is_space(*it)))
        };
        let start = lexer.at + skipped;
        let rest = self.bytes.get(start..)?;
        let told = match dict.get(b"Length") {
            Some(Object::Number(len)) if *len >= 0.0 => Some(*len as usize),
            Some(Object::Ref(number)) => match self.places.get(number) {
                Some(Place::At(at)) => {
                    Lexer::new(self.bytes, *at, Refs::Unknown, &self.budget).next()?.index()
                }
                _ => None,
            },
            _ => None,
        };
        let holds = |len: &usize| {
            rest.get(*len..).is_some_and(|after| after.trim_ascii_start().starts_with(b"endstream"))
        };
        let len = told.filter(holds).or_else(|| find(rest, b"endstream")).unwrap_or(rest.len());
        Some((object, Some((start, len))))
    }

    /// The object of a number; of a stream, its dictionary.
    fn object(&self, number: u32) -> Option<Object> {
        match self.places.get(&number)? {
            Place::At(at) => self.read_at(*at).map(|(object, _)| object),
            Place::In { stream, at } => {
                let bytes = self.pack(*stream)?;
                Lexer::new(&bytes, *at, Refs::Read, &self.budget).next()
            }
        }
    }

    /// What an object means, references followed.
    pub(super) fn resolve(&self, object: &Object) -> Object {
        let mut object = object.clone();
        for _ in 0..HOPS_MAX {
            let Object::Ref(number) = object else { return object };
            object = self.object(number).unwrap_or(Object::Null);
        }
        Object::Null
    }

    pub(super) fn dict(&self, object: &Object) -> Dict {
        match self.resolve(object) {
            Object::Dict(dict) => dict,
            _ => Dict::default(),
        }
    }

    /// Everything that says it is of a type, by number.
    pub(super) fn all_of_type(&self, name: &[u8]) -> Vec<Dict> {
        const FOUND_MAX: usize = 4_000;
        let dicts = self.places.keys().filter_map(|number| match self.object(*number)? {
            Object::Dict(dict) if dict.is(b"Type", name) => Some(dict),
            _ => None,
        });
        dicts.take(FOUND_MAX).collect()
    }

    /// A stream of objects, unpacked, and kept for the next question.
    fn pack(&self, number: u32) -> Option<Rc<Vec<u8>>> {
        if let Some(kept) = self.packs.borrow().get(&number) {
            return Some(kept.clone());
        }
        let Some(Place::At(_)) = self.places.get(&number) else { return None };
        if self.is_unpacking.replace(true) {
            return None;
        }
        let bytes = self.stream(&Object::Ref(number));
        self.is_unpacking.set(false);
        let bytes = Rc::new(bytes?);
        let mut packs = self.packs.borrow_mut();
        if packs.len() >= PACKS_MAX {
            packs.clear();
        }
        packs.insert(number, bytes.clone());
        Some(bytes)
    }

    /// What a stream holds, unpacked; `None` for what is no stream, or packed in a way that
    /// carries no text.
    pub(super) fn stream(&self, object: &Object) -> Option<Vec<u8>> {
        let Object::Ref(number) = object else { return None };
        let Place::At(at) = self.places.get(number)? else { return None };
        let (Object::Dict(dict), Some((start, len))) = self.read_at(*at)? else { return None };
        let mut bytes = self.bytes.get(start..start + len)?.to_vec();
        let list = |key: &[u8], short: &[u8]| match dict
            .get(key)
            .or(dict.get(short))
            .map(|it| self.resolve(it))
        {
            Some(Object::Array(items)) => items,
            Some(Object::Null) | None => vec![],
            Some(one) => vec![one],
        };
        let (filters, parameters) = (list(b"Filter", b"F"), list(b"DecodeParms", b"DP"));
        if filters.len() > FILTERS_MAX {
            return None;
        }
        for (index, filter) in filters.iter().enumerate() {
            let filter = self.resolve(filter);
            let given = parameters.get(index).map(|it| self.dict(it)).unwrap_or_default();
            bytes = self.unfilter(filter.name()?, &bytes, &given)?;
        }
        self.budget.bytes.set(self.budget.bytes.get().saturating_sub(bytes.len()));
        Some(bytes)
    }

    fn unfilter(&self, filter: &[u8], bytes: &[u8], given: &Dict) -> Option<Vec<u8>> {
        let max = STREAM_MAX.min(self.budget.bytes.get());
        match filter {
            b"FlateDecode" | b"Fl" => {
                let Ok(out) = inflate(bytes, max) else {
                    // A bomb costs what it would have cost.
                    self.budget.bytes.set(self.budget.bytes.get().saturating_sub(max));
                    return None;
                };
                let number = |key: &[u8], otherwise| {
                    given.get(key).and_then(Object::index).unwrap_or(otherwise)
                };
                match number(b"Predictor", 1) {
                    10.. => {
                        let bits =
                            number(b"Colors", 1).min(32) * number(b"BitsPerComponent", 8).min(16);
                        let row = (number(b"Columns", 1).min(ROW_MAX) * bits).div_ceil(8);
                        Some(unpredict(&out, row.clamp(1, ROW_MAX), bits.div_ceil(8).max(1)))
                    }
                    _ => Some(out),
                }
            }
            b"ASCIIHexDecode" | b"AHx" => {
                let end = bytes.iter().position(|it| *it == b'>').unwrap_or(bytes.len());
                Some(hex(bytes.get(..end)?))
            }
            b"ASCII85Decode" | b"A85" => Some(ascii85(bytes)),
            _ => None,
        }
    }
}

/// The number in `12 0 obj`, read backwards from `obj`.
fn number_before(bytes: &[u8], at: usize) -> Option<u32> {
    let trim = |end: usize| {
        let before = bytes.get(..end)?;
        let kept = before.iter().rposition(|it| !is_space(*it))? + 1;
        // A number of more digits than these is no object's.
        let digits = before.get(kept.saturating_sub(10)..kept)?;
        let count = digits.iter().rev().take_while(|it| it.is_ascii_digit()).count();
        (count > 0).then_some((kept - count, kept))
    };
    let (generation, _) = trim(at)?;
    if !bytes.get(generation.checked_sub(1)?).is_some_and(|it| is_space(*it)) {
        return None;
    }
    let (start, end) = trim(generation)?;
    std::str::from_utf8(bytes.get(start..end)?).ok()?.parse().ok()
}

/// Takes back the differences of PNG rows.
fn unpredict(bytes: &[u8], row: usize, pixel: usize) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut above = vec![0_u8; row];
    for line in bytes.chunks(row + 1) {
        let Some((kind, line)) = line.split_first() else { break };
        let mut done = vec![0_u8; row];
        for (at, byte) in line.iter().enumerate() {
            let left = at.checked_sub(pixel).map_or(0, |at| done[at]);
            let corner = at.checked_sub(pixel).map_or(0, |at| above[at]);
            let up = above[at];
            let added = match kind {
                1 => left,
                2 => up,
                3 => ((u16::from(left) + u16::from(up)) / 2) as u8,
                4 => paeth(left, up, corner),
                _ => 0,
            };
            done[at] = byte.wrapping_add(added);
        }
        out.extend_from_slice(done.get(..line.len()).unwrap_or_default());
        above = done;
    }
    out
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let guess = i32::from(left) + i32::from(up) - i32::from(corner);
    let distance = |it: u8| (guess - i32::from(it)).abs();
    let (a, b, c) = (distance(left), distance(up), distance(corner));
    if a <= b && a <= c {
        left
    } else if b <= c {
        up
    } else {
        corner
    }
}

fn ascii85(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut group = Vec::with_capacity(5);
    for byte in bytes {
        match byte {
            b'z' if group.is_empty() => out.extend_from_slice(&[0; 4]),
            b'!'..=b'u' => group.push(u32::from(byte - b'!')),
            b'~' => break,
            _ => {}
        }
        if group.len() == 5 {
            out.extend_from_slice(&four(&group));
            group.clear();
        }
    }
    if group.len() > 1 {
        let kept = group.len() - 1;
        group.resize(5, 84);
        out.extend_from_slice(&four(&group)[..kept]);
    }
    out
}

fn four(group: &[u32]) -> [u8; 4] {
    group
        .iter()
        .fold(0_u32, |value, digit| value.wrapping_mul(85).wrapping_add(*digit))
        .to_be_bytes()
}
