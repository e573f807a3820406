//! Languages by their small words, and forms by their stems.

use super::{LATIN, Language};
use crate::terms::{self, Flow};
use proptest::prelude::*;

fn guess(text: &str) -> Language {
    let mut found = Vec::new();
    terms::each(text, |term, _| {
        found.push(term.to_owned());
        Flow::Go
    });
    Language::of(text, found.iter().map(String::as_str))
}

const OTHERS: [Language; 3] = [Language::Russian, Language::Greek, Language::Arabic];

#[test]
fn a_question_shows_its_language() {
    for (text, language) in [
        ("When did the plant die?", Language::English),
        ("boiler repair", Language::English),
        ("Was kostet die Pumpe?", Language::German),
        ("Häuser", Language::German),
        ("Combien coûte la pompe ?", Language::French),
        ("¿Cómo se llama el perro?", Language::Spanish),
        ("Come si chiama il nostro cane?", Language::Italian),
        ("Como se chama o nosso cão?", Language::Portuguese),
        ("Hoe heet onze hond?", Language::Dutch),
        ("Vad heter vår hund?", Language::Swedish),
        ("Mikä on koiramme nimi?", Language::Finnish),
        ("Köpeğimizin adı ne?", Language::Turkish),
        ("Jak się nazywa nasz pies?", Language::Polish),
        ("Как зовут нашу собаку?", Language::Russian),
        ("Πώς λέγεται ο σκύλος;", Language::Greek),
        ("ما اسم كلبنا؟", Language::Arabic),
        ("", Language::English),
        ("son birthday", Language::English),
        ("door codes", Language::English),
        ("war exhibits", Language::English),
        ("hat location", Language::English),
    ] {
        assert_eq!(guess(text), language, "{text}");
    }
}

#[test]
fn stop_words_are_terms_and_can_be_found() {
    for language in LATIN.into_iter().chain(OTHERS) {
        let words = language.stop_words();
        assert!(words.is_sorted_by(|one, other| one < other), "{language:?}");
        for word in words {
            let mut found = Vec::new();
            terms::each(word, |term, _| {
                found.push(term.to_owned());
                Flow::Go
            });
            assert_eq!(found, [*word], "{language:?}");
            assert!(language.is_stop_word(word));
        }
    }
    assert!(!Language::English.is_stop_word("die"));
    assert!(Language::German.is_stop_word("die"));
}

#[test]
fn the_forms_of_a_word_have_one_stem() {
    for (language, one, other) in [
        (Language::English, "repaired", "repairing"),
        (Language::English, "cities", "city"),
        (Language::English, "baking", "bake"),
        (Language::German, "hauser", "haus"),
        (Language::German, "gasten", "gast"),
        (Language::French, "remplacees", "remplacee"),
        (Language::Spanish, "cachorros", "cachorro"),
        (Language::Russian, "собаку", "собака"),
    ] {
        let stems = language.stems();
        assert_eq!(stems.of(one), stems.of(other), "{language:?} {one} {other}");
    }
    assert_eq!(Language::Polish.stems().of("psami"), "psami");
}

proptest! {
    #[test]
    fn any_word_has_a_stem_in_any_language(word in "\\PC{0,24}|[a-zà-ÿ]{1,24}|[а-я]{1,24}|[α-ω]{1,24}|[ا-ي]{1,24}") {
        for language in LATIN.into_iter().chain(OTHERS) {
            language.stems().of(&word);
        }
    }
}
