//! Asks the linker to keep one copy of functions that came out the same.
#![allow(clippy::disallowed_methods, reason = "what cargo tells a build script, it tells so")]

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|is| is == value);
    // The linker that comes with the compiler on this target can; others may not know the word.
    if is("PROFILE", "release") && is("TARGET", "x86_64-unknown-linux-gnu") {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
}
