//! A socket in a folder, for programs of this machine and of the same owner.
//!
//! Whoever connects is known by what the kernel says of them, which nobody can forge. A path may
//! be longer than an address of such a socket can be: it is then reached through the folder,
//! opened, whose address is short.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "owns the local socket: its file, its mode, and connections to it"
)]

use crate::network::Stream;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};

/// The longest path that is used as it is. Linux takes 107 bytes.
const PATH_BYTES_MAX: usize = 100;

/// The superuser.
const ROOT: u32 = 0;

/// Where a socket is, by a path that is short enough. Good as long as this lives.
#[derive(Debug)]
pub struct LocalPath {
    path: PathBuf,
    _folder: Option<File>,
}

impl LocalPath {
    /// The socket of this name in a folder.
    pub fn new(folder: &Path, name: &str) -> io::Result<Self> {
        let path = folder.join(name);
        if path.as_os_str().len() <= PATH_BYTES_MAX {
            return Ok(Self { path, _folder: None });
        }
        let opened = File::open(folder)?;
        let path = Path::new("/proc/self/fd").join(opened.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _folder: Some(opened) })
    }

    pub fn as_path(&self) -> &Path {
        &self.path
    }

    /// Whether somebody listens there.
    pub async fn answers(&self) -> bool {
        self.connect().await.is_ok()
    }

    /// Connects to whoever listens there.
    pub async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(UnixStream::connect(&self.path).await?))
    }
}

/// A socket that programs of the same owner come in by.
pub struct LocalListener {
    listener: UnixListener,
    owner: u32,
}

impl LocalListener {
    /// Opens the socket `name` in `folder`, which has to be the owner's alone. One that a dead
    /// process left there gives way.
    pub fn open(folder: &Path, name: &str) -> io::Result<Self> {
        let begun = format!("{name}.new");
        let (target, begun) = (folder.join(name), LocalPath::new(folder, &begun)?);
        match fs::remove_file(begun.as_path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(begun.as_path())?;
        // Nobody finds it under its name before it has its mode.
        fs::set_permissions(begun.as_path(), Permissions::from_mode(0o600))?;
        let owner = fs::symlink_metadata(begun.as_path())?.uid();
        fs::rename(begun.as_path(), target)?;
        Ok(Self { listener, owner })
    }

    /// Waits for the next connection; `None` for one of somebody else's.
    pub async fn accept(&self) -> io::Result<Option<Box<dyn Stream>>> {
        let (stream, _) = self.listener.accept().await?;
        let peer = stream.peer_cred()?.uid();
        let is_ours = admits(self.owner, peer);
        Ok(is_ours.then(|| Box::new(stream) as Box<dyn Stream>))
    }
}

/// Whether a process of the user `peer` may come in by the socket of `owner`.
fn admits(owner: u32, peer: u32) -> bool {
    peer == owner || peer == ROOT
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    /// A folder that is gone afterwards.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("insula-local-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    async fn greets(folder: &Path) {
        let listener = LocalListener::open(folder, "test.sock").unwrap();
        let mode = fs::symlink_metadata(folder.join("test.sock")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let path = LocalPath::new(folder, "test.sock").unwrap();
        let mut ours = UnixStream::connect(path.as_path()).await.unwrap();
        let mut theirs = listener.accept().await.unwrap().unwrap();
        theirs.write_all(b"hello").await.unwrap();
        let mut heard = [0; 5];
        ours.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"hello");
    }

    #[tokio::test]
    async fn a_door_opens_where_a_path_is_too_long_for_an_address() {
        let folder = Folder::new("long");
        let deep = folder.0.join("x".repeat(120)).join("y".repeat(120));
        fs::create_dir_all(&deep).unwrap();
        greets(&deep).await;
    }

    #[tokio::test]
    async fn a_door_that_a_dead_process_left_gives_way() {
        let folder = Folder::new("stale");
        greets(&folder.0).await;
        // Its listener is gone, its file is not.
        assert!(!LocalPath::new(&folder.0, "test.sock").unwrap().answers().await);
        greets(&folder.0).await;
    }

    #[test]
    fn the_owner_and_the_superuser_come_in_and_nobody_else() {
        assert!(admits(1_000, 1_000) && admits(1_000, 0) && admits(0, 0));
        assert!(!admits(1_000, 1_001) && !admits(0, 1_000));
    }
}
