//! The SQLite backend: what is its own beside the promises of every backend: files, modes, limits.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test looks at the files themselves"
)]

use crate::common::{agent, agent_db, audit, entry, open, options};
use async_trait::async_trait;
use insula_domain::{AccountId, Platform};
use insula_store::{
    AgentCommand, AuditKey, DaemonCommand, KeyExposure, LeaseHolder, Reserved, Store, StoreError,
    StoreOptions,
};
use insula_world::storage::Job;
use insula_world::{Clock, Random, StorageExecutor, Timestamp, World};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[tokio::test]
async fn files_are_for_their_owner_only() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    owner.agent(&agent("a")).commit(vec![audit("one")]).await.unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.path().join("agents/a")), 0o700);
    for name in ["agents/a/agent.db", "agents/a/agent.db-wal", "insula.db", "audit.anchor"] {
        assert_eq!(mode(home.path().join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn reading_creates_nothing_unless_something_waits() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(a.audit_tail(9).await.unwrap(), []);
    assert!(a.audit_verify().await.unwrap().ok);
    assert!(!home.path().join("agents").exists());
    assert_eq!(store.open_count(), 0);
    let created = DaemonCommand::QueueAudit(agent("a"), entry("agent.created"));
    owner.daemon().commit(vec![created]).await.unwrap();
    assert_eq!(a.audit_tail(9).await.unwrap().len(), 1);
    assert!(agent_db(home.path(), "a").exists());
}

#[tokio::test]
async fn a_retired_agent_can_not_create_its_file_again() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    a.commit(vec![audit("one")]).await.unwrap();
    store.retire(&agent("a")).await;
    fs::remove_dir_all(home.path().join("agents/a")).unwrap();
    assert!(a.commit(vec![audit("two")]).await.is_err());
    assert!(!home.path().join("agents/a").exists());
}

#[tokio::test]
async fn a_handle_tells_its_life_and_how_often_something_was_erased() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let first = owner.agent(&agent("a"));
    first.commit(vec![audit("one")]).await.unwrap();
    let mut seen = first.erasures();
    for _ in 0..2 {
        let erase = AgentCommand::EraseAuditContent(1..=1);
        first.commit(vec![erase]).await.unwrap();
        assert!(first.erasures() > seen);
        seen = first.erasures();
    }
    // A name that is used again is another agent, whichever handle is asked.
    let life = first.incarnation();
    assert_eq!(owner.agent(&agent("a")).incarnation(), life);
    assert_ne!(owner.agent(&agent("b")).incarnation(), life);
    store.retire(&agent("a")).await;
    assert_ne!(owner.agent(&agent("a")).incarnation(), life);
    assert_eq!(first.incarnation(), life);
}

