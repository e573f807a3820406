//! What tests of encrypted rooms need: a place for keys that outlives an adapter, and somebody
//! else with a device, whose keys are kept by the Matrix project's own state machine.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch the machine and fail by panicking"
)]

use async_trait::async_trait;
use insula_channel::{Keep, KeepChange, NotTaken};
use insula_testkit::synapse::Person;
use matrix_sdk_crypto::types::requests::{
    AnyIncomingResponse, AnyOutgoingRequest, ToDeviceRequest,
};
use matrix_sdk_crypto::{
    DecryptionSettings, EncryptionSettings, EncryptionSyncChanges, OlmMachine, TrustRequirement,
};
use ruma::api::IncomingResponse;
use ruma::api::client::keys::{claim_keys, get_keys, upload_keys};
use ruma::api::client::sync::sync_events::DeviceLists;
use ruma::api::client::to_device::send_event_to_device;
use ruma::serde::Raw;
use ruma::{OwnedUserId, RoomId, TransactionId, UserId};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

const TRUST: DecryptionSettings =
    DecryptionSettings { sender_device_trust_requirement: TrustRequirement::Untrusted };
/// The longest to wait for something that has to come.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Keeps keys in memory, as the gateway does in the daemon's store.
#[derive(Default)]
pub struct MemoryKeep {
    kept: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Whether it writes nothing.
    pub refuses: AtomicBool,
    pub writes: AtomicUsize,
}

impl MemoryKeep {
    /// The names of what is kept, without whose they are.
    pub fn names(&self) -> Vec<String> {
        let kept = self.kept.lock().unwrap();
        kept.keys().filter_map(|name| name.splitn(3, '/').nth(2)).map(Into::into).collect()
    }

    pub fn count(&self, kind: &str) -> usize {
        self.names().iter().filter(|name| name.starts_with(kind)).count()
    }

    pub fn lose(&self) {
        self.kept.lock().unwrap().clear();
    }
}

#[async_trait]
impl Keep for MemoryKeep {
    async fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, NotTaken> {
        Ok(self.kept.lock().unwrap().get(name).cloned().map(Zeroizing::new))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<(String, Zeroizing<Vec<u8>>)>, NotTaken> {
        let kept = self.kept.lock().unwrap();
        let below = kept.iter().filter(|(name, _)| name.starts_with(prefix));
        Ok(below.map(|(name, it)| (name.clone(), Zeroizing::new(it.clone()))).collect())
    }

    async fn write(&self, changes: Vec<KeepChange>) -> Result<(), NotTaken> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(NotTaken("the disk is full".into()));
        }
        self.writes.fetch_add(1, Ordering::SeqCst);
        let mut kept = self.kept.lock().unwrap();
        for change in changes {
            match change {
                KeepChange::Put(name, what) => drop(kept.insert(name.into(), what.to_vec())),
                KeepChange::Drop(name) => drop(kept.remove(&*name)),
            }
        }
        Ok(())
    }

    async fn seal(&self, what: &[u8]) -> Result<String, NotTaken> {
        Ok(what.iter().map(|byte| format!("{:02x}", byte ^ 0x5a)).collect())
    }

    async fn unseal(&self, sealed: &str) -> Result<Zeroizing<Vec<u8>>, NotTaken> {
        let byte = |at: usize| u8::from_str_radix(sealed.get(at..at + 2)?, 16).ok();
        let bytes = (0..sealed.len()).step_by(2).map(|at| byte(at).map(|byte| byte ^ 0x5a));
        let bytes: Option<Vec<u8>> = bytes.collect();
        bytes.map(Zeroizing::new).ok_or_else(|| NotTaken("it was never sealed".into()))
    }
}

/// Somebody whose client encrypts.
pub struct Cryptic {
    pub person: Person,
    pub machine: OlmMachine,
    since: Mutex<String>,
    /// What they heard, decrypted where they could: all events of all rooms.
    heard: Mutex<Vec<Value>>,
}

