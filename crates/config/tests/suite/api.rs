//! What those who ask over HTTP may do.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may say what it knows")]

use crate::common::load_text;
use insula_config::DaemonConfig;

fn daemon(api: &str) -> DaemonConfig {
    let (report, loaded) = load_text(&format!("agents: {{main: {{}}}}\n{api}"));
    assert_eq!(report.errors().count(), 0, "{:?}", report.diagnostics);
    loaded.expect("it is in order").daemon
}

#[test]
fn no_page_may_ask_and_callers_may_bring_tools_until_somebody_says_otherwise() {
    let usual = daemon("").api;
    assert!(usual.client_tools && !usual.welcomes("https://chat.example.org"));
    let set = daemon("api: {client_tools: false, cors: [\"https://Chat.Example.org\"]}\n").api;
    assert!(!set.client_tools);
    assert!(set.welcomes("https://chat.example.org"), "as a browser writes it");
    for other in ["http://chat.example.org", "https://chat.example.org:8443", "null", "*", ""] {
        assert!(!set.welcomes(other), "{other}");
    }
}