#[tokio::test]
async fn the_daemon_s_records_are_read_from_a_place_on() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    for kind in ["one", "two", "three"] {
        let record = DaemonCommand::Audit(entry(kind));
        owner.daemon().commit(vec![record]).await.unwrap();
    }
    let all = store.daemon().audit_tail(9).await.unwrap();
    let after = store.daemon().audit_after(all[0].seq, 9).await.unwrap();
    assert!(all.len() >= 3);
    assert_eq!(after, all[1..]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn never_more_files_are_open_than_allowed() {
    let home = tempfile::tempdir().unwrap();
    let limited = StoreOptions { open_max: 3, ..options(home.path()) };
    let store = Store::open(limited, World::real().unwrap()).await.unwrap();
    let owner = store.claim("test").await.unwrap();
    let mut tasks = Vec::new();
    for task in 0..24 {
        let owner = owner.clone();
        tasks.push(tokio::spawn(async move {
            for round in 0..4 {
                let a = owner.agent(&agent(&format!("a{}", (task + round) % 12)));
                a.commit(vec![audit("x")]).await.unwrap();
                assert!(owner.store().open_count() <= 3);
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    for n in 0..12 {
        let report = owner.agent(&agent(&format!("a{n}"))).audit_verify().await.unwrap();
        assert_eq!((report.ok, report.records), (true, 8));
    }
}

struct HandClock(AtomicU64);

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }
    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
    async fn sleep(&self, _: Duration) {}
}

#[tokio::test]
async fn idle_files_close_and_open_again() {
    let home = tempfile::tempdir().unwrap();
    let clock = Arc::new(HandClock(AtomicU64::new(0)));
    let world = World { clock: clock.clone(), ..World::real().unwrap() };
    let store = Store::open(options(home.path()), world).await.unwrap();
    let owner = store.claim("test").await.unwrap();
    let (a, b) = (owner.agent(&agent("a")), owner.agent(&agent("b")));
    a.commit(vec![audit("one")]).await.unwrap();
    clock.0.store(900, Ordering::SeqCst);
    b.commit(vec![audit("one")]).await.unwrap();
    clock.0.store(1_000, Ordering::SeqCst);
    store.close_idle(Duration::from_secs(1)).await;
    assert_eq!(store.open_count(), 1);
    assert!(!home.path().join("agents/a/agent.db-wal").exists());
    a.commit(vec![audit("two")]).await.unwrap();
    assert_eq!(a.audit_tail(9).await.unwrap().len(), 2);
    assert_eq!(store.open_count(), 2);
}

#[tokio::test]
async fn a_cancelled_commit_is_whole_and_the_next_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    for _ in 0..50 {
        let commit = a.commit(vec![audit("one"), audit("two")]);
        tokio::select! { biased; _ = commit => {}, () = tokio::task::yield_now() => {} }
    }
    a.commit(vec![audit("last")]).await.unwrap();
    let report = a.audit_verify().await.unwrap();
    assert!(report.ok && report.records % 2 == 1, "{report:?}");
}

#[tokio::test]
async fn a_key_is_made_once_and_a_wrong_one_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let random = World::real().unwrap().random;
    let path = home.path().join("vault/audit.key");
    let (key, exposure) = AuditKey::load_or_create(&path, &random).unwrap();
    assert_eq!(exposure, KeyExposure::Private);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let again = World::real().unwrap().random;
    assert_eq!(AuditKey::load_or_create(&path, &again).unwrap(), (key, KeyExposure::Private));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let (_, exposure) = AuditKey::load_or_create(&path, &random).unwrap();
    assert_eq!(exposure, KeyExposure::Exposed { mode: 0o644 });
    for wrong in [&b""[..], b"short", &[1; 33]] {
        fs::write(&path, wrong).unwrap();
        let error = AuditKey::load_or_create(&path, &random).unwrap_err();
        assert!(matches!(error, StoreError::BadKey { .. }));
        assert!(error.to_string().contains("audit.key"));
        assert_eq!(fs::read(&path).unwrap(), wrong);
    }
}

struct Inline;

impl StorageExecutor for Inline {
    fn execute(&self, job: Job) {
        job();
    }
}

#[tokio::test]
async fn two_runs_with_one_seed_write_the_same_bytes() {
    let mut files = Vec::new();
    for _ in 0..2 {
        let home = tempfile::tempdir().unwrap();
        let world = World {
            storage: Arc::new(Inline),
            random: Random::from_seed([5; 32]),
            ..World::real().unwrap()
        };
        let limited = StoreOptions { open_max: 1, ..options(home.path()) };
        let store = Store::open(limited, world).await.unwrap();
        let owner = store.claim("test").await.unwrap();
        let created = DaemonCommand::QueueAudit(agent("a"), entry("agent.created"));
        owner.daemon().commit(vec![created]).await.unwrap();
        for name in ["a", "b", "a"] {
            owner.agent(&agent(name)).commit(vec![audit("one")]).await.unwrap();
        }
        store.shutdown().await;
        files.push(["a", "b"].map(|name| fs::read(agent_db(home.path(), name)).unwrap()));
    }
    assert_eq!(files[0], files[1]);
}

/// Runs storage work in order on one thread, and counts it.
struct Counted {
    jobs: Arc<AtomicU64>,
    line: std::sync::mpsc::Sender<Job>,
}

impl Counted {
    fn new() -> Self {
        let (line, jobs) = std::sync::mpsc::channel::<Job>();
        std::thread::spawn(move || jobs.into_iter().for_each(|job| job()));
        Self { jobs: Arc::default(), line }
    }
}

impl StorageExecutor for Counted {
    fn execute(&self, job: Job) {
        self.jobs.fetch_add(1, Ordering::SeqCst);
        self.line.send(job).unwrap();
    }
}

#[tokio::test]
async fn events_that_come_together_are_reserved_together() {
    let home = tempfile::tempdir().unwrap();
    let storage = Counted::new();
    let jobs = storage.jobs.clone();
    let world = World { storage: Arc::new(storage), ..World::real().unwrap() };
    let store = Store::open(options(home.path()), world).await.unwrap();
    let owner = store.claim("test").await.unwrap();
    let before = jobs.load(Ordering::SeqCst);
    // Two agents want each of a hundred events.
    let asked: Vec<_> = (0..200)
        .map(|number| {
            let account =
                owner.account(Platform::new("telegram").unwrap(), &AccountId::new("main").unwrap());
            let owner = agent(["a", "b"][number % 2]);
            let event = (number / 2).to_string();
            tokio::spawn(async move { account.reserve(&event, &owner).await.unwrap() })
        })
        .collect();
    let mut told = Vec::new();
    for asked in asked {
        told.push(asked.await.unwrap());
    }
    let expected = [Reserved::New, Reserved::Seen(agent("a"))];
    assert!(told.chunks(2).all(|pair| pair == expected), "{told:?}");
    let jobs = jobs.load(Ordering::SeqCst) - before;
    // One commit each would be 200; how many come together is up to the scheduler.
    assert!(jobs < 100, "{jobs} commits for 200 reservations");
    let account =
        owner.account(Platform::new("telegram").unwrap(), &AccountId::new("main").unwrap());
    account.note_cursor("here".to_owned()).await.unwrap();
    store.shutdown().await;
    let store = open(home.path()).await;
    let account = store
        .unclaimed()
        .account(Platform::new("telegram").unwrap(), &AccountId::new("main").unwrap());
    assert_eq!(account.cursor().await.unwrap().as_deref(), Some("here"));
}

#[tokio::test]
async fn what_an_account_keeps_is_its_own_and_written_whole() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("one").await.unwrap();
    let matrix = Platform::new("matrix").unwrap();
    let account =
        |owner: &LeaseHolder, name: &str| owner.account(matrix, &AccountId::new(name).unwrap());
    let put = |name: &str, value: &str| (name.into(), Some(value.to_owned()));
    let (home_account, work) = (account(&owner, "home"), account(&owner, "work"));
    home_account.keep(vec![put("a/1", "x"), put("a/2", "y"), put("b", "z")]).await.unwrap();
    work.keep(vec![put("a/1", "theirs")]).await.unwrap();
    home_account.keep(vec![("a/1".into(), None), put("a/3", "w")]).await.unwrap();
    assert_eq!(home_account.kept("a/1").await.unwrap(), None);
    assert_eq!(home_account.kept("b").await.unwrap().as_deref(), Some("z"));
    let under = [("a/2", "y"), ("a/3", "w")].map(|(key, value)| (key.into(), value.into()));
    assert_eq!(home_account.kept_under("a/").await.unwrap(), under);
    assert_eq!(work.kept_under("").await.unwrap(), [("a/1".into(), "theirs".into())]);

    // Whoever lost the claim writes nothing.
    let later = store.claim("two").await.unwrap();
    assert!(home_account.keep(vec![put("b", "late")]).await.is_err());
    let now = account(&later, "home");
    assert_eq!(now.kept("b").await.unwrap().as_deref(), Some("z"));
}
