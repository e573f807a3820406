//! What a prompt says about an agent's skills: names first, descriptions as far as a budget of
//! bytes goes. The same bytes for the same skills.

use super::skill::Skill;

/// All of it, in bytes.
pub const INDEX_BYTES_MAX: usize = 4_000;

/// A description that is cut shorter than this says nothing.
const CUT_BYTES_MIN: usize = 48;

const HEAD: &str = "Skills you have. Read one with skill_view before you do what it is for.\n";
const TAIL_BYTES: usize = 64;

/// The block of a prompt; empty without skills.
pub fn index<'s>(skills: impl Iterator<Item = &'s Skill> + Clone) -> String {
    let count = skills.clone().count();
    if count == 0 {
        return String::new();
    }
    let budget = INDEX_BYTES_MAX - HEAD.len() - TAIL_BYTES;
    // As lines with descriptions, cut evenly.
    let names: usize = skills.clone().map(|skill| skill.name.len() + "- : \n".len()).sum();
    let lengths = skills.clone().map(|skill| skill.description.len());
    let room = budget.checked_sub(names).map(|left| even_cut(lengths, left));
    let mut text = HEAD.to_owned();
    if let Some(cut) = room.filter(|&cut| cut >= CUT_BYTES_MIN) {
        for skill in skills {
            text.push_str(&format!("- {}: {}\n", skill.name, shortened(&skill.description, cut)));
        }
        return text;
    }
    // Too many for that: some with a description, the rest by name.
    let bare: usize = skills.clone().map(|skill| skill.name.len() + ", ".len()).sum();
    let mut left = budget.saturating_sub(bare);
    let mut others = Vec::new();
    for skill in skills {
        let description = shortened(&skill.description, CUT_BYTES_MIN * 2);
        let line = format!("- {}: {description}\n", skill.name);
        let more = line.len().saturating_sub(skill.name.len() + ", ".len());
        if more <= left {
            left -= more;
            text.push_str(&line);
        } else {
            others.push(&*skill.name);
        }
    }
    let mut shown = 0;
    for name in &others {
        let before = if shown == 0 { "Also: " } else { ", " };
        if text.len() + before.len() + name.len() > INDEX_BYTES_MAX - TAIL_BYTES {
            break;
        }
        text.push_str(before);
        text.push_str(name);
        shown += 1;
    }
    match others.len() - shown {
        0 => text.push_str(". skills_list describes them.\n"),
        more => text.push_str(&format!(", and {more} more: see skills_list.\n")),
    }
    text
}

/// The length at which all texts are cut so that together they fit.
fn even_cut(lengths: impl Iterator<Item = usize>, budget: usize) -> usize {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    let mut left = budget;
    let count = lengths.len();
    for (at, length) in lengths.iter().enumerate() {
        let share = left / (count - at);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

/// A text of at most so many bytes, with a mark where it was cut.
fn shortened(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes_max.saturating_sub("…".len()));
    let kept = text.get(..end).unwrap_or_default();
    // Whole words, where there are any.
    let kept = kept.rsplit_once(' ').map_or(kept, |(whole, _)| whole);
    format!("{kept}…")
}
