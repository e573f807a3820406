//! The page that is committed is the one that its sources give, and it runs no text.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests read the sources and fail by panicking"
)]

use super::*;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path as File, PathBuf};

/// What all of it may take up in the binary, compressed.
const LEN_MAX: usize = 600 * 1024;

fn files(folder: &File, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// Every source and its hash: the same as `sourcesHash` of `build.mjs`.
fn sources() -> String {
    let root = File::new(env!("CARGO_MANIFEST_DIR")).join("dashboard");
    let mut found = vec![root.join("package-lock.json"), root.join("build.mjs")];
    files(&root.join("src"), &mut found);
    let name = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    let mut all: Vec<_> = found.iter().map(|it| (name(it), fs::read(it).unwrap())).collect();
    all.sort();
    let hex = |bytes: &[u8]| {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    all.iter().map(|(name, bytes)| format!("{}  {name}\n", hex(bytes))).collect()
}

#[test]
fn the_committed_bundle_was_made_from_these_sources() {
    let built = include_str!("../dashboard/dist/sources.sha256");
    let help =
        "run scripts/dashboard-build and commit what it changes in crates/http/dashboard/dist";
    assert!(built == sources(), "the dashboard was not built since its sources changed: {help}");
}

#[test]
fn the_page_is_small_and_its_compressed_files_are_the_plain_ones() {
    let mut total = INDEX.len();
    for asset in &ASSETS {
        total += asset.gzip.unwrap_or(asset.plain).len();
        if let Some(gzip) = asset.gzip {
            let mut plain = Vec::new();
            let mut reader = flate2::read::GzDecoder::new(gzip);
            std::io::Read::read_to_end(&mut reader, &mut plain).unwrap();
            assert!(plain == asset.plain, "{}", asset.name);
        }
    }
    assert!(total <= LEN_MAX, "{total}");
}

#[test]
fn the_page_has_no_script_or_style_in_it_and_no_source_puts_in_text_as_html() {
    let page = std::str::from_utf8(INDEX).unwrap();
    for wrong in ["<style", "style=", "onload", "javascript:", "http:", "https:"] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert!(
        page.matches("<script").all(|_| page.contains("<script type=\"module\" src=\"/assets/"))
    );
    let mut found = Vec::new();
    files(&File::new(env!("CARGO_MANIFEST_DIR")).join("dashboard/src"), &mut found);
    for path in found {
        let text = fs::read_to_string(&path).unwrap();
        for wrong in [
            "dangerouslySetInnerHTML",
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "new Function",
        ] {
            assert!(!text.contains(wrong), "{wrong} in {}", path.display());
        }
    }
}

#[test]
fn who_takes_no_gzip_gets_none() {
    for (text, expected) in
        [("gzip", true), ("br, GZIP", true), ("gzip;q=0", false), ("identity", false), ("", false)]
    {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, text.parse().unwrap());
        assert_eq!(takes_gzip(&headers), expected, "{text}");
    }
}