impl Cryptic {
    pub async fn new(person: Person) -> Self {
        let who = person.get("GET", "/account/whoami", None);
        let device = who["device_id"].as_str().unwrap();
        let user = UserId::parse(&*person.id).unwrap();
        let machine = OlmMachine::new(&user, device.into()).await;
        let this = Self { person, machine, since: Mutex::default(), heard: Mutex::default() };
        this.settle().await;
        this.sync(0).await;
        this
    }

    /// Makes a room for two that is encrypted from the beginning.
    pub fn make_room(&self, other: &str) -> String {
        self.person.make_room(&json!({
            "preset": "trusted_private_chat", "is_direct": true, "invite": [other],
            "initial_state": [{
                "type": "m.room.encryption", "state_key": "",
                "content": { "algorithm": "m.megolm.v1.aes-sha2" },
            }],
        }))
    }

    async fn answered<'a, R>(&self, id: &TransactionId, method: &str, path: &str, body: Value)
    where
        R: IncomingResponse + 'static,
        for<'r> &'r R: Into<AnyIncomingResponse<'r>>,
    {
        let answer = self.person.get(method, path, Some(&body));
        let answer = http::Response::builder().status(200).body(answer.to_string()).unwrap();
        let answer = R::try_from_http_response(answer).ok().unwrap();
        self.machine.mark_request_as_sent(id, &answer).await.unwrap();
    }

    /// Asks and tells the server what there is to ask and to tell.
    pub async fn settle(&self) {
        for request in self.machine.outgoing_requests().await.unwrap() {
            let id = request.request_id();
            match request.request() {
                AnyOutgoingRequest::KeysUpload(it) => {
                    let mut body = json!({
                        "one_time_keys": it.one_time_keys, "fallback_keys": it.fallback_keys,
                    });
                    if let Some(keys) = &it.device_keys {
                        body["device_keys"] = json!(keys);
                    }
                    self.answered::<upload_keys::v3::Response>(id, "POST", "/keys/upload", body)
                        .await;
                }
                AnyOutgoingRequest::KeysQuery(it) => {
                    let body = json!({ "device_keys": it.device_keys });
                    self.answered::<get_keys::v3::Response>(id, "POST", "/keys/query", body).await;
                }
                AnyOutgoingRequest::ToDeviceRequest(it) => self.tell(it).await,
                other => panic!("unexpected: {other:?}"),
            }
        }
    }

    /// Tells devices something.
    pub async fn tell(&self, request: &ToDeviceRequest) {
        let path = format!("/sendToDevice/{}/{}", request.event_type, request.txn_id);
        let body = json!({ "messages": request.messages });
        self.answered::<send_event_to_device::v3::Response>(&request.txn_id, "PUT", &path, body)
            .await;
    }

    /// One answer to `/sync`; what was said is added to what was heard.
    pub async fn sync(&self, wait_ms: u64) {
        let since = self.since.lock().unwrap().clone();
        let since = if since.is_empty() { since } else { format!("&since={since}") };
        let answer = self.person.get("GET", &format!("/sync?timeout={wait_ms}{since}"), None);
        let to_device = answer["to_device"]["events"].as_array().cloned().unwrap_or_default();
        let lists: DeviceLists =
            serde_json::from_value(answer["device_lists"].clone()).unwrap_or_default();
        let counts = serde_json::from_value(answer["device_one_time_keys_count"].clone())
            .unwrap_or_default();
        let changes = EncryptionSyncChanges {
            to_device_events: to_device.iter().map(raw).collect(),
            changed_devices: &lists,
            one_time_keys_counts: &counts,
            unused_fallback_keys: None,
            next_batch_token: None,
        };
        self.machine.receive_sync_changes(changes, &TRUST).await.unwrap();
        self.settle().await;
        let rooms = answer["rooms"]["join"].as_object().cloned().unwrap_or_default();
        for (room, what) in rooms {
            let room_id = RoomId::parse(&room).unwrap();
            for event in what["timeline"]["events"].as_array().unwrap() {
                let mut event = event.clone();
                if event["type"] == "m.room.encrypted" {
                    let read =
                        self.machine.decrypt_room_event(&raw(&event), &room_id, &TRUST).await;
                    if let Ok(read) = read {
                        event = serde_json::from_str(read.event.json().get()).unwrap();
                        event["was_encrypted"] = true.into();
                    }
                }
                event["room_id"] = room.clone().into();
                self.heard.lock().unwrap().push(event);
            }
        }
        *self.since.lock().unwrap() = answer["next_batch"].as_str().unwrap().to_owned();
    }

