//! The folder that a program begins in, known by what it is and not by its name alone: what was
//! judged and approved for a folder runs there or nowhere.

use super::{Host, put_in};
use insula_domain::AgentId;
use insula_sandbox::Begins;
use insula_store::SessionId;
use insula_tools::Files;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use serde_json::Value;
use std::ffi::OsString;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

/// Longest path that is remembered as the working directory.
const PATH_BYTES_MAX: usize = 4_096;

/// A folder, however it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    /// When it was made, where the file system says so: numbers are used again.
    born: Option<(i64, u32)>,
}

/// Where a program begins, where that is not where programs of the conversation begin anyway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    path: String,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Among the agent's folders, and this one.
    Known(Identity),
    /// Somewhere in the system. Nobody looks from here whether it is there.
    Elsewhere,
    /// By its name among the agent's folders, and none of them.
    Nothing,
}

impl Ground {
    /// Its path. Of a folder of the agent's it is the real one.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What it is known by: two folders that have this in common are one.
    pub fn identity(&self) -> String {
        match self.state {
            State::Known(Identity { device, inode, born }) => {
                let (seconds, nanos) = born.unwrap_or_default();
                format!("{}\0{device}:{inode}:{seconds}:{nanos}", self.path)
            }
            State::Elsewhere | State::Nothing => self.path.clone(),
        }
    }

    /// What the sandbox is asked for; why a program can't begin there at all.
    pub(super) fn begins(&self) -> Result<Begins, String> {
        let identity = match self.state {
            State::Known(identity) => Some((identity.device, identity.inode)),
            State::Elsewhere => None,
            State::Nothing => return Err(format!("`{}` is none of your folders", self.path)),
        };
        Ok(Begins { path: PathBuf::from(&self.path), identity })
    }

    /// The ground at a path. Only what is among `granted` by its name is looked at.
    fn at(path: &Path, granted: &[PathBuf]) -> Self {
        let path = plain(path);
        let text = path.to_string_lossy().into_owned();
        let is_granted = |path: &Path| granted.iter().any(|own| path.starts_with(own));
        if !is_granted(&path) {
            return Self { path: text, state: State::Elsewhere };
        }
        match look(&path).filter(|(real, _)| is_granted(real)) {
            Some((real, identity)) => {
                let path = real.to_string_lossy().into_owned();
                Self { path, state: State::Known(identity) }
            }
            None => Self { path: text, state: State::Nothing },
        }
    }
}

/// A path without `.` and `..`, as its words say.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    plain
}

/// The real path of a folder and what it is; `None` where there is none.
fn look(path: &Path) -> Option<(PathBuf, Identity)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let name = format!("/proc/self/fd/{}", folder.as_raw_fd());
    let real = rustix::fs::readlinkat(CWD, name, Vec::new()).ok()?;
    let stat = rustix::fs::fstat(&folder).ok()?;
    let more = rustix::fs::statx(&folder, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok();
    let more =
        more.filter(|it| StatxFlags::from_bits_retain(it.stx_mask).contains(StatxFlags::BTIME));
    let born = more.map(|it| (it.stx_btime.tv_sec, it.stx_btime.tv_nsec));
    let identity = Identity { device: stat.st_dev, inode: stat.st_ino, born };
    Some((PathBuf::from(OsString::from_vec(real.into_bytes())), identity))
}

/// The real path of a folder.
pub fn real(path: &Path) -> Option<PathBuf> {
    look(path).map(|(real, _)| real)
}

impl Host {
    /// Where a program of this call begins, if not where they begin anyway: where the call says,
    /// or where the last one of the conversation ended while that is the folder it was.
    pub async fn ground(
        &self,
        key: &(AgentId, SessionId),
        arguments: &Value,
        files: &Files,
    ) -> Option<Ground> {
        let workdir = arguments.get("workdir").and_then(Value::as_str);
        let place = self.place(key);
        if workdir.is_none() && place.is_none() {
            return None;
        }
        // Who has no folders at all is told so when the program would start.
        let folders = files.folders().await.unwrap_or_default();
        let granted: Vec<PathBuf> = folders.into_iter().map(|folder| folder.real).collect();
        let place = place.filter(|place| {
            let is_there = Ground::at(Path::new(&place.path), &granted) == *place;
            if !is_there {
                self.lose_place(key);
            }
            is_there
        });
        match (workdir, place) {
            (None, place) => place,
            (Some(workdir), Some(place)) => {
                Some(Ground::at(&Path::new(&place.path).join(workdir), &granted))
            }
            (Some(workdir), None) => {
                let first = granted.first().cloned().unwrap_or_else(|| PathBuf::from("/"));
                Some(Ground::at(&first.join(workdir), &granted))
            }
        }
    }

    /// Where the next command of a conversation begins, if not where they begin anyway.
    fn place(&self, key: &(AgentId, SessionId)) -> Option<Ground> {
        self.sessions().get(key)?.place.clone()
    }

    /// Notes that the folder is gone in which the next command would have begun.
    pub(super) fn lose_place(&self, key: &(AgentId, SessionId)) {
        if let Some(session) = self.sessions().get_mut(key) {
            session.gone = session.place.take().map(|place| place.path);
        }
    }

    /// The folder that is gone since the last command, once.
    pub(super) fn gone(&self, key: &(AgentId, SessionId)) -> Option<String> {
        self.sessions().get_mut(key)?.gone.take()
    }

    /// Notes where a command ended: where the next one begins, where that is somewhere else than
    /// `before` and can be had again.
    pub(super) fn moved(
        &self,
        key: &(AgentId, SessionId),
        told: &[u8],
        before: &Path,
        granted: &[PathBuf],
    ) -> Option<String> {
        let told = told.strip_suffix(&[0])?;
        let path = std::str::from_utf8(told.rsplit(|byte| *byte == 0).next()?).ok()?;
        let is_path = path.starts_with('/') && !path.contains(char::is_control);
        if Path::new(path) == before || !is_path || path.len() > PATH_BYTES_MAX {
            return None;
        }
        let ground = Ground::at(Path::new(path), granted);
        let is_gone = match ground.state {
            State::Known(_) => false,
            State::Nothing => true,
            // Each program has a folder of its own there, which went with it.
            State::Elsewhere => Path::new(path).starts_with("/tmp"),
        };
        let mut sessions = self.sessions();
        let session = put_in(&mut sessions, key);
        if is_gone {
            session.place = None;
            session.gone = Some(ground.path);
            return None;
        }
        session.place = Some(ground.clone());
        Some(ground.path)
    }
}

#[cfg(test)]
#[path = "ground_tests.rs"]
mod ground_tests;
