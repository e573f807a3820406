//! Which paths show the same files: decided from the table of mounts of a process, by device
//! and place on it, so that a second mount of a folder is known for what it is. Nothing is
//! looked at here but the text of that table.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The mounts of a process, as `/proc/self/mountinfo` lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    mounts: Vec<Mount>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    point: PathBuf,
    shows: Area,
}

/// A folder by where it is on its device.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Area {
    device: String,
    path: PathBuf,
}

/// What is given to a child, with all that is mounted below it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'p> {
    /// Where it is, on the host and for the child.
    pub(crate) path: &'p Path,
    /// Whether an operator granted this very path. Then what is inside of a hidden folder may
    /// be shown, as an agent's workspace is.
    pub(crate) granted: bool,
}

impl Table {
    /// Reads the text of `mountinfo`. What is no line of it is left out.
    pub(crate) fn parse(text: &str) -> Self {
        let mounts = text.lines().filter_map(|line| {
            let mut fields = line.split(' ').skip(2);
            let (device, root, point) = (fields.next()?, fields.next()?, fields.next()?);
            let shows = Area { device: device.to_owned(), path: unescape(root).into() };
            Some(Mount { point: unescape(point).into(), shows })
        });
        Self { mounts: mounts.collect() }
    }

    /// Every mount point at or below a path.
    pub(crate) fn points_below<'t>(&'t self, path: &'t Path) -> impl Iterator<Item = &'t Path> {
        let points = self.mounts.iter().map(|mount| mount.point.as_path());
        points.filter(move |point| point.starts_with(path))
    }

    /// Where a path is on its device.
    fn area(&self, path: &Path) -> Option<Area> {
        let around = self.mounts.iter().filter(|mount| path.starts_with(&mount.point));
        // Of mounts at one point the last one is on top.
        let mount = around.max_by_key(|mount| mount.point.components().count())?;
        let inside = path.strip_prefix(&mount.point).ok()?;
        Some(Area { device: mount.shows.device.clone(), path: join(&mount.shows.path, inside) })
    }

    /// A path and all that is mounted below it, with what each shows.
    fn areas(&self, path: &Path) -> Vec<(PathBuf, Area)> {
        let own = self.area(path).map(|area| (path.to_owned(), area));
        let below = self.mounts.iter().filter(|it| it.point != path && it.point.starts_with(path));
        own.into_iter().chain(below.map(|it| (it.point.clone(), it.shows.clone()))).collect()
    }

    /// The paths below `given` at which a hidden folder, or a part of it, would be seen.
    pub(crate) fn shown(&self, given: Given<'_>, hidden: &Path) -> Vec<PathBuf> {
        let mut places = vec![];
        let secret = self.areas(hidden);
        for (point, area) in self.areas(given.path) {
            for (_, secret) in secret.iter().filter(|(_, secret)| secret.device == area.device) {
                if let Ok(inside) = secret.path.strip_prefix(&area.path) {
                    places.push(join(&point, inside));
                } else if area.path.starts_with(&secret.path)
                    && !(given.granted && point == given.path)
                {
                    places.push(point.clone());
                }
            }
        }
        // What is a mount of its own has no place on the device of the folder above it.
        if hidden.starts_with(given.path) {
            places.push(hidden.to_owned());
        }
        places.sort();
        places.dedup();
        places
    }
}

/// A path below another, without a slash at its end where nothing is added.
fn join(path: &Path, inside: &Path) -> PathBuf {
    if inside.as_os_str().is_empty() { path.to_owned() } else { path.join(inside) }
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

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 254:0 / / rw - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
24 22 254:0 /usr/share/data /srv rw - ext4 /dev/vda rw
25 22 254:1 / /home rw - ext4 /dev/vdb rw
26 22 254:1 /ann/.insula /opt/app/state rw - ext4 /dev/vdb rw
27 22 254:1 /ann/.insula/vault /opt/keys rw - ext4 /dev/vdb rw
28 25 0:40 / /home/ann/.insula/run rw - tmpfs run rw
29 22 0:40 / /opt/with\\040blank rw - tmpfs run rw";

    fn shown(given: &str, granted: bool, hidden: &str) -> Vec<String> {
        let given = Given { path: Path::new(given), granted };
        let places = Table::parse(TABLE).shown(given, Path::new(hidden));
        places.into_iter().map(|place| place.display().to_string()).collect()
    }

    #[test]
    fn mount_points_with_blanks_are_read_right() {
        for (text, path) in [("/a", "/a"), ("/a\\040b", "/a b"), ("/a\\134b\\", "/a\\b\\")] {
            assert_eq!(unescape(text), path);
        }
    }

    #[test]
    fn a_folder_in_another_is_seen_there_and_nowhere_else() {
        assert_eq!(shown("/usr", false, "/usr/lib/home"), ["/usr/lib/home"]);
        assert_eq!(shown("/bin", false, "/usr/lib/home"), [""; 0]);
        assert_eq!(shown("/usr", false, "/usrlocal"), [""; 0]);
    }

    #[test]
    fn a_folder_that_lies_in_another_by_a_mount_is_seen_there() {
        // `/srv` is a part of `/usr`, mounted again.
        assert_eq!(shown("/usr", false, "/srv/home"), ["/usr/share/data/home"]);
    }

    #[test]
    fn a_second_mount_of_a_folder_or_of_a_part_is_found() {
        let home = "/home/ann/.insula";
        let mounted = ["/opt/app/state", "/opt/keys", "/opt/with blank"];
        assert_eq!(shown("/opt", true, home), mounted);
        assert_eq!(shown("/opt/app", true, home), ["/opt/app/state"]);
        assert_eq!(shown("/opt/keys", true, &format!("{home}/vault")), ["/opt/keys"]);
    }

    #[test]
    fn a_granted_folder_inside_of_a_hidden_one_is_given_and_nothing_that_comes_with_it() {
        let home = "/home/ann/.insula";
        assert_eq!(shown("/home/ann/.insula/agents/a", true, home), [""; 0]);
        assert_eq!(shown("/home/ann/.insula/agents/a", false, home).len(), 1);
        assert_eq!(shown("/home/ann", true, home), [home, "/home/ann/.insula/run"]);
    }
}
