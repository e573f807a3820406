//! The home folder: where things are in it, and the few ways its files change.
//!
//! Whatever is written here is written whole or not at all: into a temporary file beside
//! the target, flushed, then renamed over it.
#![expect(
    clippy::disallowed_methods,
    reason = "owns the folder: creates it, locks it, and writes and removes files in it"
)]

use crate::error::RuntimeError;
use insula_domain::AgentId;
use insula_sandbox::Hidden;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The layout this version writes. A home with a higher one is left alone.
pub const FORMAT: u32 = 1;

/// Where the key of the audit chains is, in a home.
pub const AUDIT_KEY: &str = "vault/audit.key";

/// Where things are. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: Arc<Path>,
}

/// Proof that this process, and no other, works in the home. Released when dropped.
#[derive(Debug)]
pub struct HomeLock {
    _file: File,
}

impl Home {
    /// The home at `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into().into() }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the folder really is, or will be, whatever links lead to it.
    pub fn real_root(&self) -> PathBuf {
        real(&self.root)
    }

    /// What programs are never shown, whatever they are granted: of the home what nobody granted,
    /// of its tokens, sockets and keys nothing.
    pub fn hidden(&self) -> Hidden {
        let whole = ["run", "vault"].map(|name| real(&self.root.join(name)));
        Hidden { around: vec![self.real_root()], whole: whole.into() }
    }

    /// Why programs of every agent could read the home, if they could: the system's folders are
    /// there for all of them.
    pub fn read_by_programs(&self) -> Option<RuntimeError> {
        let Hidden { around, whole } = self.hidden();
        around.into_iter().chain(whole).find_map(|path| {
            let system = insula_sandbox::seen_by_all(&path)?;
            let what = format!(
                "is seen in {system}, where programs of every agent read, and with it the admin token and the keys of the vault; move the home to a folder of its own, such as ~/.insula or /var/lib/insula, and name it by `--home` or INSULA_HOME"
            );
            Some(RuntimeError::File { path, what })
        })
    }

    /// Where the programs of hooks really are, the daemon's or an agent's, if there are any.
    pub fn hooks(&self, agent: Option<&AgentId>) -> Option<PathBuf> {
        let folder =
            agent.map_or_else(|| self.root.to_path_buf(), |id| self.agent(id)).join("hooks");
        fs::canonicalize(folder).ok().filter(|folder| folder.is_dir())
    }

    /// Whether the folder exists.
    pub fn exists(&self) -> bool {
        self.root.is_dir()
    }

    /// Whether nobody configured anything in it, and no daemon ever ran in it.
    pub fn is_new(&self) -> bool {
        let empty = |path: PathBuf| fs::read_dir(path).is_ok_and(|mut dir| dir.next().is_none());
        let absent = |path: PathBuf| path.symlink_metadata().is_err();
        absent(self.config())
            && absent(self.root.join("insula.db"))
            && (absent(self.agents()) || empty(self.agents()))
    }

