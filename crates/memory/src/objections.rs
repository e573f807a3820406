//! What stands against showing words to a model: one by one, and put together.

use insula_domain::scan::{Use, scan};
use insula_store::Fragment;

/// Why no model may see these words, if it may not.
pub(crate) fn objection(text: &str) -> Option<Box<str>> {
    let findings = scan(text, Use::Memory);
    findings.first().map(|it| format!("{}: {}", it.category.as_str(), it.what).into())
}

/// The entries that nothing stands against one by one.
pub(crate) fn harmless(fragments: &[Fragment]) -> Vec<&str> {
    let seen = fragments
        .iter()
        .filter(|fragment| fragment.blocked.is_none() && objection(&fragment.text).is_none());
    seen.map(|fragment| fragment.text.as_str()).collect()
}

/// The places of those entries, of which nothing stands against any alone, that nothing stands
/// against when they are put together.
pub(crate) fn together(entries: &[&str]) -> Vec<usize> {
    let mut left: Vec<usize> = (0..entries.len()).collect();
    // One was looked at by itself.
    if entries.len() < 2 {
        return left;
    }
    for glue in ["\n", " "] {
        loop {
            let texts: Vec<&str> = left.iter().map(|at| entries[*at]).collect();
            let found = scan(&texts.join(glue), Use::Memory);
            let Some(at) = found.first().map(|it| it.at) else { break };
            let mut end = 0;
            let hit = texts.iter().position(|entry| {
                end += entry.len() + glue.len();
                at < end
            });
            left.remove(hit.unwrap_or(texts.len() - 1));
            if left.is_empty() {
                break;
            }
        }
    }
    left
}
