//! What a configuration may say that this version does not carry out.
//!
//! A setting that widens or describes and has no effect yet is harmless and is listed by
//! `insula doctor`. A setting that restricts and is not enforced would be a guard that does
//! nothing, so it fails its agent. Whoever enforces one deletes its line here.

use crate::yaml::Node;

/// A restriction that nothing enforces yet.
pub struct Unenforced {
    /// The setting, parts joined by dots; `*` stands for any name.
    pub path: &'static str,
    /// Which values are meant, for people, after the path; empty for all of them.
    pub when: &'static str,
    /// Whether a value restricts more than leaving the setting out.
    pub restricts: fn(&Node) -> bool,
}

/// Every restriction that nothing enforces yet.
pub static UNENFORCED: &[Unenforced] = &[Unenforced {
    path: "isolation",
    when: ": `process` or `container`",
    restricts: |node| node.text() != Some("context"),
}];

/// The restrictions in `node` that nothing enforces: their paths and places.
pub fn unenforced(node: &Node) -> Vec<(String, &Node)> {
    let mut found = Vec::new();
    for rule in UNENFORCED {
        let mut at = vec![(String::new(), node)];
        for part in rule.path.split('.') {
            at = at
                .into_iter()
                .flat_map(|(path, node)| {
                    node.entries()
                        .iter()
                        .filter(move |entry| part == "*" || &*entry.key == part)
                        .map(move |entry| {
                            let dot = if path.is_empty() { "" } else { "." };
                            (format!("{path}{dot}{}", entry.key), &entry.value)
                        })
                })
                .collect();
        }
        found.extend(at.into_iter().filter(|(_, node)| (rule.restricts)(node)));
    }
    found
}
