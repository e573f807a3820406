//! The private root: a folder in memory into which only what was granted is mounted.
//!
//! Everything granted is picked up first, as the user the daemon runs as, by a resolution
//! that follows no symbolic link. Only then does the helper become the child's user, which
//! could not reach a workspace below the daemon's home, and needs not.
#![expect(
    clippy::disallowed_methods,
    reason = "the file that builds a child's root: looks at mounts and changes the root folder"
)]

use super::start;
use crate::plan::{Failure, InnerPlan};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// Where the new root is put together. It hides the host's folder of that name, from which
/// whatever was granted has been picked up by then.
const BASE: &str = "/tmp";

/// Programs and libraries.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// What programs look up in `/etc`, none of it about this machine's people or secrets.
const ETC: [&str; 20] = [
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

/// The devices that are no device of this machine.
pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Links that programs expect in `/dev`. Shared memory is files in the private `/tmp`, so
/// that one limit counts both.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("shm", "/tmp"),
];

/// Files of `/proc` that tell about the whole machine, and so about other tenants.
const MASKED: [&str; 14] = [
    "buddyinfo",
    "diskstats",
    "interrupts",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "locks",
    "schedstat",
    "slabinfo",
    "softirqs",
    "sysrq-trigger",
    "timer_list",
];

/// The folders of the root and the files written into it; nothing else lives there.
const ROOT_OPTIONS: &str = "size=2m,nr_inodes=4096,mode=0755";

/// Something to mount, picked up but not mounted yet.
struct Tree {
    descriptor: OwnedFd,
    path: PathBuf,
    folder: bool,
    flags: MountFlags,
}

/// Everything that goes into the root.
pub(super) struct Sources {
    trees: Vec<Tree>,
    links: Vec<(PathBuf, CString)>,
    devices: Vec<Tree>,
}

impl Sources {
    /// Picks up all that the plan gives. Nothing is mounted yet.
    pub(super) fn pick_up(plan: &InnerPlan) -> Result<Self, Failure> {
        rustix::mount::mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )
        .map_err(|error| Failure::setup("keep mounts to itself", error))?;
        let mut sources = Self { trees: vec![], links: vec![], devices: vec![] };
        let read_only = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        for path in SYSTEM {
            sources.system(path, read_only)?;
        }
        for path in ETC {
            sources.system(path, read_only | MountFlags::NOEXEC)?;
        }
        for path in DEVICES {
            match pick_up(Path::new(path)) {
                Ok(tree) => sources.devices.push(tree),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(Failure::setup(format!("pick up {path}"), error)),
            }
        }
        let mut grants: Vec<_> = plan.grants.iter().collect();
        // A folder inside another is mounted after it, and so on top of it.
        grants.sort_by_key(|grant| Path::new(&grant.path).components().count());
        for grant in grants {
            let path = Path::new(&grant.path);
            let mut tree =
                pick_up(path).map_err(|error| Failure::grant(&grant.path, explain(error)))?;
            tree.flags = MountFlags::NOSUID | MountFlags::NODEV;
            tree.flags.set(MountFlags::RDONLY, !grant.write);
            let executes = plan.executes.iter().any(|executes| {
                let executes = Path::new(executes);
                executes.starts_with(path) || path.starts_with(executes)
            });
            tree.flags.set(MountFlags::NOEXEC, !executes);
            sources.trees.push(tree);
        }
        Ok(sources)
    }

    /// Picks up a path of the system: the tree, or the link in its place. Absent ones are
    /// left out.
    fn system(&mut self, path: &str, flags: MountFlags) -> Result<(), Failure> {
        if let Ok(target) = rustix::fs::readlinkat(CWD, path, vec![]) {
            self.links.push((PathBuf::from(path), target));
            return Ok(());
        }
        match pick_up(Path::new(path)) {
            Ok(tree) => self.trees.push(Tree { flags, ..tree }),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {}
            Err(error) => return Err(Failure::setup(format!("pick up {path}"), error)),
        }
        Ok(())
    }

    /// Builds the root and makes it the root. Afterwards the host's files are gone.
    pub(super) fn build(self, plan: &InnerPlan) -> Result<(), Failure> {
        let failed = |step: &str| {
            let step = step.to_owned();
            move |error: Errno| Failure::setup(step, error)
        };
        let plain = MountFlags::NOSUID | MountFlags::NODEV;
        memory(BASE, plain, ROOT_OPTIONS).map_err(failed("mount the new root"))?;
        let base = rustix::fs::open(BASE, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(failed("open the new root"))?;
        for folder in ["etc", "dev", "proc", "tmp"] {
            rustix::fs::mkdirat(&base, folder, Mode::from(0o755))
                .map_err(failed("make folders"))?;
        }
        for (path, target) in &self.links {
            link(&base, path, target).map_err(failed("make links"))?;
        }
        write_etc(&base, plan.ids).map_err(failed("write /etc"))?;
        for (name, target) in DEVICE_LINKS {
            link(&base, &Path::new("/dev").join(name), &CString::new(target).unwrap_or_default())
                .map_err(failed("make links"))?;
        }
        let mut tmp = plain;
        let executes = plan.executes.iter().any(|path| Path::new(path) == Path::new("/tmp"));
        tmp.set(MountFlags::NOEXEC, !executes);
        let options = format!("size={},nr_inodes={},mode=0700", plan.tmp_bytes, plan.tmp_files);
        memory(&format!("{BASE}/tmp"), tmp, &options).map_err(failed("mount /tmp"))?;
        for tree in &self.devices {
            tree.attach(&base).map_err(failed("mount /dev"))?;
        }
        if plan.layers.pid {
            processes(&self.devices).map_err(failed("mount /proc"))?;
        }
        for tree in &self.trees {
            let attached = tree.attach(&base).and_then(|()| tree.restrict());
            attached.map_err(|error| Failure::grant(tree.path.as_os_str(), explain(error)))?;
        }
        self.restrict_below().map_err(|error| Failure::setup("restrict mounts", error))?;
        drop(self);

        rustix::process::chdir(BASE).map_err(failed("enter the new root"))?;
        rustix::process::pivot_root(".", ".").map_err(failed("change the root"))?;
        rustix::mount::unmount(".", UnmountFlags::DETACH).map_err(failed("leave the old root"))?;
        rustix::process::chdir("/").map_err(failed("enter the new root"))?;
        rustix::mount::mount_remount("/", plain | MountFlags::BIND | MountFlags::RDONLY, "")
            .map_err(failed("close the new root"))
    }

    /// Mounts that came along below a granted folder get the same restrictions as it.
    fn restrict_below(&self) -> std::io::Result<()> {
        for line in start::read("/proc/self/mountinfo")?.lines() {
            let Some(point) = line.split(' ').nth(4).map(unescape) else { continue };
            let Ok(inside) = Path::new(&point).strip_prefix(BASE) else { continue };
            let inside = Path::new("/").join(inside);
            let below = |tree: &&Tree| inside.starts_with(&tree.path);
            let Some(tree) = self.trees.iter().rev().find(below) else { continue };
            if inside != tree.path {
                remount(Path::new(&point), tree.flags)?;
            }
        }
        Ok(())
    }
}

