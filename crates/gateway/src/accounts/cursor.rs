//! Where listening went on the last time, kept in the daemon's store: never what was said.

use crate::intake::not_taken;
use insula_channel::{Cursor, NotTaken};
use insula_store::AccountLease;
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

/// Longest note of an adapter's. Matrix's are the longest known, with some hundreds.
const CURSOR_BYTES_MAX: usize = 16 * 1024;

/// The note of one account, as whoever we are on its platform.
pub(super) struct Notes {
    account: AccountLease,
    /// Who we are there. Another bot under the same name must not go on where this one was:
    /// it would skip what it never heard.
    who: Mutex<Box<str>>,
    /// What is stored, so that the same is not written again.
    stored: Mutex<Option<Cursor>>,
}

impl Notes {
    pub(super) fn new(account: AccountLease) -> Self {
        Self { account, who: Mutex::default(), stored: Mutex::default() }
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
        let kept = self.account.cursor().await.map_err(not_taken)?;
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
        let written = match stored {
            None => self.account.keep_cursor(value).await,
            Some(_) => self.account.note_cursor(value).await,
        };
        written.map_err(not_taken)?;
        *self.stored.lock().unwrap_or_else(PoisonError::into_inner) = Some(cursor);
        Ok(())
    }
}
