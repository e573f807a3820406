//! Archives: what goes in comes out, and what was changed on the way is noticed.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::{
    ArchiveError, ArchiveWriter, Entry, EntryKind, Found, Manifest, Passphrase, Totals, Unpacker,
    Visitor, is_sealed, read, walk,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

fn manifest() -> Manifest {
    Manifest::new("test", "0", "2026-01-01T00:00:00Z".into(), serde_json::json!({"a": 1}))
}

fn words(text: &str) -> Passphrase {
    Passphrase::for_sealing(text.into()).unwrap()
}

fn entry(name: &str) -> Entry {
    Entry::private(name, 0, (0, 0), 1_000)
}

/// Packs named bytes.
fn pack(target: &Path, passphrase: Option<&Passphrase>, files: &[(&str, Vec<u8>)]) -> Totals {
    let scratch = target.parent().unwrap();
    let mut archive = ArchiveWriter::create(target, passphrase, &manifest(), scratch).unwrap();
    for (name, content) in files {
        archive.add_bytes(&entry(name), content).unwrap();
    }
    archive.finish().unwrap().0
}

type Contents = BTreeMap<PathBuf, Vec<u8>>;

/// Does something with every entry.
struct Each<F>(F);

impl<F: FnMut(&Entry, &mut dyn Read) -> Result<(), ArchiveError>> Visitor for Each<F> {
    type Error = ArchiveError;

    fn begin(&mut self, _: &Manifest) -> Result<(), ArchiveError> {
        // Before the end nobody knows whether it is what was written.
        Ok(())
    }

    fn entry(&mut self, entry: &Entry, content: &mut dyn Read) -> Result<(), ArchiveError> {
        (self.0)(entry, content)
    }
}

fn contents(file: &Path, passphrase: Option<&Passphrase>) -> Result<Contents, ArchiveError> {
    let mut found = BTreeMap::new();
    let mut each = Each(|entry: &Entry, content: &mut dyn Read| {
        let mut bytes = Vec::new();
        // A cut file ends in the middle of one.
        if content.read_to_end(&mut bytes).is_ok() {
            found.insert(entry.name.clone(), bytes);
        }
        Ok(())
    });
    read(file, passphrase, &mut each)?;
    Ok(found)
}

#[test]
fn a_sealed_archive_opens_with_its_passphrase_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.insula");
    let files = [("one", b"first".to_vec()), ("deep/two", vec![7; 200_000])];
    pack(&file, Some(&words("correct horse")), &files);
    assert!(is_sealed(&file).unwrap());
    let found = contents(&file, Some(&words("correct horse"))).unwrap();
    assert_eq!(found[Path::new("one")], b"first");
    assert_eq!(found[Path::new("deep/two")], vec![7; 200_000]);

    let wrong = contents(&file, Some(&words("correct house"))).unwrap_err();
    assert!(matches!(wrong, ArchiveError::Passphrase { .. }), "{wrong}");
    let none = contents(&file, None).unwrap_err();
    assert!(matches!(none, ArchiveError::Sealed { .. }), "{none}");
    let bytes = fs::read(&file).unwrap();
    assert!(!bytes.windows(5).any(|it| it == b"first"));
}

#[test]
fn what_is_cut_or_changed_is_told_apart_from_what_is_foreign() {
    let folder = tempfile::tempdir().unwrap();
    let sealed = folder.path().join("sealed");
    let passphrase = words("correct horse");
    // Bytes that can't be packed: so the file is longer than one piece of the seal.
    let mut noise = vec![0; 150_000];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    pack(&sealed, Some(&passphrase), &[("one", noise)]);
    let whole = fs::read(&sealed).unwrap();
    let broken = folder.path().join("broken");
    for len in [30, 100, whole.len() / 2, 65_536 + 200, whole.len() - 20, whole.len() - 1] {
        fs::write(&broken, &whole[..len]).unwrap();
        let error = contents(&broken, Some(&passphrase)).unwrap_err();
        assert!(matches!(error, ArchiveError::Damaged { .. }), "cut at {len}: {error}");
    }
    for at in [250, whole.len() / 2, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&broken, &changed).unwrap();
        let error = contents(&broken, Some(&passphrase)).unwrap_err();
        assert!(matches!(error, ArchiveError::Damaged { .. }), "changed at {at}: {error}");
    }
    for foreign in [&b""[..], b"hello", b"PK\x03\x04", &whole[1..]] {
        fs::write(&broken, foreign).unwrap();
        let error = contents(&broken, Some(&passphrase)).unwrap_err();
        assert!(matches!(error, ArchiveError::Foreign { .. }), "{error}");
    }
    let error = contents(folder.path(), Some(&passphrase)).unwrap_err();
    assert!(error.to_string().contains("folder"), "{error}");
}

