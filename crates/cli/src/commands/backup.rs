//! `insula backup`: the whole home in one sealed file, while a daemon works in it.
//!
//! The order makes the parts fit each other. Memory files first: each mirrors a database, and a
//! mirror that is older than its database is brought up to date, while a newer one would be taken
//! for an edit. Then all databases as of one moment. Then everything else: a file that a message
//! names was there before the message was.

use crate::arguments::Backup;
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::passphrase;
use crate::process::{self, absolute};
use crate::progress::{Progress, bytes};
use crate::setting::Setting;
use insula_archive::{
    ArchiveWriter, Found, Manifest, OnlyOne, Passphrase, Totals, empty_folder, walk,
};
use insula_registry::Home;
use insula_registry::home::{AUDIT_KEY, FORMAT};
use insula_store::{DamagedCopy, HomeSnapshot};
use insula_world::World;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};

/// What a backup is called in its own words.
pub const KIND: &str = "backup";

/// The anchor of the daemon's audit chain, and its database.
pub const ANCHOR: &str = "audit.anchor";
pub const DAEMON_DB: &str = "insula.db";

/// What is packed before other databases, in this order: whoever examines a backup needs these first.
const FIRST: [&str; 2] = [ANCHOR, DAEMON_DB];

/// Makes one.
pub async fn run(setting: &Setting, wish: &Backup) -> Result<u8, Failure> {
    let home = setting.home.clone();
    if home.is_new() {
        let path = home.root().display();
        return Err(Failure::Failed(format!("there is no home at {path}, so nothing to back up")));
    }
    home.require_known_format()?;
    let target = absolute(&wish.file)?;
    let folder = target.parent().map(process::real).unwrap_or_default();
    if folder.starts_with(home.real_root()) {
        return Err(Failure::WrongUse(
            "the backup would lie in the home that it is of; give a place outside it".to_owned(),
        ));
    }
    home.prepare()?;
    let lock = OnlyOne::take(&home.run().join("backup.lock"))?;
    let lock =
        lock.ok_or_else(|| Failure::Failed("another backup of this home runs".to_owned()))?;
    let passphrase = passphrase::to_seal(&wish.passphrase, &wish.file.display().to_string())?;
    process::raise_descriptor_limit();
    let job = Job {
        scratch: Scratch(home.run().join("backup")),
        home,
        target: target.clone(),
        passphrase,
        world: setting.world.clone(),
        progress: Progress::new(setting),
        stopped: Arc::new(AtomicBool::new(false)),
    };
    let stopped = job.stopped.clone();
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let work = setting.world.storage.run(move || job.run());
    tokio::pin!(work);
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            _ = interrupt.recv() => stopped.store(true, Ordering::Relaxed),
            _ = terminate.recv() => stopped.store(true, Ordering::Relaxed),
        }
    };
    drop(lock);
    let done = done.map_err(|error| Failure::Failed(error.to_string()))??;
    let about = json!({
        "file": target.display().to_string(),
        "as_of": done.as_of,
        "databases": done.databases,
        "files": done.totals.files,
        "bytes": done.totals.bytes,
        "sealed_bytes": done.sealed_bytes,
        "left_out": done.left,
        "damaged": done.damaged.iter().map(|it| json!({
            "database": it.name.display().to_string(), "whose": whose(&it.name), "reason": it.why.to_string(),
        })).collect::<Vec<_>>(),
    });
    setting.answer.give(&about, |_| {
        output::facts(&[
            ("backup", format!("{} ({})", target.display(), bytes(done.sealed_bytes))),
            ("as of", done.as_of.clone()),
            (
                "holds",
                format!(
                    "{}, of which {}; {}",
                    output::count(usize::try_from(done.totals.files).unwrap_or(usize::MAX), "file"),
                    output::count(done.databases, "database"),
                    bytes(done.totals.bytes),
                ),
            ),
        ]);
        if done.left > 0 {
            let what = output::count(done.left, "socket or device");
            output::notice(&format!("{what} can't be packed and was left out"));
        }
        for it in &done.damaged {
            output::notice(&format!(
                "warning: the database of {} is damaged and is in the backup as it is: {}. A restore brings everything else",
                whose(&it.name),
                it.why
            ));
        }
        output::line(
            "Without the passphrase nobody can open it. Try it: insula restore --check FILE",
        );
    });
    // Whoever makes one by the clock looks at the code alone.
    Ok(if done.damaged.is_empty() { 0 } else { FAILED })
}

