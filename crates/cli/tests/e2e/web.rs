//! The web through the real daemon, over real sockets: pages on loopback that were granted,
//! hosts that were not, a search with its key.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Home, run_with_input};
use serde_json::{Value, json as value};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

/// A server on loopback: the heads of its requests, as they came.
pub fn site(
    answer: impl Fn(&str) -> String + Send + Sync + 'static,
) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (kept, answer) = (seen.clone(), Arc::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (kept, answer) = (kept.clone(), answer.clone());
            thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    if reader.read_line(&mut head).unwrap_or(0) == 0 {
                        return;
                    }
                }
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                kept.lock().unwrap().push(head);
                let _ = reader.get_mut().write_all(answer(&path).as_bytes());
            });
        }
    });
    (address, seen)
}

pub fn page(media: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn tool(home: &Home, agent: &str, name: &str, arguments: &Value) -> String {
    let message = format!("call {name} {arguments}");
    insula(home, &["chat", "--agent", agent, "-m", &message]).ok().stdout
}

#[test]
fn pages_that_are_granted_are_read_and_others_are_not_reached() {
    let (granted, _) = site(|path| {
        match path {
        "/away" => "HTTP/1.1 302 x\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned(),
        _ => page("text/html", "<title>Real</title><main><p>Words from a real page.</p><p style='display:none'>Hidden words</p></main>"),
    }
    });
    let (other, seen) = site(|_| page("text/html", "never"));
    let home = configured(&format!(
        "agents:\n  a: {{default: true, tools: [web_extract, web_search], network: [\"{granted}\"]}}\n  none: {{tools: [web_extract]}}\n"
    ));
    let _daemon = start_still(&home);
    let urls = value!({ "urls": [format!("http://{granted}/"), format!("http://{other}/"), format!("http://{granted}/away")] });
    let said = tool(&home, "a", "web_extract", &urls);
    assert!(said.contains("Words from a real page.") && !said.contains("Hidden words"), "{said}");
    assert!(said.contains(&format!("source=\"http://{granted}/\"")), "{said}");
    assert!(
        said.contains(&format!("`{other}` in `network.allow`")) || said.contains("network.allow"),
        "{said}"
    );
    assert!(said.contains("169.254.169.254"), "{said}");
    assert!(seen.lock().unwrap().is_empty());
    let said = tool(&home, "none", "web_extract", &value!({ "urls": ["http://example.org/"] }));
    assert!(said.contains("`network.allow`"), "{said}");
    let shown = json(&home, &["sessions", "show", "a", "1"]);
    let foreign: Vec<&Value> =
        shown["messages"].as_array().unwrap().iter().filter(|it| it["untrusted"] == true).collect();
    assert_eq!(foreign.len(), 1, "{shown:#}");
    let kinds = kinds(&home, "a");
    assert!(kinds.iter().filter(|kind| **kind == "egress").count() >= 3, "{kinds:?}");
    assert_chains_hold(&home);
    // The tool that is not configured is not there, and says what is missing.
    let rows = json(&home, &["tools", "a"]);
    let row =
        rows.as_array().unwrap().iter().find(|row| row["name"] == "web_search").unwrap().clone();
    assert_eq!(row["exposed"], false);
    assert!(row["rule"].as_str().unwrap().contains("`web.search` names one"), "{row}");
    let warned = insula(&home, &["check"]);
    assert!(
        format!("{}{}", warned.stdout, warned.stderr).contains("names the tool `web_search`"),
        "{warned:?}"
    );
}

/// A document of one page; its table of contents is missing, as in many a real one.
fn document(title: &str, line: &str) -> String {
    let content = format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET");
    format!(
        "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Times-Roman>>>>>>>>endobj\n4 0 obj<</Length {}>>stream\n{content}\nendstream endobj\n5 0 obj<</Title({title})>>endobj\ntrailer<</Root 1 0 R/Info 5 0 R>>",
        content.len()
    )
}

#[test]
fn documents_are_read_in_the_sandbox() {
    let (site, _) = site(|path| match path {
        "/good" => page("application/pdf", &document("On walls", "Words of a document")),
        "/bad" => page("application/pdf", "%PDF-1.4\nnothing of the kind"),
        _ => page("application/pdf", "<html>please log in</html>"),
    });
    let home = configured(&format!(
        "agents:\n  a: {{default: true, tools: [web_extract], network: [\"{site}\"]}}\n"
    ));
    let _daemon = start_still(&home);
    let read = |path: &str| {
        let urls = value!({ "urls": [format!("http://{site}/{path}")] });
        tool(&home, "a", "web_extract", &urls)
    };
    let said = read("good");
    assert!(said.contains("On walls\n\nWords of a document\n"), "{said}");
    let said = read("bad");
    assert!(said.contains("the document is damaged: no page of it can be read"), "{said}");
    let said = read("other");
    assert!(said.contains("it is not a PDF document"), "{said}");
}

#[test]
fn a_search_is_asked_with_a_key_that_nobody_sees() {
    let (search, seen) = site(|_| {
        page(
            "application/json",
            r#"{"web":{"results":[{"title":"Found","url":"https://found.example/","description":"a <strong>thing</strong>"}]}}"#,
        )
    });
    let key = "brave-key-7a1f2d0c9b8e4f";
    let home = configured(&format!(
        "agents:\n  a: {{default: true, tools: [web_search], secrets: [BRAVE], web: {{search: {{provider: brave, base_url: \"http://{search}\", api_key: \"${{secret:BRAVE}}\"}}}}}}\n"
    ));
    run_with_input(INSULA, home.path(), &["secret", "set", "a", "BRAVE"], format!("{key}\n")).ok();
    let daemon = start_still(&home);
    let said = tool(&home, "a", "web_search", &value!({ "query": "thing" }));
    assert!(said.contains("1. Found") && said.contains("a thing"), "{said}");
    let head = seen.lock().unwrap()[0].to_lowercase();
    assert!(head.contains(&format!("x-subscription-token: {key}")), "{head}");
    let context = insula(&home, &["context", "show", "a", "--json"]).ok().stdout;
    assert!(!context.contains(key));
    drop(daemon);
    assert!(holders(&home, key).is_empty());
    let broken = home_with("base_url: \"http://far.example\", api_key: \"${secret:BRAVE}\"");
    let said = insula(&broken, &["check"]);
    assert_eq!(said.code, Some(2));
    assert!(format!("{}{}", said.stdout, said.stderr).contains("plain http"), "{said:?}");
    let missing = home_with("base_url: \"https://far.example\"");
    let said = insula(&missing, &["check"]);
    assert!(format!("{}{}", said.stdout, said.stderr).contains("has no `api_key`"), "{said:?}");
}

fn home_with(search: &str) -> Home {
    configured(&format!(
        "agents:\n  a: {{tools: [web_search], secrets: [BRAVE], web: {{search: {{provider: brave, {search}}}}}}}\n"
    ))
}
