//! The homeserver's backup of keys: what is put there and under which key, what is asked of it, and
//! what is done where it is somebody else's.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch the machine and fail by panicking"
)]

use crate::matrix::homeserver::join;
use crate::matrix::keys::{Cryptic, MemoryKeep};
use crate::matrix::support::*;
use crate::matrix::trouble::{US, message, ok, ordinary};
use insula_adapters::matrix::Matrix;
use insula_channel::{Adapter as _, Outbound as _};
use insula_testkit::synapse::{Person, Synapse};
use insula_testkit::upstream::{Seen, Step, answer};
use insula_testkit::{Handles, Upstream};
use insula_world::World;
use matrix_sdk_crypto::secret_storage::SecretStorageKey;
use matrix_sdk_crypto::store::types::BackupDecryptionKey;
use matrix_sdk_crypto::vodozemac::megolm::{GroupSession, SessionConfig};
use ruma::api::client::backup::KeyBackupData;
use ruma::events::secret::request::SecretName;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest to wait for something that has to come.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Somebody's homeserver, and a bot whose account has a recovery key.
struct Backed {
    server: Synapse,
    ann: Cryptic,
    bot: Person,
    matrix: Arc<Matrix>,
    keep: Arc<MemoryKeep>,
    kept: Arc<RecordingInbox>,
    listening: Listening,
    room: String,
    clock: World,
    time: Handles,
}

impl Backed {
    async fn start(recovery_key: &str) -> Self {
        Self::start_on(recovery_key, |_| {}).await
    }

    /// The same on an account that was prepared.
    async fn start_on(recovery_key: &str, prepare: impl FnOnce(&Person)) -> Self {
        let (clock, time) = insula_testkit::world(7);
        let server = Synapse::start().unwrap();
        let [ann, bot] = server.people(["ann", "bot"]);
        prepare(&bot);
        let who = (&*server.url(), Some(&*bot.id), &*bot.token);
        let matrix = Arc::new(adapter_backed_up(&clock, who, Some(recovery_key)));
        let keep = Arc::new(MemoryKeep::default());
        let kept = RecordingInbox::with(&keep);
        let listening = Listening::begin(&matrix, &kept).await;
        let ann = Cryptic::new(ann).await;
        let room = ann.make_room(&bot.id);
        join(&matrix, &kept, &room).await;
        Self { server, ann, bot, matrix, keep, kept, listening, room, clock, time }
    }

    /// Says something each way.
    async fn talk(&self, text: &str) {
        let id = self.ann.say(&self.room, text).await;
        assert_eq!(&*said(&self.kept.event(&id).await).words.all(), text);
        self.matrix.post(&post(target(&self.room, None), text, "an answer")).await.unwrap();
    }

    /// Waits until `find` finds something, and lets the bot's time go on.
    async fn until<T>(&self, mut find: impl AsyncFnMut() -> Option<T>) -> T {
        let until = Instant::now() + WAIT_MAX;
        loop {
            if let Some(found) = find().await {
                return found;
            }
            assert!(Instant::now() < until, "it never came: {:?}", self.matrix.identify().await);
            self.time.clock.advance(Duration::from_secs(5)).await;
            self.ann.sync(50).await;
        }
    }

    /// Waits until so many keys are in the server's backup, and gives them by session.
    async fn saved(&self, count: usize) -> Map<String, Value> {
        self.until(async || {
            let all = saved_by(&self.bot, &self.room);
            (all.len() >= count).then_some(all)
        })
        .await
    }

    /// Waits until the operator is told this.
    async fn told(&self, words: &str) {
        self.until(async || {
            let us = self.matrix.identify().await.unwrap();
            us.missing.iter().chain(&us.about).any(|it| it.contains(words)).then_some(())
        })
        .await;
    }
}

/// What somebody's backup on the server has of a room.
fn saved_by(person: &Person, room: &str) -> Map<String, Value> {
    let Ok((200, version)) = person.ask("GET", "/room_keys/version", None) else {
        return Map::new();
    };
    let version = version["version"].as_str().unwrap();
    let all = person.get("GET", &format!("/room_keys/keys?version={version}"), None);
    all["rooms"][room]["sessions"].as_object().cloned().unwrap_or_default()
}

/// The names of the sessions that this key opens.
fn opened(saved: &Map<String, Value>, key: &BackupDecryptionKey) -> Vec<String> {
    let is_opened = |sealed: &Value| {
        let sealed: KeyBackupData = serde_json::from_value(sealed.clone()).unwrap();
        key.decrypt_session_data(sealed.session_data).is_ok()
    };
    saved.iter().filter(|(_, it)| is_opened(it)).map(|(name, _)| name.clone()).collect()
}