/// Whose a database is, by its name in the home.
pub fn whose(name: &Path) -> String {
    match parts(name)[..] {
        ["agents", id, _] => format!("agent `{id}`"),
        ["boards", file] => format!("board `{}`", file.trim_end_matches(".db")),
        _ => "the daemon".to_owned(),
    }
}

/// What is known of a backup once it is made.
struct Done {
    /// What was damaged before.
    damaged: Vec<DamagedCopy>,
    as_of: String,
    databases: usize,
    totals: Totals,
    sealed_bytes: u64,
    left: usize,
}

/// One backup on its way, on a thread that may block.
struct Job {
    home: Home,
    target: PathBuf,
    passphrase: Passphrase,
    world: World,
    progress: Progress,
    scratch: Scratch,
    stopped: Arc<AtomicBool>,
}

/// A folder for copies, which are gone when it is dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(empty_folder(&self.0));
    }
}

impl Job {
    fn run(mut self) -> Result<Done, Failure> {
        let root = self.home.real_root();
        empty_folder(&self.scratch.0)?;
        let made = self.world.clock.now().to_string();
        let about = json!({ "home": root.display().to_string(), "home_format": FORMAT });
        let manifest = Manifest::new(KIND, env!("CARGO_PKG_VERSION"), made, about);
        let mut archive = ArchiveWriter::create(
            &self.target,
            Some(&self.passphrase),
            &manifest,
            &self.scratch.0,
        )?;
        let mut packing = Packing { archive: &mut archive, left: 0, packed: 0 };

        let only_key = |name: &Path| !Path::new(AUDIT_KEY).starts_with(name);
        self.pack(&mut packing, (&root, Change::Possible), &only_key)?;
        let only_memories = |name: &Path| !is_on_the_way(name) && !is_memory(name);
        self.pack(&mut packing, (&root, Change::Possible), &only_memories)?;

        let copies = self.scratch.0.join("databases");
        let clock = self.world.clock.clone();
        // Before the locks: what is acknowledged once they are gone need not be in the copies.
        let as_of = self.world.clock.now().to_string();
        let snapshot = HomeSnapshot::take(&root, &|| clock.elapsed()).map_err(of_store)?;
        let (databases, total) = snapshot.size();
        let mut copied = 0;
        let damaged = snapshot
            .copy_into(&copies, |more| {
                copied += more;
                self.progress
                    .show(|| format!("copying databases: {} of {}", bytes(copied), bytes(total)));
            })
            .map_err(of_store)?;
        for first in FIRST {
            self.pack(&mut packing, (&copies, Change::Over), &|name: &Path| {
                name != Path::new(first)
            })?;
        }
        let is_first = |name: &Path| FIRST.iter().any(|first| name == Path::new(first));
        self.pack(&mut packing, (&copies, Change::Over), &is_first)?;

        let rest =
            |name: &Path| is_left_out(name) || is_memory(name) || name == Path::new(AUDIT_KEY);
        self.pack(&mut packing, (&root, Change::Possible), &rest)?;
        let left = packing.left;
        let (totals, sealed_bytes) = archive.finish()?;
        Ok(Done { damaged, as_of, databases, totals, sealed_bytes, left })
    }

    /// Packs what is in a folder but what `skips` names.
    fn pack(
        &mut self,
        packing: &mut Packing<'_>,
        (root, change): (&Path, Change),
        skips: &dyn Fn(&Path) -> bool,
    ) -> Result<(), Failure> {
        walk::<Failure>(root, skips, &mut |found| {
            if self.stopped.load(Ordering::Relaxed) {
                return Err(Failure::Failed("given up; nothing was made".to_owned()));
            }
            packing.add(found, change)?;
            self.progress.show(|| format!("packing: {}", bytes(packing.packed)));
            Ok(())
        })
    }
}

