//! How far something is, on one line of a terminal. Where nobody looks, nothing is printed.

use crate::setting::{Answer, Setting};
use insula_world::World;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

/// How often the line changes: as fast as is read, and no faster.
const EVERY: Duration = Duration::from_millis(100);

/// A line that changes, and is gone when dropped.
pub struct Progress {
    world: World,
    is_shown: bool,
    last: Option<Duration>,
}

impl Progress {
    /// One for whoever gave this command.
    pub fn new(setting: &Setting) -> Self {
        let is_shown = setting.answer == Answer::Text && std::io::stderr().is_terminal();
        Self { world: setting.world.clone(), is_shown, last: None }
    }

    /// Shows a line, unless the one before it was shown just now.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        if !self.is_shown {
            return;
        }
        let now = self.world.clock.elapsed();
        if self.last.is_some_and(|last| now.saturating_sub(last) < EVERY) {
            return;
        }
        self.last = Some(now);
        let _ = write!(std::io::stderr(), "\r\x1b[K{}", text());
        let _ = std::io::stderr().flush();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.last.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// A number of bytes, for people.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = count;
    let mut rest = 0;
    let mut unit = None;
    for next in UNITS {
        if value < 1024 {
            break;
        }
        (rest, value, unit) = (value % 1024, value / 1024, Some(next));
    }
    match unit {
        None => format!("{count} bytes"),
        Some(unit) if value < 10 => format!("{value}.{} {unit}", rest * 10 / 1024),
        Some(unit) => format!("{value} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_are_told_in_the_unit_that_fits() {
        let told = [0, 1023, 1024, 1536, 10 * 1024, 5 << 20, 3 << 40, u64::MAX].map(bytes);
        let expected = [
            "0 bytes",
            "1023 bytes",
            "1.0 KiB",
            "1.5 KiB",
            "10 KiB",
            "5.0 MiB",
            "3.0 TiB",
            "16777215 TiB",
        ];
        assert_eq!(told, expected);
    }
}
