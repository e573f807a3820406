//! An agent's own folder of skills, on disk, and the one that its programs are shown. A skill is
//! written beside its place and swapped in whole: whoever reads sees the old one or the new one.
#![expect(clippy::disallowed_methods, reason = "owns the writing of agents' own skills")]

use super::lock::{LOCK, Lock};
use super::package::Contents;
use insula_config::skills::files::{self, Top};
use insula_config::skills::{DOCUMENT, FILE_BYTES_MAX, is_inner_path};
use insula_registry::removal::remove_whole;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The folder of an agent that has the skills which its programs are shown.
pub(super) const SHOWN: &str = "mounted-skills";

/// A folder of skills of one agent.
pub(super) struct Disk {
    root: PathBuf,
    modes: Modes,
}

/// Who can read what is written.
struct Modes {
    folder: u32,
    file: u32,
    program: u32,
    /// Whether it has to be there after the power failed.
    is_durable: bool,
}

impl Disk {
    /// The agent's own skills.
    pub(super) fn new(agent_folder: &Path) -> Self {
        let modes = Modes { folder: 0o700, file: 0o600, program: 0o700, is_durable: true };
        Self { root: agent_folder.join("skills"), modes }
    }

    /// Those that its programs are shown: copies, which may run as a user of their own. The
    /// folders above let nobody else in, and what is here can be made again.
    pub(super) fn shown(agent_folder: &Path) -> Self {
        let modes = Modes { folder: 0o755, file: 0o644, program: 0o755, is_durable: false };
        Self { root: agent_folder.join(SHOWN), modes }
    }

    /// What stands in the folder, hidden things too.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Removes the folder with all that is in it.
    pub(super) fn clear(&self) -> Result<(), String> {
        remove_whole(&self.root).map_err(|error| format!("skills can't be removed: {error}"))
    }

    /// All files of a skill; `None` when there is no such folder.
    pub(super) fn read(&self, folder: &str) -> Result<Option<Contents>, String> {
        let found = files::read(&self.root, Top::IsFolder);
        let Some(skill) = found.skills.iter().find(|skill| *skill.folder == *folder) else {
            return Ok(None);
        };
        let paths = skill.files.iter().map(|file| &*file.path).chain([DOCUMENT]);
        let programs = skill.files.iter().filter(|file| file.executable);
        let executable = programs.map(|file| file.path.to_string()).collect();
        let mut contents = Contents { executable, ..Contents::default() };
        for path in paths {
            let full = format!("{folder}/{path}");
            let bytes = files::read_file(&self.root, Top::IsFolder, &full, FILE_BYTES_MAX)
                .map_err(|why| format!("`{path}` {why}"))?;
            contents.files.extend(bytes.map(|bytes| (path.to_owned(), bytes)));
        }
        Ok(Some(contents))
    }

    /// What is below a skill's folder and is no file: a link, for one.
    pub(super) fn strange(&self, folder: &str) -> Vec<String> {
        let found = files::read(&self.root, Top::IsFolder);
        let skill = found.skills.into_iter().find(|skill| *skill.folder == *folder);
        let strange = skill.map(|skill| skill.strange).unwrap_or_default();
        strange.into_iter().map(String::from).collect()
    }

    /// Writes a skill, in the place of the one that is there.
    pub(super) fn write(&self, folder: &str, contents: &Contents) -> Result<(), String> {
        let place = self.place(folder)?;
        let aside = self.root.join(format!(".new-{}", folder.replace('/', "+")));
        let write = || -> io::Result<()> {
            self.make_folder(&self.root)?;
            remove_whole(&aside)?;
            let Contents { files, executable } = contents;
            for (path, bytes) in files {
                let file = aside.join(path);
                self.make_folders(&aside, path)?;
                let is_program = executable.contains(path);
                let mode = if is_program { self.modes.program } else { self.modes.file };
                let options = OpenOptions::new().create_new(true).write(true).mode(mode).clone();
                let mut file = options.open(&file)?;
                file.write_all(bytes)?;
                // Whatever the daemon's own mask takes away.
                file.set_permissions(Permissions::from_mode(mode))?;
                if self.modes.is_durable {
                    file.sync_all()?;
                }
            }
            private_folder(place.parent().unwrap_or(&self.root))?;
            if place.symlink_metadata().is_ok() {
                renameat_with(CWD, &aside, CWD, &place, RenameFlags::EXCHANGE)?;
                remove_whole(&aside)?;
            } else {
                fs::rename(&aside, &place)?;
            }
            match self.modes.is_durable {
                true => File::open(place.parent().unwrap_or(&self.root))?.sync_all(),
                false => Ok(()),
            }
        };
        write().map_err(|error| {
            let _ = remove_whole(&aside);
            format!("skill `{folder}` can't be written: {error}")
        })
    }

