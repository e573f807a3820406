//! A command line, or the text of a program, of any shape is judged. The first byte says which
//! language it is.
#![no_main]

use insula_domain::command::{
    classify, classify_code, classify_input, plain, runs_its_input, said,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let language = match text.as_bytes().first() {
        Some(b'p') => "python",
        Some(b'r') => "ruby",
        Some(b'j') => "javascript",
        _ => "sh",
    };
    let line = text.get(1..).unwrap_or_default();
    if language == "sh" {
        let _ = (classify(line), said(line), plain(line), runs_its_input(line));
        let _ = classify_input("sh", line);
    } else {
        let _ = classify_code(language, line);
    }
});
