//! What goes along with a reply: pictures that its turn had made.

use crate::delivery::platform::{Act, Fake, Seen, forgetful, mindful};
use crate::delivery::support::{Life, home, in_a_life};
use insula_channel::Features;
use insula_store::DeliveryState;
use insula_testkit::upstream::{Upstream, answer};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

const AGENTS: &str =
    "  paint: {kind: openai, base_url: 'http://127.0.0.1:9191/v1', api_key: some-long-key}
agents:
  a: {tools: [image_generate], images: {model: paint/m}, access: {allow: [\"telegram:ann\"]}}
";
/// The smallest PNG: its mark, and its end.
const PNG: &str = r#"{"data":[{"b64_json":"iVBORw0KGgoAAAANSUhEUgAAAAEuLi4uAAAAAElFTkSuQmCC"}]}"#;
const PNG_BYTES: usize = 36;

async fn begin(files: &insula_testkit::Home, fake: &Arc<Fake>) -> Life {
    let life = Life::with(files, fake, AGENTS, None).await;
    let at: SocketAddr = "127.0.0.1:9191".parse().unwrap();
    Upstream::listen(life.daemon.world(), at, |_, _| vec![answer(200, &[], PNG)]).await.unwrap();
    life
}

/// What people see, in order: words and names of files.
fn told(seen: &[Seen]) -> Vec<String> {
    let of = |it: &Seen| match it.files.as_slice() {
        [] => it.text.clone(),
        files => {
            let names = files
                .iter()
                .map(|(name, media_type, bytes)| format!("{name} {media_type} {bytes}"));
            format!("{}[{}]", it.text, names.collect::<Vec<_>>().join(", "))
        }
    };
    seen.iter().map(of).collect()
}

fn file() -> String {
    format!("[picture-1.png image/png {PNG_BYTES}]")
}

fn each_features() -> [Features; 2] {
    [forgetful(), mindful()]
}

#[test]
fn a_picture_comes_after_the_words_once() {
    for features in each_features() {
        let (files, fake) = (home(), Fake::new(features));
        in_a_life(async {
            let life = begin(&files, &fake).await;
            life.say("a", "c1", "paint a cat").await;
            fake.count(2).await;
            life.quiet("a").await;
            let seen = told(&fake.seen());
            assert_eq!(seen.len(), 2, "{seen:?}");
            assert!(seen[0].starts_with("re: made images/a-cat.png ("), "{seen:?}");
            assert_eq!(seen[1], file());
            // The next reply has nothing to go along.
            life.say("a", "c1", "say more").await;
            fake.count(3).await;
            life.quiet("a").await;
            assert_eq!(told(&fake.seen())[2], "re: more");
            life.end().await;
        });
    }
}

#[test]
fn a_picture_that_has_to_wait_is_sent_without_the_words_again() {
    let (files, fake) = (home(), Fake::new(mindful()));
    in_a_life(async {
        let life = begin(&files, &fake).await;
        life.say("a", "c1", "paint a cat").await;
        fake.count(1).await;
        fake.will([Act::Later(Some(Duration::from_secs(5))), Act::Lost]);
        life.quiet("a").await;
        let seen = told(&fake.seen());
        assert_eq!((seen.len(), &*seen[1]), (2, &*file()), "{seen:?}");
        life.end().await;
    });
}

#[test]
fn a_crash_anywhere_sends_words_and_picture_once() {
    let mut at = 1;
    loop {
        let (files, fake) = (home(), Fake::new(mindful()));
        fake.crash_at(Some(at));
        let is_gone = in_a_life(async {
            let life = begin(&files, &fake).await;
            life.say("a", "c1", "paint a cat").await;
            let work = async {
                fake.count(2).await;
                life.quiet("a").await;
            };
            tokio::select! {
                biased;
                () = fake.crash() => true,
                () = work => false,
            }
        });
        fake.crash_at(None);
        in_a_life(async {
            let life = begin(&files, &fake).await;
            life.quiet("a").await;
            fake.count(2).await;
            life.quiet("a").await;
            let seen = told(&fake.seen());
            assert_eq!(seen.len(), 2, "gone at {at}: {seen:?}");
            assert!(seen[0].starts_with("re: made images/"), "gone at {at}: {seen:?}");
            assert_eq!(seen[1], file(), "gone at {at}");
            life.end().await;
        });
        if !is_gone {
            break;
        }
        at += 1;
    }
    assert!(at > 3, "it was gone {at} times");
}

#[test]
fn a_picture_that_is_gone_or_refused_takes_no_words_with_it() {
    let (files, fake) = (home(), Fake::new(mindful()));
    in_a_life(async {
        let life = begin(&files, &fake).await;
        fake.send_away("main");
        life.say("a", "c1", "paint a cat").await;
        life.sleep(20).await;
        std::fs::remove_dir_all(files.path().join("agents/a/output")).unwrap();
        fake.call_back("main");
        fake.count(1).await;
        life.quiet("a").await;
        assert_eq!(fake.seen().len(), 1, "{:?}", fake.seen());
        assert!(life.unsent("a").await.is_empty());
        // A platform that takes no files has said the words.
        fake.will_in("c2", [Act::Arrives, Act::Never]);
        life.say("a", "c2", "paint a dog").await;
        fake.count(2).await;
        life.quiet("a").await;
        let failed = life.unsent("a").await;
        assert_eq!(failed.len(), 1);
        assert_eq!((failed[0].state, failed[0].sent.len()), (DeliveryState::Failed, 1));
        life.end().await;
    });
}
