//! What the processes inside hold of memory, where no cgroup counts it.
//!
//! Looked at from the first process inside, which sees them all. What is neither in a process's
//! own pages nor to be seen as a mapping or a socket (shared memory that was left but for a part,
//! descriptors on their way through a socket) is not found: a cgroup is the wall, this is not.

use super::start;
use std::collections::{BTreeMap, BTreeSet};

/// What one socket may hold of what was sent and not received: the most that `SO_SNDBUF` gives
/// where the machine says nothing else.
const SOCKET_BYTES: u64 = 2 * 212_992;

/// Names of mappings that several processes may share and no file system counts.
const SHARED: [&str; 2] = ["/dev/zero (deleted)", "/SYSV"];

/// Bytes that all of them hold.
pub(super) fn of_all() -> u64 {
    let mut own = 0u64;
    let mut in_shared_pages = 0u64;
    let mut shared: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut sockets = BTreeSet::new();
    for process in start::numbers("/proc").unwrap_or_default() {
        let status = start::read(&format!("/proc/{process}/status")).unwrap_or_default();
        own = own.saturating_add(kibibytes(&status, "RssAnon:"));
        in_shared_pages = in_shared_pages.saturating_add(kibibytes(&status, "RssShmem:"));
        let maps = start::read(&format!("/proc/{process}/maps")).unwrap_or_default();
        let mut here: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (object, bytes) in maps.lines().filter_map(mapping) {
            let so_far = here.entry(object).or_default();
            *so_far = so_far.saturating_add(bytes);
        }
        for (object, bytes) in here {
            let most = shared.entry(object).or_default();
            *most = bytes.max(*most);
        }
        sockets.extend(start::links(&format!("/proc/{process}/fd")).filter(|it| is_socket(it)));
    }
    let mapped = shared.into_values().fold(0u64, u64::saturating_add);
    own.saturating_add(mapped.max(in_shared_pages))
        .saturating_add(SOCKET_BYTES.saturating_mul(sockets.len() as u64))
}

fn is_socket(name: &str) -> bool {
    name.starts_with("socket:")
}

fn kibibytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let count = line.and_then(|it| it.trim().trim_end_matches(" kB").trim().parse::<u64>().ok());
    count.unwrap_or(0) << 10
}

/// A mapping of shared memory: which it is, and how long.
fn mapping(line: &str) -> Option<((String, String), u64)> {
    let mut fields = line.split_ascii_whitespace();
    let (from, to) = fields.next()?.split_once('-')?;
    let mode = fields.next()?;
    let (device, number) = (fields.nth(1)?, fields.next()?);
    let name = line.find('/').and_then(|at| line.get(at..))?;
    if !mode.ends_with('s') || !SHARED.iter().any(|it| name.starts_with(it)) {
        return None;
    }
    let at = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(((device.to_owned(), number.to_owned()), at(to)?.saturating_sub(at(from)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_told_from_files() {
        let line = "7f0000000000-7f0040000000 rw-s 00000000 00:01 1234   /dev/zero (deleted)";
        assert_eq!(mapping(line), Some((("00:01".to_owned(), "1234".to_owned()), 1 << 30)));
        let file = "7f0000000000-7f0000001000 r--s 00000000 fe:00 77   /usr/lib/locale/x";
        assert_eq!(mapping(file), None);
        assert_eq!(mapping("7f00-7f01 rw-p 00000000 00:00 0"), None);
    }

    #[test]
    fn what_a_status_says_is_counted() {
        assert_eq!(kibibytes("Name:\tx\nRssAnon:\t     12 kB\n", "RssAnon:"), 12 << 10);
        assert_eq!(kibibytes("Name:\tx\n", "RssAnon:"), 0);
    }
}
