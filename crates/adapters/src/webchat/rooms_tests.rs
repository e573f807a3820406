//! Rooms by themselves: who hears what, and what is kept.

use super::*;
use serde_json::json;

fn tenant(name: &str, life: u64, forgotten: u64) -> Tenant {
    Tenant::of_life(&insula_domain::AgentId::new(name).unwrap(), life, forgotten)
}

fn key(chat: &str) -> RoomKey {
    RoomKey::new(tenant("one", 1, 0), chat, None)
}

const PLACE: RoomRef = RoomRef { room: None, topic: None };

fn read(frames: &mut mpsc::Receiver<PageFrame>) -> Vec<Value> {
    std::iter::from_fn(|| frames.try_recv().ok())
        .map(|told| serde_json::from_str(&told.frame).unwrap())
        .collect()
}

fn say(rooms: &mut Rooms, text: &str) {
    rooms.tell((&key("a"), None), "e", Kind::Message, text, json!({ "text": text }));
}

#[test]
fn a_page_that_comes_back_hears_what_it_missed_and_nothing_twice() {
    let mut rooms = Rooms::default();
    let (first, mut heard) = rooms.add("ann");
    rooms.join(first, &key("a"), &PLACE, "e", (None, Since::Kept));
    say(&mut rooms, "one");
    rooms.tell((&key("b"), None), "e", Kind::Message, "x", json!({ "text": "elsewhere" }));
    let seen = read(&mut heard);
    assert_eq!(seen.len(), 2, "{seen:?}");
    let cursor = seen[1]["cursor"].as_str().unwrap().to_owned();
    rooms.remove(first);
    say(&mut rooms, "two");
    rooms.tell((&key("a"), None), "e", Kind::Edit, "two", json!({ "text": "two!" }));
    rooms.tell((&key("a"), None), "e", Kind::Edit, "two", json!({ "text": "two!!" }));
    let (again, mut heard) = rooms.add("ann");
    rooms.join(again, &key("a"), &PLACE, "e", (Some(&cursor), Since::Kept));
    let texts: Vec<Value> = read(&mut heard).iter().map(|it| it["text"].clone()).collect();
    assert_eq!(texts, [Value::Null, "two".into(), "two!!".into()]);
}

#[test]
fn rule_2_the_same_chat_of_another_owner_is_another_room() {
    let (chat, mut rooms) = ("family", Rooms::default());
    let at = |tenant: Tenant| RoomKey::new(tenant, chat, None);
    let tenants = [tenant("one", 1, 0), tenant("two", 1, 0), tenant("one", 2, 0)];
    let (member, mut heard) = rooms.add("ann");
    rooms.join(member, &at(tenants[0].clone()), &PLACE, "e", (None, Since::Kept));
    for (number, tenant) in tenants.iter().enumerate() {
        let (key, text) = (at(tenant.clone()), number.to_string());
        rooms.tell((&key, None), "e", Kind::Message, &text, json!({ "text": text }));
        rooms.tell((&key, None), "e", Kind::Edit, &text, json!({ "text": text }));
        rooms.murmur(&key, &json!({ "type": "typing", "text": text }));
    }
    let texts: BTreeSet<String> =
        read(&mut heard).iter().filter_map(|it| Some(it["text"].as_str()?.into())).collect();
    assert_eq!(texts, BTreeSet::from(["0".to_owned()]));
    for (number, tenant) in tenants.iter().enumerate() {
        let (member, mut heard) = rooms.add("bob");
        rooms.join(member, &at(tenant.clone()), &PLACE, "e", (None, Since::Kept));
        let seen = read(&mut heard);
        let said = number.to_string();
        assert!(seen[1..].iter().all(|it| it["text"] == *said), "{seen:?}");
        assert_eq!(seen.len(), 3);
    }
}

#[test]
fn what_was_forgotten_is_let_go_and_not_said_again() {
    let mut rooms = Rooms::default();
    let (old, new) = (tenant("one", 1, 0), tenant("one", 1, 1));
    let [before, other] = ["a", "b"].map(|chat| RoomKey::new(old.clone(), chat, None));
    rooms.tell((&before, None), "e", Kind::Message, "m", json!({ "text": "secret" }));
    rooms.tell((&other, None), "e", Kind::Message, "m", json!({ "text": "secret" }));
    let now = RoomKey::new(new.clone(), "a", None);
    rooms.tell((&now, None), "e", Kind::Message, "n", json!({ "text": "news" }));
    assert_eq!(rooms.rooms.keys().collect::<Vec<_>>(), [&now]);
    // What was under way under the old mark comes to nothing.
    rooms.tell((&before, None), "e", Kind::Message, "m", json!({ "text": "secret" }));
    let (member, mut heard) = rooms.add("ann");
    rooms.join(member, &before, &PLACE, "e", (None, Since::Kept));
    assert_eq!(read(&mut heard), [Value::Null; 0]);
    assert_eq!(rooms.rooms.len(), 1);
    rooms.keep_only(&HashSet::new());
    assert!(rooms.rooms.is_empty() && rooms.bytes == 0);
}

