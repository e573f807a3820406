//! Requests in the clear, and those that the proxy makes inside TLS.

use crate::egress::support::{A, B, Plan, Town, injection, site};
use insula_sandbox::egress::Ending;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn plan<'a>(allow: &'a [&'a str]) -> Plan<'a> {
    Plan { allow, ..Plan::default() }
}

#[tokio::test(start_paused = true)]
async fn a_granted_host_is_reached_and_the_bytes_are_counted() {
    let (town, _) = Town::in_memory(plan(&["a.test"])).await;
    let asked = town.serve(&format!("{A}:80"), HELLO).await;
    let answer = town.get("http://a.test/x").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"));
    let sent = "GET /x HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
    assert_eq!(*asked.lock().unwrap(), [sent]);
    assert_eq!(town.book.lines(), [format!("allowed a.test:80 {A}:80 by a.test")]);
    let (traffic, ending) = town.book.ends(1).await[0];
    assert_eq!(ending, Ending::Finished);
    assert_eq!((traffic.up, traffic.down), (sent.len() as u64, HELLO.len() as u64));
}

#[tokio::test(start_paused = true)]
async fn rule_04_a_refusal_names_the_host_the_rule_and_the_setting() {
    let (town, _) =
        Town::in_memory(plan(&["a.test", "inside.test", "mixed.test", "gone.test"])).await;
    for (url, says) in [
        ("http://b.test/", "`b.test:80` is refused: no entry of `network.allow` covers it"),
        ("http://a.test:8080/", "but not this port"),
        ("http://inside.test/", "leads to 10.0.0.7, a private address"),
        ("http://mixed.test/", "leads to 169.254.169.254, a link-local address"),
        ("http://10.0.0.7/", "no entry of `network.allow` covers it"),
        ("http://127.1/", "write an address as four decimal numbers"),
        ("http://a.test%00.b.test/", "a host has letters"),
    ] {
        let answer = town.get(url).await;
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{url}: {answer}");
        assert!(answer.contains(says), "{url}: {answer}");
    }
    let gone = town.get("http://gone.test/").await;
    assert!(gone.starts_with("HTTP/1.1 502 "), "{gone}");
    let refused = town.book.lines().iter().filter(|line| line.starts_with("refused")).count();
    assert_eq!(refused, 7, "{:#?}", town.book.lines());
    assert_eq!(town.book.ends(1).await[0].1, Ending::Failed);
}

#[tokio::test(start_paused = true)]
async fn hosts_that_are_spelled_to_slip_through_reach_nobody() {
    let (town, _) = Town::in_memory(plan(&["a.test", "localhost"])).await;
    let asked = town.serve("127.0.0.1:80", HELLO).await;
    for authority in [
        "a.test@127.0.0.1",
        "127.0.0.1",
        "127.0.0.1.",
        "2130706433",
        "0x7f000001",
        "0X7F.1",
        "0177.0.0.1",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "0.0.0.0",
        "0",
        "a.test\u{0}.evil.test",
        "a.test.evil.test",
        "a.test..",
        "%6c%6f%63%61%6c%68%6f%73%74",
        "ⓛocalhost",
        "127。0。0。1",
    ] {
        let answer = town.get(&format!("http://{authority}/")).await;
        let refused = answer.starts_with("HTTP/1.1 403 ") || answer.starts_with("HTTP/1.1 400 ");
        assert!(refused, "{authority}: {answer}");
        let tunnel = town.tunnel(&format!("{authority}:443")).await;
        assert!(tunnel.is_err(), "{authority}");
    }
    assert!(asked.lock().unwrap().is_empty());
    assert!(town.get("http://LocalHost./").await.ends_with("hello"));
}

#[tokio::test(start_paused = true)]
async fn a_request_with_two_readings_never_reaches_the_host() {
    let (town, _) = Town::in_memory(plan(&["a.test"])).await;
    let asked = town.serve(&format!("{A}:80"), HELLO).await;
    for headers in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 4\r\nContent-Length: 40\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: chunked\r\n folded\r\n",
        "Host: b.test\r\n",
        "X: y\nContent-Length: 4\r\n",
    ] {
        let request =
            format!("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n{headers}\r\n0\r\n\r\n");
        let answer = town.ask(request).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{headers:?}: {answer}");
    }
    assert!(asked.lock().unwrap().is_empty());
    let two = "GET http://a.test/1 HTTP/1.1\r\nHost: a.test\r\n\r\n\
               GET http://a.test/2 HTTP/1.1\r\nHost: a.test\r\n\r\n";
    let answer = town.ask(two).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    assert_eq!(asked.lock().unwrap().len(), 1, "one request a connection");
    let bad = "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n\
               5\r\nabc\r\n0\r\n\r\n";
    let answer = town.ask(bad).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn bodies_go_both_ways_in_every_framing() {
    let (town, _) = Town::in_memory(plan(&["a.test", "b.test"])).await;
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n";
    let asked = town.serve(&format!("{A}:80"), chunked).await;
    let bare = town.serve(&format!("{B}:80"), "HTTP/1.0 200 OK\r\n\r\nto the end").await;
    let post = "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\n\
                Transfer-Encoding: chunked\r\n\r\n4;e=1\r\nwiki\r\n0\r\nT: x\r\n\r\n";
    let answer = town.ask(post).await;
    assert!(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), "{answer}");
    assert!(asked.lock().unwrap()[0].ends_with("\r\n\r\n4\r\nwiki\r\n0\r\n\r\n"));
    let old = town.ask("GET http://a.test/ HTTP/1.0\r\n\r\n").await;
    assert!(old.ends_with("\r\n\r\nabcde") && !old.contains("chunked"), "{old}");
    let post = "POST http://b.test/ HTTP/1.1\r\nHost: b.test\r\nContent-Length: 3\r\n\r\nxyz";
    assert!(town.ask(post).await.ends_with("\r\n\r\nto the end"));
    assert!(bare.lock().unwrap()[0].ends_with("\r\n\r\nxyz"));
}

