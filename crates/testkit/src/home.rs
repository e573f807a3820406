//! A home for one test: a folder that is gone when the test is.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this file owns the files of a test's home, in a folder of its own"
)]

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A temporary home. Removed on drop.
pub struct Home {
    folder: TempDir,
    is_mounted: bool,
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.is_mounted {
            // What still has files open there keeps it until it ends.
            let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
        }
    }
}

impl Home {
    /// An empty home.
    pub fn empty() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("insula-").tempdir()?;
        Ok(Self { folder, is_mounted: false })
    }

    /// A home with these files: their path inside the home, and their content. Folders are
    /// made as needed.
    pub fn with<P: AsRef<str>, C: AsRef<[u8]>>(
        files: impl IntoIterator<Item = (P, C)>,
    ) -> io::Result<Self> {
        let home = Self::empty()?;
        for (path, content) in files {
            home.write(path.as_ref(), content)?;
        }
        Ok(home)
    }

    /// A home on a disk of its own, in memory, of so many megabytes. Where that can't be had,
    /// because the test does not run as root, it is where all homes are.
    pub fn on_own_disk(megabytes: u32, config: &str) -> io::Result<Self> {
        let mut home = Self::empty()?;
        let size = format!("size={megabytes}m,mode=755");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(home.path()).stderr(Stdio::null());
        let mounted = mount.status();
        home.is_mounted = mounted.is_ok_and(|status| status.success());
        home.write("config.yaml", config)?;
        Ok(home)
    }

    /// Whether it is on a disk of its own: only root can have one.
    pub fn has_own_disk(&self) -> bool {
        self.is_mounted
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file in place, as a simple editor would, making its folders.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
        let path = self.inside(path)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, content)
    }

    /// Writes beside the file and renames, as a careful editor would: readers see the old
    /// text or the new, never half of it.
    pub fn replace(&self, path: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
        let beside = format!("{path}.new");
        self.write(&beside, content)?;
        fs::rename(self.inside(&beside)?, self.inside(path)?)
    }

    /// Reads a file.
    pub fn read(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(self.inside(path)?)
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.inside(path)?)
    }

    /// Whether there is a file or folder of this path.
    pub fn has(&self, path: &str) -> bool {
        self.inside(path).is_ok_and(|path| path.exists())
    }

    fn inside(&self, path: &str) -> io::Result<PathBuf> {
        let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if path.is_empty() || !plain {
            let reason = format!("`{path}` is not a path inside the home");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        Ok(self.folder.path().join(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_home_holds_the_files_it_is_given_and_goes_with_the_test() {
        let files = BTreeMap::from([("config.yaml", "agents: {}"), ("agents/a/SOUL.md", "calm")]);
        let home = Home::with(files).unwrap();
        assert_eq!(home.read("agents/a/SOUL.md").unwrap(), "calm");
        home.replace("config.yaml", "version: 1").unwrap();
        assert_eq!(home.read("config.yaml").unwrap(), "version: 1");
        assert!(!home.has("config.yaml.new"));
        let folder = home.path().to_owned();
        drop(home);
        assert!(!folder.exists());
    }

    #[test]
    fn a_path_out_of_the_home_is_refused() {
        let home = Home::empty().unwrap();
        for path in ["../x", "/etc/x", "a/../../x", ""] {
            assert!(home.write(path, "").is_err(), "{path}");
        }
    }
}
