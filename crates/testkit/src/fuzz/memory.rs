//! How much memory this process holds.
#![expect(clippy::disallowed_methods, reason = "this file asks the kernel how large a test is")]

/// Every machine that tests run on has pages of this size.
const PAGE_BYTES: usize = 4096;

/// What this process holds in memory, in bytes.
pub fn memory() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * PAGE_BYTES
}
