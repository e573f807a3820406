//! The system's own files, as a child sees them: the same content in files of its own.
//!
//! A program that watches a file, or locks it, is seen by whoever has the same file open, in
//! any sandbox. So folders of the system are shown through an overlay with nothing over them,
//! whose files are its own: what is watched or locked there is the child's business alone, and
//! reading leaves no time of access behind. Single files are copied. Where no overlay can be
//! had the folder itself is shown, and the caller takes watches and locks from the child.

use super::mount::{self, BASE, Tree, hold, place, way};
use crate::plan::Failure;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Programs and libraries.
pub(super) const SYSTEM: [&str; 7] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// What programs look up in `/etc`, none of it about this machine's people or secrets.
pub(super) const ETC: [&str; 20] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/debian_version",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/python3",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
];

/// Folders among the system's that hold settings and data of this machine and its people, as
/// `/etc`, `/var` and `/home` do. They are empty for a child, unless granted.
pub(super) const WITHHELD: [&str; 10] = [
    "/usr/etc",
    "/usr/home",
    "/usr/srv",
    "/usr/var",
    "/usr/local/etc",
    "/usr/local/home",
    "/usr/local/run",
    "/usr/local/secrets",
    "/usr/local/srv",
    "/usr/local/var",
];

/// A file larger than this is not copied but shown itself. The largest is the cache of the
/// loader, of some hundred kilobytes.
const COPY_BYTES_MAX: usize = 2 << 20;

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Something of the system, picked up but not shown yet.
pub(super) struct Part {
    found: OwnedFd,
    pub(super) path: PathBuf,
    flags: MountFlags,
}

/// A link among the system's folders, and where it leads.
pub(super) type Link = (PathBuf, CString);

/// What of the system there is on this machine: the parts, and the links in their places.
pub(super) fn pick_up() -> Result<(Vec<Part>, Vec<Link>), Failure> {
    let (mut parts, mut links) = (vec![], vec![]);
    let read_only = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    let system = SYSTEM.iter().map(|path| (*path, read_only));
    let etc = ETC.iter().map(|path| (*path, read_only | MountFlags::NOEXEC));
    for (name, flags) in system.chain(etc) {
        let path = PathBuf::from(name);
        if let Ok(target) = rustix::fs::readlinkat(CWD, name, vec![]) {
            links.push((path, target));
            continue;
        }
        match hold(&path) {
            Ok(found) => parts.push(Part { found, path, flags }),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {}
            Err(error) => return Err(Failure::setup(format!("pick up {name}"), error)),
        }
    }
    Ok((parts, links))
}

impl Part {
    /// Shows it in the new root. Gives back the tree of the host if it had to be shown itself.
    /// An overlay needs a second layer, which is a folder that stays empty.
    pub(super) fn show(&self, base: &OwnedFd, empty: &OwnedFd) -> rustix::io::Result<Option<Tree>> {
        let kind = mount::kind(&self.found)?;
        let shown = if kind.is_dir() {
            self.overlay(&place(base, &self.path, true)?, empty)
        } else if kind.is_file() {
            self.copy(base)
        } else {
            return Ok(None);
        };
        match shown {
            Ok(()) => return Ok(None),
            // What the user can't read the child can't either.
            Err(Errno::ACCESS) if kind.is_file() => return Ok(None),
            Err(_) => {}
        }
        let tree = Tree::copy(&self.found, &self.path, self.flags)?;
        tree.attach(base)?;
        tree.restrict()?;
        Ok(Some(tree))
    }

    fn overlay(&self, target: &OwnedFd, empty: &OwnedFd) -> rustix::io::Result<()> {
        // One number for the device of all its files, as a file system has.
        let options = format!("lowerdir={}:{},xino=on", way(&self.found), way(empty));
        let options = CString::new(options).map_err(|_| Errno::INVAL)?;
        rustix::mount::mount("system", way(target), "overlay", self.flags, options.as_c_str())
    }

    fn copy(&self, base: &OwnedFd) -> rustix::io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(CWD, way(&self.found), flags, Mode::empty())?;
        let mut content = vec![];
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = rustix::io::read(&file, &mut chunk[..])?;
            if read == 0 {
                break;
            }
            content.extend_from_slice(chunk.get(..read).unwrap_or_default());
            if content.len() > COPY_BYTES_MAX {
                return Err(Errno::FBIG);
            }
        }
        let parent = place(base, self.path.parent().unwrap_or(Path::new("/")), true)?;
        mount::write(&parent, self.path.file_name().unwrap_or_default(), &content)
    }
}

/// Shows every folder of programs once, to see whether that can be done in this namespace.
pub(super) fn attempt() -> Result<(), Failure> {
    let (parts, _) = pick_up()?;
    let failed = |step: &str| {
        let step = step.to_owned();
        move |error: Errno| Failure::setup(step, error)
    };
    mount::memory(BASE, MountFlags::NOSUID | MountFlags::NODEV, "size=64k,mode=0755")
        .map_err(failed("mount the new root"))?;
    let base = hold(Path::new(BASE)).map_err(failed("open the new root"))?;
    let empty = place(&base, Path::new("/tmp"), true).map_err(failed("make folders"))?;
    for part in parts {
        let step = format!("show {} through an overlay", part.path.display());
        let shown = mount::kind(&part.found).and_then(|kind| {
            if !kind.is_dir() {
                return Ok(());
            }
            part.overlay(&place(&base, &part.path, true)?, &empty)
        });
        shown.map_err(failed(&step))?;
    }
    Ok(())
}