#[test]
fn words_of_a_guest_go_when_the_guest_forgets_or_is_gone_and_the_others_stay() {
    let (owner, room) = (tenant("one", 1, 0), key("a"));
    let guest = |forgotten| tenant("two", 1, forgotten);
    let mut rooms = Rooms::default();
    let say = |rooms: &mut Rooms, by: Tenant, text: &str| {
        rooms.tell((&key("a"), Some(&by)), "e", Kind::Message, text, json!({ "text": text }));
    };
    let kept = |rooms: &mut Rooms| -> Vec<Value> {
        let (member, mut heard) = rooms.add("ann");
        rooms.join(member, &room, &PLACE, "e", (None, Since::Kept));
        read(&mut heard)[1..].iter().map(|it| it["text"].clone()).collect()
    };
    say(&mut rooms, owner.clone(), "of the owner");
    say(&mut rooms, guest(0), "of the guest");
    assert_eq!(kept(&mut rooms), ["of the owner", "of the guest"]);
    say(&mut rooms, guest(1), "news");
    assert_eq!(kept(&mut rooms), ["of the owner", "news"]);
    // What was on its way when it was forgotten is not said any more.
    say(&mut rooms, guest(0), "late");
    assert_eq!(kept(&mut rooms), ["of the owner", "news"]);
    rooms.keep_only(&HashSet::from([owner]));
    assert_eq!(kept(&mut rooms), ["of the owner"]);
    let counted: usize = rooms.rooms.values().map(|room| room.bytes).sum();
    assert_eq!(rooms.bytes, counted);
}

#[test]
fn who_may_hear_only_what_comes_is_told_nothing_that_was() {
    let mut rooms = Rooms::default();
    say(&mut rooms, "before");
    let (member, mut heard) = rooms.add("ann");
    rooms.join(member, &key("a"), &PLACE, "e", (None, Since::Now));
    say(&mut rooms, "after");
    let texts: Vec<Value> = read(&mut heard).iter().map(|it| it["text"].clone()).collect();
    assert_eq!(texts, [Value::Null, "after".into()]);
}

#[test]
fn a_cursor_of_another_run_or_of_what_is_no_longer_kept_is_a_gap() {
    let mut rooms = Rooms::default();
    for number in 0..KEPT_FRAMES_MAX + 10 {
        say(&mut rooms, &number.to_string());
    }
    for (after, gap) in [
        (None, false),
        (Some("e-3"), true),
        (Some("e-20"), false),
        (Some("other-20"), true),
        (Some("e-999"), true),
        (Some("nonsense"), true),
    ] {
        let (member, mut heard) = rooms.add("ann");
        rooms.join(member, &key("a"), &PLACE, "e", (after, Since::Kept));
        assert_eq!(read(&mut heard)[0]["gap"], gap, "{after:?}");
    }
}

#[test]
fn who_does_not_keep_up_is_cut_and_nobody_waits_for_them() {
    let mut rooms = Rooms::default();
    let (slow, mut unread) = rooms.add("ann");
    rooms.join(slow, &key("a"), &PLACE, "e", (None, Since::Kept));
    for number in 0..BEHIND_MAX + 10 {
        say(&mut rooms, &number.to_string());
    }
    assert_eq!(rooms.member_count(), 0);
    assert_eq!(read(&mut unread).len(), BEHIND_MAX);
    assert!(unread.try_recv().is_err_and(|it| it == mpsc::error::TryRecvError::Disconnected));
}

#[test]
fn what_is_kept_is_bounded() {
    let mut rooms = Rooms::default();
    let long = "x".repeat(60_000);
    for number in 0..400 {
        let key = key(&number.to_string());
        rooms.tell((&key, None), "e", Kind::Message, "m", json!({ "text": long }));
    }
    assert!(rooms.bytes <= ALL_BYTES_MAX);
    let counted: usize = rooms.rooms.values().map(|room| room.bytes).sum();
    assert_eq!(rooms.bytes, counted);
    for _ in 0..100 {
        say(&mut rooms, &long);
    }
    assert!(rooms.rooms[&key("a")].bytes <= KEPT_BYTES_MAX);
}
