//! Places of an agent are shared by who asks.

use crate::turns::support::{Fixture, end, reply, says, scripted, shown};
use insula_testkit::upstream::{Seen, Step};
use insula_turns::{TurnEnd, TurnHandle};

/// Turns of one agent at once, of which the last is for somebody of whom nothing runs.
const PLACES: usize = 16;

/// A model that never answers those who ask for something slow.
async fn open_fixture() -> Fixture {
    scripted(|seen: &Seen, _| {
        let asks_slow = shown(seen).iter().any(|(_, words)| words.starts_with("slow"));
        if asks_slow { vec![Step::Hang] } else { says("at once") }
    })
    .await
}

async fn submit(fixture: &Fixture, who: &str, chat: &str, text: &str) -> TurnHandle {
    let (mut inbound, _) = fixture.inbound("a", chat, text);
    inbound.principal = who.into();
    fixture.engine.submit(inbound).await.unwrap()
}

#[tokio::test]
async fn sixty_slow_turns_of_one_do_not_make_another_wait() {
    let fixture = open_fixture().await;
    let mut slow = Vec::new();
    for number in 0..60 {
        slow.push(submit(&fixture, "token:loud", &format!("loud-{number}"), "slow").await);
    }
    fixture.upstream().requests(PLACES - 1).await;
    // One after the other, in conversations of their own: each begins at once.
    for number in 0..5 {
        let quick = submit(&fixture, "token:quiet", &format!("quiet-{number}"), "quick").await;
        assert_eq!(reply(quick).await, "at once");
    }
    assert_eq!(fixture.upstream().seen().len(), PLACES - 1 + 5, "and of the other no more did");

    // Who waits for a place and is stopped leaves it to the next.
    let stop = |number: usize| {
        let (_, key) = fixture.inbound("a", &format!("loud-{number}"), "");
        assert_eq!(fixture.engine.stop(&key), 1);
    };
    stop(59);
    let stopped = slow.pop().unwrap();
    assert_eq!(end(stopped).await, TurnEnd::Stopped);
    // When some of the running ones end, as many of the waiting begin, and no more.
    (0..3).for_each(stop);
    fixture.upstream().requests(PLACES - 1 + 5 + 3).await;
    let third = submit(&fixture, "token:third", "third", "quick").await;
    assert_eq!(reply(third).await, "at once");
    assert_eq!(fixture.upstream().seen().len(), PLACES - 1 + 5 + 3 + 1);
}

#[tokio::test]
async fn what_becomes_free_goes_to_whoever_has_fewest() {
    let fixture = open_fixture().await;
    for number in 0..30 {
        submit(&fixture, "token:loud", &format!("loud-{number}"), "slow").await;
    }
    fixture.upstream().requests(PLACES - 1).await;
    for number in 0..3 {
        submit(&fixture, "token:quiet", &format!("quiet-{number}"), "slow, quietly").await;
    }
    fixture.upstream().requests(PLACES).await;
    // The first that ends leaves the place that is kept, the others are the quiet one's.
    for number in 0..3 {
        let (_, key) = fixture.inbound("a", &format!("loud-{number}"), "");
        assert_eq!(fixture.engine.stop(&key), 1);
    }
    fixture.upstream().requests(PLACES + 2).await;
    let seen = fixture.upstream().seen();
    let is_quiet = |seen: &&Seen| shown(seen).iter().any(|(_, words)| words == "slow, quietly");
    assert_eq!((seen.len(), seen.iter().filter(is_quiet).count()), (PLACES + 2, 3));
}
