//! CONNECT and the name inside the greeting, with a real TLS server.

use crate::egress::support::{A, B, Plan, Town, greet, site};
use insula_sandbox::egress::{EgressRefusal, EgressVerdict, Ending, TlsRefusal};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

async fn refused_with(town: &Town) -> TlsRefusal {
    town.book.ends(1).await;
    let last = town.book.decisions().pop().unwrap();
    match last.verdict {
        EgressVerdict::Refused(EgressRefusal::Tls { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn tls_to_the_host_of_the_tunnel_goes_through_unchanged() {
    let site = site(&["a.test"]);
    let (town, _) = Town::in_memory(Plan { allow: &["a.test"], ..Plan::default() }).await;
    let asked = town.serve_tls(&format!("{A}:443"), HELLO, &site).await;
    let stream = town.tunnel("a.test:443").await.unwrap();
    let mut stream = greet(stream, "a.test", &site.root).await.unwrap();
    let request = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    assert_eq!(answer, HELLO);
    assert_eq!(*asked.lock().unwrap(), [request]);
    drop(stream);
    let (traffic, ending) = town.book.ends(1).await[0];
    assert!(traffic.up > 200 && traffic.down > 500, "{traffic:?}");
    assert_eq!(ending, Ending::Finished);
    assert_eq!(town.book.lines(), [format!("allowed a.test:443 {A}:443 by a.test")]);
}

#[tokio::test(start_paused = true)]
async fn another_name_in_the_greeting_is_refused_even_if_it_is_on_the_list() {
    for allow in [&["a.test"][..], &["a.test", "b.test"]] {
        let site = site(&["a.test", "b.test"]);
        let (town, _) = Town::in_memory(Plan { allow, ..Plan::default() }).await;
        let asked = town.serve_tls(&format!("{A}:443"), HELLO, &site).await;
        let stream = town.tunnel("a.test:443").await.unwrap();
        let refused = greet(stream, "b.test", &site.root).await.err().unwrap();
        assert!(refused.to_string().contains("AccessDenied"), "{refused}");
        assert_eq!(refused_with(&town).await, TlsRefusal::Other("b.test".to_owned()));
        let (traffic, ending) = town.book.ends(1).await[0];
        assert_eq!((traffic.up, traffic.down, ending), (0, 0, Ending::Refused));
        assert!(asked.lock().unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn no_name_in_the_greeting_is_refused_unless_an_address_was_granted() {
    let site = site(&["a.test", A]);
    let (town, _) = Town::in_memory(Plan { allow: &["a.test"], ..Plan::default() }).await;
    town.serve_tls(&format!("{A}:443"), HELLO, &site).await;
    let stream = town.tunnel("a.test:443").await.unwrap();
    assert!(greet(stream, A, &site.root).await.is_err());
    assert_eq!(refused_with(&town).await, TlsRefusal::Nameless);

    let (town, _) = Town::in_memory(Plan { allow: &[A], ..Plan::default() }).await;
    town.serve_tls(&format!("{A}:443"), HELLO, &site).await;
    let stream = town.tunnel(&format!("{A}:443")).await.unwrap();
    greet(stream, A, &site.root).await.unwrap();
    let stream = town.tunnel(&format!("{A}:443")).await.unwrap();
    assert!(greet(stream, "a.test", &site.root).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_tunnel_carries_tls_and_nothing_else() {
    let (town, _) = Town::in_memory(Plan { allow: &["a.test"], ..Plan::default() }).await;
    let asked = town.serve(&format!("{A}:443"), HELLO).await;
    let mut stream = town.tunnel("a.test:443").await.unwrap();
    stream.write_all(b"SSH-2.0-OpenSSH_9\r\n").await.unwrap();
    let mut answer = vec![];
    let _ = stream.read_to_end(&mut answer).await;
    assert_eq!(answer, [21, 3, 3, 0, 2, 2, 49]);
    assert_eq!(refused_with(&town).await, TlsRefusal::NotTls);
    assert!(asked.lock().unwrap().iter().all(String::is_empty));
}

#[tokio::test(start_paused = true)]
async fn a_tunnel_leads_to_granted_ports_only() {
    let (town, _) =
        Town::in_memory(Plan { allow: &["a.test", "b.test:8443"], ..Plan::default() }).await;
    let site = site(&["b.test"]);
    town.serve_tls(&format!("{B}:8443"), HELLO, &site).await;
    for no in ["a.test:80", "a.test:22", "a.test:8443", "b.test:443"] {
        let refused = town.tunnel(no).await.err().unwrap();
        assert!(refused.starts_with("HTTP/1.1 403 "), "{no}: {refused}");
        assert!(refused.contains("not this port"), "{no}: {refused}");
    }
    let stream = town.tunnel("b.test:8443").await.unwrap();
    greet(stream, "b.test", &site.root).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_tunnel_that_says_nothing_ends() {
    let (town, _) = Town::in_memory(Plan { allow: &["a.test"], ..Plan::default() }).await;
    town.serve(&format!("{A}:443"), "").await;
    let mut stream = town.tunnel("a.test:443").await.unwrap();
    let mut answer = vec![];
    let _ = stream.read_to_end(&mut answer).await;
    assert_eq!(town.book.ends(1).await[0].1, Ending::TimedOut);
}
