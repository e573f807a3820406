//! A child that wants too much gets its limits, and nothing else notices.

use crate::egress::support::{A, Plan, Town, greet, site};
use insula_sandbox::egress::{Ending, ProxyLimits};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn plan(limits: ProxyLimits) -> Plan<'static> {
    Plan { allow: &["a.test"], limits, ..Plan::default() }
}

#[tokio::test(start_paused = true)]
async fn connections_that_say_nothing_wait_their_turn_and_are_let_go() {
    let limits = ProxyLimits { connections_max: 4, ..ProxyLimits::default() };
    let (town, _) = Town::in_memory(plan(limits)).await;
    town.serve(&format!("{A}:80"), HELLO).await;
    let mut silent = vec![];
    for _ in 0..100 {
        silent.push(town.connect().await);
    }
    // Behind all of them, and still answered: each was let go at its time-out.
    assert!(town.get("http://a.test/").await.ends_with("hello"));
    assert_eq!(town.book.decisions().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_more_connections_go_out_than_the_limit_says() {
    let limits = ProxyLimits { connections_max: 4, ..ProxyLimits::default() };
    let (town, _) = Town::in_memory(plan(limits)).await;
    let listener = town.world.network.listen(format!("{A}:80").parse().unwrap()).await.unwrap();
    let (open, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let most = peak.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let open = open.clone();
            tokio::spawn(async move {
                // Never answers, and stays for as long as the proxy does.
                let _ = stream.read_to_end(&mut vec![]).await;
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    let mut waiting = vec![];
    for _ in 0..12 {
        let mut stream = town.connect().await;
        stream.write_all(b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n").await.unwrap();
        waiting.push(stream);
    }
    for mut stream in waiting {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    }
    assert_eq!(peak.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn a_loop_of_requests_does_not_flood_the_record() {
    let limits = ProxyLimits { requests_max: 10, ..ProxyLimits::default() };
    let (town, _) = Town::in_memory(plan(limits)).await;
    let asked = town.serve(&format!("{A}:80"), HELLO).await;
    for _ in 0..5 {
        assert!(town.get("http://evil.test/").await.starts_with("HTTP/1.1 403 "));
        assert!(town.ask("nonsense\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
    }
    for _ in 0..50 {
        let answer = town.get("http://a.test/").await;
        assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
        assert!(town.ask("nonsense\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
    }
    assert_eq!(town.book.decisions().len(), 10);
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn bytes_run_out_for_all_connections_of_a_child_together() {
    let limits = ProxyLimits { bytes_max: 300_000, ..ProxyLimits::default() };
    let (town, _) = Town::in_memory(plan(limits)).await;
    let mut big = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n".to_vec();
    big.extend(vec![b'x'; 200_000]);
    town.serve(&format!("{A}:80"), big).await;
    assert!(town.get("http://a.test/").await.len() > 200_000);
    assert!(town.get("http://a.test/").await.len() < 200_000);
    let refused = town.get("http://a.test/").await;
    assert!(refused.contains("this child has had its bytes"), "{refused}");
    let ends = town.book.ends(3).await;
    let endings: Vec<_> = ends.iter().map(|(_, ending)| *ending).collect();
    assert_eq!(endings, [Ending::Finished, Ending::LimitReached, Ending::LimitReached]);
    let moved: u64 = ends.iter().map(|(traffic, _)| traffic.up + traffic.down).sum();
    assert!(moved < 340_000, "{moved}: at most a buffer beyond the limit");
}

#[tokio::test(start_paused = true)]
async fn heads_and_greetings_without_end_are_cut() {
    let (town, _) = Town::in_memory(plan(ProxyLimits::default())).await;
    town.serve(&format!("{A}:443"), "").await;
    let endless = format!("GET http://a.test/{} HTTP/1.1\r\n", "x".repeat(100_000));
    assert!(town.ask(endless).await.starts_with("HTTP/1.1 400 "));
    let many = "X: y\r\n".repeat(200);
    let many = format!("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n{many}\r\n");
    assert!(town.ask(many).await.starts_with("HTTP/1.1 400 "));
    let mut stream = town.tunnel("a.test:443").await.unwrap();
    let _ = stream
        .write_all(&[&[22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff][..], &[0; 60_000]].concat())
        .await;
    let mut answer = vec![];
    let _ = stream.read_to_end(&mut answer).await;
    assert_eq!(answer.first(), Some(&21));
}

#[tokio::test(start_paused = true)]
async fn cancelling_cuts_what_is_open_and_records_it() {
    let site = site(&["a.test"]);
    let (town, _) = Town::in_memory(plan(ProxyLimits::default())).await;
    let listener = town.world.network.listen(format!("{A}:443").parse().unwrap()).await.unwrap();
    let acceptor = site.acceptor.clone();
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        acceptor.accept(stream).await.unwrap()
    });
    let stream = town.tunnel("a.test:443").await.unwrap();
    let mut stream = greet(stream, "a.test", &site.root).await.unwrap();
    let _server = server.await.unwrap();
    let _silent = town.connect().await;
    town.cancel.cancel();
    town.serving.await.unwrap();
    assert_eq!(town.book.ends(1).await[0].1, Ending::Stopped);
    assert_eq!(stream.read(&mut [0; 8]).await.unwrap_or(0), 0);
}