/// Whether what is packed may change meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Possible,
    /// It is a copy of ours.
    Over,
}

struct Packing<'a> {
    archive: &'a mut ArchiveWriter,
    /// How many things can't be packed.
    left: usize,
    packed: u64,
}

impl Packing<'_> {
    fn add(&mut self, found: Found<'_>, change: Change) -> Result<(), Failure> {
        match found {
            Found::Entry(entry, file) => {
                if let insula_archive::EntryKind::File(bytes) = entry.kind {
                    self.packed += bytes;
                }
                match change {
                    Change::Possible => self.archive.add_found(entry, file)?,
                    Change::Over => self.archive.add_still(entry, file)?,
                }
                Ok(())
            }
            Found::Left(_) => {
                self.left += 1;
                Ok(())
            }
        }
    }
}

fn of_store(error: insula_store::StoreError) -> Failure {
    Failure::Failed(error.to_string())
}

/// The parts of a name below the home, as far as they are text.
fn parts(name: &Path) -> Vec<&str> {
    name.iter().map(|part| part.to_str().unwrap_or("\u{fffd}")).collect()
}

/// Whether a folder has to be passed to reach a memory file.
fn is_on_the_way(name: &Path) -> bool {
    matches!(parts(name)[..], ["agents"] | ["agents", _])
}

/// Whether it is a memory file of an agent, or their folder.
fn is_memory(name: &Path) -> bool {
    matches!(parts(name)[..], ["agents", _, "memories", ..])
}

/// Whether it is no part of a backup: what belongs to a daemon that runs, what is being made or
/// removed, and what is there as a copy already.
fn is_left_out(name: &Path) -> bool {
    // With its log, and copies of it as it was before an upgrade.
    let is_database = |file: &str| {
        ["agent.db", "insula.db"].iter().any(|it| {
            file.strip_prefix(it).is_some_and(|end| {
                ["", "-wal", "-shm", "-journal"].contains(&end) || end.starts_with(".format-")
            })
        })
    };
    let is_board = |file: &str| {
        file.find(".db").is_some_and(|at| {
            let (name, end) = file.split_at(at + ".db".len());
            insula_store::board_of(name).is_some()
                && (["", "-wal", "-shm", "-journal"].contains(&end) || end.starts_with(".format-"))
        })
    };
    match parts(name)[..] {
        ["run"] | ["audit.anchor"] | ["audit.anchor.new"] | ["vault", "new"] => true,
        [file] => is_database(file),
        ["boards", file] => is_board(file),
        ["agents", agent] => agent.starts_with('.'),
        ["agents", _, file] => is_database(file),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_run_is_left_out_and_what_belongs_to_a_person_is_not() {
        let out = [
            "run",
            "insula.db",
            "insula.db-wal",
            "insula.db-shm",
            "audit.anchor",
            "vault/new",
            "agents/a/agent.db",
            "agents/a/agent.db-wal",
            "agents/a/agent.db.format-3",
            "agents/.deleted-a",
            "agents/.new-b",
            "boards/work.db",
            "boards/work.db-wal",
            "boards/work.db.format-1",
        ];
        let in_it = [
            "config.yaml",
            "format",
            "vault/key",
            "vault/agents/a/KEY",
            "agents/a/agent.yaml",
            "agents/a/workspace/agent.db",
            "agents/a/workspace/run",
            "agents/a/.hidden",
            "SOUL.md",
            "agents/a/memories/MEMORY.md",
            "other.db",
            "boards/notes.txt",
        ];
        for name in out {
            assert!(is_left_out(Path::new(name)), "{name}");
        }
        for name in in_it {
            assert!(!is_left_out(Path::new(name)), "{name}");
        }
    }
}
