//! One app in two workspaces: each account hears its own, by whichever connection it comes.

use crate::slack::support::{APP_TOKEN, Bench, Listening, Tray, bench, settings};
use insula_adapters::slack::{Apps, Mode, Slack, SlackSettings};
use insula_channel::{Adapter, ConnectFault, Happening};
use insula_domain::{AccountId, Community};
use insula_testkit::slack as fake;
use std::sync::Arc;
use std::time::Duration;

const OTHER: &str = "T0OTHER";

/// An account of the same app, by the token of its own workspace.
fn account(bench: &Bench, apps: &Apps, name: &str, token: &str) -> Arc<dyn Adapter> {
    let settings = SlackSettings {
        account: AccountId::new(name).unwrap(),
        token: token.into(),
        ..settings(&bench.platform, Mode::Socket(APP_TOKEN.into()))
    };
    Arc::new(Slack::new(settings, &bench.transport, &bench.world.clock).unwrap().sharing(apps))
}

struct Two {
    bench: Bench,
    one: Arc<dyn Adapter>,
    other: Arc<dyn Adapter>,
    trays: [Arc<Tray>; 2],
}

async fn two() -> Two {
    let bench = bench().await;
    bench.platform.install("xoxb-2", OTHER, "U0OTHERBOT");
    let apps = Apps::default();
    let one = account(&bench, &apps, "main", crate::slack::support::TOKEN);
    let other = account(&bench, &apps, "other", "xoxb-2");
    Two { bench, one, other, trays: [Tray::new(None), Tray::new(None)] }
}

fn sockets(platform: &fake::Slack) -> usize {
    platform.requests().iter().filter(|it| it.0 == "apps.connections.open").count()
}

#[tokio::test(start_paused = true)]
async fn each_account_hears_its_own_workspace_by_one_connection() {
    let Two { bench, one, other, trays: [here, there] } = two().await;
    let first = Listening::start(&one, &here);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    let second = Listening::start(&other, &there);
    there.until_kept().await;
    for number in 0..3 {
        bench.say(&format!("here {number}"));
        bench.platform.elsewhere(OTHER, &bench.bob, &format!("there {number}"));
    }
    assert_eq!(there.until_said(3).await, ["there 0", "there 1", "there 2"]);
    assert_eq!(here.until_said(3).await, ["here 0", "here 1", "here 2"]);
    bench.platform.until(|platform| platform.waiting() == 0).await;
    assert_eq!((bench.platform.sockets(), sockets(&bench.platform)), (1, 1));
    let envelope = &there.envelopes()[0];
    assert_eq!(envelope.address.account.as_str(), "other");
    assert!(
        matches!(&envelope.address.community, Some(Community::Team(it)) if it.as_str() == OTHER)
    );
    assert!(matches!(&envelope.what, Happening::Said(_)));
    assert!(
        there.was_alive()
            && here.envelopes().iter().all(|it| it.address.account.as_str() == "main")
    );
    second.stop().await.unwrap();
    first.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn when_the_one_that_holds_the_connection_ends_another_does() {
    let Two { bench, one, other, trays: [here, there] } = two().await;
    let first = Listening::start(&one, &here);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    let second = Listening::start(&other, &there);
    there.until_kept().await;
    first.stop().await.unwrap();
    bench.platform.elsewhere(OTHER, &bench.bob, "still there?");
    assert_eq!(there.until_said(1).await, ["still there?"]);
    // And the first is back, and hears by the second.
    let first = Listening::start(&one, &here);
    bench.say("and here");
    bench.platform.until(|platform| platform.waiting() == 0).await;
    bench.say("once more");
    here.until_said(1).await;
    assert_eq!(bench.platform.sockets(), 1);
    second.stop().await.unwrap();
    first.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_the_other_can_not_take_is_not_acknowledged_and_comes_again() {
    let Two { bench, one, other, trays: [here, there] } = two().await;
    let first = Listening::start(&one, &here);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    let second = Listening::start(&other, &there);
    there.until_kept().await;
    there.refuse(true);
    bench.platform.elsewhere(OTHER, &bench.bob, "one");
    let fault = second.failed().await;
    assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    assert_eq!((bench.platform.waiting(), bench.platform.acknowledged()), (1, 0));
    // Nothing of that is the first one's trouble.
    bench.say("here");
    here.until_said(1).await;
    there.refuse(false);
    let second = Listening::start(&other, &there);
    bench.world.clock.sleep(Duration::from_secs(1)).await;
    bench.platform.break_sockets();
    first.failed().await;
    assert_eq!(there.until_said(1).await, ["one"]);
    bench.platform.until(|platform| platform.waiting() == 0).await;
    second.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_hears_by_another_counts_as_connected_when_that_one_is() {
    let Two { bench, one, other, trays: [here, there] } = two().await;
    bench.platform.mute(true);
    let both = [Listening::start(&other, &there), Listening::start(&one, &here)];
    for listening in both {
        listening.failed().await;
    }
    assert!(!here.was_alive() && !there.was_alive(), "nothing was heard");
    bench.platform.mute(false);
    let both = [Listening::start(&other, &there), Listening::start(&one, &here)];
    here.until_kept().await;
    there.until_kept().await;
    assert!(here.was_alive() && there.was_alive());
    assert_eq!(bench.platform.sockets(), 1);
    for listening in both {
        listening.stop().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn two_accounts_of_one_workspace_are_one_too_many() {
    let Two { bench, one, trays: [here, there], .. } = two().await;
    let apps = Apps::default();
    let one_more = account(&bench, &apps, "again", crate::slack::support::TOKEN);
    let twin = account(&bench, &apps, "twin", crate::slack::support::TOKEN);
    drop(one);
    let first = Listening::start(&one_more, &here);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    let fault = Listening::start(&twin, &there).failed().await;
    assert!(fault.to_string().contains("`slack.again` hears this workspace"), "{fault}");
    first.stop().await.unwrap();
}