/// Makes a backup for somebody, as their client would.
fn make_backup(person: &Person, key: &BackupDecryptionKey) {
    let info = json!(key.to_backup_info());
    person.get("POST", "/room_keys/version", Some(&info));
}

/// Makes a secret storage for somebody, with these secrets.
fn make_storage(person: &Person, storage: &SecretStorageKey, backup: Option<&BackupDecryptionKey>) {
    let put = |kind: &str, content: &Value| {
        let path = format!("/user/{}/account_data/{kind}", person.id);
        person.get("PUT", &path, Some(content));
    };
    put(&storage.event_type().to_string(), &json!(storage.event_content()));
    put("m.secret_storage.default_key", &json!({ "key": storage.key_id() }));
    if let Some(backup) = backup {
        let secret = backup.to_base64().into_bytes();
        let sealed = storage.encrypt(secret, &SecretName::RecoveryKey);
        put("m.megolm_backup.v1", &json!({ "encrypted": { storage.key_id(): sealed } }));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_go_to_a_backup_that_only_the_recovery_key_opens() {
    let key = BackupDecryptionKey::new();
    let place = Backed::start(&key.to_base58()).await;
    place.talk("hello").await;
    let saved = place.saved(2).await;
    assert_eq!((saved.len(), opened(&saved, &key).len()), (2, 2));
    assert!(opened(&saved, &BackupDecryptionKey::new()).is_empty());
    // It is signed by the device and by the account, as others' clients want it.
    let made = place.bot.get("GET", "/room_keys/version", None);
    assert_eq!(made["algorithm"], "m.megolm_backup.v1.curve25519-aes-sha2");
    assert_eq!(made["auth_data"]["public_key"], key.megolm_v1_public_key().to_base64());
    let signatures = made["auth_data"]["signatures"][&*place.bot.id].as_object().unwrap();
    assert_eq!(signatures.len(), 2, "{made:#}");

    // Later keys follow, and none goes there twice.
    let room_id = ruma::RoomId::parse(&*place.room).unwrap();
    place.ann.machine.discard_room_key(&room_id).await.unwrap();
    place.talk("under another key").await;
    assert_eq!(opened(&place.saved(3).await, &key).len(), 3);
    place.told("version 1; 0 are yet to go there").await;
    let etag = place.bot.get("GET", "/room_keys/version", None)["etag"].clone();
    assert_eq!(place.keep.count("backed-up/"), 3);
    // The recovery key is kept nowhere, and whoever looks from outside is told as well.
    assert_eq!(place.keep.count("backup-key"), 0);
    let who = (&*place.server.url(), Some(&*place.bot.id), &*place.bot.token);
    let other = adapter_backed_up(&place.clock, who, Some(&key.to_base58()));
    let there = other.identify().await.unwrap();
    assert!(there.missing.is_empty(), "{there:?}");
    assert!(there.about[1].contains("version 1 with 3 keys"), "{there:?}");

    // The same after a restart.
    let Backed { server, ann, bot, keep, kept, listening, room, clock, time, .. } = place;
    listening.stop().await;
    let matrix = Arc::new(other);
    let listening = Listening::start(&matrix, &kept);
    let place = Backed { server, ann, bot, matrix, keep, kept, listening, room, clock, time };
    place.talk("after a restart").await;
    assert_eq!(opened(&place.saved(4).await, &key).len(), 4);
    let made = place.bot.get("GET", "/room_keys/version", None);
    assert_eq!((&made["version"], made["etag"] == etag), (&json!("1"), false));
    place.listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_device_reads_by_the_backup_what_its_keys_are_missing_for() {
    let key = BackupDecryptionKey::new();
    let place = Backed::start(&key.to_base58()).await;
    place.talk("hello").await;
    place.saved(2).await;
    let Backed { server, ann, bot, kept, listening, room, clock, .. } = place;
    listening.stop().await;
    // Said to the device that was lost, and to no other.
    let content = json!({ "msgtype": "m.text", "body": "meanwhile" });
    let meanwhile = ann.say_keyless(&room, &content).await;
    let login = json!({
        "type": "m.login.password", "password": "password",
        "identifier": { "type": "m.id.user", "user": &*bot.id },
    });
    let token = bot.get("POST", "/login", Some(&login))["access_token"].clone();
    let who = (&*server.url(), Some(&*bot.id), token.as_str().unwrap());
    // Without the recovery key it waits.
    let again = RecordingInbox::with(&Arc::default());
    again.put_cursor(&kept.cursor_now().unwrap().0);
    let matrix = Arc::new(adapter_backed_up(&clock, who, None));
    let listening = Listening::start(&matrix, &again);
    again.event(&ann.person.say(&room, "not encrypted")).await;
    assert_eq!(again.keep.as_ref().unwrap().count("waiting/"), 1);
    listening.stop().await;
    // With it, what waits is read at once, also by somebody whose device's clock stands still.
    let key = key.to_base58();
    let matrix = Arc::new(adapter_backed_up(&clock, who, Some(&key)));
    let listening = Listening::start(&matrix, &again);
    let heard = again.event(&meanwhile).await;
    assert_eq!(&*said(&heard).words.all(), "meanwhile");
    assert_eq!(heard.address.user.as_ref().unwrap().as_str(), ann.person.id);
    listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_recovery_key_that_clients_show_opens_the_backup_too() {
    // A client made a secret storage, with the key of its backup in it.
    let (storage, backup) = (SecretStorageKey::new(), BackupDecryptionKey::new());
    let place = Backed::start_on(&storage.to_base58(), |bot| {
        make_storage(bot, &storage, Some(&backup));
        make_backup(bot, &backup);
    })
    .await;
    place.talk("hello").await;
    assert_eq!(opened(&place.saved(2).await, &backup).len(), 2);
    assert_eq!(place.bot.get("GET", "/room_keys/version", None)["version"], "1");
    place.listening.stop().await;

    // There is a storage and no backup: the key of a new one is put where clients find it.
    let storage = SecretStorageKey::new();
    let prepare = |bot: &Person| make_storage(bot, &storage, None);
    let place = Backed::start_on(&storage.to_base58(), prepare).await;
    place.talk("hello").await;
    let saved = place.saved(2).await;
    let path = format!("/user/{}/account_data/m.megolm_backup.v1", place.bot.id);
    let secret = place.bot.get("GET", &path, None);
    let sealed = serde_json::from_value(secret["encrypted"][storage.key_id()].clone()).unwrap();
    let secret = storage.decrypt(&sealed, &SecretName::RecoveryKey).unwrap();
    let key = BackupDecryptionKey::from_base64(std::str::from_utf8(&secret).unwrap()).unwrap();
    assert_eq!(opened(&saved, &key).len(), 2);
    // Of no use to who has the storage's key alone.
    let direct = BackupDecryptionKey::from_base58(&storage.to_base58()).unwrap();
    assert!(opened(&saved, &direct).is_empty());
    place.listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_recovery_key_is_told_and_nothing_is_put_anywhere() {
    let (theirs, mine) = (BackupDecryptionKey::new(), BackupDecryptionKey::new());
    let wrong = mine.to_base58();
    let place = Backed::start_on(&wrong, |bot| make_backup(bot, &theirs)).await;
    place.talk("hello").await;
    place.told("not one that `recovery_key` opens").await;
    place.talk("and on").await;
    let made = place.bot.get("GET", "/room_keys/version", None);
    assert_eq!((&made["version"], &made["count"]), (&json!("1"), &json!(0)));
    // Whoever is told is not told the key.
    let us = place.matrix.identify().await.unwrap();
    assert!(!format!("{us:?}").contains(&wrong), "{us:?}");
    // What is no such key is told from outside as well, without asking anybody.
    for word in ["a passphrase", "", "EsTc LW2K PGiF wKEA 3As5 g5c4 BXwk qeeJ ZJV8 Q9fu gUMN UE4e"]
    {
        let who = (&*place.server.url(), Some(&*place.bot.id), &*place.bot.token);
        let us = adapter_backed_up(&place.clock, who, Some(word)).identify().await.unwrap();
        assert!(us.missing[0].contains("is no recovery key"), "{us:?}");
    }
    place.listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_somebody_replaces_gets_nothing_more() {
    let key = BackupDecryptionKey::new();
    let place = Backed::start(&key.to_base58()).await;
    place.talk("hello").await;
    place.saved(2).await;
    // Removed: a new one is made, and gets everything.
    place.bot.get("DELETE", "/room_keys/version/1", None);
    place.ann.machine.discard_room_key(&ruma::RoomId::parse(&*place.room).unwrap()).await.unwrap();
    place.talk("under another key").await;
    assert_eq!(opened(&place.saved(3).await, &key).len(), 3);
    assert_eq!(place.bot.get("GET", "/room_keys/version", None)["version"], "2");
    // Replaced under another key.
    make_backup(&place.bot, &BackupDecryptionKey::new());
    place.ann.machine.discard_room_key(&ruma::RoomId::parse(&*place.room).unwrap()).await.unwrap();
    place.talk("under yet another").await;
    place.told("not one that `recovery_key` opens").await;
    assert!(saved_by(&place.bot, &place.room).is_empty());
    place.talk("and on").await;
    place.listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_the_backup_does_not_have_either_is_told_once() {
    let place = Backed::start(&BackupDecryptionKey::new().to_base58()).await;
    let Backed { ann, kept, room, matrix, time, .. } = &place;
    place.talk("hello").await;
    ann.machine.discard_room_key(&ruma::RoomId::parse(&**room).unwrap()).await.unwrap();
    ann.key_for(room).await;
    let content = json!({ "msgtype": "m.text", "body": "read me" });
    ann.say_keyless(room, &content).await;
    let is_notice = |event: &Value| {
        let body = event["content"]["body"].as_str()?;
        body.contains("could not read").then_some(())
    };
    kept.event(&ann.person.say(room, "something")).await;
    time.clock.advance(Duration::from_secs(61)).await;
    kept.event(&ann.person.say(room, "a minute later")).await;
    place
        .until(async || {
            kept.event(&ann.person.say(room, "on")).await;
            (place.keep.count("told/") == 1).then_some(())
        })
        .await;
    ann.hear(is_notice).await;
    ann.say_keyless(room, &content).await;
    time.clock.advance(Duration::from_secs(900)).await;
    kept.event(&ann.person.say(room, "and much later")).await;
    matrix.post(&post(target(room, None), "k", "the last")).await.unwrap();
    // Two answers and one notice.
    assert_eq!(ann.sent_by(&place.bot.id, room).len(), 3);
    place.listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_never_answers_holds_nothing_up() {
    let (clock, time) = insula_testkit::world(7);
    let key = BackupDecryptionKey::new();
    let recovery_key = key.to_base58();
    let script = move |seen: &Seen, _: usize| {
        if seen.line.contains("/room_keys/") {
            return vec![Step::Hang];
        }
        if let Some(value) = encrypting(seen, &key).or_else(|| ordinary(seen)) {
            return ok(&value);
        }
        if seen.line.contains("since=s1") {
            let events = [message("$1", "hello")];
            let join = json!({ "!r:x": { "timeline": { "events": events } } });
            return ok(&json!({ "next_batch": "s2", "rooms": { "join": join } }));
        }
        if seen.line.contains("/sync") {
            return vec![Step::Hang];
        }
        vec![answer(404, &[], r#"{"errcode":"M_NOT_FOUND","error":"no"}"#)]
    };
    let server = Upstream::start(&World::real().unwrap(), script).await.unwrap();
    let url = server.url("");
    let make = || adapter_backed_up(&clock, (&*url, Some(US), "t"), Some(&recovery_key));
    let matrix = Arc::new(make());
    let kept = RecordingInbox::with(&Arc::default());
    kept.put_cursor("s1");
    let listening = Listening::start(&matrix, &kept);
    assert_eq!(&*said(&kept.event("$1").await).words.all(), "hello");
    let us = matrix.identify().await.unwrap();
    assert!(us.about[1].contains("is being looked for"), "{us:?}");
    // Whoever asks from outside is told after a while.
    let other = tokio::spawn({
        let other = make();
        async move { other.identify().await.unwrap() }
    });
    while !other.is_finished() {
        time.clock.advance(Duration::from_secs(1)).await;
    }
    let us = other.await.unwrap();
    assert!(us.missing[0].contains("does not answer"), "{us:?}");
    listening.stop().await;
}

/// An event under a key that nobody has.
fn unreadable(number: u32) -> Value {
    let mut session = GroupSession::new(SessionConfig::version_1());
    json!({
        "type": "m.room.encrypted", "event_id": format!("${number}"), "sender": "@a:x",
        "origin_server_ts": 1,
        "content": {
            "algorithm": "m.megolm.v1.aes-sha2", "session_id": session.session_id(),
            "ciphertext": session.encrypt("nothing").to_base64(),
            "sender_key": "DeHIg4gwhClxzFYcmNntPNF9YtsdZbmMy8+3kzCMXHA", "device_id": "A",
        },
    })
}

/// What a homeserver answers that has a backup under this key, to all but `/sync` and what it is
/// asked of the backup.
fn encrypting(seen: &Seen, key: &BackupDecryptionKey) -> Option<Value> {
    let fits = |part: &str| seen.line.contains(part);
    Some(if fits("/whoami") {
        json!({ "user_id": US, "device_id": "D" })
    } else if fits("/displayname") {
        json!({ "displayname": "Bot" })
    } else if fits("/keys/upload") {
        json!({ "one_time_key_counts": { "signed_curve25519": 50 } })
    } else if fits("/keys/query") {
        json!({ "device_keys": {} })
    } else if fits("/room_keys/version") {
        let mut info = json!(key.to_backup_info());
        info["version"] = "7".into();
        info
    } else if fits("/account_data/") || fits("/device_signing/") || fits("/signatures/") {
        // No secret storage, and no password asked for.
        json!({})
    } else {
        return None;
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_backup_is_asked_once_for_each_key_with_a_pause_and_as_slowly_as_it_wants() {
    const MADE_UP: u32 = 20;
    let (clock, time) = insula_testkit::world(7);
    let key = BackupDecryptionKey::new();
    let recovery_key = key.to_base58();
    let many: Vec<Value> = (0..MADE_UP).map(unreadable).collect();
    let mut again = many.clone();
    again.iter_mut().for_each(|it| it["event_id"] = format!("{}-again", it["event_id"]).into());
    let rooms = json!({
        "!hostile:x": { "timeline": { "events": many } },
        "!other:x": { "timeline": { "events": [unreadable(1_000)] } },
    });
    let asked = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = asked.clone();
    let script = move |seen: &Seen, _: usize| {
        if let Some(value) = encrypting(seen, &key) {
            return ok(&value);
        }
        if seen.line.contains("since=s1") {
            return ok(&json!({ "next_batch": "s2", "rooms": { "join": rooms } }));
        }
        if seen.line.contains("since=s2") {
            let join = json!({ "!hostile:x": { "timeline": { "events": again } } });
            return ok(&json!({ "next_batch": "s3", "rooms": { "join": join } }));
        }
        if seen.line.contains("/sync") {
            return vec![Step::Hang];
        }
        if seen.line.contains("/room_keys/keys/")
            && count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 2
        {
            let slow = r#"{"errcode":"M_LIMIT_EXCEEDED","error":"slow","retry_after_ms":90000}"#;
            return vec![answer(429, &[], slow)];
        }
        vec![answer(404, &[], r#"{"errcode":"M_NOT_FOUND","error":"no"}"#)]
    };
    let server = Upstream::start(&World::real().unwrap(), script).await.unwrap();
    let who = (&*server.url(""), Some(US), "t");
    let matrix = Arc::new(adapter_backed_up(&clock, who, Some(&recovery_key)));
    let kept = RecordingInbox::with(&Arc::default());
    kept.put_cursor("s1");
    let listening = Listening::start(&matrix, &kept);
    kept.takes(2).await;
    let lines = || -> Vec<String> {
        let seen = server.seen().into_iter().map(|seen| seen.line);
        seen.filter(|line| line.contains("/room_keys/keys/")).collect()
    };
    let until = Instant::now() + WAIT_MAX;
    // Lets time pass, second by second, until it was asked so often.
    let asks = async |wanted: usize| {
        let mut seconds = 0;
        while lines().len() < wanted {
            assert!(Instant::now() < until, "asked {} times of {wanted}", lines().len());
            // Time goes on only while somebody waits for it.
            if time.clock.sleeper_count() > 0 {
                time.clock.advance(Duration::from_secs(1)).await;
                seconds += 1;
            }
            tokio::task::yield_now().await;
        }
        seconds
    };
    asks(3).await;
    // The other room's came second or third, whatever the first has made up.
    let first = lines();
    assert!(first.iter().any(|line| line.contains("%21other%3Ax")), "{first:#?}");
    assert!(asks(4).await >= 89, "the server wanted to be left alone");
    asks(MADE_UP as usize + 2).await;
    for _ in 0..1_000 {
        time.clock.advance(Duration::from_secs(10)).await;
    }
    // Each once, and once more what was refused for the time being.
    let mut all = lines();
    assert_eq!(all.len(), MADE_UP as usize + 2);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), MADE_UP as usize + 1);
    assert!(kept.all().is_empty());
    listening.stop().await;
}