impl Tree {
    /// Mounts it at its own path below `base`.
    fn attach(&self, base: &OwnedFd) -> rustix::io::Result<()> {
        let target = place(base, &self.path, self.folder)?;
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        rustix::mount::move_mount(&self.descriptor, "", &target, "", flags)
    }

    /// Takes rights from the mount, by its descriptor: its path may be the child's to change.
    fn restrict(&self) -> rustix::io::Result<()> {
        remount(Path::new(&format!("/proc/self/fd/{}", self.descriptor.as_raw_fd())), self.flags)
    }
}

/// A restriction that a mount came with can't be lifted, and has to be said again.
fn remount(path: &Path, flags: MountFlags) -> rustix::io::Result<()> {
    use rustix::fs::StatVfsMountFlags as Has;
    let has = rustix::fs::statvfs(path)?.f_flag;
    let mut flags = flags;
    for (bit, flag) in [
        (Has::RDONLY, MountFlags::RDONLY),
        (Has::NOSUID, MountFlags::NOSUID),
        (Has::NODEV, MountFlags::NODEV),
        (Has::NOEXEC, MountFlags::NOEXEC),
    ] {
        flags |= if has.contains(bit) { flag } else { MountFlags::empty() };
    }
    rustix::mount::mount_remount(path, flags | MountFlags::BIND, "")
}

/// Takes hold of a file or folder, and of a copy of its mounts.
fn pick_up(path: &Path) -> rustix::io::Result<Tree> {
    let found = rustix::fs::openat2(
        CWD,
        path,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode);
    let device = DEVICES.iter().any(|device| path == Path::new(device));
    if !(kind.is_dir() || kind.is_file() || device) {
        return Err(Errno::OPNOTSUPP);
    }
    let flags = OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let descriptor = rustix::mount::open_tree(&found, "", flags)?;
    Ok(Tree {
        descriptor,
        path: path.to_owned(),
        folder: kind.is_dir(),
        flags: MountFlags::empty(),
    })
}

