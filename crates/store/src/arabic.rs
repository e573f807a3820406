//! What the forms of an Arabic word have in common: the word without what is written as one with
//! it. Letters are folded already, see `fold`: `ة` is `ه` here, and every alif bare.

/// What stands before a word in one with it: and, so, with, for, like, the. Longer ones first.
pub(crate) const BEFORE: [&str; 9] = ["وبال", "وال", "فال", "بال", "كال", "ولل", "ال", "لل", "و"];
/// What stands behind it: whose it is, how many, of which kind. Longer ones first.
const BEHIND: [&str; 18] = [
    "تهما", "هما", "تها", "تهم", "تنا", "تكم", "ها", "هم", "نا", "كم", "ات", "ان", "ون", "ين",
    "تي", "يه", "ه", "ي",
];
/// Fewest letters of a stem: roots have three.
const LETTERS_MIN: usize = 3;

/// The stem of a word.
pub(crate) fn stem(word: &str) -> &str {
    let is_long = |rest: &&str| rest.chars().count() >= LETTERS_MIN;
    let bare = BEFORE.iter().filter_map(|it| word.strip_prefix(it)).find(is_long);
    let bare = bare.unwrap_or(word);
    BEHIND.iter().filter_map(|it| bare.strip_suffix(it)).find(is_long).unwrap_or(bare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_have_one_stem_and_short_words_stay() {
        for (forms, expected) in [
            (&["سياره", "السياره", "سيارتي", "السيارات", "بالسياره", "وسيارتها"][..], "سيار"),
            (&["كتاب", "الكتاب", "كتابي", "كتابنا", "للكتاب"], "كتاب"),
            (&["لون", "لونها", "اللون", "ولون"], "لون"),
            (&["مدينه", "المدينه", "بالمدينه"], "مدين"),
            (&["بيت"], "بيت"),
            (&["ولد"], "ولد"),
            (&["من"], "من"),
        ] {
            for form in forms {
                assert_eq!(stem(form), expected, "{form}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_stem_is_a_part_of_any_word(word in "[ا-ي]{0,12}|\\PC{0,12}") {
            let stem = stem(&word);
            prop_assert!(word.contains(stem));
            prop_assert!(stem == word || stem.chars().count() >= LETTERS_MIN);
        }
    }
}
