//! The way in: streams that fall silent, break and are told of others' messages.

use crate::signal::support::{GROUP, Listening, OTHER, OURS, Tray, bench, body, post};
use insula_channel::{AttachmentKind, ConnectFault, Cursor, Happening, Vote};
use insula_testkit::signal::{Draft, Trouble, User, Where};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn a_stream_that_falls_silent_is_begun_anew_while_the_daemon_is_well() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let listening = Listening::start(&bench.adapter(), &tray);
    bench.say(Where::Dm(OURS), "one");
    tray.until_said(1).await;
    bench.platform.wedge();
    bench.platform.until(|platform| (platform.streams() >= 2).then_some(())).await;
    bench.platform.wake();
    // The one that fell silent stays silent; the third is well again.
    bench.say(Where::Dm(OURS), "two");
    let fault = listening.failed().await;
    assert!(
        matches!(&fault, ConnectFault::Broken { why, .. }
        if why.contains("signal-cli answers") && why.contains("45 s")),
        "{fault:?}"
    );
    let listening = Listening::start(&bench.adapter(), &tray);
    assert_eq!(tray.until_said(2).await, ["one", "two"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_silence_heals_without_a_word_to_anybody() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let listening = Listening::start(&bench.adapter(), &tray);
    bench.say(Where::Dm(OURS), "one");
    tray.until_said(1).await;
    bench.platform.wedge();
    bench.say(Where::Dm(OURS), "two");
    // The stream has noticed that it may say nothing; others may again.
    bench.platform.wake();
    assert_eq!(tray.until_said(2).await, ["one", "two"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_quiet_hour_is_no_silence() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let listening = Listening::start(&bench.adapter(), &tray);
    bench.platform.until(|platform| (platform.streams() == 1).then_some(())).await;
    bench.world.clock.sleep(std::time::Duration::from_secs(3600)).await;
    assert_eq!(bench.platform.streams(), 1);
    assert!(tray.was_alive());
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stream_cut_at_any_byte_loses_and_repeats_nothing() {
    let bench = bench().await;
    bench.platform.number_events();
    bench.say(Where::Dm(OURS), "first");
    bench.say(Where::Dm(OURS), "second");
    let adapter = bench.adapter();
    for cut in (0..900).step_by(7) {
        let tray = Tray::new(Some(Cursor("0".into())));
        bench.platform.cut_stream(cut);
        let fault = Listening::start(&adapter, &tray).failed().await;
        assert!(matches!(fault, ConnectFault::Broken { .. }), "{cut}: {fault:?}");
        let listening = Listening::start(&adapter, &tray);
        assert_eq!(tray.until_said(2).await, ["first", "second"], "{cut}");
        listening.stop().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_taken_is_kept_by_the_adapter() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let adapter = bench.adapter();
    tray.refuse(true);
    bench.say(Where::Dm(OURS), "one");
    let fault = Listening::start(&adapter, &tray).failed().await;
    assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    tray.refuse(false);
    // This daemon keeps nothing that it told once.
    let listening = Listening::start(&adapter, &tray);
    bench.say(Where::Dm(OURS), "two");
    assert_eq!(tray.until_said(2).await, ["one", "two"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_accounts_of_one_daemon_share_nothing() {
    let bench = bench().await;
    bench.platform.account(&User::new(OTHER, "0c0c0c0c-0000-4000-8000-000000000002", "Bea"));
    bench.platform.group(GROUP, &bench.ann, &[OURS, OTHER]);
    let (ours, others) = (Tray::new(None), Tray::new(None));
    let one = Listening::start(&bench.adapter(), &ours);
    let other = Listening::start(&bench.adapter_of("other", OTHER, None), &others);
    bench.say(Where::Dm(OURS), "to ada");
    bench.say(Where::Dm(OTHER), "to bea");
    bench.say(Where::Group(GROUP), "to both");
    assert_eq!(ours.until_said(2).await, ["to ada", "to both"]);
    assert_eq!(others.until_said(2).await, ["to bea", "to both"]);
    let accounts = |tray: &Tray| {
        let mut all: Vec<String> =
            tray.envelopes().iter().map(|it| it.address.account.to_string()).collect();
        all.dedup();
        all
    };
    assert_eq!((accounts(&ours), accounts(&others)), (vec!["main".into()], vec!["other".into()]));
    // The same message, heard by two, is two events.
    let ids = |tray: &Tray| tray.envelopes().last().unwrap().event.clone();
    assert_ne!(ids(&ours), ids(&others));
    // One is linked no more; the other goes on.
    bench.platform.unlink(OTHER);
    let fault = other.failed().await;
    assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    let again = Listening::start(&bench.adapter_of("other", OTHER, None), &others);
    assert!(matches!(again.failed().await, ConnectFault::Refused(_)));
    bench.say(Where::Dm(OURS), "still");
    ours.until_said(3).await;
    one.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_tells_of_another_account_is_not_believed() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let stranger = json!({"account": OTHER, "envelope": {"sourceUuid": bench.ann.uuid,
        "timestamp": 5, "dataMessage": {"timestamp": 5, "message": "for another"}}});
    bench.platform.event(OURS, &stranger.to_string());
    bench.say(Where::Dm(OURS), "for us");
    let listening = Listening::start(&bench.adapter(), &tray);
    assert_eq!(tray.until_said(1).await, ["for us"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn whatever_people_do_is_told() {
    let bench = bench().await;
    bench.platform.group(GROUP, &bench.ann, &[OURS]);
    let tray = Tray::new(None);
    let listening = Listening::start(&bench.adapter(), &tray);
    let place = Where::Group(GROUP);
    let said = Draft::new(&bench.ann, "\u{fffc} /status").mention(0, &bench.us);
    let at = bench.platform.say(place, &said);
    let better = Draft::new(&bench.ann, "\u{fffc} /new").mention(0, &bench.us);
    let changed = bench.platform.edit(place, at, &better);
    // A second change names the first.
    bench.platform.edit(place, changed, &Draft::new(&bench.ann, "never mind"));
    let memo = Draft::new(&bench.ann, "").file("audio/aac", None, b"sound");
    bench.platform.say(place, &memo);
    bench.platform.delete(place, &bench.ann, changed);
    let all = tray.until(6).await;
    let id = format!("{at}/{}", bench.ann.uuid);
    assert_eq!(all[0].what, Happening::Added);
    assert!(
        matches!(&all[1].what, Happening::Said(m)
        if m.words.instruction() == "/status" && m.mentions_us && *m.id.0 == *id),
        "{all:?}"
    );
    assert!(
        matches!(&all[2].what, Happening::Edited(m)
        if m.words.instruction() == "/new" && *m.id.0 == *id),
        "{all:?}"
    );
    assert!(
        matches!(&all[3].what, Happening::Edited(m)
        if m.words.said() == "never mind" && *m.id.0 == *id),
        "{all:?}"
    );
    assert!(
        matches!(&all[4].what, Happening::Said(m)
        if m.attachments[0].kind == AttachmentKind::Voice),
        "{all:?}"
    );
    assert!(matches!(&all[5].what, Happening::Deleted(gone) if *gone.0 == *id), "{all:?}");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_with_listening_is_told_with_what_to_do() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let adapter = bench.adapter();
    let refuse =
        |code, message: &str| Trouble::Refuse { code, message: message.to_owned(), results: None };
    for (trouble, words, is_refused) in [
        (refuse(-32602, "Specified account does not exist"), "link or register", true),
        (refuse(-32603, "x (AuthorizationFailedException)"), "link or register", true),
        (refuse(-3, "no network"), "no network", false),
        (Trouble::Answer { status: 421, body: String::new() }, "`base_url`", true),
        (Trouble::Answer { status: 404, body: "<html>".into() }, "not signal-cli", true),
        (Trouble::Answer { status: 502, body: "<html>".into() }, "not signal-cli", false),
        (Trouble::Answer { status: 200, body: "[]".into() }, "not signal-cli", false),
        (Trouble::Unheard, "broke", false),
        (Trouble::CutAt(30), "broke", false),
        (Trouble::Silence, "timed out", false),
    ] {
        bench.platform.trouble("listGroups", trouble.clone());
        let fault = Listening::start(&adapter, &tray).failed().await;
        assert_eq!(matches!(fault, ConnectFault::Refused(_)), is_refused, "{trouble:?}: {fault}");
        assert!(fault.to_string().contains(words), "{trouble:?}: {fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_doctor_hears_of_an_old_daemon_and_of_none() {
    let bench = bench().await;
    let us = bench.adapter().identify().await.unwrap();
    assert_eq!((&*us.id, &*us.name), (bench.us.uuid.as_str(), "Ada"));
    assert_eq!(us.missing, [""; 0]);
    bench.platform.version("0.13.19");
    let us = bench.adapter().identify().await.unwrap();
    assert!(us.missing[0].contains("0.13.19 is too old"), "{:?}", us.missing);
    // Of an account that it does not have, too.
    let fault = bench.adapter_of("other", OTHER, None).identify().await.unwrap_err();
    assert!(
        matches!(&fault, ConnectFault::Refused(why)
        if why.contains("link or register") && why.contains("0.13.19 is too old")),
        "{fault}"
    );
    let gone = insula_adapters::signal::SignalSettings {
        account: insula_domain::AccountId::new("main").unwrap(),
        number: OURS.to_owned(),
        base_url: Some("http://127.0.0.1:1".to_owned()),
        profile_name: None,
    };
    // Of an account that it does not have, too.
    let fault = bench.adapter_of("other", OTHER, None).identify().await.unwrap_err();
    assert!(
        matches!(&fault, ConnectFault::Refused(why)
        if why.contains("link or register") && why.contains("0.13.19 is too old")),
        "{fault}"
    );
    let gone = insula_adapters::signal::Signal::new(gone, &bench.transport).unwrap();
    let fault = insula_channel::Adapter::identify(&gone).await.unwrap_err();
    assert!(fault.to_string().contains("start it: signal-cli daemon --http"), "{fault}");
}

#[tokio::test(start_paused = true)]
async fn the_account_is_called_as_the_settings_say() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let adapter = bench.adapter_of("main", OURS, Some("Ada of Insula"));
    let listening = Listening::start(&adapter, &tray);
    bench.platform.until(|platform| (platform.streams() == 1).then_some(())).await;
    assert_eq!(bench.platform.asked_for("updateProfile")[0]["givenName"], "Ada of Insula");
    listening.stop().await.unwrap();
    let listening = Listening::start(&bench.adapter_of("main", OURS, Some("Ada of Insula")), &tray);
    bench.platform.until(|platform| (platform.streams() == 2).then_some(())).await;
    assert_eq!(bench.platform.asked_for("updateProfile").len(), 1, "it has the name already");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_thumb_on_something_we_said_names_it_as_we_do() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let posted = adapter.post(&post(bench.dm(), body("may I?"))).await.unwrap();
    let sent: i64 = posted.message.0.parse().unwrap();
    let tray = Tray::new(None);
    let listening = Listening::start(&adapter, &tray);
    for author in [&bench.us.uuid, &bench.ann.uuid] {
        let sign = json!({"emoji": "\u{1f44d}\u{1f3fd}", "targetAuthorUuid": author,
            "targetSentTimestamp": sent, "isRemove": false});
        let draft = Draft::new(&bench.ann, "").with(json!({ "reaction": sign }));
        bench.platform.say(Where::Dm(OURS), &draft);
    }
    let all = tray.until(2).await;
    let [Happening::Reacted(ours), Happening::Reacted(theirs)] = [&all[0].what, &all[1].what]
    else {
        panic!("{all:?}")
    };
    assert_eq!((&ours.message, ours.vote()), (&posted.message, Some(Vote::Yes)));
    // What somebody else said at the same moment is another message.
    assert_ne!(theirs.message, posted.message);
    listening.stop().await.unwrap();
}
