//! How long the files of an agent's log are kept, and its conversations.

use super::Reader;
use crate::agent::AttachmentsKept;
use crate::rules;
use insula_schedule::ActiveHours;
use std::time::Duration;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// Where nobody says otherwise: two weeks, in which somebody notices that something is wrong.
const KEEP_DAYS: u64 = 14;
/// Shortest that audit records are kept: somebody has to have had the time to look.
const AUDIT_DAYS_MIN: u64 = 30;
/// Longest: ten years.
const KEEP_DAYS_MAX: u64 = 3_650;

impl Reader<'_> {
    pub(super) fn logs_keep(&mut self) -> Duration {
        let keep = self.millis("logs.keep", KEEP_DAYS * DAY_MS);
        if let Some(node) = self.at("logs.keep")
            && !(DAY_MS..=KEEP_DAYS_MAX * DAY_MS).contains(&keep)
        {
            let message = format!("agent `{}` can't keep its logs so long, or so shortly", self.id);
            let help = format!("there is a file a day: write `1d` to `{KEEP_DAYS_MAX}d`");
            self.error(node.span, message, Some(help));
        }
        Duration::from_millis(keep)
    }

    /// How long conversations are kept; `None` for ever.
    pub(super) fn sessions_keep(&mut self) -> Option<Duration> {
        let node = self.at("sessions.keep")?;
        let keep = self.millis("sessions.keep", 0);
        if !(DAY_MS..=KEEP_DAYS_MAX * DAY_MS).contains(&keep) {
            let message =
                format!("agent `{}` can't keep conversations so long, or so shortly", self.id);
            let help =
                format!("write `1d` to `{KEEP_DAYS_MAX}d`, or leave it out to keep them for ever");
            self.error(node.span, message, Some(help));
        }
        Some(Duration::from_millis(keep))
    }

    /// How long audit records are kept; `None` for ever.
    pub(super) fn audit_keep(&mut self) -> Option<Duration> {
        let node = self.at("audit.keep")?;
        let keep = self.millis("audit.keep", 0);
        if !(AUDIT_DAYS_MIN * DAY_MS..=KEEP_DAYS_MAX * DAY_MS).contains(&keep) {
            let message =
                format!("agent `{}` can't keep audit records so long, or so shortly", self.id);
            let help = format!(
                "write `{AUDIT_DAYS_MIN}d` to `{KEEP_DAYS_MAX}d`, or leave it out to keep them for ever"
            );
            self.error(node.span, message, Some(help));
        }
        Some(Duration::from_millis(keep))
    }

    /// What of that which came with messages is kept.
    pub(super) fn attachments_kept(&mut self) -> AttachmentsKept {
        let keep = self.at("files.keep").map(|node| {
            let keep = self.millis("files.keep", 0);
            if !(DAY_MS..=KEEP_DAYS_MAX * DAY_MS).contains(&keep) {
                let message =
                    format!("agent `{}` can't keep attachments so long, or so shortly", self.id);
                let help =
                    format!("write `1d` to `{KEEP_DAYS_MAX}d`, or leave it out to keep them");
                self.error(node.span, message, Some(help));
            }
            Duration::from_millis(keep)
        });
        let bytes = self.text("files.keep_bytes").and_then(rules::size);
        AttachmentsKept { keep, bytes }
    }

    /// When its home chat hears nothing.
    pub(super) fn quiet_hours(&self) -> Option<ActiveHours> {
        self.text("notices.quiet").and_then(|hours| hours.parse().ok())
    }
}
