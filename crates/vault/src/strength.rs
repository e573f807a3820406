//! Estimates how hard a value is to guess, for whoever has to decide whether hiding it in a
//! text would tell somebody what it is. Pure, and wrong on the low side rather than the high.
//!
//! Machines make keys, people make passwords. A key is worth three to four bits a character
//! here; what reads like words, runs along the alphabet or a keyboard, or was there before is
//! worth next to nothing, digits in the place of letters included.

use zeroize::Zeroizing;

/// From this many bits on nobody finds a value by having words tried: at a million tries a
/// second that takes half a million years.
pub const UNGUESSABLE_BITS: u32 = 64;

/// How much of a value is looked at, in characters: more would change no verdict.
const LOOKED_AT_MAX: usize = 512;
/// The shortest repetition that counts as one.
const REPEATED_MIN: usize = 4;
/// The shortest run of letters that can read like a word.
const WORD_MIN: usize = 4;
/// From this many hexadecimal digits on a value of nothing else was made by a machine.
const HEXADECIMAL_MIN: usize = 24;

/// Pairs of letters that are common in words.
const COMMON: &str = "th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng of al de se le sa si ar ve ra ld ur ro ri io ic ne me li ll be ch om ma ce co us el la ta ho pe so di ot ec ol ss ee ac il wa pa ca fo no un em tr ad po mo lo sh ke ge ni rs ut ow ay am wh ir ey pl ap pr do na im ul tu iv ig ag ab ck";

/// The rows of a keyboard.
const ROWS: [&[u8]; 4] = [b"qwertyuiop", b"asdfghjkl", b"zxcvbnm", b"1234567890"];

/// Costs, in quarters of a bit.
const STEP: u32 = 2;
const WORD_LETTER: u32 = 5;
const PAIR: u32 = 6;
const REPETITION: u32 = 16;
const LETTER: u32 = 16;
const DIGIT: u32 = 12;
const OTHER: u32 = 8;

/// Whether a value could be found by trying words.
pub fn is_guessable(value: &str) -> bool {
    bits(value) < UNGUESSABLE_BITS
}

/// About how many bits of chance are in a value, rather too few than too many.
pub fn bits(value: &str) -> u32 {
    let looked = value.trim().chars().take(LOOKED_AT_MAX).map(|it| it.to_ascii_lowercase());
    let text: Zeroizing<Vec<char>> = Zeroizing::new(looked.collect());
    let is_hexadecimal = text.len() >= HEXADECIMAL_MIN && text.iter().all(char::is_ascii_hexdigit);
    let text = if is_hexadecimal { text } else { Zeroizing::new(spelled(&text)) };
    let (mut quarters, mut at) = (0, 0);
    while let Some(&now) = text.get(at) {
        let repeated = repeated(&text, at);
        if repeated >= REPEATED_MIN {
            quarters += REPETITION;
            at += repeated;
            continue;
        }
        let before = at.checked_sub(1).and_then(|at| text.get(at)).copied();
        let begins =
            now.is_ascii_alphabetic() && !before.is_some_and(|it| it.is_ascii_alphabetic());
        let letters = text[at..].iter().take_while(|it| it.is_ascii_alphabetic()).count();
        if begins && !is_hexadecimal && reads_like_a_word(&text[at..at + letters]) {
            quarters += WORD_LETTER * u32::try_from(letters).unwrap_or(u32::MAX / WORD_LETTER);
            at += letters;
            continue;
        }
        quarters += match before {
            Some(before) if is_step(before, now) => STEP,
            _ if now.is_ascii_digit() || is_hexadecimal => DIGIT,
            Some(before) if is_common(before, now) => PAIR,
            _ if now.is_ascii_alphabetic() => LETTER,
            _ if text[..at].contains(&now) => STEP,
            _ => OTHER,
        };
        at += 1;
    }
    quarters / 4
}

/// The text with digits and signs as the letters they stand for in spellings such as `p4ssw0rd`.
fn spelled(text: &[char]) -> Vec<char> {
    let is_letter = |at: usize| text.get(at).is_some_and(char::is_ascii_alphabetic);
    let meant = |(at, it): (usize, &char)| {
        let beside = is_letter(at + 1) || at.checked_sub(1).is_some_and(is_letter);
        match it {
            _ if !beside => *it,
            '0' => 'o',
            '1' => 'l',
            '3' => 'e',
            '4' | '@' => 'a',
            '5' | '$' => 's',
            '7' => 't',
            other => *other,
        }
    };
    text.iter().enumerate().map(meant).collect()
}

/// How many characters from `at` on were there before.
fn repeated(text: &[char], at: usize) -> usize {
    let same = |from: usize| {
        let earlier = text[from..at].iter();
        earlier.zip(&text[at..]).take_while(|(one, other)| one == other).count()
    };
    (0..at).map(same).max().unwrap_or(0)
}

/// Whether half of its pairs are pairs that words have.
fn reads_like_a_word(letters: &[char]) -> bool {
    let common = letters.windows(2).filter(|pair| is_common(pair[0], pair[1])).count();
    letters.len() >= WORD_MIN && common * 2 >= letters.len() - 1
}

fn is_common(one: char, other: char) -> bool {
    COMMON.split(' ').any(|pair| pair.chars().eq([one, other]))
}

/// Whether a character is the one before, or beside it in the alphabet or on a keyboard.
fn is_step(one: char, other: char) -> bool {
    let in_row = |row: &&[u8]| {
        let place = |it: char| row.iter().position(|key| char::from(*key) == it);
        matches!((place(one), place(other)), (Some(one), Some(other)) if one.abs_diff(other) == 1)
    };
    u32::from(one).abs_diff(u32::from(other)) <= 1 || ROWS.iter().any(in_row)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_people_make_up_can_be_guessed() {
        for value in [
            "",
            "4711",
            "hunter2-hunter2",
            "correct horse battery staple",
            "CorrectHorseBatteryStaple",
            "c0rr3ct-h0rs3-b4tt3ry-st4pl3",
            "itwasthebestoftimesitwastheworstoftimes",
            "MyVeryLongPassphraseForTheDaemon2026",
            "Summer2024!Summer2025!",
            "sk-0123456789abcdef",
            "0123456789abcdef0123456789abcdef",
            "qwertyuiopasdfghjkl1234567890",
            "passwordpasswordpasswordpasswordpassword",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "admin@example.com:Passw0rd!2024",
            "19700101-20261231-19991231",
        ] {
            assert!(is_guessable(value), "{value}: {} bits", bits(value));
        }
    }

    #[test]
    fn what_machines_make_can_not() {
        for value in [
            "9f86d081884c7d659a2feaa0c55ad015",
            "sk-proj-Zq8vN2rT6wXk4LmB9cJ7hYd3",
            "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "xoxb-Q7d2Zk9TnW4vR8pL1mXc6bHs",
        ] {
            assert!(!is_guessable(value), "{value}: {} bits", bits(value));
        }
    }

    proptest! {
        #[test]
        fn it_takes_any_text(value in any::<String>()) {
            prop_assert!(bits(&value) <= 4 * u32::try_from(value.chars().count()).unwrap());
        }
    }

    #[test]
    fn keys_of_256_bits_are_never_taken_for_words() {
        for number in 0..1_000_u32 {
            let key = blake3::hash(&number.to_le_bytes()).to_hex();
            assert!(!is_guessable(&key), "{key}: {} bits", bits(&key));
        }
    }
}
