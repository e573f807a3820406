//! One list and its file: what people made of the file is taken in before anything else is
//! read or written, and a write puts the new file in place in one step with the old one's end.
//!
//! A write goes: stage the new file, commit, swap. What a crash leaves says how far it came:
//! a staged file that is what was committed was not swapped yet; one that is what was there
//! before was. So it is always known which version a person had before them.

use crate::entries::Draft;
use crate::error::FileFault;
use crate::files::{Content, OnDisk};
use crate::merge::merge;
use crate::text::{parse, render};
use insula_store::memory::{FRAGMENT_BYTES_MAX, FRAGMENTS_MAX};
use insula_store::{Fragment, FragmentId, MemoryPage};
use std::collections::BTreeSet;
use std::time::SystemTime;

/// The hash of a file's bytes.
pub(crate) fn digest(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}

/// What has to be done about a list's file before the list is used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing.
    Nothing,
    /// Somebody edited it: the list is to become this.
    TakeIn(Vec<Draft>),
    /// It is not what the list says, and nobody edited it: write it.
    Write,
}

/// A list and its file, looked at together.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) fragments: Vec<Fragment>,
    /// What of them whoever saved the file has surely read.
    pub(crate) read: Vec<FragmentId>,
    /// The bytes of the file.
    pub(crate) file: Option<Vec<u8>>,
    pub(crate) due: Due,
    /// Whether something staged is left over.
    pub(crate) has_leftover: bool,
    /// Whether its files may still have what was forgotten.
    pub(crate) is_erasure_due: bool,
}

impl Looked {
    pub(crate) fn ids(&self) -> Vec<FragmentId> {
        self.fragments.iter().map(|fragment| fragment.id).collect()
    }
}

/// Compares a list with its file. `read` says what somebody has surely read who edited a file
/// that was made of these, and saved it then.
pub(crate) fn look(
    page: MemoryPage,
    disk: OnDisk,
    read: impl Fn(&[FragmentId], SystemTime) -> Vec<FragmentId>,
) -> Result<Looked, FileFault> {
    let MemoryPage { fragments, mirror, erasure_due } = page;
    let OnDisk { file, staged } = disk;
    let has_leftover = staged.is_some();
    let (file, saved) = match file {
        Some(Content { bytes, saved }) => (Some(bytes), saved),
        None => (None, SystemTime::UNIX_EPOCH),
    };
    let mut known: Vec<FragmentId> = fragments.iter().map(|fragment| fragment.id).collect();
    let is = |bytes: &Option<Vec<u8>>, hash: &[u8; 32]| {
        bytes.as_ref().is_some_and(|bytes| digest(bytes) == *hash)
    };
    let as_listed = render(fragments.iter().map(|it| it.text.as_str()));
    let due = match (&file, &mirror) {
        // A file that is gone is written anew: absence does not say what anybody wanted.
        (None, _) if fragments.is_empty() => Due::Nothing,
        (None, _) => Due::Write,
        (Some(bytes), _) if strip(bytes) == as_listed.as_bytes() => Due::Nothing,
        (Some(bytes), None) => {
            known.clear();
            edited(&fragments, &known, bytes)?
        }
        (Some(bytes), Some(mirror)) => {
            let swap_is_due = is(&staged, &mirror.now.0) && !is(&file, &mirror.now.0);
            if is(&file, &mirror.now.0) {
                // As it was left: its entries may be set out otherwise than ours would be.
                let texts = entries_of(bytes)?;
                match texts.iter().eq(fragments.iter().map(|fragment| &fragment.text)) {
                    true => Due::Nothing,
                    false => Due::Write,
                }
            } else if swap_is_due && is(&file, &mirror.before.0) {
                Due::Write
            } else {
                let base = if swap_is_due { &mirror.before.1 } else { &mirror.now.1 };
                known = read(base, saved);
                edited(&fragments, &known, bytes)?
            }
        }
    };
    Ok(Looked { fragments, read: known, file, due, has_leftover, is_erasure_due: erasure_due })
}

fn edited(now: &[Fragment], base: &[FragmentId], bytes: &[u8]) -> Result<Due, FileFault> {
    let entries = entries_of(bytes)?;
    let merged = merge(now, base, &entries);
    let is_same = merged.iter().eq(&now.iter().cloned().map(Draft::Kept).collect::<Vec<_>>());
    Ok(match is_same {
        // An edit that changes no entry is none: blank lines, a line end at the end.
        true if entries.iter().eq(now.iter().map(|it| &it.text)) => Due::Nothing,
        // It only lacks what they can't have read.
        true => Due::Write,
        false => Due::TakeIn(merged),
    })
}

/// The entries of a file that somebody wrote.
pub(crate) fn entries_of(bytes: &[u8]) -> Result<Vec<String>, FileFault> {
    let text = std::str::from_utf8(bytes).map_err(|_| FileFault::NotText)?;
    let entries = parse(text);
    if entries.len() > FRAGMENTS_MAX {
        let what = format!("{} entries, and {FRAGMENTS_MAX} are the most", entries.len());
        return Err(FileFault::Entries(what));
    }
    if let Some(long) = entries.iter().find(|entry| entry.len() > FRAGMENT_BYTES_MAX) {
        let what =
            format!("an entry of {} bytes, and {FRAGMENT_BYTES_MAX} are the most", long.len());
        return Err(FileFault::Entries(what));
    }
    Ok(entries)
}

/// Without a line end at the end, which editors add.
fn strip(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\n").unwrap_or(bytes)
}

/// The bytes of the file for these entries, in the manner of the one that is there.
pub(crate) fn bytes_of(drafts: &[Draft], file: Option<&[u8]>) -> Vec<u8> {
    let mut text = render(drafts.iter().map(Draft::text));
    if !text.is_empty() && file.is_some_and(|bytes| bytes.ends_with(b"\n")) {
        text.push('\n');
    }
    text.into_bytes()
}

/// What a list becomes when a file was swapped out that nobody had looked at: what is new in
/// it is added, and what is missing in it of `base` goes.
pub(crate) fn rescue(
    now: &[Fragment],
    base: &[FragmentId],
    bytes: &[u8],
) -> Result<Vec<Draft>, FileFault> {
    Ok(merge(now, base, &entries_of(bytes)?))
}

/// An earlier version of a file with nothing but these entries; `None` if it is best gone
/// altogether.
pub(crate) fn only(bytes: &[u8], live: &BTreeSet<&str>) -> Option<Vec<u8>> {
    let entries = entries_of(bytes).ok()?;
    let kept: Vec<&str> =
        entries.iter().map(String::as_str).filter(|entry| live.contains(entry)).collect();
    if kept.len() == entries.len() {
        return Some(bytes.to_vec());
    }
    let text = render(kept).into_bytes();
    (!text.is_empty()).then_some(text)
}
