//! An agent's own folder of skills, on disk. A skill is written beside its place and swapped in
//! whole: whoever reads sees the old one or the new one.
#![expect(clippy::disallowed_methods, reason = "owns the writing of agents' own skills")]

use super::lock::{LOCK, Lock};
use insula_config::skills::files::{self, Top};
use insula_config::skills::{DOCUMENT, FILE_BYTES_MAX, is_inner_path};
use insula_registry::removal::remove_whole;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The agent's own folder of skills.
pub(super) struct Disk {
    root: PathBuf,
}

impl Disk {
    pub(super) fn new(agent_folder: &Path) -> Self {
        Self { root: agent_folder.join("skills") }
    }

    /// All files of a skill; `None` when there is no such folder.
    pub(super) fn read(&self, folder: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>, String> {
        let found = files::read(&self.root, Top::IsFolder);
        let Some(skill) = found.skills.iter().find(|skill| *skill.folder == *folder) else {
            return Ok(None);
        };
        let paths = skill.files.iter().map(|file| &*file.path).chain([DOCUMENT]);
        let mut contents = BTreeMap::new();
        for path in paths {
            let full = format!("{folder}/{path}");
            let bytes = files::read_file(&self.root, Top::IsFolder, &full, FILE_BYTES_MAX)
                .map_err(|why| format!("`{path}` {why}"))?;
            contents.extend(bytes.map(|bytes| (path.to_owned(), bytes)));
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
    pub(super) fn write(
        &self,
        folder: &str,
        contents: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), String> {
        let place = self.place(folder)?;
        let aside = self.root.join(format!(".new-{}", folder.replace('/', "+")));
        let write = || -> io::Result<()> {
            remove_whole(&aside)?;
            for (path, bytes) in contents {
                let file = aside.join(path);
                private_folder(file.parent().unwrap_or(&aside))?;
                let options = OpenOptions::new().create_new(true).write(true).mode(0o600).clone();
                let mut file = options.open(&file)?;
                file.write_all(bytes)?;
                file.sync_all()?;
            }
            private_folder(place.parent().unwrap_or(&self.root))?;
            if place.symlink_metadata().is_ok() {
                renameat_with(CWD, &aside, CWD, &place, RenameFlags::EXCHANGE)?;
                remove_whole(&aside)?;
            } else {
                fs::rename(&aside, &place)?;
            }
            File::open(place.parent().unwrap_or(&self.root))?.sync_all()
        };
        write().map_err(|error| {
            let _ = remove_whole(&aside);
            format!("skill `{folder}` can't be written: {error}")
        })
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
        if !is_inner_path(folder) || folder.split('/').any(|part| part.starts_with('.')) {
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