    /// `config.yaml`.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.yaml")
    }

    /// `agents/`.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// `agents/<id>/`.
    pub fn agent(&self, id: &AgentId) -> PathBuf {
        self.agents().join(id.as_str())
    }

    /// The key of the audit chains.
    pub fn audit_key(&self) -> PathBuf {
        self.root.join(AUDIT_KEY)
    }

    /// Where the daemon says what it is and where it listens.
    pub fn daemon_file(&self) -> PathBuf {
        self.root.join("run").join("daemon.json")
    }

    /// The folder of what belongs to a daemon that runs.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// The token of the local command line.
    pub fn admin_token_file(&self) -> PathBuf {
        self.root.join("run").join("admin.token")
    }

    /// Makes the folders of a home, for their owner alone.
    pub fn prepare(&self) -> Result<(), RuntimeError> {
        if let Some(refused) = self.read_by_programs() {
            return Err(refused);
        }
        for folder in
            [self.root.to_path_buf(), self.agents(), self.root.join("run"), self.root.join("vault")]
        {
            private_folder(&folder)
                .map_err(|error| file_error(&folder, "can't be created", &error))?;
        }
        Ok(())
    }

    /// Checks the format of the home; a new one gets its mark.
    fn check_format(&self) -> Result<(), RuntimeError> {
        match self.require_known_format()? {
            Some(_) => Ok(()),
            None => {
                let path = self.root.join("format");
                self.write(&path, format!("{FORMAT}\n").as_bytes(), FileMode::Private)
            }
        }
    }

    /// The format of the home; `None` where it has no mark. One that is not known here is refused.
    pub fn require_known_format(&self) -> Result<Option<u32>, RuntimeError> {
        let path = self.root.join("format");
        match fs::read_to_string(&path) {
            Ok(text) => match text.trim().parse::<u32>() {
                Ok(found) if found <= FORMAT => Ok(Some(found)),
                Ok(found) => Err(RuntimeError::File {
                    path,
                    what: format!(
                        "says this home has format {found}, and this version knows formats up to {FORMAT}; run the newer version"
                    ),
                }),
                Err(_) => Err(RuntimeError::File {
                    path,
                    what: format!("does not hold a number; write {FORMAT} into it"),
                }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(file_error(&path, "can't be read", &error)),
        }
    }

    /// Takes the home for this process; `None` while another process has it.
    pub fn try_lock(&self) -> Result<Option<HomeLock>, RuntimeError> {
        let path = self.root.join("run").join("lock");
        let file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(|error| file_error(&path, "can't be opened", &error))?;
        match file.try_lock() {
            Ok(()) => {
                self.check_format()?;
                Ok(Some(HomeLock { _file: file }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(file_error(&path, "can't be locked", &error)),
        }
    }

    /// Leaves a mark that this home's `config.yaml` said something, so that a file which says
    /// nothing is later taken for what it is: an edit that was interrupted.
    pub fn mark_configured(&self, has_content: bool) -> Result<(), RuntimeError> {
        let mark = self.root.join(insula_config::files::CONFIGURED);
        if !has_content || mark.exists() {
            return Ok(());
        }
        self.write(&mark, b"", FileMode::Private)
    }

    /// A new key beside old chains would make every record in them look forged.
    pub fn refuse_lost_audit_key(&self) -> Result<(), RuntimeError> {
        let path = self.audit_key();
        if path.exists() || !self.root.join("insula.db").exists() {
            return Ok(());
        }
        Err(RuntimeError::File {
            path,
            what: "is gone, and without it no audit record of this home can be verified; restore it from a backup, or move insula.db away to begin anew".to_owned(),
        })
    }

    /// Writes a file whole or not at all.
    pub fn write(&self, path: &Path, bytes: &[u8], mode: FileMode) -> Result<(), RuntimeError> {
        write_whole(path, bytes, mode).map_err(|error| file_error(path, "can't be written", &error))
    }

    /// Writes a file that must not exist yet, with the folders above it.
    pub fn write_new(&self, path: &Path, bytes: &[u8]) -> Result<(), RuntimeError> {
        if let Some(folder) = path.parent() {
            private_folder(folder)
                .map_err(|error| file_error(folder, "can't be created", &error))?;
        }
        if path.symlink_metadata().is_ok() {
            return Err(RuntimeError::File {
                path: path.into(),
                what: "exists already".to_owned(),
            });
        }
        self.write(path, bytes, FileMode::Private)
    }

    /// Writes a file whole or not at all where its links lead: a link that an operator made stays
    /// one.
    pub fn write_through(&self, path: &Path, bytes: &[u8]) -> Result<(), RuntimeError> {
        self.write(&real(path), bytes, FileMode::Private)
    }

    /// Reads a small file; `None` when it does not exist.
    pub fn read(&self, path: &Path) -> Result<Option<String>, RuntimeError> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(file_error(path, "can't be read", &error)),
        }
    }

    /// Removes a file, which may be gone already.
    pub fn remove(&self, path: &Path) -> Result<(), RuntimeError> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(file_error(path, "can't be removed", &error))
            }
            _ => Ok(()),
        }
    }

    /// Whether a plain file stands at a path, in the home or elsewhere. It is not opened.
    pub fn is_file(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|about| about.is_file())
    }

    /// The folders and keys of the home that others than their owner can reach.
    pub fn open_to_others(&self) -> Vec<PathBuf> {
        let private = [self.root.to_path_buf(), self.audit_key(), self.admin_token_file()];
        let open = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
        };
        private.into_iter().filter(open).collect()
    }
}

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// Its owner.
    Private,
}

