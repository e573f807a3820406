//! One connection to a platform, as its operator wrote it. What is wrong in one account keeps
//! that account from connecting, and nothing else.

use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport, Severity};
use crate::resolve::metadata;
use crate::rules::{Reference, destination, references};
use crate::schema::{ACCOUNT, AccountKeys, CONNECTED, EVERY_ACCOUNT};
use crate::sensitive::looks_like_credential;
use crate::shape::{Checker, Shape, quoted, shorten};
use crate::source::Span;
use crate::way_in;
use crate::yaml::{MapEntry, Node, Value};
use insula_domain::{AccountId, Metadata, Narrowing, Platform};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys whose value is a credential, whatever it looks like.
pub const CREDENTIALS: [&str; 4] = ["token", "app_token", "secret", "recovery_key"];

/// One connection to a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub platform: Platform,
    pub name: AccountId,
    /// Whether it is to connect.
    pub enabled: bool,
    /// What becomes of a message that may or may not have been sent.
    pub uncertain: Uncertain,
    /// How a chat sees that something is being worked on, where that is said.
    pub working: Option<Working>,
    /// Every other setting as written, references to secrets included.
    pub values: BTreeMap<Box<str>, AccountValue>,
    /// Values for hooks and expressions.
    pub metadata: Metadata,
    /// What it takes away from the agents it leads to.
    pub narrowing: Option<Arc<Narrowing>>,
    /// Why it can't be connected, with the place.
    pub problem: Option<Arc<str>>,
}

impl Account {
    /// Whether this version connects to its platform at all.
    pub fn is_built(&self) -> bool {
        AccountKeys::of(self.platform.as_str()).is_some()
    }
}

/// What a setting of an account says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountValue {
    /// One text.
    Text(Box<str>),
    /// Several.
    List(Vec<Box<str>>),
}

/// What becomes of a message that may or may not have been sent when the daemon was cut off,
/// on a platform that can't tell whether it has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Uncertain {
    /// It is sent again: rather twice than not at all.
    #[default]
    Resend,
    /// It is kept for an operator to decide.
    Hold,
}

/// How a chat sees that something is being worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Working {
    /// By the sign of writing.
    Typing,
    /// By a reaction to what was said.
    Reaction,
    /// By both.
    Both,
    /// Not at all.
    None,
}

impl Working {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "typing" => Some(Self::Typing),
            "reaction" => Some(Self::Reaction),
            "both" => Some(Self::Both),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

/// Where accounts and their settings stand.
#[derive(Debug, Clone, Default)]
pub struct AccountSpans {
    /// By platform and name: the account's own place, and those of its settings.
    accounts: BTreeMap<(Box<str>, Box<str>), (Span, SettingSpans)>,
}

type SettingSpans = BTreeMap<Box<str>, Span>;

impl AccountSpans {
    pub(crate) fn of(channels: Option<&Node>) -> Self {
        let mut accounts = BTreeMap::new();
        for channel in channels.map(Node::entries).unwrap_or_default() {
            for entry in channel.value.get("accounts").map(Node::entries).unwrap_or_default() {
                let settings = entry.value.entries().iter();
                let places = settings.map(|it| (it.key.clone(), it.value.span)).collect();
                let name = (channel.key.clone(), entry.key.clone());
                accounts.insert(name, (entry.key_span, places));
            }
        }
        Self { accounts }
    }

