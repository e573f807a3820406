//! The folders of policies below the home: put in place whole, taken away, and looked at before a
//! program of one runs.
#![expect(clippy::disallowed_methods, reason = "writes and removes the folders of policies")]

use crate::{Home, RuntimeError};
use insula_config::hook::HookPolicy;
use insula_config::policies::{FOLDER, PolicyFiles, read_folder};
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Programs of policies run as another user where the daemon is root, and nothing in them is
/// secret.
const FOLDER_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;
const PROGRAM_MODE: u32 = 0o755;

impl Home {
    /// The folder that programs of a policy find theirs in, as long as it is what was applied.
    pub fn policy(&self, policy: &HookPolicy) -> Result<PathBuf, String> {
        let folder = self.root().join(FOLDER).join(&*policy.name);
        let is_same = read_folder(&folder).hash() == *policy.hash;
        let found = is_same.then(|| fs::canonicalize(&folder).ok()).flatten();
        found.ok_or_else(|| {
            format!("policy `{}` is not as it was when it was applied, so no program of it runs; `insula policies verify` shows what differs", policy.name)
        })
    }

    /// Puts a policy in place of whatever had its name. Written beside the old one first, so that
    /// no mixture of both is ever there.
    pub fn put_policy(&self, name: &str, files: &PolicyFiles) -> Result<(), RuntimeError> {
        let folder = self.root().join(FOLDER);
        let (new, old) = (folder.join(format!(".{name}.new")), folder.join(name));
        let put = || {
            clear(&new)?;
            open_folder(&folder)?;
            fs::set_permissions(&folder, Permissions::from_mode(FOLDER_MODE))?;
            for (path, bytes) in &files.files {
                write(&new.join(path), bytes)?;
            }
            clear(&old)?;
            fs::rename(&new, &old)
        };
        put().map_err(|error: io::Error| trouble(&old, "can't be written", &error))
    }

    /// Takes a policy away.
    pub fn remove_policy(&self, name: &str) -> Result<(), RuntimeError> {
        let path = self.root().join(FOLDER).join(name);
        clear(&path).map_err(|error| trouble(&path, "can't be removed", &error))
    }
}

fn trouble(path: &Path, what: &str, error: &io::Error) -> RuntimeError {
    RuntimeError::File { path: path.into(), what: format!("{what}: {error}") }
}

fn clear(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn open_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        open_folder(folder)?;
    }
    let mode = if bytes.starts_with(b"#!") { PROGRAM_MODE } else { FILE_MODE };
    let mut file = OpenOptions::new().create_new(true).write(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    // Whatever the mask of whoever installs it takes away.
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}