    /// Makes the folders down to a file, below one that is made too.
    fn make_folders(&self, top: &Path, path: &str) -> io::Result<()> {
        let mut folder = top.to_owned();
        self.make_folder(&folder)?;
        let mut parts: Vec<&str> = path.split('/').collect();
        parts.pop();
        for part in parts {
            folder.push(part);
            self.make_folder(&folder)?;
        }
        Ok(())
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        private_folder(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(self.modes.folder))
    }

    /// Removes a skill.
    pub(super) fn remove(&self, folder: &str) -> Result<(), String> {
        let place = self.place(folder)?;
        let aside = self.root.join(format!(".old-{}", folder.replace('/', "+")));
        let remove = || -> io::Result<()> {
            remove_whole(&aside)?;
            fs::rename(&place, &aside)?;
            remove_whole(&aside)?;
            // A category is there for its skills. One that still has any can't be removed.
            let above = place.ancestors().skip(1).take_while(|above| *above != self.root);
            for category in above {
                if fs::remove_dir(category).is_err() {
                    break;
                }
            }
            Ok(())
        };
        remove().map_err(|error| format!("skill `{folder}` can't be removed: {error}"))
    }

    /// Removes what is called so, whatever it is; nothing where nothing is.
    pub(super) fn discard(&self, name: &str) -> Result<(), String> {
        let place = self.root.join(name);
        remove_whole(&place).map_err(|error| format!("`{name}` can't be removed: {error}"))
    }

    /// What was installed here.
    pub(super) fn lock(&self) -> Result<Lock, String> {
        match files::read_file(&self.root, Top::IsFolder, LOCK, FILE_BYTES_MAX) {
            Ok(Some(bytes)) => Lock::parse(&String::from_utf8_lossy(&bytes)),
            Ok(None) => Ok(Lock::default()),
            Err(why) => Err(format!("{LOCK} {why}")),
        }
    }

    /// Writes down what is installed here.
    pub(super) fn keep_lock(&self, lock: &Lock) -> Result<(), String> {
        let (place, aside) = (self.root.join(LOCK), self.root.join(".skills.lock.new"));
        let write = || -> io::Result<()> {
            private_folder(&self.root)?;
            let options =
                OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).clone();
            let mut file = options.open(&aside)?;
            file.write_all(lock.to_text().as_bytes())?;
            file.sync_all()?;
            fs::rename(&aside, &place)
        };
        write().map_err(|error| format!("{LOCK} can't be written: {error}"))
    }

    /// Where a skill stands. No part of the way is a link: files are ours alone here, and a
    /// link is something that somebody put there by mistake.
    fn place(&self, folder: &str) -> Result<PathBuf, String> {
        let is_taken = |part: &str| part.starts_with('.') || part == LOCK;
        if !is_inner_path(folder) || folder.split('/').any(is_taken) {
            return Err(format!("`{folder}` is no folder for a skill"));
        }
        let mut place = self.root.clone();
        let mut parts = folder.split('/');
        loop {
            if place.symlink_metadata().is_ok_and(|it| it.file_type().is_symlink()) {
                return Err(format!("`{}` is a link; skills are not kept there", place.display()));
            }
            match parts.next() {
                Some(part) => place.push(part),
                None => return Ok(place),
            }
        }
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
