//! The client of our own tools.

use crate::egress::support::{A, B, Plan, Town, injection, site};
use http::Method;
use http::header::{AUTHORIZATION, COOKIE, HeaderValue};
use insula_sandbox::egress::{ClientLimits, EgressRefusal, Ending, Fetch, FetchError};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn redirect(status: u16, to: &str) -> String {
    format!("HTTP/1.1 {status} Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
}

async fn fetched(town: &Town, url: &str) -> Result<String, FetchError> {
    let response = town.client(ClientLimits::default()).fetch(Fetch::get(url)).await?;
    Ok(String::from_utf8(response.bytes().await?).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_granted_address_is_fetched_in_the_clear_and_inside_tls() {
    let site = site(&["a.test"]);
    let roots = vec![site.root.clone()];
    let (town, _) = Town::in_memory(Plan { allow: &["a.test"], roots, ..Plan::default() }).await;
    town.serve(&format!("{A}:80"), HELLO).await;
    let asked = town.serve_tls(&format!("{A}:443"), HELLO, &site).await;
    assert_eq!(fetched(&town, "http://a.test/").await.unwrap(), "hello");
    assert_eq!(fetched(&town, "https://A.TEST/x?y=%20#z").await.unwrap(), "hello");
    assert!(asked.lock().unwrap()[0].starts_with("GET /x?y=%20 HTTP/1.1\r\n"));
    let ends = town.book.ends(2).await;
    assert!(ends.iter().all(|(traffic, end)| *end == Ending::Finished && traffic.down > 40));
}

#[tokio::test(start_paused = true)]
async fn rule_04_the_same_policy_holds_for_every_spelling_an_address_parser_knows() {
    let (town, _) = Town::in_memory(Plan {
        allow: &["a.test", "inside.test", "mixed.test"],
        ..Plan::default()
    })
    .await;
    for url in [
        "http://b.test/",
        "http://a.test:8080/",
        "http://inside.test/",
        "http://mixed.test/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://127。0。0。1/",
        "http://%31%32%37.0.0.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
        "http://user@a.test/",
        "http://a.test@b.test/",
        "http://b.test\\@a.test/",
        "file:///etc/passwd",
        "ftp://a.test/",
        "a.test",
        "data:,x",
    ] {
        let refused = fetched(&town, url).await.unwrap_err();
        assert!(
            matches!(refused, FetchError::Refused(_) | FetchError::Address { .. }),
            "{url}: {refused}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn rule_04_an_address_that_is_granted_has_one_spelling() {
    let (town, _) =
        Town::in_memory(Plan { allow: &["127.0.0.1", "a.test", "b.test"], ..Plan::default() })
            .await;
    town.serve("127.0.0.1:80", HELLO).await;
    assert_eq!(fetched(&town, "http://127.0.0.1/").await.unwrap(), "hello");
    for url in [
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1:80/",
        "http://0177.0.0.1/",
        "http://127。0。0。1/",
        "http://%31%32%37.0.0.1/",
        "http:127.1//127.0.0.1/",
        "http://127.1/?http://127.0.0.1/",
    ] {
        let refused = fetched(&town, url).await.unwrap_err();
        assert!(
            matches!(refused, FetchError::Refused(EgressRefusal::Spelling { .. })),
            "{url}: {refused}"
        );
    }
    // Nor where an answer leads.
    for (site, at, to) in [("a.test", A, "http://2130706433/"), ("b.test", B, "//127.1/")] {
        town.serve(&format!("{at}:80"), redirect(302, to)).await;
        let refused = fetched(&town, &format!("http://{site}/")).await.unwrap_err();
        assert!(
            matches!(refused, FetchError::Refused(EgressRefusal::Spelling { .. })),
            "{to}: {refused}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn redirects_are_followed_within_the_policy_and_no_further() {
    let (town, _) =
        Town::in_memory(Plan { allow: &["a.test", "b.test", "inside.test"], ..Plan::default() })
            .await;
    town.serve(&format!("{A}:80"), redirect(302, "//b.test/landed")).await;
    let asked = town.serve(&format!("{B}:80"), HELLO).await;
    let client = town.client(ClientLimits::default());
    let response = client.fetch(Fetch::get("http://a.test/")).await.unwrap();
    assert_eq!(response.url.as_str(), "http://b.test/landed");
    assert_eq!(response.bytes().await.unwrap(), b"hello");
    assert!(asked.lock().unwrap()[0].starts_with("GET /landed "));

    for (to, says) in [
        ("http://evil.test/", "no entry of `network.allow` covers it"),
        ("http://inside.test/", "a private address"),
        ("http://169.254.169.254/latest/meta-data/", "no entry"),
        ("http://[::1]/", "no entry"),
        ("http://user:pass@b.test/", "user name"),
        ("file:///etc/passwd", "scheme"),
        ("http://a.test/", "followed 5 times"),
    ] {
        let (town, _) = Town::in_memory(Plan {
            allow: &["a.test", "b.test", "inside.test"],
            ..Plan::default()
        })
        .await;
        town.serve(&format!("{A}:80"), redirect(307, to)).await;
        let refused = fetched(&town, "http://a.test/").await.unwrap_err();
        assert!(refused.to_string().contains(says), "{to}: {refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_redirect_keeps_the_body_only_where_it_says_so() {
    for (status, sent) in [(303, "GET "), (302, "GET "), (307, "POST "), (308, "POST ")] {
        let (town, _) =
            Town::in_memory(Plan { allow: &["a.test", "b.test"], ..Plan::default() }).await;
        town.serve(&format!("{A}:80"), redirect(status, "http://b.test/")).await;
        let asked = town.serve(&format!("{B}:80"), HELLO).await;
        let post = Fetch { method: Method::POST, ..Fetch::get("http://a.test/") };
        let post = Fetch { body: "payload".into(), ..post };
        town.client(ClientLimits::default()).fetch(post).await.unwrap();
        let asked = asked.lock().unwrap()[0].clone();
        assert!(asked.starts_with(sent), "{status}: {asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_12_credentials_do_not_go_along_to_another_host() {
    let site = site(&["a.test"]);
    let (town, _) = Town::in_memory(Plan {
        allow: &["a.test", "b.test"],
        injections: vec![injection("a.test", "x-key", "ours-4711").also_in_the_clear()],
        roots: vec![site.root.clone()],
        ..Plan::default()
    })
    .await;
    let first = town.serve(&format!("{A}:80"), redirect(301, "http://b.test/")).await;
    let second = town.serve(&format!("{B}:80"), HELLO).await;
    let mut fetch = Fetch::get("http://a.test/");
    fetch.headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer tool"));
    fetch.headers.insert(COOKIE, HeaderValue::from_static("a=b"));
    fetch.headers.insert("x-key", HeaderValue::from_static("theirs"));
    let client = town.client(ClientLimits::default());
    client.fetch(fetch).await.unwrap().bytes().await.unwrap();
    let first = first.lock().unwrap()[0].clone();
    assert!(first.contains("x-key: ours-4711") && !first.contains("theirs"), "{first}");
    assert!(first.contains("authorization: Bearer tool"));
    let second = second.lock().unwrap()[0].clone();
    assert!(!second.contains("4711") && !second.contains("Bearer") && !second.contains("a=b"));

    town.serve_tls(&format!("{A}:443"), redirect(302, "http://b.test/"), &site).await;
    let down = fetched(&town, "https://a.test/").await.unwrap_err();
    assert!(matches!(down, FetchError::Downgrade(_)), "{down}");
}

#[tokio::test(start_paused = true)]
async fn a_certificate_for_another_host_is_no_certificate() {
    let site = site(&["b.test"]);
    let roots = vec![site.root.clone()];
    let (town, _) = Town::in_memory(Plan { allow: &["a.test"], roots, ..Plan::default() }).await;
    let asked = town.serve_tls(&format!("{A}:443"), HELLO, &site).await;
    let refused = fetched(&town, "https://a.test/").await.unwrap_err();
    assert!(matches!(refused, FetchError::Unreachable { .. }), "{refused}");
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn too_much_and_too_slow_both_end() {
    let (town, _) = Town::in_memory(Plan { allow: &["a.test", "b.test"], ..Plan::default() }).await;
    let mut big = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    big.extend(vec![b'x'; 100_000]);
    town.serve(&format!("{A}:80"), big).await;
    let limits = ClientLimits { body_len_max: 50_000, ..ClientLimits::default() };
    let response = town.client(limits).fetch(Fetch::get("http://a.test/")).await.unwrap();
    let refused = response.bytes().await.unwrap_err();
    assert!(matches!(refused, FetchError::TooLarge(_, 50_000)), "{refused}");
    assert_eq!(town.book.ends(1).await[0].1, Ending::LimitReached);

    let silent = town.world.network.listen(format!("{B}:80").parse().unwrap()).await.unwrap();
    let slow = fetched(&town, "http://b.test/");
    let (slow, _kept) = tokio::join!(slow, silent.accept());
    assert!(matches!(slow.unwrap_err(), FetchError::TimedOut(_)));
    assert_eq!(town.book.ends(2).await[1].1, Ending::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_answer_is_an_end_too() {
    let (town, _) = Town::in_memory(Plan { allow: &["a.test"], ..Plan::default() }).await;
    town.serve(&format!("{A}:80"), HELLO).await;
    let client = town.client(ClientLimits::default());
    drop(client.fetch(Fetch::get("http://a.test/")).await.unwrap());
    assert_eq!(town.book.ends(1).await[0].1, Ending::Stopped);
    town.book.broken.store(true, std::sync::atomic::Ordering::Relaxed);
    let refused = client.fetch(Fetch::get("http://a.test/")).await.err().unwrap();
    assert!(matches!(refused, FetchError::Refused(EgressRefusal::Unrecorded(_))), "{refused}");
}
