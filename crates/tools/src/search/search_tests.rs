//! Patterns, before any file is opened.

use super::*;

#[test]
fn a_glob_without_a_slash_is_about_the_name() {
    for (glob_text, path, expected) in [
        ("*.rs", "src/deep/a.rs", true),
        ("*.rs", "a.rs", true),
        ("*.rs", "a.rs/b", false),
        ("src/*.rs", "src/a.rs", true),
        ("src/*.rs", "src/deep/a.rs", false),
        ("src/**/*.rs", "src/deep/a.rs", true),
        ("./a.*", "a.rs", true),
    ] {
        assert_eq!(glob(glob_text).unwrap().is_match(path), expected, "{glob_text} {path}");
    }
    assert!(glob("[").is_err());
}

#[test]
fn a_pattern_that_would_be_huge_is_refused() {
    for pattern in ["(", r"((\w{100}){100}){100}"] {
        let asked = serde_json::from_value(serde_json::json!({ "pattern": pattern })).unwrap();
        assert!(matches!(Query::new(&asked), Err(ToolError::Arguments(_))), "{pattern}");
    }
}
