//! The private root: a folder in memory into which only what was granted is mounted.
//!
//! Everything granted is picked up first, as the user the daemon runs as, by a resolution
//! that follows no symbolic link. Only then does the helper become the child's user, which
//! could not reach a workspace below the daemon's home, and needs not.
#![expect(
    clippy::disallowed_methods,
    reason = "the file that builds a child's root: looks at mounts and changes the root folder"
)]

use super::mount::{self, BASE, Tree, find, hold, link, memory, place, remount, way};
use super::view::{self, Link, Part};
use super::{proc, start};
use crate::devices;
use crate::mounts::{Given, Table};
use crate::plan::{Failure, InnerPlan};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The devices that are no device of this machine.
pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The folders of the root and the files written into it; nothing else lives there.
const ROOT_OPTIONS: &str = "size=8m,nr_inodes=4096,mode=0755";

/// A folder in the place of one that is not shown: room for the places of what is granted in it.
const MASK_OPTIONS: &str = "size=64k,nr_inodes=1024,mode=0755";

/// What the host's own files were shown for, because no others could be had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shared {
    /// Files of the system.
    pub(super) system: bool,
    /// Device nodes.
    pub(super) devices: bool,
}

impl Shared {
    /// Everything, as without a private root.
    pub(super) const ALL: Self = Self { system: true, devices: true };
}

/// Everything that goes into the root.
pub(super) struct Sources {
    system: Vec<Part>,
    links: Vec<Link>,
    devices: Devices,
    trees: Vec<Tree>,
    masks: Vec<Mask>,
}

/// Where the device nodes come from.
enum Devices {
    /// A `/dev` of the child's own.
    Own(OwnedFd),
    /// The host's.
    Host(Vec<Tree>),
}

/// A folder that is empty for the child.
struct Mask {
    path: PathBuf,
    /// Whether it stays so although it was granted.
    is_hidden: bool,
}

