//! Asks the linker to keep one copy of functions that came out the same, and to write down in a
//! few kilobytes where addresses have to be filled in at the start: the long list is a megabyte
//! and more that every process reads and keeps.
#![allow(clippy::disallowed_methods, reason = "what cargo tells a build script, it tells so")]
#![allow(clippy::disallowed_types, reason = "a build script may ask its machine what it is")]

use std::env;
use std::process::Command;

/// The first glibc that can read the short list.
const GLIBC_READS_SHORT: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|is| is == value);
    // The linker that comes with the compiler on this target can; others may not know the words.
    if !is("PROFILE", "release") || !is("TARGET", "x86_64-unknown-linux-gnu") {
        return;
    }
    println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    // A program that is built here for here: nobody can say what another machine reads.
    if is("HOST", "x86_64-unknown-linux-gnu") && glibc() >= Some(GLIBC_READS_SHORT) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's C library, if it says one.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
