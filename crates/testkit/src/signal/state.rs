//! The fake's accounts, groups and messages, and what people do there.

use super::draft::{Draft, User};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Where something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where<'a> {
    /// To the account of this number.
    Dm(&'a str),
    /// In a group.
    Group(&'a str),
}

/// Something that goes wrong, once.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// The connection closes before anything is done.
    Unheard,
    /// It is done, and the connection closes after this many bytes of the answer.
    CutAt(usize),
    /// It is done, and there is no answer.
    Silence,
    /// It is not done: an error of signal-cli, with what became of each recipient.
    Refuse { code: i64, message: String, results: Option<Value> },
    /// It is not done: something else answers.
    Answer { status: u16, body: String },
}

/// A message of an account, as it reads now.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// The account's number.
    pub account: String,
    /// The recipient or the group.
    pub to: String,
    pub text: String,
    pub styles: Vec<String>,
    /// When it was first sent, and last.
    pub at: i64,
    pub last: i64,
    pub quote: Option<(i64, String)>,
    /// Media type, name and content.
    pub files: Vec<(String, String, Vec<u8>)>,
    pub edits: usize,
}

pub(super) struct Account {
    pub(super) user: User,
    pub(super) is_unlinked: bool,
    /// All events that are kept.
    pub(super) events: Vec<String>,
    /// How many before them are not.
    pub(super) forgotten: usize,
    /// How many of them some stream was given.
    pub(super) delivered: usize,
    pub(super) files: BTreeMap<String, Vec<u8>>,
}

#[derive(Default)]
pub(super) struct Group {
    /// Numbers of accounts, and UUIDs of others.
    pub(super) members: BTreeSet<String>,
    pub(super) pending: BTreeSet<String>,
    pub(super) revision: i64,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) now: i64,
    pub(super) version: String,
    pub(super) numbers: bool,
    pub(super) is_wedged: bool,
    pub(super) streams: usize,
    pub(super) cuts: VecDeque<usize>,
    pub(super) accounts: BTreeMap<String, Account>,
    pub(super) groups: BTreeMap<String, Group>,
    pub(super) people: Vec<User>,
    pub(super) troubles: VecDeque<(String, Trouble)>,
    pub(super) requests: Vec<(String, Value)>,
    pub(super) sent: Vec<Sent>,
    last_moment: i64,
}

impl State {
    pub(super) fn new() -> Self {
        Self { version: "0.14.6".to_owned(), ..Self::default() }
    }

    /// A moment that no other message has.
    pub(super) fn moment(&mut self) -> i64 {
        self.last_moment = self.now.max(self.last_moment + 1);
        self.last_moment
    }

    pub(super) fn know(&mut self, user: &User) {
        if !self.people.contains(user) {
            self.people.push(user.clone());
        }
    }

    pub(super) fn add_account(&mut self, user: &User) {
        self.know(user);
        let number = user.number.clone().unwrap_or_default();
        let account = Account {
            user: user.clone(),
            is_unlinked: false,
            events: vec![],
            forgotten: 0,
            delivered: 0,
            files: BTreeMap::new(),
        };
        self.accounts.insert(number, account);
    }

    /// An account by number or UUID, while it is linked.
    pub(super) fn number_of(&self, id: &str) -> Option<String> {
        let found = self.accounts.iter().find(|(_, account)| account.user.is(id));
        found.filter(|(_, account)| !account.is_unlinked).map(|(number, _)| number.clone())
    }

    pub(super) fn deliver(&mut self, account: &str, event: String) {
        if let Some(account) = self.accounts.get_mut(account) {
            account.events.push(event);
        }
    }

    /// An envelope from somebody, with these fields.
    fn tell(&mut self, account: &str, from: &User, at: i64, fields: Value) {
        let mut envelope = json!({
            "source": from.number.as_deref().unwrap_or(&from.uuid),
            "sourceNumber": from.number,
            "sourceUuid": from.uuid,
            "sourceName": from.name,
            "sourceDevice": 1,
            "timestamp": at,
            "serverReceivedTimestamp": at,
            "serverDeliveredTimestamp": at,
        });
        if let (Some(envelope), Value::Object(fields)) = (envelope.as_object_mut(), fields) {
            envelope.extend(fields);
        }
        let event = json!({ "envelope": envelope, "account": account });
        self.deliver(account, event.to_string());
    }

