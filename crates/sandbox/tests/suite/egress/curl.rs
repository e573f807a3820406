//! Real sockets, and a client that nobody here wrote.

use crate::egress::support::{Plan, Town, injection, site};
use insula_world::{Listener, World};
use std::process::Output;

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Runs curl with the environment of a child; `None`, loudly, where there is no curl.
async fn curl(town: &Town, args: &[&str]) -> Option<Output> {
    let output = tokio::process::Command::new("curl")
        .env_clear()
        .envs(insula_sandbox::egress::environment(town.proxy))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .args(["--silent", "--show-error", "--max-time", "20"])
        .args(args)
        .output()
        .await;
    match output {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("NOT RUN: there is no curl on this machine ({error})");
            None
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A real door of its own port, and where it is.
async fn listener(world: &World) -> (Box<dyn Listener>, u16) {
    let listener = world.network.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[tokio::test]
async fn curl_reaches_what_is_granted_and_reads_why_not_otherwise() {
    let world = World::real().unwrap();
    let (listener, port) = listener(&world).await;
    let granted = format!("127.0.0.1:{port}");
    let plan = Plan {
        allow: &[&granted],
        injections: vec![injection(&granted, "x-key", "ours-4711").also_in_the_clear()],
        ..Plan::default()
    };
    let town = Town::over(world, plan).await;
    let asked = town.serve_on(listener, HELLO, None);
    let url = format!("http://{granted}/x");
    let Some(got) = curl(&town, &["-H", "X-Key: theirs", "-d", "body", &url]).await else { return };
    assert_eq!(text(&got.stdout), "hello", "{}", text(&got.stderr));
    let sent = asked.lock().unwrap()[0].clone();
    assert!(sent.starts_with("POST /x HTTP/1.1\r\n") && sent.ends_with("\r\n\r\nbody"), "{sent}");
    assert!(sent.contains("x-key: ours-4711") && !sent.contains("theirs"), "{sent}");
    assert!(!sent.to_lowercase().contains("proxy"), "{sent}");

    let refused = curl(&town, &["-w", "%{http_code}", "http://example.org/"]).await.unwrap();
    let refused = text(&refused.stdout);
    assert!(refused.ends_with("403") && refused.contains("`network.allow` of this agent"));
    for spelling in ["127.1", "2130706433", "0x7f000001", "017700000001", "[::ffff:127.0.0.1]"] {
        // curl writes some of these in the usual way before it asks; then they are the address
        // that was granted, so the port is one that was not.
        let url = format!("http://{spelling}:{}/", town.proxy.port());
        let got = curl(&town, &["-w", "%{http_code}", &url]).await.unwrap();
        assert!(text(&got.stdout).ends_with("403"), "{spelling}: {}", text(&got.stdout));
    }
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn curl_follows_a_redirect_into_the_same_refusal() {
    let world = World::real().unwrap();
    let ((one, first), (other, second)) = (listener(&world).await, listener(&world).await);
    let [first, second] = [first, second].map(|port| format!("127.0.0.1:{port}"));
    let plan = Plan { allow: &[&first], ..Plan::default() };
    let town = Town::over(world, plan).await;
    let away =
        format!("HTTP/1.1 302 Found\r\nLocation: http://{second}/\r\nContent-Length: 0\r\n\r\n");
    let asked = town.serve_on(one, away, None);
    let inside = town.serve_on(other, HELLO, None);
    let url = format!("http://{first}/");
    let Some(got) = curl(&town, &["-L", "-w", "%{http_code}", &url]).await else { return };
    assert!(text(&got.stdout).ends_with("403"), "{}", text(&got.stdout));
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert!(inside.lock().unwrap().is_empty());
}

#[tokio::test]
async fn curl_gets_tls_through_under_the_right_name_only() {
    let world = World::real().unwrap();
    let (listener, port) = listener(&world).await;
    let site = site(&["localhost", "other.test"]);
    let granted = format!("localhost:{port}");
    let plan = Plan { allow: &[&granted], ..Plan::default() };
    let town = Town::over(world, plan).await;
    // Where localhost is IPv6 first, the second address is tried.
    let asked = town.serve_on(listener, HELLO, Some(site.acceptor));
    let url = format!("https://localhost:{port}/");
    let Some(got) = curl(&town, &["--insecure", &url]).await else { return };
    assert_eq!(text(&got.stdout), "hello", "{} {:?}", text(&got.stderr), town.book.lines());
    assert_eq!(asked.lock().unwrap().len(), 1);

    let elsewhere = format!("other.test:443:localhost:{port}");
    let args = ["--insecure", "--connect-to", &elsewhere, "https://other.test/"];
    let fronted = curl(&town, &args).await.unwrap();
    assert!(!fronted.status.success());
    let last = town.book.lines().pop().unwrap();
    assert!(last.contains("names another server, `other.test`"), "{last}");

    let refused = curl(&town, &["--insecure", "https://example.org/"]).await.unwrap();
    assert!(text(&refused.stderr).contains("403"), "{}", text(&refused.stderr));
    assert_eq!(asked.lock().unwrap().len(), 1);
}
