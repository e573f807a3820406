//! Where a path leads and whose that is, whatever it is called and whether or not something is
//! there yet. Nothing is made here, and nothing is opened but folders.

use super::folders::Root;
use super::{Begin, LINKS_MAX, Workspace, kernel};
use insula_domain::AccessMode;
use rustix::fd::OwnedFd;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::path::{Component, Path, PathBuf};

/// A place on a disk, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    /// Without a link on the way.
    pub path: PathBuf,
    pub within: Within,
    /// What may be done in the granted folder that it is in.
    pub mode: AccessMode,
}

/// Which of an agent's folders something is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// Its own.
    Own,
    /// One that others have too.
    Shared,
    /// That of what its programs printed and of what people sent along.
    Output,
}

impl Within {
    fn of(root: &Root, is_output: bool) -> Self {
        match (is_output, root.is_shared) {
            (true, _) => Self::Output,
            (false, true) => Self::Shared,
            (false, false) => Self::Own,
        }
    }
}

/// How far a path can be followed.
enum Found {
    /// Through this folder, and from there on by names that nothing has yet.
    Through(OwnedFd, PathBuf),
    /// Not so far that it could be told where it ends.
    Nowhere,
}

impl Workspace {
    /// The places that a path may mean: where it leads, and the granted folders inside of that.
    /// Nothing where it leads out of all folders. What can't be told apart is the whole folder that
    /// the path begins in.
    pub(crate) fn places_of(&self, path: &str) -> Vec<FilePlace> {
        let Ok(begin) = self.begin(path) else { return Vec::new() };
        let place = match self.follow(&begin) {
            Found::Through(folder, rest) => self.place_in(&begin, &folder, &rest),
            Found::Nowhere => None,
        };
        let place = place.or_else(|| self.place_in(&begin, &begin.root.folder, Path::new("")));
        let Some(place) = place else {
            // Nobody knows what it is called, so whatever it could be it is.
            return self.places();
        };
        let inside = self.places().into_iter();
        let inside = inside.filter(|it| it.path != place.path && it.path.starts_with(&place.path));
        let inside: Vec<FilePlace> = inside.collect();
        std::iter::once(place).chain(inside).collect()
    }

    /// All folders, as places.
    pub(crate) fn places(&self) -> Vec<FilePlace> {
        let places = self.roots.iter().enumerate().filter_map(|(index, root)| {
            let within = Within::of(root, index >= self.given);
            Some(FilePlace { path: kernel::real_path(&root.folder).ok()?, within, mode: root.mode })
        });
        places.collect()
    }

    /// Follows a path as who writes there would: links at its end by hand, and what is missing on
    /// the way by its name.
    fn follow(&self, begin: &Begin) -> Found {
        let top = &begin.root.folder;
        let mut rest = begin.rest.clone();
        for _ in 0..LINKS_MAX {
            match kernel::folder_beneath(top, &rest) {
                Ok(folder) => return Found::Through(folder, PathBuf::new()),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(_) => return Found::Nowhere,
            }
            let Some(Component::Normal(name)) = rest.components().next_back() else {
                return Found::Nowhere;
            };
            let above = rest.parent().unwrap_or(Path::new("")).to_owned();
            let folder = match kernel::folder_beneath(top, &above) {
                Ok(folder) => folder,
                Err(Errno::NOENT | Errno::NOTDIR) => return missing(top, &rest),
                Err(_) => return Found::Nowhere,
            };
            let is_link = match kernel::look(&folder, name) {
                Ok(stat) => stat.is_some_and(|stat| kernel::kind(&stat) == FileType::Symlink),
                Err(_) => return Found::Nowhere,
            };
            if !is_link {
                return Found::Through(folder, name.into());
            }
            match kernel::link_target(&folder, name) {
                Ok(target) if !target.is_absolute() => rest = above.join(target),
                _ => return Found::Nowhere,
            }
        }
        Found::Nowhere
    }

    /// A place in an open folder. Whose it is says the granted folder that is nearest above it, by
    /// what it is and not by what it is called.
    fn place_in(&self, begin: &Begin, folder: &OwnedFd, rest: &Path) -> Option<FilePlace> {
        let path = kernel::real_path(folder).ok()?;
        let way = kernel::up_to(folder, begin.root.identity()).ok()?;
        let granted = way.iter().find_map(|identity| {
            let mut same =
                self.roots.iter().enumerate().filter(|(_, it)| it.identity() == *identity);
            let first = same.next()?;
            // One that was granted twice is shared.
            Some(same.find(|(_, root)| root.is_shared).unwrap_or(first))
        });
        let (index, root) = granted?;
        let within = Within::of(root, index >= self.given);
        Some(FilePlace { path: path.join(rest), within, mode: root.mode })
    }
}

/// What is there of a path whose folder is missing, and the names of the rest.
fn missing(top: &OwnedFd, path: &Path) -> Found {
    for above in path.ancestors().skip(1) {
        let Ok(folder) = kernel::folder_beneath(top, above) else { continue };
        let rest = path.strip_prefix(above).unwrap_or(path);
        // Whoever makes folders on the way goes back by `..` through what they made.
        let is_plain = rest.components().all(|it| matches!(it, Component::Normal(_)));
        return match is_plain {
            true => Found::Through(folder, rest.to_owned()),
            false => Found::Nowhere,
        };
    }
    Found::Nowhere
}