#[test]
fn an_open_archive_notices_every_cut_and_most_changes_of_a_byte() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open");
    pack(&file, None, &[("one", b"content of one".to_vec()), ("two", vec![3; 2_000])]);
    let whole = fs::read(&file).unwrap();
    let broken = folder.path().join("broken");
    for len in 2..whole.len() {
        fs::write(&broken, &whole[..len]).unwrap();
        assert!(contents(&broken, None).is_err(), "cut at {len}");
    }
    let before = contents(&file, None).unwrap();
    // The first ten bytes are the packer's own: time, system. They change nothing that is read.
    for at in 10..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(&broken, &changed).unwrap();
        assert!(contents(&broken, None).map_or(true, |after| after == before), "at {at}");
    }
}

#[test]
fn nothing_stands_at_the_name_before_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a");
    let names = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name());
        names.collect::<Vec<_>>()
    };
    let create = || ArchiveWriter::create(&file, None, &manifest(), folder.path());
    let archive = create().unwrap();
    assert!(!file.exists());
    let Err(busy) = create() else { panic!("two at once") };
    assert!(busy.to_string().contains("another command"), "{busy}");
    drop(archive);
    assert_eq!(names(), Vec::<std::ffi::OsString>::new());

    // What a killed program left is no obstacle.
    fs::write(folder.path().join(".a.part"), b"half").unwrap();
    create().unwrap().finish().unwrap();
    assert_eq!(names(), ["a"]);
    let Err(there) = create() else { panic!("written over") };
    assert!(there.to_string().contains("exists already"), "{there}");
}

#[test]
fn a_folder_comes_back_as_it_was() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (root, file) = (folder.path().join("root"), folder.path().join("a"));
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::create_dir_all(root.join("skipped/deep")).unwrap();
    fs::write(root.join("skipped/deep/x"), b"x").unwrap();
    fs::write(root.join("a/run.sh"), b"#!").unwrap();
    fs::set_permissions(root.join("a/run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::write(root.join("large"), vec![9; 9 << 20]).unwrap();
    symlink("../outside", root.join("a/link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();

    let mut archive = ArchiveWriter::create(&file, None, &manifest(), folder.path()).unwrap();
    let mut left = Vec::new();
    walk::<ArchiveError>(&root, &|name| name == Path::new("skipped"), &mut |found| match found {
        Found::Entry(entry, content) => archive.add_found(entry, content),
        Found::Left(name) => {
            left.push(name.to_owned());
            Ok(())
        }
    })
    .unwrap();
    let (totals, _) = archive.finish().unwrap();
    assert_eq!((totals.files, left), (2, vec![PathBuf::from("socket")]));

    let target = folder.path().join("target");
    let mut unpacker = Unpacker::begin(&target).unwrap();
    let mut each = Each(|entry: &Entry, content: &mut dyn Read| unpacker.put(entry, content));
    read(&file, None, &mut each).unwrap();
    assert!(!target.join("large").exists());
    unpacker.place(&["large"]).unwrap();
    assert_eq!(fs::read(target.join("large")).unwrap(), vec![9; 9 << 20]);
    assert_eq!(fs::metadata(target.join("a/run.sh")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(fs::read_link(target.join("a/link")).unwrap(), Path::new("../outside"));
    assert!(target.join("a/b").is_dir() && !target.join("skipped").exists());
    assert!(!target.join(".unpacking").exists());

    let Err(used) = Unpacker::begin(&target) else { panic!("unpacked over files") };
    assert!(used.to_string().contains("not empty"), "{used}");
}

#[test]
fn no_entry_leaves_the_folder_and_a_given_up_unpacking_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let mut unpacker = Unpacker::begin(&target).unwrap();
    let link = Entry { kind: EntryKind::Link("/".into()), ..entry("a") };
    unpacker.put(&link, &mut std::io::empty()).unwrap();
    // The link is not there yet, so this is a file below a folder, and the link has no place.
    unpacker.put(&entry("a/tmp-of-insula-test"), &mut &b"x"[..]).unwrap();
    for name in ["../x", "/x", "", "b/../../x"] {
        assert!(unpacker.put(&entry(name), &mut &b"x"[..]).is_err(), "{name}");
    }
    assert!(unpacker.place(&[]).is_err());
    assert!(!target.exists() && !Path::new("/tmp-of-insula-test").exists());
}

#[test]
fn a_short_passphrase_seals_nothing() {
    for text in ["", "seven77"] {
        assert!(Passphrase::for_sealing(text.into()).is_err());
    }
    assert_eq!(format!("{:?}", words("correct horse")), "Passphrase(…)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_goes_in_comes_out(
        files in prop::collection::btree_map("[a-zé]{1,8}(/[a-z ]{1,120}){0,2}x", prop::collection::vec(any::<u8>(), 0..2_000), 0..8),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let given: Vec<_> = files.iter().map(|(name, it)| (name.as_str(), it.clone())).collect();
        let totals = pack(&file, None, &given);
        prop_assert_eq!(totals.files, files.len() as u64);
        let expected: Contents =
            files.iter().map(|(name, it)| (name.into(), it.clone())).collect();
        prop_assert_eq!(contents(&file, None).unwrap(), expected);
    }
}
