//! A host that repeats what it was sent: what was added on the way out is not in what comes back.

use crate::egress::support::{A, B, Plan, Town, injection, site};
use insula_sandbox::egress::{ClientLimits, Fetch, FetchError};

const TOKEN: &str = "tok-4711-secret";

fn plan(site_root: Option<Vec<u8>>) -> Plan<'static> {
    let key = injection("a.test", "authorization", "Bearer tok-4711-secret").also_in_the_clear();
    Plan {
        allow: &["a.test", "b.test"],
        injections: vec![key],
        roots: site_root.into_iter().collect(),
        ..Plan::default()
    }
}

/// What an answer says without what frames it.
fn has_token(answer: &str) -> bool {
    answer.to_ascii_lowercase().contains(TOKEN) || answer.contains("dG9rLTQ3MTEtc2VjcmV0")
}

#[tokio::test(start_paused = true)]
async fn rule_12_a_program_is_not_handed_the_credential_by_a_host_that_repeats_it() {
    let body = format!("you sent Bearer {TOKEN}, in base64 dG9rLTQ3MTEtc2VjcmV0");
    let cut = format!(
        "6\r\nBearer\r\n5\r\n tok-\r\n{:x}\r\n{}\r\n0\r\nX-Trailer: {TOKEN}\r\n\r\n",
        TOKEN.len() - 4,
        &TOKEN[4..]
    );
    for answer in [
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nX-Echo: {TOKEN}\r\n\r\n{body}",
            body.len()
        ),
        format!("HTTP/1.1 200 {TOKEN}\r\nX-Echo: Bearer {TOKEN}\r\n\r\n{body}"),
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-{TOKEN}: 1\r\n\r\n{cut}"),
        format!(
            "HTTP/1.1 302 Found\r\nLocation: http://b.test/?{TOKEN}\r\nContent-Length: 0\r\n\r\n"
        ),
        format!(
            "HTTP/1.1 103 Early\r\nLink: {TOKEN}\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        ),
    ] {
        let (town, _) = Town::in_memory(plan(None)).await;
        let asked = town.serve(&format!("{A}:80"), answer.clone()).await;
        let got = town.get("http://a.test/").await;
        assert!(asked.lock().unwrap()[0].contains(TOKEN), "the host was sent it");
        assert!(!has_token(&got), "{answer}\n->\n{got}");
        assert!(got.starts_with("HTTP/1.1 200 ") || got.starts_with("HTTP/1.1 302 "), "{got}");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_12_what_is_packed_or_asked_for_in_parts_is_not_passed_on() {
    let (town, _) = Town::in_memory(plan(None)).await;
    let packed = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx";
    let asked = town.serve(&format!("{A}:80"), packed).await;
    let request = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: gzip\r\nRange: bytes=0-3\r\nIf-Range: x\r\n\r\n";
    let got = town.ask(request).await;
    assert!(got.starts_with("HTTP/1.1 502 ") && got.contains("packs its answer"), "{got}");
    let sent = asked.lock().unwrap()[0].to_ascii_lowercase();
    assert!(sent.contains("\r\naccept-encoding: identity\r\n"), "{sent}");
    assert!(!sent.contains("gzip") && !sent.contains("range"), "{sent}");
}

#[tokio::test(start_paused = true)]
async fn what_has_no_credential_passes_as_it_is() {
    let (town, _) = Town::in_memory(plan(None)).await;
    let packed = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx";
    let asked = town.serve(&format!("{B}:80"), packed).await;
    let request = "GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\nAccept-Encoding: gzip\r\nRange: bytes=0-3\r\n\r\n";
    let got = town.ask(request).await;
    assert!(got.contains("content-encoding: gzip") && got.ends_with("xx"), "{got}");
    let sent = asked.lock().unwrap()[0].to_ascii_lowercase();
    assert!(sent.contains("range: bytes=0-3") && sent.contains("accept-encoding: gzip"), "{sent}");
}

#[tokio::test(start_paused = true)]
async fn rule_12_neither_is_a_tool_of_ours() {
    let site = site(&["a.test"]);
    let (town, _) = Town::in_memory(plan(Some(site.root.clone()))).await;
    let body = format!("you sent Bearer {TOKEN}");
    let answer = format!(
        "HTTP/1.1 200 OK\r\nX-Echo: {TOKEN}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    town.serve_tls(&format!("{A}:443"), answer, &site).await;
    let client = town.client(ClientLimits::default());
    let response = client.fetch(Fetch::get("https://a.test/")).await.unwrap();
    assert_eq!(response.headers["x-echo"], "[secret]");
    let got = String::from_utf8(response.bytes().await.unwrap()).unwrap();
    assert_eq!(got, "you sent [secret]");
}

#[tokio::test(start_paused = true)]
async fn rule_12_a_packed_answer_is_no_answer_for_a_tool_either() {
    let (town, _) = Town::in_memory(plan(None)).await;
    let packed = "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\nxx";
    town.serve(&format!("{A}:80"), packed).await;
    let client = town.client(ClientLimits::default());
    let error = client.fetch(Fetch::get("http://a.test/")).await.err().unwrap();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("packs its answer"), "{error}");
}
