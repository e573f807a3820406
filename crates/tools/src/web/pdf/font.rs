//! From the codes of a page's strings to letters and widths.

use super::file::File;
use super::glyphs::meaning;
use super::object::{Dict, Lexer, Object, Refs};
use encoding_rs::{MACINTOSH, WINDOWS_1252};
use std::collections::{BTreeMap, HashMap};

/// Entries of one font's tables.
const ENTRIES_MAX: usize = 70_000;
/// Letters that one code may stand for.
const MEANING_UNITS_MAX: usize = 16;

/// A font, as far as text goes.
#[derive(Debug, Default)]
pub(super) struct Font {
    codes: Codes,
    meanings: Meanings,
    widths: BTreeMap<u32, (u32, f64)>,
    usual_width: f64,
}

#[derive(Debug, Default)]
enum Codes {
    /// One byte each, and what each means where nothing else says so.
    #[default]
    Latin,
    One(Vec<String>),
    /// Two bytes each.
    Two,
    /// Two bytes each that are UTF-16.
    Wide,
}

/// A map from codes to letters.
#[derive(Debug, Default)]
struct Meanings {
    /// How long codes are: their length, the first and the last.
    spaces: Vec<(usize, u32, u32)>,
    single: HashMap<u32, String>,
    ranges: BTreeMap<u32, (u32, String)>,
}

/// One code of a string.
pub(super) struct Glyph {
    pub(super) text: String,
    /// In thousandths of the font's size.
    pub(super) width: f64,
    pub(super) is_space: bool,
}

impl Font {
    pub(super) fn read(file: &File<'_>, dict: &Dict) -> Self {
        let map = dict.get(b"ToUnicode").and_then(|it| file.stream(it));
        let meanings = map.map(|bytes| Meanings::read(file, &bytes)).unwrap_or_default();
        if dict.is(b"Subtype", b"Type0") {
            let below = dict.get(b"DescendantFonts").map(|it| file.resolve(it));
            let below = match &below {
                Some(Object::Array(fonts)) => fonts.first().map(|it| file.dict(it)),
                _ => None,
            };
            let below = below.unwrap_or_default();
            let encoding = dict.get(b"Encoding").map(|it| file.resolve(it));
            let is_wide = encoding.as_ref().and_then(Object::name).is_some_and(|name| {
                [&b"UCS2"[..], b"UTF16"].iter().any(|it| name.windows(it.len()).any(|at| at == *it))
            });
            let usual = below.get(b"DW").and_then(Object::number).unwrap_or(1_000.0);
            let mut font = Self {
                codes: if is_wide { Codes::Wide } else { Codes::Two },
                meanings,
                usual_width: usual,
                ..Self::default()
            };
            if let Some(Object::Array(widths)) = below.get(b"W").map(|it| file.resolve(it)) {
                font.read_cid_widths(file, &widths);
            }
            return font;
        }
        let mut font =
            Self { codes: simple(file, dict), meanings, usual_width: 500.0, ..Self::default() };
        let first = dict.get(b"FirstChar").and_then(Object::index).unwrap_or(0);
        if let Some(Object::Array(widths)) = dict.get(b"Widths").map(|it| file.resolve(it)) {
            // A font that draws its glyphs itself measures them in units of its own.
            let scale = match (
                dict.is(b"Subtype", b"Type3"),
                dict.get(b"FontMatrix").map(|it| file.resolve(it)),
            ) {
                (true, Some(Object::Array(matrix))) => {
                    matrix.first().and_then(Object::number).unwrap_or(0.001) * 1_000.0
                }
                _ => 1.0,
            };
            for (index, width) in widths.iter().take(256).enumerate() {
                if let (Ok(code), Some(width)) = (u32::try_from(first + index), width.number()) {
                    font.widths.insert(code, (code, width * scale));
                }
            }
        }
        font
    }

    /// `first [w w w]` and `first last w`, in any order.
    fn read_cid_widths(&mut self, file: &File<'_>, list: &[Object]) {
        let mut rest = list;
        while let [first, second, after @ ..] = rest {
            let Some(first) = first.index().and_then(|it| u32::try_from(it).ok()) else { return };
            match file.resolve(second) {
                Object::Array(widths) => {
                    for (index, width) in widths.iter().enumerate().take(ENTRIES_MAX) {
                        let code = first.saturating_add(u32::try_from(index).unwrap_or(u32::MAX));
                        self.widths
                            .insert(code, (code, width.number().unwrap_or(self.usual_width)));
                    }
                    rest = after;
                }
                Object::Number(last) => {
                    let [width, after @ ..] = after else { return };
                    let width = width.number().unwrap_or(self.usual_width);
                    self.widths.insert(first, (last.clamp(0.0, 4e9) as u32, width));
                    rest = after;
                }
                _ => return,
            }
            if self.widths.len() > ENTRIES_MAX {
                return;
            }
        }
    }

    /// The glyphs of a string.
    pub(super) fn glyphs<'f>(&'f self, mut bytes: &'f [u8]) -> impl Iterator<Item = Glyph> + 'f {
        std::iter::from_fn(move || {
            let (len, code) = self.code(bytes)?;
            let spelled = bytes.get(..len)?;
            bytes = bytes.get(len..)?;
            let text = self.meanings.get(code).unwrap_or_else(|| match &self.codes {
                Codes::Latin => WINDOWS_1252.decode_without_bom_handling(spelled).0.into_owned(),
                Codes::One(table) => {
                    table.get(usize::try_from(code).unwrap_or(0)).cloned().unwrap_or_default()
                }
                Codes::Wide => utf16(spelled),
                Codes::Two => String::new(),
            });
            let width =
                self.widths.range(..=code).next_back().filter(|(_, (last, _))| code <= *last);
            let width = width.map_or(self.usual_width, |(_, (_, width))| *width);
            Some(Glyph { text, width, is_space: len == 1 && code == 32 })
        })
    }

