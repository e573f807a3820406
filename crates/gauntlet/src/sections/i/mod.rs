//! I: surfaces, by enumeration. What is attacked is derived from the product: its routes, frames,
//! settings, the kernel's files and limits. A member without an attempt fails the run.

mod derive;
mod events;
mod frames;
mod granted;
mod homes;
mod inventory;
mod keys;
mod outsiders;
mod people;
mod quotas;
mod routes;
mod shown;
mod sight;
mod states;

use crate::attempt::{Row, Scene, Section};

/// Rows are the bullets of the specification, in their order.
pub const SECTION: Section = Section {
    id: "I",
    title: "Surfaces, by enumeration",
    is_fatal: true,
    rows: &[
        Row { id: "I1", what: "every route and verb, by tokens of others, revoked and none" },
        Row { id: "I2", what: "every frame and event, before and after whatever ends a right" },
        Row { id: "I3", what: "every file of the kernel that a child reads, while others act" },
        Row { id: "I4", what: "every kernel limit, used up by one, measured by others" },
        Row { id: "I5", what: "every setting that grants, taken away under every kind of work" },
        Row { id: "I6", what: "everything shared has a key and a reason" },
        Row { id: "I7", what: "every text that is approved is what runs" },
        Row { id: "I8", what: "every field that outsiders fill" },
        Row { id: "I9", what: "every home that the daemon accepts" },
    ],
    scenes: &[
        Scene { name: "routes", raise: routes::raise, attempts: &[routes::ATTEMPTS] },
        Scene {
            name: "rooms and streams",
            raise: frames::raise,
            attempts: &[frames::ATTEMPTS, events::ATTEMPTS],
        },
        Scene { name: "what programs see", raise: sight::raise, attempts: &[sight::ATTEMPTS] },
        Scene { name: "limits", raise: quotas::raise, attempts: &[quotas::ATTEMPTS] },
        Scene {
            name: "grants",
            raise: states::raise,
            attempts: &[states::ATTEMPTS, people::ATTEMPTS],
        },
        Scene { name: "questions", raise: shown::raise, attempts: &[shown::ATTEMPTS] },
        Scene { name: "outsiders", raise: outsiders::raise, attempts: &[outsiders::ATTEMPTS] },
        Scene {
            name: "homes",
            raise: homes::raise,
            attempts: &[homes::ATTEMPTS, inventory::ATTEMPTS],
        },
    ],
};
