//! D: children and delegated work.

mod entrances;
mod files;
mod grants;
mod jobs;
mod leaf;
mod limits;
mod scene;
mod withdrawn;

use crate::attempt::{Row, Scene, Section};
use crate::sections::boards;

/// Children, hooks, and other doors that work goes through.
pub const SECTION: Section = Section {
    id: "D",
    title: "Children and delegated work",
    is_fatal: true,
    rows: &[
        Row { id: "D1", what: "a leaf calls the blocked tools" },
        Row { id: "D2", what: "an orchestrator at the last depth delegates" },
        Row { id: "D3", what: "a child asks for what its parent lacks" },
        Row { id: "D4", what: "too many children, children that never end" },
        Row { id: "D5", what: "a child writes over what others changed" },
        Row { id: "D6", what: "a child outside of its parent's sandbox" },
        Row { id: "D7", what: "the same effects through boards, cron jobs, hooks" },
    ],
    scenes: &[
        Scene { name: "by the clock", raise: jobs::raise, attempts: &[jobs::ATTEMPTS] },
        Scene { name: "boards", raise: boards::raise, attempts: &[boards::DOORS] },
        Scene { name: "withdrawn", raise: withdrawn::raise, attempts: &[withdrawn::ATTEMPTS] },
        Scene {
            name: "parents and their children",
            raise: scene::raise,
            attempts: &[
                leaf::ATTEMPTS,
                grants::ATTEMPTS,
                limits::ATTEMPTS,
                files::ATTEMPTS,
                entrances::ATTEMPTS,
            ],
        },
    ],
};
