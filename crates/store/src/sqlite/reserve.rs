//! A piece of disk that is kept for the operator.
//!
//! A program can fill a disk faster than anybody looks. Whoever then wants to pause, delete or
//! revoke, or to start the daemon again, needs a few pages for it to be written down. They are in
//! a file of their own, which gives way to exactly that, and comes back when there is room.

use crate::error::{Result, StoreError};
use crate::files;
use std::path::{Path, PathBuf};

/// Enough for the log of a database and what it takes to shorten it.
const BYTES: usize = 4 << 20;

/// The file.
pub(crate) struct Reserve(PathBuf);

impl Reserve {
    /// That of a home.
    pub(crate) fn of(home: &Path) -> Self {
        Self(home.join("run").join("reserve"))
    }

    /// Keeps the space, where it is not kept yet and there is some.
    pub(crate) fn keep(&self) {
        if let Some(folder) = self.0.parent()
            && files::create_folder(folder).is_ok()
        {
            // A disk without so much room has none to keep.
            drop(files::occupy(&self.0, BYTES));
        }
    }

    /// Does something; once more with the space that was kept, where there was too little.
    pub(crate) fn with<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        match work() {
            Err(StoreError::Full { file }) if files::remove(&self.0) => {
                tracing::warn!(file = %file.display(), "the disk is full: what was kept for the operator is used up");
                work()
            }
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_given_once() {
        let home = tempfile::tempdir().unwrap();
        let reserve = Reserve::of(home.path());
        let full = || StoreError::Full { file: "x".into() };
        let mut tries = 0;
        let mut work = |works_at: usize| {
            tries += 1;
            if tries < works_at { Err(full()) } else { Ok(tries) }
        };
        assert!(reserve.with(|| work(2)).is_err());
        reserve.keep();
        assert!(files::exists(&reserve.0).unwrap());
        assert_eq!(reserve.with(|| work(3)).unwrap(), 3);
        assert!(!files::exists(&reserve.0).unwrap());
        // What is not about space does not cost any.
        reserve.keep();
        assert!(reserve.with(|| Err::<(), _>(StoreError::Closed)).is_err());
        assert!(files::exists(&reserve.0).unwrap());
    }
}
