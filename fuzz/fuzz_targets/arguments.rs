//! A value of an argument and what people said, divided by a NUL: a rule admits it or not, and
//! what a text may link to is in it.
#![no_main]

use insula_domain::argument::{links, mentions, stands_in};
use insula_domain::host::{HostPattern, parse_authority};
use insula_domain::{Label, Scope, Selector};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (value, said) = text.split_once('\0').unwrap_or((text, ""));
    let found = mentions(value);
    assert!(found.addresses.iter().all(|it| it.contains('@')));
    assert!(links(value).iter().all(|link| value.contains(link.text)));
    if stands_in(value, said) {
        assert!(said.to_lowercase().contains(value.trim().to_lowercase().as_str()));
    }
    if let Ok(pattern) = HostPattern::parse(value) {
        assert_eq!(HostPattern::parse(&pattern.to_string()), Ok(pattern));
    }
    let _ = parse_authority(value);
    if let Ok(selector) = Selector::parse(value) {
        assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
    }
    if let Ok(scope) = value.parse::<Scope>() {
        assert_eq!(scope.to_string(), value);
    }
    if let Ok(label) = value.parse::<Label>() {
        assert_eq!(label.to_string(), value);
    }
});
