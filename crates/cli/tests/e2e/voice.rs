//! Voice, with the real daemon: a memo on Telegram, heard and answered by a server over HTTP and by
//! programs in the real sandbox.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use crate::gateway::telegram::{ADA, Platform};
use crate::support::*;
use insula_testkit::sounds;
use insula_testkit::strict::sound_server;
use insula_testkit::telegram::{Draft, User, Where};
use insula_testkit::upstream::{Seen, Upstream};
use insula_world::World;
use tokio::runtime::Runtime;

/// A server that hears and speaks, on a real port of this machine.
struct Server {
    runtime: Runtime,
    upstream: Upstream,
}

impl Server {
    fn start(words: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let world = World::real().unwrap();
        let upstream = runtime.block_on(sound_server(&world, words)).unwrap();
        Self { runtime, upstream }
    }

    fn seen(&self, path: &str) -> Vec<Seen> {
        let _inside = self.runtime.enter();
        self.upstream.seen().into_iter().filter(|it| it.line.ends_with(path)).collect()
    }
}

const BOUND: &str = "  - {agent: main, telegram: \"*\"}\n";

#[test]
fn a_memo_on_telegram_is_heard_over_http_and_answered_by_voice() {
    let (platform, server) = (Platform::start(), Server::start("say good evening"));
    let top = format!(
        "providers: {{sound: {{kind: openai, base_url: '{}'}}}}\n",
        server.upstream.url("/v1")
    );
    let agents = "  main: {default: true, access: {allow: [\"telegram:42\"]}, voice: {hear: {model: sound/whisper-1, price: 0.006}, speak: {model: sound/tts-1, price: 0.015}, reply: same}}\n";
    let home = platform.home_with(&top, agents, BOUND);
    let daemon = start(&home);
    let memo = Draft::new(&platform.ann, "").voice(sounds::OPUS);
    platform.telegram.say(Where::Dm(ADA), &memo);
    let spoken = platform.until(|sent| sent.method == "sendVoice");
    assert_eq!(spoken.file.unwrap().1, sounds::OPUS, "what the server said, as it came");
    let words: Vec<_> =
        platform.telegram.sent().into_iter().filter(|it| it.file.is_none()).collect();
    assert_eq!(words.len(), 1, "the words once: {words:?}");
    let said = server.seen("/audio/speech")[0].json();
    assert_eq!((&said["model"], &said["response_format"]), (&"tts-1".into(), &"opus".into()));
    assert_eq!(server.seen("/audio/transcriptions").len(), 1);
    // Who writes is answered in writing.
    platform.say(Where::Dm(ADA), "say in writing");
    platform.until(|sent| sent.text.contains("in writing"));
    assert_eq!(server.seen("/audio/speech").len(), 1);
    let kinds = kinds(&home, "main");
    for kind in ["voice.heard", "voice.said"] {
        assert_eq!(kinds.iter().filter(|it| *it == kind).count(), 1, "{kind}: {kinds:?}");
    }
    // Three seconds of a memo, and twelve characters of an answer.
    assert_eq!(json(&home, &["usage"])["total"]["usd"], 0.00048);
    let found = daemon.cli(&["doctor"]).stdout;
    assert!(found.contains("provider sound"), "{found}");
}

#[test]
fn programs_in_the_sandbox_hear_and_speak() {
    let platform = Platform::start();
    // It says what it finds: how long the file is, what is beside it, and that it reaches nothing.
    let hear = "test -r {file} && echo \"say $(wc -c < {file}) bytes, $(ls $(dirname {file}) | wc -l) file\"; test -e /etc/shadow && cat /etc/shadow; true";
    let speak = "cat > /dev/null; printf OggS; head -c 300 /dev/zero";
    let agents = format!(
        "  main: {{default: true, access: {{allow: [\"telegram:42\"]}}, voice: {{hear: {{command: '{hear}'}}, speak: {{command: '{speak}'}}, reply: always}}}}\n  broken: {{access: {{allow: [\"telegram:43\"]}}, voice: {{hear: {{command: 'cat {{file}} >/dev/null; echo the-complaint >&2; exit 3'}}}}}}\n"
    );
    let bindings = "  - {agent: broken, telegram: \"43\"}\n  - {agent: main, telegram: \"*\"}\n";
    let home = platform.home(&agents, bindings);
    let daemon = start(&home);
    let memo = Draft::new(&platform.ann, "").voice(sounds::OPUS);
    platform.telegram.say(Where::Dm(ADA), &memo);
    let expected = format!("{} bytes, 1 file", sounds::OPUS.len());
    platform.until(|sent| sent.text.contains(&expected));
    // A sound that is no voice memo for the platform goes as a file.
    let spoken = platform.until(|sent| sent.file.is_some());
    let (name, content) = spoken.file.unwrap();
    assert_eq!((&*name, content.len()), ("voice.ogg", 304));
    // What a program complains about is for its operator; the model is told that it failed.
    let bob = User::new(43, "Bob");
    platform.telegram.say(Where::Dm(ADA), &Draft::new(&bob, "").voice(sounds::OPUS));
    platform.until(|sent| sent.chat == 43);
    let sessions = json(&home, &["sessions", "list", "broken"]);
    let id = sessions[0]["id"].to_string();
    let shown = daemon.cli(&["sessions", "show", "broken", &id]).ok().stdout;
    assert!(shown.contains("the program that hears failed"), "{shown}");
    assert!(!shown.contains("the-complaint"), "{shown}");
    let found = daemon.cli(&["doctor"]).stdout;
    assert!(found.contains("/cat is there; run for broken, main"), "{found}");
}
