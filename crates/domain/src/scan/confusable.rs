//! Letters that look like Latin ones. Only those that are used to disguise English words: the
//! full list of Unicode is a hundred times longer and adds nothing that a person would read.

/// Pairs of a look-alike and the letter it reads as. Capitals stand beside small letters, as
/// some look different: `Η` reads as h and `η` as n.
const ALIKE: &[(&str, char)] = &[
    ("аАαΑɑᴀꭺᎪ", 'a'),
    ("ВвΒßʙᏴᏏƅЬь", 'b'),
    ("сСϲϹᴄᏟⅽ", 'c'),
    ("ԁԀᴅđĐᎠᏧ", 'd'),
    ("еЕεΕєЄҽᴇᎬёЁ", 'e'),
    ("ғꜰƒϜ", 'f'),
    ("ɡɢԍᏀցġ", 'g'),
    ("һҺНнΗʜհᎻħĦ", 'h'),
    ("іІιΙıɪӀꙇᎥɩїЇ", 'i'),
    ("јЈϳᴊᎫ", 'j'),
    ("кКκΚᴋᏦĸқ", 'k'),
    ("ӏʟᏞłŁⅼ", 'l'),
    ("мМΜᴍᎷ", 'm'),
    ("пηΝɴոռŋ", 'n'),
    ("оОοΟσօᴏØøഠ", 'o'),
    ("рРρΡᴘᏢ", 'p'),
    ("ԛզԚ", 'q'),
    ("гᴦʀᏒᎡ", 'r'),
    ("ѕЅꜱᏚՏ", 's'),
    ("тТτΤᴛᎢŧŦ", 't'),
    ("υսᴜμʋцՍ", 'u'),
    ("νѵѴᴠᏙ", 'v'),
    ("ԝԜωᴡᏔшѡ", 'w'),
    ("хХχΧ×", 'x'),
    ("уУγΥʏүҮӯ", 'y'),
    ("ᴢΖᏃʐ", 'z'),
];

/// The Latin letter that a character reads as, if it is a look-alike.
pub(super) fn latin(character: char) -> Option<char> {
    if character.is_ascii() {
        return None;
    }
    // Most of the world's other text: nothing there is in the list, and it should be quick.
    if ('\u{2e80}'..='\u{aaff}').contains(&character)
        && !('\u{a640}'..='\u{a7ff}').contains(&character)
    {
        return None;
    }
    // Letters in circles, squares and flags are in the order of the alphabet.
    for first in ['\u{1f130}', '\u{1f150}', '\u{1f170}', '\u{1f1e6}'] {
        let place = u32::from(character).wrapping_sub(u32::from(first));
        if let Some(letter) = u8::try_from(place).ok().filter(|&place| place < 26) {
            return Some(char::from(b'a' + letter));
        }
    }
    ALIKE.iter().find(|(alike, _)| alike.contains(character)).map(|&(_, letter)| letter)
}