    /// Where a setting of an account stands; without one, or where it is not written, the
    /// account itself.
    pub fn find(&self, account: &Account, key: Option<&str>) -> Option<Span> {
        let name = (account.platform.as_str().into(), account.name.as_str().into());
        let (at, settings) = self.accounts.get(&name)?;
        Some(key.and_then(|key| settings.get(key)).copied().unwrap_or(*at))
    }
}

/// Reads the accounts of `channels`. `env` is the environment at start.
pub fn read(
    report: &mut LoadReport,
    channels: Option<&Node>,
    env: &BTreeMap<String, String>,
) -> Vec<Account> {
    let mut accounts: Vec<Account> = Vec::new();
    let mut destinations = Vec::new();
    for channel in channels.map(Node::entries).unwrap_or_default() {
        let Ok(platform) = Platform::new(&channel.key) else { continue };
        let keys = AccountKeys::of(platform.as_str());
        if keys.is_none() {
            let message = format!("this version does not connect to {platform}");
            let known: Vec<&str> = CONNECTED.iter().map(|keys| keys.platform).collect();
            let help = format!("its accounts stay off; it connects to {}", known.join(", "));
            let found = Diagnostic::warning(&FindingOwner::Shared, channel.key_span, message);
            report.push(found.help(help));
        }
        for entry in channel.value.get("accounts").map(Node::entries).unwrap_or_default() {
            let Ok(name) = AccountId::new(&*entry.key) else { continue };
            let owner = FindingOwner::Account(format!("{platform}.{name}").into());
            let mut reader = Reader { report, owner, env };
            let mut account = reader.account(platform, name, keys, entry);
            reader.refuse_same_token(&accounts, &mut account, entry);
            destinations.extend(entry.value.get("deliver").map(|node| (reader.owner, node)));
            accounts.push(account);
        }
    }
    for (owner, node) in destinations {
        let Some(to) = node.text().and_then(|text| destination(text).ok()) else { continue };
        if accounts.iter().any(|it| it.platform == to.platform && it.name == to.account) {
            continue;
        }
        let message = format!(
            "`deliver` names account `{}.{}`, which does not exist",
            to.platform, to.account
        );
        let help = format!("add it under `channels.{}.accounts`", to.platform);
        report.push(Diagnostic::warning(&owner, node.span, message).help(help));
    }
    accounts
}

struct Reader<'r> {
    report: &'r mut LoadReport,
    owner: FindingOwner,
    env: &'r BTreeMap<String, String>,
}