    /// The next code, and how many bytes it takes.
    fn code(&self, bytes: &[u8]) -> Option<(usize, u32)> {
        bytes.first()?;
        let take = |len: usize| {
            let spelled = bytes.get(..len)?;
            Some((len, spelled.iter().fold(0_u32, |code, byte| code << 8 | u32::from(*byte))))
        };
        let usual = match self.codes {
            Codes::Latin | Codes::One(_) => return take(1),
            Codes::Wide => 2,
            Codes::Two => {
                let fits = |(len, first, last): &(usize, u32, u32)| {
                    take(*len).filter(|(_, code)| (first..=last).contains(&code))
                };
                if let Some(found) = self.meanings.spaces.iter().find_map(fits) {
                    return Some(found);
                }
                2
            }
        };
        take(usual).or_else(|| take(1))
    }
}

/// What the bytes of a simple font mean.
fn simple(file: &File<'_>, dict: &Dict) -> Codes {
    let encoding = dict.get(b"Encoding").map(|it| file.resolve(it));
    let (base, differences) = match &encoding {
        Some(Object::Name(name)) => (Some(&**name), None),
        Some(Object::Dict(dict)) => {
            (dict.get(b"BaseEncoding").and_then(Object::name), dict.get(b"Differences"))
        }
        _ => return Codes::Latin,
    };
    let letters = if base == Some(b"MacRomanEncoding") { MACINTOSH } else { WINDOWS_1252 };
    let letter = |byte: u8| letters.decode_without_bom_handling(&[byte]).0.into_owned();
    let mut table: Vec<String> = (0..=255).map(letter).collect();
    if let Some(Object::Array(items)) = differences.map(|it| file.resolve(it)) {
        let mut code = 0_usize;
        for item in &items {
            match item {
                Object::Number(_) => code = item.index().unwrap_or(0),
                Object::Name(name) => {
                    if let Some(entry) = table.get_mut(code) {
                        *entry = meaning(name).unwrap_or_default();
                    }
                    code = code.saturating_add(1);
                }
                _ => {}
            }
        }
    }
    Codes::One(table)
}

impl Meanings {
    fn read(file: &File<'_>, bytes: &[u8]) -> Self {
        let mut map = Self::default();
        let mut operands: Vec<Object> = Vec::new();
        let mut lexer = Lexer::new(bytes, 0, Refs::Unknown, file.budget());
        while let Some(object) = lexer.next() {
            let Object::Word(word) = &object else {
                if operands.len() < 1_000 {
                    operands.push(object);
                }
                continue;
            };
            match &**word {
                b"endcodespacerange" => map.add_spaces(&operands),
                b"endbfchar" => {
                    for pair in operands.chunks_exact(2) {
                        if let [Object::Text(code), Object::Text(text)] = pair {
                            map.add(number(code), number(code), meant(text));
                        }
                    }
                }
                b"endbfrange" => map.add_ranges(&operands),
                _ => {}
            }
            operands.clear();
            if map.single.len() + map.ranges.len() > ENTRIES_MAX {
                break;
            }
        }
        map
    }

    fn add_spaces(&mut self, operands: &[Object]) {
        const SPACES_MAX: usize = 16;
        for pair in operands.chunks_exact(2) {
            if let [Object::Text(first), Object::Text(last)] = pair
                && (1..=4).contains(&first.len())
                && self.spaces.len() < SPACES_MAX
            {
                self.spaces.push((first.len(), number(first), number(last)));
            }
        }
        self.spaces.sort_unstable();
    }

    fn add_ranges(&mut self, operands: &[Object]) {
        for three in operands.chunks_exact(3) {
            let [Object::Text(first), Object::Text(last), to] = three else { continue };
            let (first, last) = (number(first), number(last));
            match to {
                Object::Text(text) => self.add(first, last, meant(text)),
                Object::Array(texts) => {
                    for (code, text) in (first..=last).zip(texts) {
                        if let Object::Text(text) = text {
                            self.add(code, code, meant(text));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, first: u32, last: u32, text: String) {
        if first == last {
            self.single.insert(first, text);
        } else if first < last {
            self.ranges.insert(first, (last, text));
        }
    }

    fn get(&self, code: u32) -> Option<String> {
        if let Some(text) = self.single.get(&code) {
            return Some(text.clone());
        }
        let (first, (last, text)) = self.ranges.range(..=code).next_back()?;
        if code > *last {
            return None;
        }
        let mut text = text.clone();
        let end = text.pop()?;
        text.push(char::from_u32(u32::from(end).checked_add(code - first)?)?);
        Some(text)
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |code, byte| code << 8 | u32::from(*byte))
}

fn meant(bytes: &[u8]) -> String {
    utf16(bytes.get(..bytes.len().min(MEANING_UNITS_MAX * 2)).unwrap_or_default())
}

/// UTF-16, high byte first.
pub(super) fn utf16(bytes: &[u8]) -> String {
    let units = bytes.chunks(2).map(|pair| match pair {
        [high, low] => u16::from_be_bytes([*high, *low]),
        [one] => u16::from(*one),
        _ => 0,
    });
    char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}