    fn heard_by(&self, place: Where<'_>) -> Vec<String> {
        match place {
            Where::Dm(number) => vec![number.to_owned()],
            Where::Group(id) => {
                let members = self.groups.get(id).map(|group| group.members.clone());
                let is_account = |id: &String| self.accounts.contains_key(id);
                members.unwrap_or_default().into_iter().filter(is_account).collect()
            }
        }
    }

    fn group_info(&self, place: Where<'_>, kind: &str) -> Option<Value> {
        let Where::Group(id) = place else { return None };
        let revision = self.groups.get(id).map_or(0, |group| group.revision);
        Some(json!({"groupId": id, "groupName": "Friends", "revision": revision, "type": kind}))
    }

    fn message(
        &mut self,
        place: Where<'_>,
        draft: &Draft,
        at: i64,
        to: &str,
    ) -> Map<String, Value> {
        let mut message = Map::new();
        message.insert("timestamp".into(), json!(at));
        message.extend(draft.message.clone());
        if let Some(info) = self.group_info(place, "DELIVER") {
            message.insert("groupInfo".into(), info);
        }
        let mut files = vec![];
        for (number, (media_type, name, content)) in draft.files.iter().enumerate() {
            let id = format!("file{at}-{number}.bin");
            files.push(json!({"contentType": media_type, "filename": name, "id": id,
                "size": content.len()}));
            if let Some(account) = self.accounts.get_mut(to) {
                account.files.insert(id, content.clone());
            }
        }
        if !files.is_empty() {
            message.insert("attachments".into(), json!(files));
        }
        message
    }

    pub(super) fn say(&mut self, place: Where<'_>, draft: &Draft) -> i64 {
        self.know(&draft.from);
        let at = self.moment();
        for account in self.heard_by(place) {
            let message = self.message(place, draft, at, &account);
            self.tell(&account, &draft.from, at, json!({ "dataMessage": message }));
        }
        at
    }

    pub(super) fn edit(&mut self, place: Where<'_>, target: i64, draft: &Draft) -> i64 {
        let at = self.moment();
        for account in self.heard_by(place) {
            let message = self.message(place, draft, at, &account);
            let edit = json!({"targetSentTimestamp": target, "dataMessage": message});
            self.tell(&account, &draft.from, at, json!({ "editMessage": edit }));
        }
        at
    }

    pub(super) fn say_by_phone(
        &mut self,
        account: &str,
        to: Result<&str, &User>,
        text: &str,
    ) -> i64 {
        let at = self.moment();
        let Some(user) = self.accounts.get(account).map(|it| it.user.clone()) else { return 0 };
        let draft = Draft::new(&user, text);
        let place = to.map_or(Where::Dm(account), Where::Group);
        let mut sent = self.message(place, &draft, at, account);
        if let Err(to) = to {
            sent.insert("destinationNumber".into(), json!(to.number));
            sent.insert("destinationUuid".into(), json!(to.uuid));
        }
        self.tell(account, &user, at, json!({ "syncMessage": { "sentMessage": sent } }));
        at
    }

    fn update(&mut self, id: &str, by: &User, accounts: &[String]) {
        let at = self.moment();
        let info = self.group_info(Where::Group(id), "UPDATE");
        for account in accounts {
            let message = json!({"timestamp": at, "message": null, "groupInfo": info});
            self.tell(account, by, at, json!({ "dataMessage": message }));
        }
    }

    pub(super) fn make_group(&mut self, id: &str, by: &User, accounts: &[&str]) {
        self.know(by);
        let accounts: Vec<String> = accounts.iter().map(|&it| it.to_owned()).collect();
        let members = accounts.iter().cloned().chain([by.uuid.clone()]).collect();
        self.groups.insert(id.to_owned(), Group { members, ..Group::default() });
        self.update(id, by, &accounts);
    }

    pub(super) fn invite(&mut self, id: &str, by: &User, account: &str) {
        let group = self.groups.entry(id.to_owned()).or_default();
        group.members.insert(by.uuid.clone());
        group.pending.insert(account.to_owned());
        group.revision += 1;
        self.update(id, by, &[account.to_owned()]);
    }

    pub(super) fn remove(&mut self, id: &str, by: &User, account: &str) {
        let group = self.groups.entry(id.to_owned()).or_default();
        group.members.remove(account);
        group.pending.remove(account);
        group.revision += 1;
        self.update(id, by, &[account.to_owned()]);
    }
}
