//! `clippy.toml` does what it says: its entries name something, and naming it is refused. And the
//! profiles do what they say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One way round the World of each sort. Each line must be refused.
const TRESPASSES: &str = r#"
pub fn environment() -> bool { std::env::var("A").is_ok() }
pub fn file() -> bool { std::fs::read("a").is_ok() }
pub fn path(path: &std::path::Path) -> bool { path.exists() }
pub fn options() -> bool { std::fs::File::options().open("a").is_ok() }
pub fn process() -> bool { std::process::Command::new("a").spawn().is_ok() }
pub fn socket() -> bool { std::net::TcpStream::connect("a:1").is_ok() }
pub fn local() -> bool { std::os::unix::net::UnixStream::connect("a").is_ok() }
pub fn clock() -> bool { std::time::SystemTime::now() == std::time::SystemTime::UNIX_EPOCH }
pub fn timer(start: std::time::Instant) -> bool { start.elapsed().is_zero() }
pub fn thread() -> bool { std::thread::spawn(|| ()).is_finished() }
pub fn by_name() -> fn(std::time::Duration) { std::thread::sleep }
pub fn held(_: &std::net::UdpSocket) {}
std::thread_local!(pub static IDENTITY: u8 = const { 0 });
"#;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Runs Clippy with our `clippy.toml` over a crate made of `source`; returns what it says.
fn clippy(source: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let manifest = "[package]\nname = \"probe\"\nedition = \"2024\"\n[workspace]\n";
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.path().join("src/lib.rs"), source).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--quiet", "--message-format", "short"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .env("CLIPPY_CONF_DIR", workspace())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Path and whether it carries `allow-invalid`, of every entry of `clippy.toml`. One entry a
/// line, as the file is written.
fn entries() -> Vec<(String, bool)> {
    let text = fs::read_to_string(workspace().join("clippy.toml")).unwrap();
    let entries: Vec<_> = text
        .lines()
        .filter_map(|line| {
            let (path, rest) = line.trim().strip_prefix("{ path = \"")?.split_once('"')?;
            assert!(rest.contains("reason = \""), "{path} has no reason");
            Some((path.to_owned(), rest.contains("allow-invalid = true")))
        })
        .collect();
    assert_eq!(entries.len(), text.matches("path = ").count(), "one entry a line, please");
    assert!(entries.len() > 100, "only {} entries found", entries.len());
    entries
}

fn is_std(path: &str) -> bool {
    path.starts_with("std::")
}

#[test]
fn rule_01_every_trespass_is_refused() {
    let said = clippy(TRESPASSES);
    for (number, line) in TRESPASSES.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let place = format!("src/lib.rs:{}:", number + 1);
        let refused = said.lines().any(|said| said.contains(&place) && said.contains("disallowed"));
        assert!(refused, "not refused: {line}\nClippy said:\n{said}");
    }
}

#[test]
fn rule_01_every_entry_of_the_standard_library_names_something() {
    for (path, lenient) in entries() {
        assert_ne!(is_std(&path), lenient, "{path}: `allow-invalid` is for other crates only");
    }
    let said = clippy("");
    assert!(said.is_empty(), "{said}");
}

/// Clippy is silent about a misspelt entry of another crate, so its name is looked up in the
/// sources of that crate. A crate that is not in the build yet is passed over.
#[test]
fn rule_01_every_entry_of_a_crate_in_the_build_names_something() {
    // Without the filter cargo wants the sources for every platform, which a build never fetched.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1"])
        .args(["--filter-platform", &platform])
        .arg("--manifest-path")
        .arg(workspace().join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut sources: BTreeMap<String, String> = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap().replace('-', "_");
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        if entries().iter().any(|(path, _)| path.split("::").next() == Some(&name)) {
            read_all(&manifest.with_file_name("src"), sources.entry(name).or_default());
        }
    }
    assert!(sources.contains_key("tokio"), "{:?}", sources.keys());
    for (path, _) in entries().iter().filter(|(path, _)| !is_std(path)) {
        let (owner, name) = (path.split("::").next(), path.rsplit("::").next());
        let Some(source) = sources.get(owner.unwrap()) else { continue };
        let name = name.unwrap();
        let known = ["fn ", "struct ", "macro_rules! ", "enum "].iter().any(|keyword| {
            let ends = ["(", "<", " ", ";", "{"];
            ends.iter().any(|end| source.contains(&format!("{keyword}{name}{end}")))
        });
        assert!(known, "{path} is nowhere in the sources of its crate");
    }
}

/// Cargo forgets what a profile says of symbols for a package that has an entry in it, unless that
/// entry says it too: the program would ship a third larger.
#[test]
fn the_program_ships_without_symbols() {
    let text = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let section = |name: &str| {
        let (_, rest) = text.split_once(&format!("[{name}]\n")).unwrap();
        rest.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    assert!(section("profile.release").contains(&"strip = true"));
    for profile in ["release", "dist"] {
        for package in ["insula-cli", "insula-sandbox"] {
            let name = format!("profile.{profile}.package.{package}");
            assert!(section(&name).contains(&"strip = true"), "{name}");
        }
    }
}

fn read_all(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
