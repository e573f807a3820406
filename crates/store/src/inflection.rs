//! Which other forms of a word a query means besides the one it was written in: plurals and the
//! plain endings of English verbs. Whoever asks for a boiler means the boilers too. Only queries
//! are widened, so the index stays what was said, and an exact match goes before another form.

/// What another form counts beside the form that was asked for.
pub(crate) const FORM_WEIGHT: f64 = 0.6;

/// Shortest word that has other forms, in letters: short ones are too often another word.
const LETTERS_MIN: usize = 4;
/// Shortest stem that an ending is put to or taken from.
const STEM_MIN: usize = 3;

/// Other forms of a term, as they might stand in the index. Most of them will not.
pub(crate) fn others(term: &str) -> Vec<String> {
    let mut forms = Vec::new();
    if term.len() < LETTERS_MIN || !term.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return forms;
    }
    let mut add = |stem: &str, ending: &str| {
        let form = format!("{stem}{ending}");
        if stem.len() >= STEM_MIN && form != term && !forms.contains(&form) {
            forms.push(form);
        }
    };
    // Back to what may be the base, and from each to its other forms.
    let mut bases: Vec<String> = vec![term.to_owned()];
    let mut base = |ending: &str, put: &str| {
        if let Some(stem) = term.strip_suffix(ending).filter(|stem| stem.len() >= STEM_MIN) {
            bases.push(format!("{stem}{put}"));
        }
    };
    base("ies", "y");
    base("ied", "y");
    if !["ss", "us", "is"].iter().any(|ending| term.ends_with(ending)) {
        base("s", "");
    }
    for ending in ["ed", "ing"] {
        base(ending, "");
        base(ending, "e");
    }
    if ["ches", "shes", "sses", "xes", "zes"].iter().any(|ending| term.ends_with(ending)) {
        base("es", "");
    }
    for base in &bases {
        add(base, "");
        // After a vowel a `y` stays: cities, and days.
        let of_y = base.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
        match (of_y, base.strip_suffix('e')) {
            (Some(stem), _) => {
                add(stem, "ies");
                add(stem, "ied");
                add(base, "ing");
            }
            (_, Some(stem)) => {
                add(base, "s");
                add(base, "d");
                add(stem, "ing");
            }
            _ => {
                add(base, "s");
                if ["ch", "sh", "s", "x", "z"].iter().any(|ending| base.ends_with(ending)) {
                    add(base, "es");
                }
                add(base, "ed");
                add(base, "ing");
            }
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::others;

    #[test]
    fn the_forms_of_a_word_find_each_other() {
        for (one, other) in [
            ("boiler", "boilers"),
            ("birthdays", "birthday"),
            ("city", "cities"),
            ("cities", "city"),
            ("repair", "repaired"),
            ("repaired", "repairing"),
            ("deploy", "deployed"),
            ("bake", "baking"),
            ("baking", "bake"),
            ("boxes", "box"),
            ("likes", "like"),
            ("searches", "search"),
        ] {
            assert!(others(one).iter().any(|form| form == other), "{one}: {:?}", others(one));
        }
    }

    #[test]
    fn what_is_short_or_no_english_word_stays_as_it_is() {
        for term in ["as", "bus", "tea", "8080", "café", "東京", "v2s", "ping1"] {
            assert_eq!(others(term), Vec::<String>::new(), "{term}");
        }
        assert!(!others("glass").iter().any(|form| form == "glas"));
        assert!(others("repairing").len() <= 12, "{:?}", others("repairing"));
    }
}
