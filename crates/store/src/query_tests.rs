//! What queries ask for, as tables and properties.

use super::{Kind, Query, Wanted};
use crate::search::{TERM_BYTES_MAX, TERMS_PER_QUERY_MAX};
use crate::terms::Flow;
use proptest::prelude::*;

fn terms(text: &str) -> Vec<String> {
    Query::read(text).wanted.into_iter().map(|wanted| wanted.term.into()).collect()
}

#[test]
fn a_question_asks_for_what_it_is_about() {
    for (text, expected) in [
        ("When is my appointment with the dentist?", &["appointment", "dentist"][..]),
        ("dentist appointment", &["dentist", "appointment"]),
        ("Wann habe ich den Termin beim Zahnarzt?", &["termin", "zahnarzt"]),
        ("Как зовут нашу собаку?", &["зовут", "собаку"]),
        ("repairs, repairing, repaired", &["repairs"]),
        ("what is it", &["what", "is", "it"]),
        ("8443 v2", &["8443", "v2"]),
        ("", &[]),
        ("?!", &[]),
    ] {
        assert_eq!(terms(text), expected, "{text}");
    }
}

#[test]
fn pieces_of_dense_scripts_count_by_what_they_are() {
    let weights = |text: &str| -> Vec<(String, f64)> {
        let wanted = Query::read(text).wanted.into_iter();
        wanted.map(|Wanted { term, weight, .. }| (term.into(), weight)).collect()
    };
    let part = super::PART_WEIGHT;
    assert_eq!(weights("猫"), [("猫".to_owned(), 1.0)]);
    let parts = [("小狗".to_owned(), 1.0), ("小".to_owned(), part), ("狗".to_owned(), part)];
    assert_eq!(weights("小狗"), parts);
    assert_eq!(terms("我的猫叫什么?"), ["的猫", "猫叫", "叫什", "猫", "叫"]);
    let ending = super::ENDING_WEIGHT;
    assert!(weights("犬です").contains(&("です".to_owned(), ending)));
}

#[test]
fn words_are_counted_also_where_nothing_parts_them() {
    for (text, expected) in [
        ("the boiler repair", 2.0),
        ("猫", 1.0),
        ("小狗", 1.0),
        ("東京都", 1.0),
        ("牙医 预约", 2.0),
        ("アレルギー", 1.6),
        ("小狗 boiler", 2.0),
    ] {
        let words: f64 = Query::read(text).wanted.iter().map(|wanted| wanted.share).sum();
        assert!((words - expected).abs() < 1e-9, "{text}: {words}");
    }
}

#[test]
fn what_is_silent_is_found_by_a_question_of_one_word_and_not_by_that_word() {
    let all = |text: &str| Query::read(text).silent_words_min(|_| true);
    for text in ["dentist", "the dentist", "beim Zahnarzt", "猫", "", "?!"] {
        assert!(all(text) > 1.4, "{text}");
    }
    for text in ["when do I go to the dentist?", "Wann muss ich wieder zum Zahnarzt?"] {
        assert!((all(text) - 1.0).abs() < 1e-9, "{text}");
    }
    // Of several, those count that somebody said.
    let query = Query::read("dentist appointment");
    assert!(query.silent_words_min(|_| true) > 1.4 && query.silent_words_min(|_| false) > 1.4);
    assert!((query.silent_words_min(|term| term == 0) - 1.0).abs() < 1e-9);
}

#[test]
fn forms_and_longer_words_count_less_than_the_word_itself() {
    for (text, term, expected) in [
        ("repairing boilers", "repairing", 1.0),
        ("repairing boilers", "repaired", super::FORM_WEIGHT),
        ("repairing boilers", "repairman", super::LONGER_WEIGHT),
        ("die Heizung", "heizungskeller", super::LONGER_WEIGHT),
        ("die Häuser", "haus", super::FORM_WEIGHT),
        ("the hope", "hop", 0.0),
        ("the plan", "plane", 0.0),
        ("the plan", "plant", 0.0),
        ("v2s", "v2", 0.0),
    ] {
        let query = Query::read(text);
        let likeness = query.wanted.iter().map(|wanted| query.likeness(wanted, term));
        let likeness = likeness.fold(0.0, f64::max);
        assert!((likeness - expected).abs() < 1e-9, "{text}: {term}: {likeness}");
    }
}

proptest! {
    #[test]
    fn what_is_asked_for_is_bounded_and_counts(text in "(\\PC{0,12}[ 的です]){0,40}") {
        let query = Query::read(&text);
        prop_assert!(query.wanted.len() <= TERMS_PER_QUERY_MAX);
        for wanted in &query.wanted {
            prop_assert!(wanted.weight > 0.0 && wanted.weight <= 1.0);
            prop_assert!(!wanted.term.is_empty() && wanted.term.len() <= TERM_BYTES_MAX);
            prop_assert!((query.likeness(wanted, &wanted.term) - 1.0).abs() < 1e-9);
            if let Some(beginning) = wanted.beginning() {
                prop_assert!(wanted.term.starts_with(beginning));
            }
        }
    }
}

#[test]
fn arabic_words_are_found_with_what_is_written_as_one_with_them() {
    let of = |text: &str| {
        let mut all: Vec<String> = vec![];
        crate::terms::each(text, |term, _| {
            all.push(term.to_owned());
            Flow::Go
        });
        all
    };
    for (asked, said) in [
        ("سيارة", "السيارة"),
        ("السيارة", "سيارتي"),
        ("سيارة", "السيارات"),
        ("لون", "لونها"),
        ("اشتريتها", "واشتريتها"),
        ("الكتاب", "كتاب"),
        ("مدينة", "بالمدينة"),
    ] {
        let (query, said) = (Query::read(asked), of(said));
        let wanted = &query.wanted[0];
        assert!(query.likeness(wanted, &said[0]) > 0.0, "{asked}: {said:?}, {wanted:?}");
        let mut begins = query.beginnings(wanted).into_iter();
        assert!(begins.any(|it| said[0].starts_with(&*it)), "{asked}: {said:?}, {wanted:?}");
    }
    let question = Query::read("ما هو لون السيارة التي اشتريتها؟");
    assert_eq!((question.wanted.len(), question.kind), (3, Kind::Sentence));
}
