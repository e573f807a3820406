//! What a file system has left, and how much of that nobody's programs may take.
//!
//! An ordinary user has no quota to set, so disk and files are bounded by looking.

/// How much stays free, unless configured.
const FREE_BYTES: u64 = 256_000_000;
/// How many files can still be made, always: what the daemon needs to go on.
const FREE_FILES: u64 = 10_000;
/// The part of a small file system that stays free: one twentieth.
const PART: u64 = 20;

/// What a file system has and has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    pub free_bytes: u64,
    pub total_bytes: u64,
    /// Files that can still be made.
    pub free_files: u64,
    /// Files in all; 0 where the file system does not count them.
    pub total_files: u64,
}

/// What is running out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scarce {
    /// Space for content.
    Bytes,
    /// Places for files.
    Files,
}

/// How much of a file system is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Floor {
    configured: Option<u64>,
}

impl Floor {
    /// As the operator wrote it; `None` for the usual one.
    pub fn new(configured: Option<u64>) -> Self {
        Self { configured }
    }

    /// The bytes that stay free: what is configured; else as usual, and less where the file
    /// system is small.
    pub fn bytes(self, space: &Space) -> u64 {
        self.configured.unwrap_or_else(|| FREE_BYTES.min(space.total_bytes / PART))
    }

    /// The files that can still be made.
    pub fn files(self, space: &Space) -> u64 {
        FREE_FILES.min(space.total_files / PART)
    }

    /// What would be scarcer than this allows after so many more bytes were written.
    pub fn breached(self, space: &Space, more: u64) -> Option<Scarce> {
        if space.free_bytes.saturating_sub(more) < self.bytes(space) {
            return Some(Scarce::Bytes);
        }
        (space.free_files < self.files(space)).then_some(Scarce::Files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(free_bytes: u64, total_bytes: u64, free_files: u64, total_files: u64) -> Space {
        Space { free_bytes, total_bytes, free_files, total_files }
    }

    #[test]
    fn a_floor_is_what_is_written_or_fits_the_file_system() {
        let large = space(10 << 30, 100 << 30, 1 << 20, 1 << 20);
        let small = space(2_000, 20_000, 90, 1_000);
        assert_eq!(Floor::default().bytes(&large), FREE_BYTES);
        assert_eq!(Floor::default().bytes(&small), 1_000);
        assert_eq!(Floor::new(Some(7)).bytes(&small), 7);
        assert_eq!(Floor::default().files(&small), 50);
    }

    #[test]
    fn it_is_breached_by_bytes_or_by_files() {
        let floor = Floor::new(Some(100));
        assert_eq!(floor.breached(&space(150, 1_000, 0, 0), 0), None);
        assert_eq!(floor.breached(&space(150, 1_000, 0, 0), 50), None);
        assert_eq!(floor.breached(&space(150, 1_000, 0, 0), 51), Some(Scarce::Bytes));
        assert_eq!(floor.breached(&space(99, 1_000, 0, 0), 0), Some(Scarce::Bytes));
        assert_eq!(floor.breached(&space(150, 1_000, 49, 1_000), 0), Some(Scarce::Files));
        assert_eq!(floor.breached(&space(150, 1_000, 50, 1_000), 0), None);
    }
}