/// The place for a mount below `base`, made if it is not there. No link is followed: parts of
/// the way may be in folders the child has written to before.
fn place(base: &OwnedFd, path: &Path, folder: bool) -> rustix::io::Result<OwnedFd> {
    let names: Vec<&OsStr> = path
        .components()
        .filter_map(|part| if let Component::Normal(name) = part { Some(name) } else { None })
        .collect();
    let hold = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut current = rustix::fs::openat(base, ".", hold, Mode::empty())?;
    for (index, name) in names.iter().enumerate() {
        let last = index + 1 == names.len();
        let next = match rustix::fs::openat(&current, *name, hold, Mode::empty()) {
            Err(Errno::NOENT) => {
                if last && !folder {
                    let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                    rustix::fs::openat(&current, *name, new, Mode::from(0o644))?;
                } else {
                    rustix::fs::mkdirat(&current, *name, Mode::from(0o755))?;
                }
                rustix::fs::openat(&current, *name, hold, Mode::empty())?
            }
            opened => opened?,
        };
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&next)?.st_mode);
        if kind.is_symlink() {
            return Err(Errno::LOOP);
        }
        current = next;
    }
    Ok(current)
}

fn link(base: &OwnedFd, path: &Path, target: &CString) -> rustix::io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let folder = place(base, parent, true)?;
    rustix::fs::symlinkat(target.as_c_str(), &folder, path.file_name().unwrap_or_default())
}

fn memory(path: &str, flags: MountFlags, options: &str) -> rustix::io::Result<()> {
    let options = CString::new(options).map_err(|_| Errno::INVAL)?;
    rustix::mount::mount("tmpfs", path, "tmpfs", flags, options.as_c_str())
}

/// Mounts something, to see whether that can be done in this namespace.
pub(super) fn try_mount() -> rustix::io::Result<()> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", flags)?;
    memory(BASE, MountFlags::NOSUID | MountFlags::NODEV, ROOT_OPTIONS)
}

/// Mounts the view of the child's own processes, without what tells about the machine.
fn processes(devices: &[Tree]) -> rustix::io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let options = c"hidepid=invisible";
    let path = format!("{BASE}/proc");
    rustix::mount::mount("proc", path.as_str(), "proc", flags, options)?;
    let Some(nothing) = devices.iter().find(|device| device.path == Path::new("/dev/null")) else {
        return Err(Errno::NOENT);
    };
    let nothing = format!("/proc/self/fd/{}", nothing.descriptor.as_raw_fd());
    for name in MASKED {
        match rustix::mount::mount_bind(nothing.as_str(), format!("{path}/{name}")) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Names for the ids inside, and only those; names of hosts, and only its own.
fn write_etc(base: &OwnedFd, (uid, gid): (u32, u32)) -> rustix::io::Result<()> {
    let etc = place(base, Path::new("/etc"), true)?;
    let passwd = format!(
        "root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:{uid}:{gid}:agent:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
    );
    let group = format!("root:x:0:\nagent:x:{gid}:\nnogroup:x:65534:\n");
    for (name, content) in [
        ("passwd", passwd.as_str()),
        ("group", group.as_str()),
        ("hosts", "127.0.0.1 localhost\n::1 localhost\n"),
        ("hostname", "insula\n"),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
        ("host.conf", "multi on\n"),
    ] {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&etc, name, flags, Mode::from(0o644))?;
        rustix::io::write(&file, content.as_bytes())?;
    }
    Ok(())
}

/// What to tell about a path that can't be given.
fn explain(error: Errno) -> String {
    match error {
        Errno::LOOP => "it passes through a symbolic link; grant the real path".to_owned(),
        Errno::NOENT => "it does not exist".to_owned(),
        Errno::OPNOTSUPP => "it is neither a file nor a folder".to_owned(),
        error => error.to_string(),
    }
}

/// `mountinfo` writes blanks and backslashes as octal numbers.
fn unescape(text: &str) -> OsString {
    let mut bytes = vec![];
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| first == b'\\');
        let code =
            code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 8).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    OsStr::from_bytes(&bytes).to_owned()
}

/// What of the system a child may read and execute, for the rules.
pub(super) fn system() -> impl Iterator<Item = &'static str> {
    SYSTEM.into_iter().filter(|path| exists(path))
}

/// Whether there is something at a path, followed through links.
pub(super) fn exists(path: &str) -> bool {
    rustix::fs::statat(CWD, path, AtFlags::empty()).is_ok()
}

/// Whether there is a folder at a path.
pub(super) fn is_folder(path: &Path) -> bool {
    let stat = rustix::fs::statat(CWD, path, AtFlags::empty());
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn mount_points_with_blanks_are_read_right() {
        for (text, path) in [("/a", "/a"), ("/a\\040b", "/a b"), ("/a\\134b\\", "/a\\b\\")] {
            assert_eq!(unescape(text), path);
        }
    }
}
