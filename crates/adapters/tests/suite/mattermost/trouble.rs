//! Connections that are no use although they are open, and servers that say no.

use crate::mattermost::support::{Listening, TOKEN, Tray, beginning, bench};
use insula_channel::ConnectFault;
use insula_testkit::mattermost::Trouble;
use insula_testkit::upstream::{Upstream, answer};
use insula_world::Clock as _;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_socket_that_is_open_and_deaf_is_left_and_what_was_said_is_heard() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    bench.say("one");
    tray.until(1).await;
    bench.platform.deafen(true);
    bench.say("two");
    let began = bench.handles.clock.elapsed();
    let fault = listening.failed().await;
    let waited = bench.handles.clock.elapsed() - began;
    let ConnectFault::Broken { why, .. } = fault else { panic!("{fault:?}") };
    assert!(why.contains("though the connection is open"), "{why}");
    assert!(waited <= Duration::from_secs(46), "{waited:?}");
    bench.platform.deafen(false);
    let listening = Listening::start(&adapter, &tray);
    tray.until(2).await;
    assert_eq!(tray.texts(), ["one", "two"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_answers_pings_itself_is_no_server() {
    // It upgrades, and then answers pings of the protocol and nothing else.
    let bench = bench().await;
    let url = bench.platform.url();
    let front =
        bench.world.network.listen(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let address = front.local_addr().unwrap();
    let world = bench.world.clone();
    tokio::spawn(async move {
        use insula_testkit::socket::{FakeSocket, FromClient, asks_for_socket};
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        while let Ok((mut stream, _)) = front.accept().await {
            let (world, url) = (world.clone(), url.clone());
            tokio::spawn(async move {
                let mut rest = vec![];
                let Some(seen) =
                    insula_testkit::upstream::read_request(&mut stream, &mut rest, 0).await
                else {
                    return;
                };
                if asks_for_socket(&seen) {
                    let mut socket = FakeSocket::upgrade(stream, &seen, rest).await.unwrap();
                    while !matches!(socket.next().await, FromClient::Gone | FromClient::Closed(..))
                    {
                    }
                    return;
                }
                // Anything else goes on to the server, one request a connection.
                let to = url.trim_start_matches("http://").parse().unwrap();
                let mut server = world.network.connect(to).await.unwrap();
                let mut head = format!("{} HTTP/1.1\r\n", seen.line);
                for (name, value) in &seen.headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                server.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
                let mut buffer = vec![0; 64 * 1024];
                let len = server.read(&mut buffer).await.unwrap();
                stream.write_all(&buffer[..len]).await.unwrap();
                let _ = stream.shutdown().await;
            });
        }
    });
    let settings = insula_adapters::mattermost::Settings {
        account: insula_domain::AccountId::new("main").unwrap(),
        base_url: format!("http://{address}"),
        token: TOKEN.into(),
        public_url: None,
        secret: None,
    };
    let adapter: std::sync::Arc<dyn insula_channel::Adapter> = std::sync::Arc::new(
        insula_adapters::mattermost::Mattermost::new(settings, &bench.transport, &bench.world)
            .unwrap(),
    );
    let tray = Tray::new(Some(beginning()));
    let fault = Listening::start(&adapter, &tray).failed().await;
    assert!(
        matches!(&fault, ConnectFault::Broken { why, .. } if why.contains("says nothing")),
        "{fault:?}"
    );
    assert!(!tray.was_alive(), "an open socket is no sign of life");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_server_is_asked_and_stays_connected() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    bench.handles.clock.advance(Duration::from_secs(1)).await;
    bench.world.clock.sleep(Duration::from_secs(600)).await;
    bench.say("still there?");
    tray.until(1).await;
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connection_fails_for_what_it_is() {
    let refuse = |status, reset| Trouble::Refuse { status, id: "api.x".into(), reset };
    for (trouble, expected) in [
        (refuse(401, None), ("refused", None)),
        (refuse(429, Some(7)), ("broken", Some(7))),
        (refuse(500, None), ("broken", None)),
        (Trouble::Answer { status: 502, body: "<html>".into() }, ("broken", None)),
        (Trouble::Answer { status: 200, body: "<html>".into() }, ("broken", None)),
        (Trouble::CutAt(30), ("broken", None)),
        (Trouble::Unheard, ("broken", None)),
    ] {
        for at in ["GET /users/me", "GET /users/me/channels"] {
            let bench = bench().await;
            bench.platform.trouble(at, trouble.clone());
            let tray = Tray::new(None);
            let fault = Listening::start(&bench.adapter(), &tray).failed().await;
            let got = match fault {
                ConnectFault::Refused(_) => ("refused", None),
                ConnectFault::Broken { wait, .. } => ("broken", wait.map(|it| it.as_secs())),
            };
            assert_eq!(got, expected, "{at}: {trouble:?}");
            assert!(tray.envelopes().is_empty() && !tray.was_alive());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_named() {
    let bench = bench().await;
    let identity = bench.adapter_at(Some("https://e.org")).identify().await.unwrap();
    assert_eq!((&*identity.id, &*identity.name), (bench.bot.as_str(), "@ada"));
    assert!(identity.missing.is_empty(), "{identity:?}");
    let lacks = bench.adapter().identify().await.unwrap().missing;
    assert!(lacks.len() == 1 && lacks[0].contains("public_url"), "{lacks:?}");
    bench.platform.remove(&bench.town, &bench.bot, &bench.ann);
    let lacks = bench.adapter_at(Some("https://e.org")).identify().await.unwrap().missing;
    assert!(lacks.len() == 1 && lacks[0].contains("/invite @ada"), "{lacks:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_none_is_broken_and_not_refused() {
    let bench = bench().await;
    let other =
        Upstream::start(&bench.world, |_, _| vec![answer(404, &[], "not here")]).await.unwrap();
    let settings = insula_adapters::mattermost::Settings {
        account: insula_domain::AccountId::new("main").unwrap(),
        base_url: other.url(""),
        token: TOKEN.into(),
        public_url: None,
        secret: None,
    };
    let adapter =
        insula_adapters::mattermost::Mattermost::new(settings, &bench.transport, &bench.world)
            .unwrap();
    let fault = insula_channel::Adapter::identify(&adapter).await.unwrap_err();
    assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
}
