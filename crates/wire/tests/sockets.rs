//! Sockets: what is heard, what is too much, and when an open one is a dead one.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test"
)]

use insula_testkit::auto_world;
use insula_testkit::socket::{FakeSocket, FromClient, frame};
use insula_testkit::upstream::{Step, Upstream, answer};
use insula_wire::{Heard, Refusal, Socket, SocketCall, SocketFault, SocketLimits, Transport};
use insula_wire::{Phase, WireFault};
use insula_world::{Listener, World};
use std::net::SocketAddr;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

struct Scene {
    world: World,
    transport: Transport,
    listener: Box<dyn Listener>,
    cancel: CancellationToken,
}

impl Scene {
    async fn start() -> Self {
        let (world, _) = auto_world(1);
        let transport = Transport::new(&world, &[]).unwrap();
        let listener = world.network.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        Self { world, transport, listener, cancel: CancellationToken::new() }
    }

    fn call(&self) -> SocketCall {
        let address = self.listener.local_addr().unwrap();
        SocketCall::new(format!("ws://{address}/socket?a=b").parse().unwrap())
    }

    async fn connect_with(&self, call: SocketCall) -> (Socket, FakeSocket) {
        let (ours, theirs) = tokio::join!(
            self.transport.socket(call, &self.cancel),
            FakeSocket::accept(&*self.listener)
        );
        (ours.unwrap(), theirs.unwrap().0)
    }

    async fn connect(&self) -> (Socket, FakeSocket) {
        self.connect_with(self.call()).await
    }
}

fn text(text: &str) -> Result<Heard, SocketFault> {
    Ok(Heard::Text(text.to_owned()))
}

#[tokio::test(start_paused = true)]
async fn both_sides_talk_and_the_handshake_carries_what_it_was_given() {
    let scene = Scene::start().await;
    let call = scene.call().bearer("a-token");
    let (ours, theirs) = tokio::join!(
        scene.transport.socket(call, &scene.cancel),
        FakeSocket::accept(&*scene.listener)
    );
    let (mut ours, (mut theirs, seen, _)) = (ours.unwrap(), theirs.unwrap());
    assert_eq!(seen.line, "GET /socket?a=b");
    assert_eq!(seen.header("authorization"), Some("Bearer a-token"));
    ours.text("hello").await.unwrap();
    assert_eq!(theirs.next().await, FromClient::Text("hello".to_owned()));
    ours.binary(vec![1, 2].into()).await.unwrap();
    assert_eq!(theirs.next().await, FromClient::Binary(vec![1, 2]));
    theirs.say("good day").await;
    theirs.say_bytes(b"bytes").await;
    assert_eq!(ours.next().await, text("good day"));
    assert_eq!(ours.next().await, Ok(Heard::Binary(b"bytes".as_slice().into())));
}

#[tokio::test(start_paused = true)]
async fn codes_of_goodbyes_arrive_both_ways() {
    let scene = Scene::start().await;
    let (mut ours, theirs) = scene.connect().await;
    let (heard, ()) = tokio::join!(ours.next(), theirs.close(4004, "the token\u{7} is wrong"));
    let reason = "the token is wrong".to_owned();
    assert_eq!(heard, Err(SocketFault::Closed { code: Some(4004), reason }));

    let (ours, mut theirs) = scene.connect().await;
    let long = "ä".repeat(100);
    let ((), heard) = tokio::join!(ours.close(4000, &long), theirs.next());
    let FromClient::Closed(code, reason) = heard else { panic!("{heard:?}") };
    assert_eq!((code, reason.as_str()), (Some(4000), &*"ä".repeat(61)));
}

