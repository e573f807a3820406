//! The files of policies, read and hashed. Never by a link: it could lead to where agents write.
#![expect(clippy::disallowed_methods, reason = "reads the folders of policies")]

use super::{DOCUMENT, FOLDER, is_name};
use crate::file_state::FileState;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

/// Largest file of a policy, in bytes.
pub const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Most files of a policy.
const FILES_MAX: usize = 64;
/// Deepest folder in one.
const DEPTH_MAX: usize = 4;

/// One policy as it stands on disk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyFiles {
    /// `policy.yaml`.
    pub document: FileState,
    /// Each file, by its path in the folder.
    pub files: BTreeMap<String, Arc<[u8]>>,
    /// Why the folder can't be a policy.
    pub fault: Option<String>,
}

impl PolicyFiles {
    /// The hash of each file.
    pub fn hashes(&self) -> BTreeMap<String, String> {
        let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
        self.files.iter().map(|(path, bytes)| (path.clone(), hash(bytes))).collect()
    }

    /// One hash of all files and their names.
    pub fn hash(&self) -> String {
        let mut all = blake3::Hasher::new();
        for (path, hash) in self.hashes() {
            all.update(path.as_bytes()).update(&[0]).update(hash.as_bytes()).update(b"\n");
        }
        all.finalize().to_hex().to_string()
    }
}

/// The policies of a home, by name.
pub fn read_all(home: &Path) -> BTreeMap<String, PolicyFiles> {
    let folder = home.join(FOLDER);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names = names.filter(|name| is_name(name));
    names.map(|name| (name.clone(), read_folder(&folder.join(name)))).collect()
}

/// One policy.
pub fn read_folder(folder: &Path) -> PolicyFiles {
    let mut found = PolicyFiles::default();
    found.fault = take(folder, "", 0, &mut found.files).err();
    found.document = match found.files.get(DOCUMENT).map(|bytes| std::str::from_utf8(bytes)) {
        None => FileState::Absent,
        Some(Ok(text)) => FileState::Text(text.into()),
        Some(Err(_)) => FileState::Unreadable("is not UTF-8".to_owned()),
    };
    found
}

fn take(
    folder: &Path,
    below: &str,
    depth: usize,
    files: &mut BTreeMap<String, Arc<[u8]>>,
) -> Result<(), String> {
    let unreadable = |what: &str, error: io::Error| format!("`{what}` can't be read: {error}");
    if depth > DEPTH_MAX {
        return Err(format!("`{below}` is deeper than {DEPTH_MAX} folders"));
    }
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|it| it.is_symlink());
    if is_link(folder) {
        return Err(format!("`{}` is a link", if below.is_empty() { "the folder" } else { below }));
    }
    let entries = fs::read_dir(folder).map_err(|error| unreadable(below, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(below, error))?;
        let Ok(name) = entry.file_name().into_string() else {
            return Err(format!("a name in `{below}` is not UTF-8"));
        };
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = entry.file_type().map_err(|error| unreadable(&path, error))?;
        if kind.is_dir() {
            take(&entry.path(), &path, depth + 1, files)?;
        } else if kind.is_file() {
            if files.len() >= FILES_MAX {
                return Err(format!("there are more than {FILES_MAX} files"));
            }
            let bytes = read_file(&entry.path()).map_err(|error| unreadable(&path, error))?;
            if bytes.len() as u64 > FILE_BYTES_MAX {
                return Err(format!("`{path}` is larger than {FILE_BYTES_MAX} bytes"));
            }
            files.insert(path, bytes.into());
        } else {
            return Err(format!("`{path}` is neither a file nor a folder"));
        }
    }
    Ok(())
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
