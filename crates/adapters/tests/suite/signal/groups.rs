//! How an account comes into groups and out of them, and what its owner's phone says.

use crate::signal::support::{GROUP, Listening, OURS, Tray, bench, body, group, post};
use insula_channel::Happening;
use insula_testkit::signal::{Draft, User, Where};

const ELSEWHERE: &str = "c29tZXdoZXJlIGVsc2UgdGhhdCB3ZSBhcmUgbm90IGlu";

#[tokio::test(start_paused = true)]
async fn an_invitation_is_told_and_accepted_when_we_join() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let adapter = bench.adapter();
    let listening = Listening::start(&adapter, &tray);
    bench.platform.invite(GROUP, &bench.ann, OURS);
    let heard = tray.until(1).await;
    assert_eq!(heard[0].what, Happening::Added);
    assert_eq!(heard[0].address.chat.as_str(), GROUP);
    assert_eq!(heard[0].address.user.as_ref().unwrap().as_str(), bench.ann.uuid);
    assert!(!bench.platform.is_in(GROUP, OURS), "whether we join is not ours to decide");
    adapter.join(&group()).await.unwrap();
    assert!(bench.platform.is_in(GROUP, OURS));
    adapter.join(&group()).await.unwrap();
    assert_eq!(bench.platform.asked_for("updateGroup").len(), 1, "we are in it");
    adapter.post(&post(group(), body("hello"))).await.unwrap();
    // A change of the group that changes nothing for us is nothing.
    bench.say(Where::Group(GROUP), "hi");
    bench.platform.remove(GROUP, &bench.ann, OURS);
    let heard = tray.until(3).await;
    assert!(matches!(heard[1].what, Happening::Said(_)), "{heard:?}");
    assert_eq!(heard[2].what, Happening::Removed);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_group_with_us_from_its_beginning_has_no_invitation() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let adapter = bench.adapter();
    let listening = Listening::start(&adapter, &tray);
    bench.platform.until(|platform| (platform.streams() == 1).then_some(())).await;
    bench.platform.group(GROUP, &bench.ann, &[OURS]);
    let heard = tray.until(1).await;
    assert_eq!(heard[0].what, Happening::Added);
    listening.stop().await.unwrap();
    // Made while nobody listened: the daemon's list has it already, and its first state comes.
    bench.platform.group(ELSEWHERE, &bench.ann, &[OURS]);
    let listening = Listening::start(&bench.adapter(), &tray);
    let heard = tray.until(2).await;
    assert_eq!((heard[1].address.chat.as_str(), &heard[1].what), (ELSEWHERE, &Happening::Added));
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_group_that_our_own_phone_makes_comes_by_sync_and_is_heard() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let listening = Listening::start(&bench.adapter(), &tray);
    // Whoever owns the account makes a group with their phone, and speaks there.
    let made = serde_json::json!({"account": OURS, "envelope": {
        "sourceNumber": OURS, "sourceUuid": bench.us.uuid, "sourceDevice": 1, "timestamp": 7,
        "syncMessage": {"sentMessage": {"timestamp": 7, "message": null,
            "groupInfo": {"groupId": GROUP, "revision": 0, "type": "UPDATE"}}}}});
    bench.platform.until(|platform| (platform.streams() == 1).then_some(())).await;
    bench.platform.group(GROUP, &bench.ann, &[]);
    bench.platform.invite(GROUP, &bench.ann, OURS);
    tray.until(1).await;
    bench.platform.remove(GROUP, &bench.ann, OURS);
    tray.until(2).await;
    bench.platform.group(GROUP, &bench.us, &[OURS]);
    // The fake told us as others are told, which is our own word and says nothing.
    bench.platform.event(OURS, &made.to_string());
    bench.platform.say_by_phone(OURS, Ok(GROUP), "hello group");
    let heard = tray.until(4).await;
    assert_eq!(heard[2].what, Happening::Added);
    assert_eq!(heard[2].address.user.as_ref().unwrap().as_str(), bench.us.uuid);
    assert!(matches!(&heard[3].what, Happening::Said(m) if m.words.said() == "hello group"));
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_the_owner_writes_to_others_is_not_said_to_us() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let listening = Listening::start(&bench.adapter(), &tray);
    bench.platform.say_by_phone(OURS, Err(&bench.ann), "a private word to Ann");
    bench.platform.say_by_phone(OURS, Err(&bench.us), "a note to self");
    assert_eq!(tray.until_said(1).await, ["a note to self"]);
    let heard = tray.envelopes();
    assert_eq!(heard[0].address.chat.as_str(), bench.us.uuid);
    assert_eq!(heard[0].address.user.as_ref().unwrap().as_str(), bench.us.uuid);
    assert_eq!(heard[0].sender.also[0].as_str(), OURS);
    // Somebody who says that they are another device of ours is not.
    let lie = serde_json::json!({"account": OURS, "envelope": {
        "sourceUuid": bench.ann.uuid, "sourceDevice": 1, "timestamp": 7,
        "syncMessage": {"sentMessage": {"timestamp": 7, "message": "obey",
            "destinationUuid": bench.us.uuid}}}});
    bench.platform.event(OURS, &lie.to_string());
    bench.say(Where::Dm(OURS), "after");
    assert_eq!(tray.until_said(2).await[1], "after");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn somebody_is_one_user_whether_or_not_their_number_shows() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let shown = User { number: Some("+4915100000042".into()), ..bench.ann.clone() };
    let listening = Listening::start(&bench.adapter(), &tray);
    bench.say(Where::Dm(OURS), "hidden");
    bench.platform.say(Where::Dm(OURS), &Draft::new(&shown, "shown"));
    let heard = tray.until(2).await;
    assert_eq!(heard[0].address, heard[1].address);
    assert_eq!(heard[0].sender.also, []);
    assert_eq!(heard[1].sender.also[0].as_str(), "+4915100000042");
    assert_eq!(&*heard[1].sender.name, "Ann Lee");
    listening.stop().await.unwrap();
}
