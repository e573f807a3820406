//! Letters as search compares them: without accents, in one width, and one of several ways to
//! write the same one. Knows letters, not words.

/// What a letter becomes.
pub(crate) enum Folded {
    Same,
    As(&'static str),
    /// Another letter.
    Letter(char),
}

/// Whether a character belongs to the letter before it and says nothing of its own to search:
/// an accent, a vowel point, a sign that joins or stretches.
pub(crate) fn is_mark(character: char) -> bool {
    matches!(character,
        // Where a word may be broken, and joiners.
        '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{0300}'..='\u{036f}' | '\u{0483}'..='\u{0487}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20f0}'
        // Hebrew and Arabic points, and the stretching of Arabic letters.
        | '\u{0591}'..='\u{05bd}' | '\u{05bf}' | '\u{05c1}' | '\u{05c2}' | '\u{05c4}' | '\u{05c5}'
        | '\u{05c7}' | '\u{0610}'..='\u{061a}' | '\u{0640}' | '\u{064b}'..='\u{065f}' | '\u{0670}'
        | '\u{06d6}'..='\u{06dc}' | '\u{06df}'..='\u{06e4}'
        // What joins or changes consonants in the scripts of India.
        | '\u{093c}' | '\u{094d}' | '\u{09bc}' | '\u{09cd}' | '\u{0a3c}' | '\u{0a4d}'
        | '\u{0abc}' | '\u{0acd}' | '\u{0b3c}' | '\u{0b4d}' | '\u{0bcd}' | '\u{0c4d}'
        | '\u{0cbc}' | '\u{0ccd}' | '\u{0d4d}' | '\u{0dca}')
}

/// A letter or digit of full width as one of the usual width.
fn narrow(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character)
        }
        _ => character,
    }
}

/// A lower-case letter without its accent.
pub(crate) fn fold(letter: char) -> Folded {
    let plain = match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' | 'ǟ' | 'ǡ' | 'ǻ' | 'ȁ' | 'ȃ' | 'ȧ' | 'ạ'..='ặ' => {
            "a"
        }
        'æ' | 'ǣ' | 'ǽ' => "ae",
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => "c",
        'ď' | 'đ' | 'ð' => "d",
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' | 'ȅ' | 'ȇ' | 'ȩ' | 'ẹ'..='ệ' => "e",
        'ĝ' | 'ğ' | 'ġ' | 'ģ' | 'ǧ' | 'ǵ' => "g",
        'ĥ' | 'ħ' => "h",
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' | 'ǐ' | 'ȉ' | 'ȋ' | 'ỉ' | 'ị' => "i",
        'ĵ' => "j",
        'ķ' | 'ǩ' => "k",
        'ĺ' | 'ļ' | 'ľ' | 'ŀ' | 'ł' => "l",
        'ñ' | 'ń' | 'ņ' | 'ň' | 'ǹ' => "n",
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' | 'ơ' | 'ǒ' | 'ǫ' | 'ǿ' | 'ȍ' | 'ȏ' | 'ȯ' | 'ọ'..='ợ' => {
            "o"
        }
        'œ' => "oe",
        'ŕ' | 'ŗ' | 'ř' | 'ȑ' | 'ȓ' => "r",
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => "s",
        'ß' => "ss",
        'ţ' | 'ť' | 'ŧ' | 'ț' => "t",
        'þ' => "th",
        'ù'..='ü'
        | 'ũ'
        | 'ū'
        | 'ŭ'
        | 'ů'
        | 'ű'
        | 'ų'
        | 'ư'
        | 'ǔ'
        | 'ǖ'
        | 'ǘ'
        | 'ǚ'
        | 'ǜ'
        | 'ȕ'
        | 'ȗ'
        | 'ụ'..='ự' => "u",
        'ŵ' => "w",
        'ý' | 'ÿ' | 'ŷ' | 'ỳ' | 'ỵ' | 'ỷ' | 'ỹ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        'ά' => "α",
        'έ' => "ε",
        'ή' => "η",
        'ί' | 'ϊ' | 'ΐ' => "ι",
        'ό' => "ο",
        'ύ' | 'ϋ' | 'ΰ' => "υ",
        'ώ' => "ω",
        'ς' => "σ",
        'ё' | 'ѐ' => "е",
        'ѝ' => "и",
        // Arabic letters that are written in several ways.
        'آ' | 'أ' | 'إ' | 'ٱ' => "ا",
        'ى' | 'ی' => "ي",
        'ک' => "ك",
        'ة' => "ه",
        '\u{ff01}'..='\u{ff5e}' => return Folded::Letter(narrow(letter)),
        _ => return Folded::Same,
    };
    Folded::As(plain)
}
