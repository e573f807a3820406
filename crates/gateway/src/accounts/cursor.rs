//! Where listening went on the last time, kept in the daemon's store: never what was said.

use crate::adapter::{Cursor, NotTaken};
use insula_domain::{AccountId, Platform};
use insula_runtime::House;
use insula_store::DaemonCommand;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Longest note of an adapter's. Matrix's are the longest known, with some hundreds.
const CURSOR_BYTES_MAX: usize = 16 * 1024;

/// The note of one account, as whoever we are on its platform.
pub(super) struct Notes {
    house: Arc<House>,
    key: Box<str>,
    /// Who we are there. Another bot under the same name must not go on where this one was:
    /// it would skip what it never heard.
    who: Mutex<Box<str>>,
    /// What is stored, so that the same is not written again.
    stored: Mutex<Option<Cursor>>,
}

impl Notes {
    pub(super) fn new(house: Arc<House>, platform: Platform, account: &AccountId) -> Self {
        // Neither a platform's nor an account's name has a slash.
        let key = format!("account.cursor/{platform}/{account}").into();
        Self { house, key, who: Mutex::default(), stored: Mutex::default() }
    }

    /// Says who we are on the platform, before anything is read or written.
    pub(super) fn identify(&self, id: &str) {
        *self.who.lock().unwrap_or_else(PoisonError::into_inner) = id.into();
        *self.stored.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn who(&self) -> Box<str> {
        self.who.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn read(&self) -> Result<Option<Cursor>, NotTaken> {
        let kept = self.house.store.daemon().value(&self.key).await.map_err(not_taken)?;
        let kept: Value =
            kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        if kept["of"].as_str() != Some(&*self.who()) {
            return Ok(None);
        }
        let cursor = kept["cursor"].as_str().map(|text| Cursor(text.into()));
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&cursor);
        Ok(cursor)
    }

    pub(super) async fn write(&self, cursor: Cursor) -> Result<(), NotTaken> {
        if cursor.0.len() > CURSOR_BYTES_MAX {
            let why = format!("the platform's cursor is longer than {CURSOR_BYTES_MAX} bytes");
            return Err(NotTaken(why.into()));
        }
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if stored.as_ref() == Some(&cursor) {
            return Ok(());
        }
        let value = json!({ "of": self.who(), "cursor": &*cursor.0 }).to_string();
        let daemon = self.house.owner.daemon();
        let written = match stored {
            // Without a first one nobody would know where to go on.
            None => {
                let put = DaemonCommand::PutValue { key: self.key.clone(), value };
                daemon.commit(vec![put]).await.map(drop)
            }
            // An older one only brings again what is recognised: no flush is waited for.
            Some(_) => daemon.note(&self.key, value).await,
        };
        written.map_err(not_taken)?;
        *self.stored.lock().unwrap_or_else(PoisonError::into_inner) = Some(cursor);
        Ok(())
    }
}

fn not_taken(error: insula_store::StoreError) -> NotTaken {
    NotTaken(error.to_string().into())
}
