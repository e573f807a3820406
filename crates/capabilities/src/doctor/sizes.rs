//! How much is on the disk, whose it is, and how fast it grows.

use super::{DoctorFinding, Status, finding};
use crate::Capabilities;
use crate::sizes::Look;
use insula_domain::AgentId;
use insula_registry::kept_files::DiskUse;
use insula_store::StoreError;
use std::collections::BTreeMap;

/// Agents that are named, those with the most.
const NAMED_MAX: usize = 3;
const MB: u64 = 1_000_000;

pub(super) async fn examine(caps: &Capabilities) -> DoctorFinding {
    match looked(caps).await {
        Ok((used, before)) => finding("size", Status::Good, told(&used, before.as_ref())),
        Err(error) => finding("size", Status::Notice, format!("can't be told now: {error}")),
    }
}

async fn looked(
    caps: &Capabilities,
) -> Result<(BTreeMap<AgentId, DiskUse>, Option<Look>), StoreError> {
    Ok((caps.disk_use().await?, caps.look_before().await?))
}

fn told(used: &BTreeMap<AgentId, DiskUse>, before: Option<&Look>) -> String {
    let databases: u64 = used.values().map(|it| it.database).sum();
    let files: u64 = used.values().map(|it| it.files).sum();
    let mut told = format!(
        "agents have {}: {} in databases, {} in files",
        size(databases + files),
        size(databases),
        size(files)
    );
    if used.values().any(|it| it.is_cut) {
        told.push_str(", and more than was counted");
    }
    let mut most: Vec<(&AgentId, u64)> = used.iter().map(|(id, it)| (id, it.total())).collect();
    most.sort_by_key(|(id, total)| (std::cmp::Reverse(*total), *id));
    let most = most.into_iter().filter(|(_, total)| *total >= MB).take(NAMED_MAX);
    let named: Vec<String> = most.map(|(id, total)| format!("{id} {}", size(total))).collect();
    if !named.is_empty() {
        told.push_str(&format!("; most of it {}", named.join(", ")));
    }
    let Some(before) = before else { return told };
    let day: String = before.at.to_string().chars().take("2026-11-18".len()).collect();
    let (then, now) = (before.total(), databases + files);
    match now.checked_sub(then) {
        Some(more) => told.push_str(&format!("; {} more than on {day}", size(more))),
        None => told.push_str(&format!("; {} less than on {day}", size(then - now))),
    }
    let grown = |(id, it): (&AgentId, &DiskUse)| {
        let then = before.agents.get(id.as_str()).copied().unwrap_or_default();
        Some((id.clone(), it.total().checked_sub(then)?))
    };
    let fastest = used.iter().filter_map(grown).max_by_key(|(_, more)| *more);
    if let Some((id, more)) = fastest.filter(|(_, more)| *more >= MB) {
        told.push_str(&format!(", {} of that by {id}", size(more)));
    }
    told
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} KB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / MB),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use insula_world::Timestamp;

    #[test]
    fn who_has_most_and_who_grows_is_told() {
        let id = |text: &str| AgentId::new(text).unwrap();
        let of = |database, files| DiskUse { database, files, is_cut: false };
        let used = BTreeMap::from([
            (id("a"), of(2 * MB, 3 * MB)),
            (id("b"), of(MB, 0)),
            (id("c"), of(1_000, 0)),
        ]);
        assert_eq!(
            told(&used, None),
            "agents have 6 MB: 3 MB in databases, 3 MB in files; most of it a 5 MB, b 1 MB"
        );
        let agents = BTreeMap::from([("a".into(), MB), ("gone".into(), MB)]);
        let before = Look { at: Timestamp::from_millis(0), agents };
        assert!(
            told(&used, Some(&before))
                .ends_with("; 4 MB more than on 1970-01-01, 4 MB of that by a")
        );
        let agents = BTreeMap::from([("a".into(), 60 * MB)]);
        let before = Look { at: Timestamp::from_millis(0), agents };
        assert!(told(&used, Some(&before)).contains("; 53 MB less than on 1970-01-01"));
    }
}
