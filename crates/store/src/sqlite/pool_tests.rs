//! Who waits for what in the pool, where the order decides.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

use super::SqliteBackend;
use super::open::Absent;
use crate::conformance::agent;
use crate::key::AuditKey;
use crate::options::StoreOptions;
use insula_world::World;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Polls once.
fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn a_file_given_to_somebody_who_has_left_makes_room_for_who_waits() {
    let home = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        open_max: 1,
        ..StoreOptions::new(home.path().to_owned(), AuditKey::from_bytes([9; 32]))
    };
    let backend = SqliteBackend::open(options, World::real().unwrap()).await.unwrap();
    let pool = &backend.pool;
    let (a, b) = (pool.slot(&agent("a")), pool.slot(&agent("b")));
    let held = pool.hold(&a).await.unwrap();
    let held = pool.open(&a, held, Absent::Create).await.unwrap().unwrap();
    // One waits for the file of `a`; another for any file to be closed, so that `b` may be opened.
    let mut next = Box::pin(pool.hold(&a));
    assert!(poll(next.as_mut()).is_pending());
    let opening = tokio::spawn({
        let (pool, b) = (pool.clone(), b.clone());
        async move {
            let held = pool.hold(&b).await.unwrap();
            pool.open(&b, held, Absent::Create).await.unwrap().is_some()
        }
    });
    let mut opening = pin!(opening);
    // Until it waits: it does nothing else that takes longer than the disk does.
    while !pool.is_waited_for() {
        tokio::task::yield_now().await;
    }
    assert!(poll(opening.as_mut()).is_pending());
    // The file goes to who is next, who leaves before it hears of it.
    drop(held);
    tokio::task::yield_now().await;
    drop(next);
    assert!(opening.await.unwrap());
}
