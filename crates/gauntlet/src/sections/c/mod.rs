//! C: routing and the door.

mod answers;
mod approvals;
mod bots;
mod counters;
mod crowd;
mod editor;
mod hooks;
mod joins;
mod pages;
mod pairing;
mod rooms;
mod routing;
mod scene;
pub(super) mod socket;
mod streams;
mod tokens;

use crate::attempt::{Row, Scene, Section};

/// Who reaches whom, and who is kept out.
pub const SECTION: Section = Section {
    id: "C",
    title: "Routing and the door",
    is_fatal: true,
    rows: &[
        Row { id: "C1", what: "a chat id as a number and as a string" },
        Row { id: "C2", what: "a binding to an agent that is missing, failed, paused" },
        Row { id: "C3", what: "two bindings tie" },
        Row { id: "C4", what: "session keys from hostile ids" },
        Row { id: "C5", what: "two bots of one platform, the same user" },
        Row { id: "C6", what: "a reply leaves by the bot it came in by" },
        Row { id: "C7", what: "a token of A on everything that is not A's" },
        Row { id: "C8", what: "a revoked or narrowed token on an open stream" },
        Row { id: "C9", what: "a pairing code guessed, replayed, expired, from elsewhere" },
        Row { id: "C10", what: "webhooks: signatures, bodies, silent connections" },
        Row { id: "C11", what: "somebody who is no admin approves" },
        Row { id: "C12", what: "B has no allow-list while A allows everyone" },
        Row { id: "C13", what: "pages of other sites, tokens in addresses" },
        Row { id: "C14", what: "a room of web chat heard by another agent's page" },
        Row { id: "C15", what: "words that are no answer taken for one" },
        Row { id: "C16", what: "a question that shows less than it allows" },
        Row { id: "C17", what: "words of others taken for the sender's" },
        Row { id: "C18", what: "one token, or nobody, holds every connection and all memory" },
        Row { id: "C19", what: "numbers that tell how much others do" },
        Row { id: "C20", what: "a request that joins a turn under way" },
        Row { id: "C21", what: "audit chains after a power cut, with `durability: process`" },
        Row { id: "C22", what: "an editor: sessions of others, files outside, leave, frames" },
    ],
    scenes: &[
        Scene {
            name: "bots on a platform",
            raise: scene::platform,
            attempts: &[routing::ATTEMPTS, bots::ATTEMPTS, pairing::ATTEMPTS, approvals::ATTEMPTS],
        },
        Scene { name: "answers in words", raise: scene::platform, attempts: &[answers::ATTEMPTS] },
        Scene {
            name: "tokens, webhooks and pages",
            raise: scene::door,
            attempts: &[tokens::ATTEMPTS, streams::ATTEMPTS, pages::ATTEMPTS, hooks::ATTEMPTS],
        },
        Scene {
            name: "rooms that change hands",
            raise: rooms::halls,
            attempts: &[rooms::ATTEMPTS],
        },
        Scene { name: "an editor", raise: editor::desk, attempts: &[editor::ATTEMPTS] },
        Scene {
            name: "crowds and counters",
            raise: crowd::crowded,
            attempts: &[crowd::ATTEMPTS, counters::ATTEMPTS, joins::ATTEMPTS],
        },
    ],
};