/// What is done at a path, in this order where there are several.
enum Step<'s> {
    Withhold(&'s Path),
    Give(&'s Tree),
    Hide(&'s Path),
}

impl Step<'_> {
    /// A folder inside another comes after it, and so on top of it.
    fn order(&self) -> (usize, u8) {
        let (path, turn) = match self {
            Self::Withhold(path) => (*path, 0),
            Self::Give(tree) => (tree.path.as_path(), 1),
            Self::Hide(path) => (*path, 2),
        };
        (path.components().count(), turn)
    }
}

impl Sources {
    /// Picks up all that the plan gives. Nothing is mounted yet.
    pub(super) fn pick_up(plan: &InnerPlan, devices: Option<OwnedFd>) -> Result<Self, Failure> {
        rustix::mount::mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )
        .map_err(|error| Failure::setup("keep mounts to itself", error))?;
        let table = start::read(MOUNTS).map_err(|error| Failure::setup("look at mounts", error))?;
        let table = Table::parse(&table);
        let (system, links) = view::pick_up()?;
        let devices = match devices {
            Some(own) => Devices::Own(own),
            None => Devices::Host(host_devices()?),
        };
        let mut sources = Self { system, links, devices, trees: vec![], masks: vec![] };
        for grant in &plan.grants {
            let path = Path::new(&grant.path);
            let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
            flags.set(MountFlags::RDONLY, !grant.write);
            let executes = plan.executes.iter().any(|executes| {
                let executes = Path::new(executes);
                executes.starts_with(path) || path.starts_with(executes)
            });
            flags.set(MountFlags::NOEXEC, !executes);
            let tree = granted(path, flags)
                .map_err(|error| Failure::grant(&grant.path, explain(error)))?;
            sources.trees.push(tree);
        }
        sources.masks = sources.masks(plan, &table);
        Ok(sources)
    }

    /// What of all that is given is not shown.
    fn masks(&self, plan: &InnerPlan, table: &Table) -> Vec<Mask> {
        let system = self.system.iter().map(|part| Given { path: &part.path, granted: false });
        let trees = self.trees.iter().map(|tree| Given { path: &tree.path, granted: true });
        let mut hidden = BTreeSet::new();
        for given in system.chain(trees) {
            for path in &plan.hidden_around {
                hidden.extend(table.shown(given, Path::new(path)));
            }
            for path in &plan.hidden_whole {
                hidden.extend(table.shown(Given { granted: false, ..given }, Path::new(path)));
            }
        }
        let withheld = view::WITHHELD.map(|path| Mask { path: path.into(), is_hidden: false });
        let hidden = hidden.into_iter().map(|path| Mask { path, is_hidden: true });
        withheld.into_iter().chain(hidden).collect()
    }

    /// Builds the root and makes it the root. Afterwards the host's files are gone.
    pub(super) fn build(mut self, plan: &InnerPlan) -> Result<Shared, Failure> {
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
        // Below the child's own, which is mounted on it, so it stays empty.
        let empty = place(&base, Path::new("/tmp"), true).map_err(failed("make folders"))?;
        for (path, target) in &self.links {
            link(&base, path, target).map_err(failed("make links"))?;
        }
        write_etc(&base, plan.ids).map_err(failed("write /etc"))?;
        let mut shared = Shared::default();
        let mut as_they_are = vec![];
        for part in &self.system {
            let shown = part.show(&base, &empty);
            let shown = shown.map_err(failed(&format!("show {}", part.path.display())))?;
            shared.system |= shown.is_some();
            as_they_are.extend(shown);
        }
        let mut tmp = plain;
        let executes = plan.executes.iter().any(|path| Path::new(path) == Path::new("/tmp"));
        tmp.set(MountFlags::NOEXEC, !executes);
        let options = format!("size={},nr_inodes={},mode=0700", plan.tmp_bytes, plan.tmp_files);
        memory(&format!("{BASE}/tmp"), tmp, &options).map_err(failed("mount /tmp"))?;
        shared.devices = self.devices.show(&base).map_err(failed("mount /dev"))?;
        if plan.layers.pid {
            proc::show(plan).map_err(failed("mount /proc"))?;
        }
        self.give(&base)?;
        self.trees.splice(0..0, as_they_are);
        self.restrict_below().map_err(|error| Failure::setup("restrict mounts", error))?;
        drop(self);

        rustix::process::chdir(BASE).map_err(failed("enter the new root"))?;
        rustix::process::pivot_root(".", ".").map_err(failed("change the root"))?;
        rustix::mount::unmount(".", UnmountFlags::DETACH).map_err(failed("leave the old root"))?;
        rustix::process::chdir("/").map_err(failed("enter the new root"))?;
        rustix::mount::mount_remount("/", plain | MountFlags::BIND | MountFlags::RDONLY, "")
            .map_err(failed("close the new root"))?;
        Ok(shared)
    }

    /// Mounts what was granted, and empty folders over what is not shown.
    fn give(&self, base: &OwnedFd) -> Result<(), Failure> {
        let masks = self.masks.iter().map(|mask| match mask.is_hidden {
            true => Step::Hide(&mask.path),
            false => Step::Withhold(&mask.path),
        });
        let mut steps: Vec<Step<'_>> = self.trees.iter().map(Step::Give).chain(masks).collect();
        steps.sort_by_key(Step::order);
        let mut masked = vec![];
        for step in steps {
            match step {
                Step::Give(tree) => {
                    let given = tree.attach(base).and_then(|()| tree.restrict());
                    given.map_err(|error| Failure::grant(tree.path.as_os_str(), explain(error)))?;
                }
                Step::Withhold(path) | Step::Hide(path) => {
                    let mask = mask(base, path)
                        .map_err(|error| Failure::grant(path.as_os_str(), not_hidden(error)))?;
                    masked.extend(mask);
                }
            }
        }
        // Now that the places of what is granted inside are made.
        for mask in masked {
            let closed = MountFlags::RDONLY | MASK_FLAGS;
            remount(&mask, closed).map_err(|error| Failure::setup("close a mask", error))?;
        }
        Ok(())
    }

    /// Mounts that came along below a granted folder get the same restrictions as it.
    fn restrict_below(&self) -> std::io::Result<()> {
        let table = Table::parse(&start::read(MOUNTS)?);
        for point in table.points_below(Path::new(BASE)) {
            let Ok(inside) = point.strip_prefix(BASE) else { continue };
            let inside = Path::new("/").join(inside);
            let below = |tree: &&Tree| inside.starts_with(&tree.path);
            let tree = self.trees.iter().filter(below);
            let Some(tree) = tree.max_by_key(|it| it.path.components().count()) else { continue };
            if inside != tree.path {
                let mount = rustix::fs::open(point, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
                remount(&mount, tree.flags)?;
            }
        }
        Ok(())
    }
}

impl Devices {
    /// Puts them into the new root. Whether they are the host's.
    fn show(&self, base: &OwnedFd) -> rustix::io::Result<bool> {
        match self {
            Self::Own(folder) => {
                mount::attach(folder, &place(base, Path::new("/dev"), true)?)?;
                Ok(false)
            }
            Self::Host(nodes) => {
                for (name, target) in devices::LINKS {
                    let target = CString::new(target).unwrap_or_default();
                    link(base, &Path::new("/dev").join(name), &target)?;
                }
                nodes.iter().try_for_each(|node| node.attach(base))?;
                Ok(true)
            }
        }
    }
}

/// The table of mounts.
const MOUNTS: &str = "/proc/self/mountinfo";

/// An empty folder holds nothing to run, and no device.
const MASK_FLAGS: MountFlags =
    MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Puts an empty folder over what is at a path, if there is a folder.
fn mask(base: &OwnedFd, path: &Path) -> rustix::io::Result<Option<OwnedFd>> {
    let Some(found) = find(base, path)? else { return Ok(None) };
    let kind = mount::kind(&found)?;
    // A link leads to somewhere else in the same root, which is masked by itself.
    if kind.is_symlink() {
        return Ok(None);
    }
    if !kind.is_dir() {
        return Err(Errno::NOTDIR);
    }
    memory(&way(&found), MASK_FLAGS, MASK_OPTIONS)?;
    find(base, path)
}

/// The nodes of the host. One that is not there is left out.
fn host_devices() -> Result<Vec<Tree>, Failure> {
    let mut nodes = vec![];
    for path in DEVICES.map(Path::new) {
        let tree = hold(path).and_then(|found| Tree::copy(&found, path, MountFlags::empty()));
        match tree {
            Ok(tree) => nodes.push(tree),
            Err(Errno::NOENT) => {}
            Err(error) => {
                return Err(Failure::setup(format!("pick up {}", path.display()), error));
            }
        }
    }
    Ok(nodes)
}

/// Takes hold of a granted file or folder, and of a copy of its mounts.
fn granted(path: &Path, flags: MountFlags) -> rustix::io::Result<Tree> {
    let found = hold(path)?;
    let kind = mount::kind(&found)?;
    if !(kind.is_dir() || kind.is_file()) {
        return Err(Errno::OPNOTSUPP);
    }
    Tree::copy(&found, path, flags)
}

/// Mounts something, to see whether that can be done in this namespace.
pub(super) fn try_mount() -> rustix::io::Result<()> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", flags)?;
    memory(BASE, MountFlags::NOSUID | MountFlags::NODEV, ROOT_OPTIONS)
}