#[tokio::test(start_paused = true)]
async fn an_open_socket_that_says_nothing_is_found_dead() {
    let scene = Scene::start().await;
    let (mut ours, mut theirs) = scene.connect().await;
    let began = scene.world.clock.elapsed();
    // Theirs stays open, and nobody reads or writes there.
    let fault = ours.next().await.unwrap_err();
    let limits = SocketLimits::default();
    let waited = limits.ping_every + limits.pong_within;
    assert_eq!(fault, SocketFault::Deaf { silent: waited });
    assert_eq!(scene.world.clock.elapsed() - began, waited);
    assert_eq!(theirs.next().await, FromClient::Ping);
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_answers_pings_lives_on_and_each_answer_is_told() {
    let scene = Scene::start().await;
    let (mut ours, mut theirs) = scene.connect().await;
    let answering = tokio::spawn(async move {
        for _ in 0..10 {
            assert_eq!(theirs.next().await, FromClient::Ping);
        }
        theirs.say("at last").await;
        theirs
    });
    let mut signs = 0;
    loop {
        match ours.next().await.unwrap() {
            Heard::Sign => signs += 1,
            heard => break assert_eq!(heard, Heard::Text("at last".to_owned())),
        }
    }
    assert!((9..=10).contains(&signs), "{signs}");
    let mut theirs = answering.await.unwrap();
    theirs.ping().await;
    assert_eq!(ours.next().await, Ok(Heard::Sign));
}

#[tokio::test(start_paused = true)]
async fn looking_again_and_again_puts_off_no_ping() {
    let scene = Scene::start().await;
    let (mut ours, _theirs) = scene.connect().await;
    let began = scene.world.clock.elapsed();
    let fault = loop {
        // As an adapter does that has something else to do every second.
        tokio::select! {
            heard = ours.next() => break heard.unwrap_err(),
            () = scene.world.clock.sleep(Duration::from_secs(1)) => {}
        }
    };
    assert!(matches!(fault, SocketFault::Deaf { .. }), "{fault:?}");
    assert_eq!(scene.world.clock.elapsed() - began, Duration::from_secs(45));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_anywhere_gives_whole_messages_and_a_fault() {
    let scene = Scene::start().await;
    let said = r#"{"event":"posted"}"#;
    let whole = frame(said.as_bytes()).len();
    for len in 0..=whole {
        let (mut ours, mut theirs) = scene.connect().await;
        theirs.say("before").await;
        let is_all = theirs.break_after(said, len).await;
        assert_eq!(ours.next().await, text("before"));
        if is_all {
            assert_eq!(ours.next().await, text(said));
        }
        let fault = ours.next().await.unwrap_err();
        assert!(matches!(fault, SocketFault::Lost { .. }), "{len}: {fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn frames_and_messages_have_a_limit() {
    let scene = Scene::start().await;
    let limits =
        SocketLimits { frame_len_max: 100, message_len_max: 150, ..SocketLimits::default() };
    let (mut ours, mut theirs) = scene.connect_with(scene.call().limits(limits)).await;
    theirs.say(&"x".repeat(100)).await;
    assert_eq!(ours.next().await, text(&"x".repeat(100)));
    // Announced, never sent: nothing is waited for and no room is made.
    theirs.write(&[0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0]).await;
    assert_eq!(ours.next().await, Err(SocketFault::TooMuch { len_max: 150 }));

    let (mut ours, mut theirs) = scene.connect_with(scene.call().limits(limits)).await;
    // Two frames of one message, each within its own limit.
    let mut first = vec![0x01, 90];
    first.extend([b'x'; 90]);
    let mut second = vec![0x80, 90];
    second.extend([b'x'; 90]);
    theirs.write(&[first, second].concat()).await;
    assert_eq!(ours.next().await, Err(SocketFault::TooMuch { len_max: 150 }));

    let (mut ours, _theirs) = scene.connect().await;
    let fault = ours.text("x".repeat(300_000)).await.unwrap_err();
    assert!(matches!(fault, SocketFault::TooMuch { .. }), "{fault:?}");
}

#[tokio::test(start_paused = true)]
async fn nonsense_on_the_wire_is_a_fault_and_no_panic() {
    let scene = Scene::start().await;
    // A ping that is too long.
    let long = [b"\x89\x7e\x00\xff".as_slice(), &[b'x'; 255]].concat();
    for bytes in [
        &[0xff; 24][..],
        &long,
        // Masked, as only clients do.
        b"\x81\x85aaaahello",
        // No text.
        b"\x81\x02\xc3\x28",
        // A continuation of nothing.
        b"\x80\x01x",
    ] {
        let (mut ours, mut theirs) = scene.connect().await;
        theirs.write(bytes).await;
        let fault = ours.next().await.unwrap_err();
        assert!(matches!(fault, SocketFault::Garbage { .. }), "{bytes:?}: {fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_socket_says_why() {
    let (world, _) = auto_world(1);
    let transport = Transport::new(&world, &[]).unwrap();
    let cancel = CancellationToken::new();
    let open = async |steps: Vec<Step>| {
        let upstream = Upstream::start(&world, move |_, _| steps.clone()).await.unwrap();
        let url = upstream.url("/").replace("http:", "ws:");
        transport.socket(SocketCall::new(url.parse().unwrap()), &cancel).await.err().unwrap()
    };
    let refused = open(vec![answer(429, &[("retry-after", "7")], "too many\nidentifies")]).await;
    let Refusal::Answered { status, wait, words } = refused else { panic!("{refused:?}") };
    assert_eq!((status, wait), (429, Some(Duration::from_secs(7))));
    assert!(words.is_empty() || words == "too many identifies", "{words}");
    let garbage = open(vec![Step::Write(b"HTTP/1.1 101 x\r\n\r\n".to_vec()), Step::Hang]).await;
    assert!(matches!(garbage, Refusal::Wire(WireFault::Garbage { .. })), "{garbage:?}");
    let late = open(vec![Step::Hang]).await;
    let Refusal::Wire(WireFault::TimedOut { phase: Phase::Connect, .. }) = late else {
        panic!("{late:?}")
    };
    let nobody = SocketCall::new("ws://127.0.0.1:1/".parse().unwrap());
    let fault = transport.socket(nobody, &cancel).await.err().unwrap();
    assert!(matches!(fault, Refusal::Wire(WireFault::Unreachable { .. })), "{fault:?}");
    let other = SocketCall::new("https://127.0.0.1/".parse().unwrap());
    assert!(transport.socket(other, &cancel).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_whatever_is_waited_for() {
    let scene = Scene::start().await;
    let (mut ours, mut theirs) = scene.connect().await;
    let cancel = scene.cancel.clone();
    let (heard, ()) = tokio::join!(ours.next(), async {
        scene.world.clock.sleep(Duration::from_secs(3)).await;
        cancel.cancel();
    });
    assert_eq!(heard, Err(SocketFault::Cancelled));
    drop(ours);
    assert_eq!(theirs.next().await, FromClient::Gone);
    let again = scene.transport.socket(scene.call(), &scene.cancel).await;
    assert!(matches!(again.err().unwrap(), Refusal::Wire(WireFault::Cancelled)));
}
