//! Who signed in with a browser: each is the local admin or the bearer of one token, and nothing
//! more. What they may do is asked of whom they are, every time.
//!
//! A sign-in has two halves. One is in a cookie that no page can read, the other is kept by the
//! page: browsers hand cookies to every port of a host, and what another program there gets is
//! worth nothing alone. Both are kept here as hashes.

use crate::signal::Signal;
use arc_swap::ArcSwap;
use insula_store::{Feed, FeedChange, Subscription};
use insula_world::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name under which the store keeps all of them.
pub(crate) const KEPT: &str = "sign_ins";

/// How long one lasts, in milliseconds: a week.
pub const LASTS_MS: i64 = 7 * 24 * 3_600 * 1_000;

/// How many one holder may have at once. With one more the oldest ends.
pub(crate) const HELD_MAX: usize = 20;

/// Whom a sign-in stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// The local admin, by a link that the command line made.
    Local,
    /// The bearer of the token of this id.
    Token(Box<str>),
}

/// One sign-in, without the parts that are secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignIn {
    pub holder: Holder,
    /// When it began, in milliseconds.
    pub(crate) begun: i64,
    /// The hash of what is in the cookie.
    cookie: String,
    /// The hash of what the page keeps.
    page: String,
}

impl SignIn {
    pub(crate) fn new(holder: Holder, begun: Timestamp, cookie: &str, page: &str) -> Self {
        Self { holder, begun: begun.as_millis(), cookie: hash(cookie), page: hash(page) }
    }

    /// Whether it is over by its age.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        now.as_millis().saturating_sub(self.begun) >= LASTS_MS
    }

    fn is_shown(&self, cookie: &str, page: &str) -> bool {
        // Hashes of 256-bit secrets: blake3's own comparison takes the same time always.
        let is = |kept: &str, shown: &str| {
            blake3::Hash::from_hex(kept).is_ok_and(|it| it == blake3::hash(shown.as_bytes()))
        };
        is(&self.cookie, cookie) & is(&self.page, page)
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// The sign-ins there are. Looking one up never waits.
#[derive(Default)]
pub struct SignIns {
    known: ArcSwap<BTreeMap<Box<str>, SignIn>>,
    /// Told of every change, for whoever holds a stream open by one.
    changed: Signal,
}

impl SignIns {
    pub(crate) fn load(text: Option<&str>) -> Self {
        Self { known: ArcSwap::from_pointee(read(text)), ..Self::default() }
    }

    /// Hears of those that begin and end.
    pub(crate) fn follow(self: &Arc<Self>, feed: &Feed) -> Subscription {
        let all = self.clone();
        feed.subscribe(move |change| match change {
            FeedChange::Value { key, value } if &**key == KEPT => {
                all.known.store(Arc::new(read(value.as_deref())));
                all.changed.send();
            }
            _ => {}
        })
    }

    /// Whose sign-in these two halves are, and its id; `None` when it is nobody's, or over.
    pub fn find(&self, cookie: &str, page: &str, now: Timestamp) -> Option<(Box<str>, Holder)> {
        let (id, secret) = cookie.split_once('.')?;
        let known = self.known.load();
        let (id, found) = known.get_key_value(id)?;
        (found.is_shown(secret, page) && !found.is_over(now))
            .then(|| (id.clone(), found.holder.clone()))
    }

    /// Waits until the sign-in of this id is over, because somebody signed out.
    pub async fn ended(&self, id: &str) {
        let mut changes = self.changed.listen();
        while self.known.load().contains_key(id) {
            changes.changed().await;
        }
    }

    pub(crate) fn all(&self) -> BTreeMap<Box<str>, SignIn> {
        (**self.known.load()).clone()
    }
}

/// The sign-ins as they are kept; what can't be read opens nothing.
fn read(text: Option<&str>) -> BTreeMap<Box<str>, SignIn> {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The sign-ins as the store keeps them.
pub(crate) fn kept(known: &BTreeMap<Box<str>, SignIn>) -> String {
    serde_json::to_string(known).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn rule_04_a_sign_in_needs_both_halves_and_its_time() {
        let begun = Timestamp::from_millis(1_000);
        let one = SignIn::new(Holder::Token("t".into()), begun, "cookie", "page");
        let all = SignIns::load(Some(&kept(&BTreeMap::from([("a".into(), one.clone())]))));
        assert_eq!(all.all().get("a"), Some(&one));
        let found = |cookie, page, at| all.find(cookie, page, Timestamp::from_millis(at));
        let last = 1_000 + LASTS_MS - 1;
        assert_eq!(found("a.cookie", "page", last), Some(("a".into(), one.holder.clone())));
        for (cookie, page, at) in [
            ("a.cookie", "page", last + 1),
            ("a.cookie", "", last),
            ("a.cookie", "cookie", last),
            ("a.page", "page", last),
            ("a", "page", last),
            ("b.cookie", "page", last),
            ("", "", last),
        ] {
            assert_eq!(found(cookie, page, at), None, "{cookie} {page} {at}");
        }
    }

    #[test]
    fn what_is_kept_and_is_no_sign_in_opens_nothing() {
        for text in ["", "[]", "{\"a\":{}}", "{\"a\":{\"holder\":\"local\",\"begun\":0}}"] {
            assert!(SignIns::load(Some(text)).all().is_empty(), "{text}");
        }
    }
}