/// Which folder of the system, that every child sees, would show what is at this real path;
/// `None` if none does.
pub fn seen_by_all(path: &Path) -> Option<&'static str> {
    let table = Table::parse(&start::read(MOUNTS).unwrap_or_default());
    let shown = view::SYSTEM.into_iter().chain(view::ETC).filter(|system| !is_link(system));
    let seen = |system: &&str| {
        !table.shown(Given { path: Path::new(system), granted: false }, path).is_empty()
    };
    shown.into_iter().find(seen)
}

/// Whether a child that is given a folder would see what is at another path, both real: in it, or
/// mounted in it.
pub fn shows(folder: &Path, path: &Path) -> bool {
    let table = Table::parse(&start::read(MOUNTS).unwrap_or_default());
    !table.shown(Given { path: folder, granted: true }, path).is_empty()
}

fn is_link(path: &str) -> bool {
    rustix::fs::readlinkat(CWD, path, vec![]).is_ok()
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
        mount::write(&etc, name.as_ref(), content.as_bytes())?;
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

/// What to tell about a path that can't be hidden.
fn not_hidden(error: Errno) -> String {
    format!(
        "it would show files of the daemon and can't be hidden: {error}; unmount it, or grant folders beside it"
    )
}

/// What of the system a child may read and execute, for the rules.
pub(super) fn system() -> impl Iterator<Item = &'static str> {
    view::SYSTEM.into_iter().filter(|path| exists(path))
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
