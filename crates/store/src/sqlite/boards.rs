//! Boards, `boards/<name>.db`: opened on first use, one piece of work at a time each.

mod read;
mod write;

use super::open::{self, Absent};
use super::schema;
use super::sql::{CommandFault, Db, raise};
use crate::backend::BoardBackend;
use crate::board::{
    BoardCommand, CardEvent, CardFilter, CardGlance, CardNotice, CardRow, CardWhole,
};
use crate::error::{Result, StoreError};
use crate::lease::Lease;
use crate::options::Durability;
use async_trait::async_trait;
use insula_domain::{BoardName, CardId, CardStatus};
use insula_world::World;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The folder of boards in a home.
pub(crate) const FOLDER: &str = "boards";

/// The boards of one home. There are as many as an operator wrote down.
pub(crate) struct BoardFiles {
    world: World,
    home: PathBuf,
    durability: Durability,
    files: Mutex<BTreeMap<BoardName, Arc<BoardFile>>>,
}

struct BoardFile {
    path: PathBuf,
    state: Arc<tokio::sync::Mutex<State>>,
}

enum State {
    Closed,
    Open(Db),
    /// The store is shut down.
    Over,
}

impl BoardFiles {
    pub(crate) fn new(home: PathBuf, durability: Durability, world: World) -> Self {
        Self { world, home, durability, files: Mutex::default() }
    }

    fn all(&self) -> Vec<Arc<BoardFile>> {
        // Valid after every single statement.
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.values().cloned().collect()
    }

    fn file(&self, name: &BoardName) -> Arc<BoardFile> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let path = self.home.join(FOLDER).join(format!("{name}.db"));
            let state = Arc::new(tokio::sync::Mutex::new(State::Closed));
            Arc::new(BoardFile { path, state })
        };
        files.entry(name.clone()).or_insert_with(new).clone()
    }

    pub(crate) fn board(self: &Arc<Self>, name: &BoardName) -> SqliteBoard {
        SqliteBoard { files: self.clone(), file: self.file(name) }
    }

    /// Writes everything back and closes it.
    pub(crate) async fn shutdown(&self) {
        for file in self.all() {
            let mut state = file.state.clone().lock_owned().await;
            let close = move || match std::mem::replace(&mut *state, State::Over) {
                State::Open(db) => db.truncate_log(),
                State::Closed | State::Over => Ok(()),
            };
            let closed = self.world.storage.run(close).await.map_err(StoreError::from).flatten();
            if let Err(error) = closed {
                tracing::warn!(%error, "a board could not be written back on closing");
            }
        }
    }
}

/// One board.
pub(crate) struct SqliteBoard {
    files: Arc<BoardFiles>,
    file: Arc<BoardFile>,
}

impl SqliteBoard {
    /// Runs work on the open file, after the work before it and to its end. `None` if there is no
    /// file and none is to be made.
    async fn run<T: Send + 'static>(
        &self,
        absent: Absent,
        work: impl FnOnce(&mut Db) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        let mut state = self.file.state.clone().lock_owned().await;
        let (path, durability) = (self.file.path.clone(), self.files.durability);
        let job = move || -> Result<Option<T>> {
            if matches!(*state, State::Closed) {
                match open::open(&path, &schema::BOARD, durability, absent)? {
                    Some(db) => *state = State::Open(db),
                    None => return Ok(None),
                }
            }
            let State::Open(db) = &mut *state else { return Err(StoreError::Closed) };
            let done = work(db);
            if let Err(StoreError::Damaged { .. } | StoreError::Io { .. }) = &done {
                // The next use opens it anew.
                *state = State::Closed;
            }
            done.map(Some)
        };
        self.files.world.storage.run(job).await?
    }

    async fn read<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let read = self.run(Absent::Leave, |db| db.read(work)).await?;
        Ok(read.unwrap_or_default())
    }
}

#[async_trait]
impl BoardBackend for SqliteBoard {
    async fn commit(&self, batch: Vec<BoardCommand>, lease: &Lease) -> Result<Vec<CardId>> {
        let lease = lease.clone();
        let commit = move |db: &mut Db| {
            db.apply(|sql, file| {
                raise(sql, file, &lease)?;
                write::batch(sql, &batch).map_err(|fault: CommandFault| fault.explain(file))
            })
        };
        self.run(Absent::Create, commit).await?.ok_or(StoreError::Closed)
    }

    async fn cards(&self, filter: CardFilter, limit: u32) -> Result<Vec<CardRow>> {
        self.read(move |sql| read::cards(sql, &filter, limit)).await
    }

    async fn counts(&self) -> Result<Vec<(CardStatus, u64)>> {
        self.read(read::counts).await
    }

    async fn last_event(&self) -> Result<i64> {
        self.read(read::last_event).await
    }

    async fn glances(&self, cards: Vec<CardId>) -> Result<Vec<CardGlance>> {
        self.read(move |sql| read::glances(sql, &cards)).await
    }

    async fn card(&self, card: CardId) -> Result<Option<CardWhole>> {
        self.read(move |sql| read::whole(sql, card)).await
    }

    async fn waiting(&self) -> Result<Vec<CardRow>> {
        self.read(read::waiting).await
    }

    async fn claimed(&self) -> Result<Vec<CardRow>> {
        self.read(read::claimed).await
    }

    async fn requested(&self, request: &str) -> Result<Option<CardId>> {
        let request = request.to_owned();
        self.read(move |sql| read::requested(sql, &request)).await
    }

    async fn events(&self, after: i64, card: Option<CardId>, limit: u32) -> Result<Vec<CardEvent>> {
        self.read(move |sql| read::events(sql, after, card, limit)).await
    }

    async fn notices(&self) -> Result<Vec<CardNotice>> {
        self.read(read::notices).await
    }

    async fn file(&self, card: CardId, hash: &str) -> Result<Option<Vec<u8>>> {
        let hash = hash.to_owned();
        self.read(move |sql| read::file(sql, card, &hash)).await
    }
}