impl Reader<'_> {
    fn account(
        &mut self,
        platform: Platform,
        name: AccountId,
        keys: Option<&AccountKeys>,
        entry: &MapEntry,
    ) -> Account {
        let mut node = entry.value.clone();
        let subject = format!("account `{platform}.{name}`");
        let first = self.report.diagnostics.len();
        let mut checker = Checker::new(self.report, self.owner.clone(), &*subject);
        if !checker.admit(&Shape::Object(&ACCOUNT), &mut node) {
            node = Node::empty_map(entry.value.span);
        }
        if let Some(keys) = keys {
            self.fit(&subject, keys, (&node, &entry.value), entry.key_span);
        }
        for setting in node.entries().iter().filter(|setting| &*setting.key != "metadata") {
            self.check_references(&setting.value);
            let is_credential = CREDENTIALS.contains(&&*setting.key);
            if is_credential && setting.value.text().is_some_and(|text| !text.contains("${")) {
                let message = format!("`{}` of {subject} stands in the file", setting.key);
                self.warn_of_credential(&setting.value, message);
            }
        }
        let enabled = node.get("enabled").and_then(Node::bool).unwrap_or(true);
        let uncertain = match node.get("uncertain").and_then(Node::text) {
            Some("hold") => Uncertain::Hold,
            _ => Uncertain::Resend,
        };
        let working = node.get("working").and_then(Node::text).and_then(Working::parse);
        let settings = node.entries().iter();
        let values = settings
            .filter(|setting| !EVERY_ACCOUNT.contains(&&*setting.key))
            .filter_map(|setting| Some((setting.key.clone(), value(&setting.value)?)));
        let called = format!("account {platform}:{name}");
        let narrowing = way_in::read((&mut *self.report, &self.owner), (&*subject, called), &node);
        Account {
            platform,
            name,
            enabled,
            uncertain,
            working,
            values: values.collect(),
            metadata: metadata(node.get("metadata")),
            narrowing,
            problem: self.problem(first),
        }
    }

    /// Whether the platform takes these keys, and has all it needs. `written` has also what is of a
    /// wrong shape: that was told, and is not missing.
    fn fit(
        &mut self,
        subject: &str,
        keys: &AccountKeys,
        (node, written): (&Node, &Node),
        place: Span,
    ) {
        let takes = |key: &str| {
            EVERY_ACCOUNT.contains(&key)
                || keys.required.contains(&key)
                || keys.optional.contains(&key)
        };
        for setting in node.entries().iter().filter(|setting| !takes(&setting.key)) {
            let message = format!("{subject} takes no `{}`", shorten(&setting.key));
            let known: Vec<&str> =
                keys.required.iter().chain(keys.optional).chain(&EVERY_ACCOUNT).copied().collect();
            let found = Diagnostic::error(&self.owner, setting.key_span, message);
            self.report.push(found.help(format!("its keys are {}", quoted(&known))));
        }
        let is_off = node.get("enabled").and_then(Node::bool) == Some(false);
        for key in keys.required.iter().filter(|key| !is_off && written.get(key).is_none()) {
            let message = format!("{subject} needs `{key}`");
            self.report.push(Diagnostic::error(&self.owner, place, message));
        }
        let called = node.get("public_url").filter(|_| keys.calls_by_https);
        if let Some(found) = called.filter(|it| it.text().is_some_and(is_open_http)) {
            let message = format!("`public_url` of {subject} has to begin with `https://`");
            let help = format!("{} calls no other address", keys.platform);
            self.report.push(Diagnostic::error(&self.owner, found.span, message).help(help));
        }
    }

    /// Two connections with one token take each other's events, or answer all of them twice.
    fn refuse_same_token(&mut self, others: &[Account], account: &mut Account, entry: &MapEntry) {
        let Some(keys) = AccountKeys::of(account.platform.as_str()) else { return };
        let Some(key) = keys.identity.first().filter(|_| account.enabled) else { return };
        let is_said = keys.identity.iter().any(|key| account.values.contains_key(*key));
        let is_same = |other: &&Account| {
            // What neither says is the same for both.
            let same = |key: &&str| bare(other.values.get(*key)) == bare(account.values.get(*key));
            other.enabled && other.platform == account.platform && keys.identity.iter().all(same)
        };
        let Some(other) = others.iter().filter(|_| is_said).find(is_same) else { return };
        let first = self.report.diagnostics.len();
        let place = entry.value.get(key).map_or(entry.key_span, |node| node.span);
        let message = format!(
            "account `{}.{}` has the {key} of `{}.{}`",
            account.platform, account.name, other.platform, other.name
        );
        let help = format!("give each account a {key} of its own, or remove one of them");
        self.report.push(Diagnostic::error(&self.owner, place, message).help(help));
        account.problem = account.problem.take().or_else(|| self.problem(first));
    }

    /// The first error found since `first`, as the reason the account is not connected.
    fn problem(&self, first: usize) -> Option<Arc<str>> {
        let found = &self.report.diagnostics[first..];
        let mut errors = found.iter().filter(|found| found.severity == Severity::Error);
        let error = errors.next()?;
        let place = self.report.sources.describe(error.span);
        let more = match errors.count() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        Some(format!("{place}: {}{more}", error.message).into())
    }

    fn warn_of_credential(&mut self, node: &Node, message: String) {
        let found = Diagnostic::warning(&self.owner, node.span, message);
        self.report.push(found.help("write `${secret:NAME}` instead").conceal());
    }

    fn check_references(&mut self, node: &Node) {
        match &node.value {
            Value::Scalar { text, .. } => match references(text) {
                Ok(found) => {
                    if found.is_empty() && looks_like_credential(text) {
                        let message = "what looks like a credential stands in the file".to_owned();
                        self.warn_of_credential(node, message);
                    }
                    for reference in found {
                        self.check_reference(node, reference);
                    }
                }
                Err(problem) => {
                    self.report.push(Diagnostic::error(&self.owner, node.span, problem));
                }
            },
            Value::List(items) => items.iter().for_each(|item| self.check_references(item)),
            Value::Map(entries) => {
                entries.iter().for_each(|entry| self.check_references(&entry.value));
            }
        }
    }

    fn check_reference(&mut self, node: &Node, reference: Reference<'_>) {
        match reference {
            Reference::Secret(name) => {
                let message = format!("secret `{name}` of the daemon is not set");
                let help = format!("set it with `insula secret set --daemon {name}`");
                let found = Diagnostic::warning(&self.owner, node.span, message);
                self.report.push(found.help(help).unless_set(name));
            }
            Reference::Env(name) if !self.env.contains_key(name) => {
                let message = format!("`{name}` is not in the environment");
                let found = Diagnostic::warning(&self.owner, node.span, message);
                self.report.push(found.help("set it before the daemon starts; it is read once"));
            }
            Reference::Env(_) => {}
        }
    }
}

/// A setting as it is compared: an address is the same with a slash at its end.
fn bare(value: Option<&AccountValue>) -> Option<&str> {
    let AccountValue::Text(text) = value? else { return None };
    Some(text.trim_end_matches('/'))
}

/// Whether an address is one without TLS that leads elsewhere than to this machine.
fn is_open_http(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match place.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => place.split(':').next().unwrap_or_default(),
    };
    let is_here = host.parse().is_ok_and(|it: std::net::IpAddr| it.is_loopback());
    !is_here && host != "localhost"
}

fn value(node: &Node) -> Option<AccountValue> {
    match &node.value {
        Value::Scalar { .. } => node.text().map(|text| AccountValue::Text(text.into())),
        Value::List(items) => {
            let texts = items.iter().filter_map(Node::text).map(Into::into);
            Some(AccountValue::List(texts.collect()))
        }
        Value::Map(_) => None,
    }
}
