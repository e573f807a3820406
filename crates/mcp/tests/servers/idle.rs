//! A connection that nobody uses is given up, and its program with it.

use crate::support::*;
use std::time::Duration;

/// What holds where nothing is configured; the configuration has a test for that.
const USUAL: Duration = Duration::from_secs(15 * 60);

#[tokio::test]
async fn an_unused_connection_is_closed_after_its_time_and_opened_anew_when_needed() {
    for idle in [USUAL, 30 * Duration::from_secs(1)] {
        let stage = stage(ordinary, idle);
        stage.works().await;
        assert!(stage.server.facts_now().is_connected);
        // Each use counts anew.
        for _ in 0..3 {
            stage.pass(idle - Duration::from_secs(2)).await;
            assert_eq!(stage.starts.count(), 1, "{idle:?}");
            stage.works().await;
        }
        assert_eq!(stage.server.facts_now().starts, 1);
        stage.pass(idle + Duration::from_secs(2)).await;
        assert!(!stage.server.facts_now().is_connected, "{idle:?}");
        assert_eq!(stage.starts.count(), 0, "the program is gone: {idle:?}");
        stage.works().await;
        assert_eq!((stage.server.facts_now().starts, stage.starts.count()), (2, 1));
    }
}

/// Never answers a call, and tells that it goes on.
fn works_on(message: &serde_json::Value) -> Vec<Does> {
    if calls(message, "long") { vec![] } else { ordinary(message) }
}

#[tokio::test]
async fn whoever_waits_for_an_answer_keeps_the_connection() {
    let stage = stage(works_on, Duration::from_secs(5));
    stage.works().await;
    let (server, waits) = (stage.server.clone(), stage.call("long"));
    tokio::pin!(waits);
    tokio::select! {
        biased;
        _ = &mut waits => panic!("it never answers"),
        () = stage.pass(MINUTE / 2) => {}
    }
    assert!(server.facts_now().is_connected);
    assert_eq!(stage.starts.count(), 1);
    // The call ends by its own time-out.
    let (ended, ()) = tokio::join!(waits, stage.pass(MINUTE));
    assert!(ended.unwrap_err().to_string().contains("did not answer within 60 s"));
    stage.pass(MINUTE).await;
    assert_eq!(stage.starts.count(), 0);
}

#[tokio::test]
async fn a_server_that_is_closed_lets_its_program_go_at_once() {
    let stage = stage(ordinary, USUAL);
    stage.works().await;
    stage.server.close();
    stage.pass(Duration::from_secs(1)).await;
    assert_eq!(stage.starts.count(), 0);
    assert!(stage.call("fine").await.unwrap_err().to_string().contains("the agent changed"));
}