    /// Waits until `find` finds something in what was heard.
    pub async fn hear<T>(&self, mut find: impl FnMut(&Value) -> Option<T>) -> T {
        let until = Instant::now() + WAIT_MAX;
        loop {
            if let Some(found) = self.heard.lock().unwrap().iter().find_map(&mut find) {
                return found;
            }
            assert!(Instant::now() < until, "it never came: {:#?}", self.heard.lock().unwrap());
            self.sync(2_000).await;
        }
    }

    /// Waits for an event by its id.
    pub async fn event(&self, id: &str) -> Value {
        self.hear(|event| (event["event_id"] == *id).then(|| event.clone())).await
    }

    /// What somebody sent to a room, as the server shows it.
    pub fn sent_by(&self, user: &str, room: &str) -> Vec<Value> {
        let path = format!("/rooms/{room}/messages?dir=b&limit=500");
        let page = self.person.get("GET", &path, None);
        let all = page["chunk"].as_array().cloned().unwrap_or_default();
        let is_theirs = |event: &Value| event["sender"] == *user && event["state_key"].is_null();
        all.into_iter().filter(is_theirs).collect()
    }

    /// The key of a room, for those who are in it, not handed out yet.
    pub async fn key_for(&self, room: &str) -> Vec<Arc<ToDeviceRequest>> {
        let joined = self.person.get("GET", &format!("/rooms/{room}/joined_members"), None);
        let joined = joined["joined"].as_object().unwrap().keys();
        let users: Vec<OwnedUserId> = joined.map(|it| UserId::parse(it).unwrap()).collect();
        let each = || users.iter().map(Deref::deref);
        self.machine.update_tracked_users(each()).await.unwrap();
        self.settle().await;
        if let Some((id, claim)) = self.machine.get_missing_sessions(each()).await.unwrap() {
            let body = json!({ "one_time_keys": claim.one_time_keys });
            self.answered::<claim_keys::v3::Response>(&id, "POST", "/keys/claim", body).await;
        }
        let room = RoomId::parse(room).unwrap();
        self.machine.share_room_key(&room, each(), EncryptionSettings::default()).await.unwrap()
    }

    /// Says something whose key was not handed out by this.
    pub async fn say_keyless(&self, room: &str, content: &Value) -> String {
        let room_id = RoomId::parse(room).unwrap();
        let sealed =
            self.machine.encrypt_room_event_raw(&room_id, "m.room.message", &raw(content)).await;
        let sealed: Value = serde_json::from_str(sealed.unwrap().content.json().get()).unwrap();
        self.person.send_kind(room, "m.room.encrypted", &sealed)
    }

    /// Says something encrypted to all who are in a room.
    pub async fn send(&self, room: &str, content: &Value) -> String {
        for request in self.key_for(room).await {
            self.tell(&request).await;
        }
        self.say_keyless(room, content).await
    }

    pub async fn say(&self, room: &str, text: &str) -> String {
        self.send(room, &json!({ "msgtype": "m.text", "body": text })).await
    }
}

fn raw<T>(value: &Value) -> Raw<T> {
    Raw::from_json(to_raw_value(value).unwrap())
}