#[tokio::test(start_paused = true)]
async fn rule_12_a_credential_is_added_on_the_way_out_and_replaces_the_childs() {
    let site = site(&["b.test"]);
    let (town, _) = Town::in_memory(Plan {
        allow: &["a.test", "b.test"],
        injections: vec![
            injection("b.test", "Authorization", "Bearer ours-4711").also_in_the_clear(),
            injection("a.test", "Authorization", "Bearer ours-4711"),
        ],
        roots: vec![site.root.clone()],
        ..Plan::default()
    })
    .await;
    let other = town.serve(&format!("{A}:80"), HELLO).await;
    let plain = town.serve(&format!("{B}:80"), HELLO).await;
    let inside = town.serve_tls(&format!("{B}:443"), HELLO, &site).await;
    for (scheme, asked) in [("http", &plain), ("https", &inside)] {
        let answer = town
            .ask(format!(
                "GET {scheme}://b.test/ HTTP/1.1\r\nHost: b.test\r\nauthorization: theirs\r\n\
                 AUTHORIZATION: theirs too\r\n\r\n"
            ))
            .await;
        // In chunks, since how long it is when it is cleared is not known before; the last letter
        // could have been the beginning of the credential.
        assert!(answer.ends_with("\r\n\r\n4\r\nhell\r\n1\r\no\r\n0\r\n\r\n"), "{answer}");
        assert!(!answer.contains("4711"), "{answer}");
        let asked = asked.lock().unwrap();
        assert!(asked[0].contains("authorization: Bearer ours-4711\r\n"), "{asked:?}");
        assert!(!asked[0].contains("theirs"), "{asked:?}");
    }
    town.get("http://a.test/").await;
    // Granted for TLS alone, so it does not go out where everyone can read it.
    assert!(!other.lock().unwrap()[0].contains("4711"));
    let trace = town.ask("TRACE http://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n").await;
    assert!(trace.starts_with("HTTP/1.1 400 "), "{trace}");
    assert!(!format!("{:?}", town.book.decisions()).contains("4711"));
}

#[tokio::test(start_paused = true)]
async fn the_proxy_does_not_follow_redirects_and_does_not_call_itself() {
    let (town, _) = Town::in_memory(plan(&["a.test", "localhost:49152", "127.0.0.1:49152"])).await;
    assert_eq!(town.proxy.port(), 49152, "the first port of the network in memory");
    let away = "HTTP/1.1 302 Found\r\nLocation: http://inside.test/\r\nContent-Length: 0\r\n\r\n";
    town.serve(&format!("{A}:80"), away).await;
    assert!(town.get("http://a.test/").await.contains("location: http://inside.test/"));
    for itself in ["http://127.0.0.1:49152/", "http://localhost:49152/"] {
        let answer = town.get(itself).await;
        assert!(answer.contains("it is this proxy"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_11_what_can_not_be_recorded_does_not_happen() {
    let (town, _) = Town::in_memory(plan(&["a.test"])).await;
    let asked = town.serve(&format!("{A}:80"), HELLO).await;
    town.book.broken.store(true, std::sync::atomic::Ordering::Relaxed);
    let answer = town.get("http://a.test/").await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("can't be recorded"));
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_host_that_answers_badly_or_never_is_an_error_and_no_more() {
    let (town, _) = Town::in_memory(plan(&["a.test", "b.test"])).await;
    town.serve(&format!("{A}:80"), "SSH-2.0-OpenSSH\r\n\r\n").await;
    assert!(town.get("http://a.test/").await.starts_with("HTTP/1.1 502 "));
    let silent = town.world.network.listen(format!("{B}:80").parse().unwrap()).await.unwrap();
    let mut stream = town.connect().await;
    stream.write_all(b"GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n").await.unwrap();
    let (_kept_open, _) = silent.accept().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    assert_eq!(town.book.ends(2).await[1].1, Ending::TimedOut);
}