/// A path without the links in it, as far as it is there.
fn real(path: &Path) -> PathBuf {
    match (fs::canonicalize(path), path.parent(), path.file_name()) {
        (Ok(real), _, _) => real,
        (Err(_), Some(parent), Some(name)) if !parent.as_os_str().is_empty() => {
            real(parent).join(name)
        }
        _ => path.to_owned(),
    }
}

pub(super) fn file_error(path: &Path, what: &str, error: &io::Error) -> RuntimeError {
    RuntimeError::File { path: path.into(), what: format!("{what}: {error}") }
}

pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(super) fn write_whole(path: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
    let FileMode::Private = mode;
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let aside = folder.join(format!(".{name}.new"));
    let mut file =
        OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&aside)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    written.and_then(|()| fs::rename(&aside, path)).inspect_err(|_| {
        // The target is untouched; a leftover would only puzzle somebody.
        let _ = fs::remove_file(&aside);
    })?;
    sync_folder(folder)
}

pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Flushes to measure: enough for a median, few enough to take a moment only.
const FLUSHES: usize = 15;

impl Home {
    /// How long the disk takes to make a page durable: the median of a few.
    pub fn measure_flush(
        &self,
        clock: &dyn insula_world::Clock,
    ) -> Result<std::time::Duration, RuntimeError> {
        let path = self.root.join("run").join("flush.test");
        let measure = || -> io::Result<std::time::Duration> {
            let mut file = OpenOptions::new()
                .create(true)
                .write(true)
                .truncate(true)
                .mode(0o600)
                .open(&path)?;
            let mut times = Vec::with_capacity(FLUSHES);
            for _ in 0..FLUSHES {
                file.write_all(&[0; 4096])?;
                let start = clock.elapsed();
                file.sync_data()?;
                times.push(clock.elapsed() - start);
            }
            fs::remove_file(&path)?;
            times.sort();
            Ok(times[FLUSHES / 2])
        };
        measure().map_err(|error| file_error(&path, "can't be written", &error))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "a test makes the folders it looks at")]
    use super::*;

    #[test]
    fn a_home_where_all_programs_read_is_refused_and_nothing_is_made_there() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/usr/share", &link).unwrap();
        for path in [
            Path::new("/usr/share/insula"),
            Path::new("/usr/local/etc/insula"),
            Path::new("/usr"),
            Path::new("/bin/insula"),
            Path::new("/"),
            link.join("insula").as_path(),
            link.as_path(),
        ] {
            let refused = Home::new(path).read_by_programs().map(|why| why.to_string());
            let why = refused.unwrap_or_default();
            assert!(why.contains("--home"), "{}: {why}", path.display());
        }
        let home = Home::new(link.join("insula-of-a-test"));
        assert!(home.prepare().is_err() && !home.exists());
    }

    #[test]
    fn keys_that_lie_where_all_programs_read_are_refused_too() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path());
        home.prepare().unwrap();
        fs::remove_dir(folder.path().join("vault")).unwrap();
        std::os::unix::fs::symlink("/usr/share", folder.path().join("vault")).unwrap();
        assert!(home.read_by_programs().is_some());
    }

    #[test]
    fn what_is_not_there_yet_is_real_as_far_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
        let home = Home::new(real.join("link/deep/home"));
        assert_eq!(home.real_root(), real.join("deep/home"));
        assert!(home.read_by_programs().is_none());
    }
}
