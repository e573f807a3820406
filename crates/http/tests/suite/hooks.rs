//! Requests of platforms over real sockets: one that is too long is answered so that its client
//! reads the answer, whenever that is.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use insula_testdaemon::TestDaemon;
use insula_world::World;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use tokio_util::sync::CancellationToken;

/// Four times what a request may have.
const LEN: usize = 4 << 20;

/// A daemon's listener, and where it is.
async fn serve(files: &insula_testkit::Home) -> SocketAddr {
    let world = World::real().unwrap();
    let daemon = TestDaemon::open(files, &world).await;
    let listener = world.network.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (router, _) = crate::routes(&daemon);
    tokio::spawn(insula_http::serve(listener, router, world, CancellationToken::new()));
    address
}

/// What a client reads that first writes all of this.
fn say(address: SocketAddr, head: &str, body: &[u8]) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    let head = format!("POST /hooks/webhook/ci HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_gets_the_answer_that_a_wrong_secret_gets() {
    let files = insula_testkit::Home::with([("config.yaml", "agents:\n  main: {}\n")]).unwrap();
    let address = serve(&files).await;
    let asked = |method: &'static str| {
        tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            let head = format!(
                "{method} /hooks/whatsapp/x?hub.mode=subscribe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        })
    };
    for method in ["GET", "HEAD"] {
        let answer = asked(method).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 401 "), "{method}: {answer}");
        assert!(answer.contains("content-type: application/json"), "{method}: {answer}");
    }
    assert!(asked("PUT").await.unwrap().starts_with("HTTP/1.1 405 "));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_writes_all_before_it_reads_hears_that_it_was_too_much() {
    let files = insula_testkit::Home::with([("config.yaml", "agents:\n  main: {}\n")]).unwrap();
    let address = serve(&files).await;
    let zeros = vec![b'0'; LEN];
    let mut chunked = format!("{LEN:x}\r\n").into_bytes();
    chunked.extend_from_slice(&zeros);
    chunked.extend_from_slice(b"\r\n0\r\n\r\n");
    let announced = format!("Content-Length: {LEN}");
    let asks_first = format!("{announced}\r\nExpect: 100-continue");
    for (head, body) in [
        (announced.as_str(), &*zeros),
        ("Transfer-Encoding: chunked", &*chunked),
        // Nothing of it was sent: the answer does not wait for it.
        (announced.as_str(), b"".as_slice()),
        (asks_first.as_str(), b"".as_slice()),
    ] {
        let (head, body) = (head.to_owned(), body.to_vec());
        let said = format!("{head}, {} bytes", body.len());
        let answer = tokio::task::spawn_blocking(move || say(address, &head, &body)).await.unwrap();
        let answer = answer.unwrap_or_else(|error| panic!("{said}: {error}"));
        assert!(answer.starts_with("HTTP/1.1 413 "), "{said}: {answer}");
        assert!(answer.contains("longer than 1048576 bytes"), "{said}: {answer}");
    }
    let answer = tokio::task::spawn_blocking(move || {
        say(address, "Content-Length: 2\r\nConnection: close", b"{}")
    });
    assert!(answer.await.unwrap().unwrap().starts_with("HTTP/1.1 401 "));
}
