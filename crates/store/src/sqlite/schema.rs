//! The tables, as steps. A step that was released is never changed; a new one is appended.

use super::open::Format;

/// An agent's database.
pub(crate) const AGENT: Format = Format {
    application_id: 0x696e_7361, // "insa"
    cache_kib: 96,
    statements: 139,
    migrations: &[
        concat!(
            include_str!("migrations/fence_1.sql"),
            include_str!("migrations/audit_1.sql"),
            include_str!("migrations/agent_1.sql"),
        ),
        include_str!("migrations/agent_2.sql"),
        include_str!("migrations/agent_3.sql"),
        include_str!("migrations/agent_4.sql"),
        include_str!("migrations/agent_5.sql"),
        include_str!("migrations/agent_6.sql"),
        include_str!("migrations/memory_1.sql"),
        include_str!("migrations/outbox_1.sql"),
        include_str!("migrations/door_1.sql"),
        include_str!("migrations/memory_2.sql"),
        include_str!("migrations/memory_3.sql"),
        include_str!("migrations/agent_7.sql"),
        include_str!("migrations/agent_8.sql"),
        include_str!("migrations/search_1.sql"),
        include_str!("migrations/agent_9.sql"),
        include_str!("migrations/audit_2.sql"),
        include_str!("migrations/vector_1.sql"),
        include_str!("migrations/course_1.sql"),
        include_str!("migrations/job_1.sql"),
        include_str!("migrations/shown_1.sql"),
        include_str!("migrations/outbox_2.sql"),
        concat!(include_str!("migrations/agent_10.sql"), include_str!("migrations/audit_3.sql")),
        include_str!("migrations/agent_11.sql"),
        include_str!("migrations/shown_2.sql"),
    ],
};

/// A board.
pub(crate) const BOARD: Format = Format {
    application_id: 0x696e_7362, // "insb"
    cache_kib: 256,
    statements: 40,
    migrations: &[concat!(
        include_str!("migrations/fence_1.sql"),
        include_str!("migrations/board_1.sql"),
    )],
};

/// The daemon's database.
pub(crate) const DAEMON: Format = Format {
    application_id: 0x696e_7364, // "insd"
    cache_kib: 1_024,
    statements: 28,
    migrations: &[
        concat!(
            include_str!("migrations/fence_1.sql"),
            include_str!("migrations/audit_1.sql"),
            include_str!("migrations/daemon_1.sql"),
        ),
        include_str!("migrations/daemon_2.sql"),
        include_str!("migrations/daemon_3.sql"),
        include_str!("migrations/daemon_4.sql"),
        include_str!("migrations/daemon_5.sql"),
        concat!(include_str!("migrations/audit_2.sql"), include_str!("migrations/daemon_6.sql"),),
        concat!(include_str!("migrations/audit_3.sql"), include_str!("migrations/daemon_7.sql")),
    ],
};
