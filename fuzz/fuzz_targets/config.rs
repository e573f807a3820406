//! A `config.yaml` of any shape is read or refused with findings that can be shown.
#![no_main]

use insula_config::files::FileState;
use insula_config::{FilesSnapshot, load, render};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

fuzz_target!(|text: &str| {
    let snapshot = FilesSnapshot { config: FileState::Text(text.into()), ..FilesSnapshot::default() };
    let (report, loaded) = load(&snapshot, &BTreeMap::new());
    let shown = render::text(&report, render::Colour::Plain);
    assert!(loaded.is_some() || !shown.is_empty(), "refused without a word");
});
