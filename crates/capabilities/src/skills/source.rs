//! Where skills are installed from: a folder, an archive, or a git repository. This runs with
//! the rights of whoever types the command, never on behalf of somebody far away.
#![expect(clippy::disallowed_methods, reason = "reads what an operator names on the command line")]

use super::collection::{Candidate, candidates};
use super::package::Contents;
use super::{archive, git};
use insula_config::files::FileState;
use insula_config::skills::files::{self, SkillFiles, Top};
use insula_config::skills::{DOCUMENT, FILE_BYTES_MAX};
use insula_world::World;
use std::fs::{self, DirBuilder, File};
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Where skills come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillSource {
    /// A folder, which is a skill or holds some.
    Folder(PathBuf),
    /// An archive of one.
    Archive(PathBuf),
    /// A repository of one.
    Git(String),
}

impl SkillSource {
    /// What a text on the command line means.
    pub fn of(text: &str) -> Self {
        let is_url = ["https://", "ssh://", "file://", "git@", "http://", "git://"]
            .iter()
            .any(|scheme| text.starts_with(scheme));
        let path = PathBuf::from(text);
        if is_url {
            Self::Git(text.to_owned())
        } else if path.is_file() {
            Self::Archive(path)
        } else {
            Self::Folder(path)
        }
    }

    /// What is noted about where it came from: a path that means the same from everywhere, and
    /// an address without what gives access to it.
    pub fn name(&self) -> String {
        match self {
            Self::Folder(path) | Self::Archive(path) => {
                let whole = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                whole.display().to_string()
            }
            Self::Git(url) => without_credentials(url),
        }
    }

    /// Reads the skills. `scratch` is a folder that is ours, for what git fetches.
    pub async fn read(&self, scratch: &Path, world: &World) -> Result<Vec<Candidate>, String> {
        match self {
            Self::Folder(folder) => from_folder(folder),
            Self::Archive(path) => candidates(&archive::unpack(&bytes_of(path)?)?),
            Self::Git(url) => {
                let name = world.random.stream(&["skills", "git"]).id();
                let aside = scratch.join(format!("git-{name}"));
                let made = DirBuilder::new().mode(0o700).create(&aside);
                made.map_err(|error| format!("{} can't be made: {error}", aside.display()))?;
                let fetched = match git::fetch(url, &aside, world, &git::Limits::USUAL).await {
                    Ok(()) => from_folder(&aside.join("tree")),
                    // Git repeats the address it was given.
                    Err(error) => Err(error.replace(url.as_str(), &without_credentials(url))),
                };
                let _ = fs::remove_dir_all(&aside);
                fetched
            }
        }
    }
}

/// An address without what gives access: name and password, and its query. The name alone
/// stays where it is a key that opens (`ssh://git@host/path`, `git@host:path`).
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let bare = match host.rsplit_once('@') {
        Some((name, _)) if scheme == "ssh" && !name.contains(':') => host,
        Some((_, bare)) => bare,
        None => host,
    };
    format!("{scheme}://{bare}{path}")
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| format!("{shown} can't be opened: {error}"))?;
    let mut bytes = Vec::new();
    let limit = archive::ARCHIVE_BYTES_MAX as u64 + 1;
    let read = file.take(limit).read_to_end(&mut bytes);
    read.map_err(|error| format!("{shown} can't be read: {error}"))?;
    Ok(bytes)
}

fn from_folder(folder: &Path) -> Result<Vec<Candidate>, String> {
    let shown = folder.display();
    if !folder.is_dir() {
        return Err(format!("there is no folder or archive {shown}"));
    }
    let skills = match files::read_single(folder, Top::MayBeLink) {
        Some(skill) => vec![skill],
        None => files::read(folder, Top::MayBeLink).skills,
    };
    if skills.is_empty() {
        return Err(format!("there is no {DOCUMENT} in {shown}"));
    }
    let candidate = |skill: &SkillFiles| Candidate {
        folder: skill.folder.to_string(),
        contents: contents(folder, skill),
    };
    Ok(skills.iter().map(candidate).collect())
}

fn contents(folder: &Path, skill: &SkillFiles) -> Result<Contents, String> {
    if let FileState::Unreadable(why) = &skill.document {
        return Err(format!("{DOCUMENT} {why}"));
    }
    let mut contents = Contents::default();
    for path in skill.files.iter().map(|file| &*file.path).chain([DOCUMENT]) {
        let full = match &*skill.folder {
            "" => path.to_owned(),
            inner => format!("{inner}/{path}"),
        };
        let read = files::read_file(folder, Top::MayBeLink, &full, FILE_BYTES_MAX);
        let bytes = read.map_err(|why| format!("{path} {why}"))?;
        let bytes = bytes.ok_or_else(|| format!("{path} is gone"))?;
        contents.files.insert(path.to_owned(), bytes);
    }
    let executable = skill.files.iter().filter(|file| file.executable);
    contents.executable = executable.map(|file| file.path.to_string()).collect();
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gives_access_is_not_noted() {
        for (url, noted) in [
            ("https://example.org/a.git", "https://example.org/a.git"),
            ("https://me:word@example.org/a.git", "https://example.org/a.git"),
            ("https://token@example.org:8443/a@b.git", "https://example.org:8443/a@b.git"),
            ("https://a@b@example.org", "https://example.org"),
            ("https://example.org/a.git?key=word#part", "https://example.org/a.git"),
            ("ssh://git@example.org/a.git", "ssh://git@example.org/a.git"),
            ("ssh://git:word@example.org/a.git", "ssh://example.org/a.git"),
            ("git@example.org:a.git", "git@example.org:a.git"),
        ] {
            assert_eq!(SkillSource::of(url).name(), noted);
        }
    }

    #[test]
    fn a_path_is_noted_so_that_it_means_the_same_from_everywhere() {
        let noted = SkillSource::of(".").name();
        assert!(noted.starts_with('/') && !noted.ends_with("/."), "{noted}");
    }
}
