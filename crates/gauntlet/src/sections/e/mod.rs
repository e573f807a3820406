//! E: the wall around a child process, tried by a program that the shell tool started and by an
//! MCP server, with the daemon as root and as an ordinary user.

pub(super) mod arena;
mod escapes;
mod exhaustion;
mod host;
mod neighbours;
mod poison;
mod quotas;
mod races;
mod scripts;

use crate::attempt::{Attempt, Row, Scene, Section};

/// Rows are the bullets of the specification, in their order.
pub const SECTION: Section = Section {
    id: "E",
    title: "The wall around a child process",
    is_fatal: true,
    rows: &[
        Row { id: "E1", what: "files" },
        Row { id: "E2", what: "processes" },
        Row { id: "E3", what: "ipc" },
        Row { id: "E4", what: "network, and through the egress proxy" },
        Row { id: "E5", what: "kernel" },
        Row { id: "E6", what: "exhaustion" },
        Row { id: "E7", what: "poisoned surroundings" },
    ],
    scenes: &[
        Scene {
            name: "the daemon as root",
            raise: arena::as_root,
            attempts: &[
                escapes::BY_SHELL_AS_ROOT,
                escapes::BY_SERVER_AS_ROOT,
                scripts::BY_SHELL_AS_ROOT,
                scripts::BY_SERVER_AS_ROOT,
                races::AS_ROOT,
                neighbours::AS_ROOT,
                poison::AS_ROOT,
                &[Attempt {
                    row: "E1",
                    variant: "after all of it, everything else is as it was (root)",
                    run: arena::nothing_else_was_touched,
                }],
            ],
        },
        Scene {
            name: "the daemon as an ordinary user",
            raise: arena::as_ordinary_user,
            attempts: &[
                escapes::BY_SHELL_AS_USER,
                escapes::BY_SERVER_AS_USER,
                scripts::BY_SHELL_AS_USER,
                scripts::BY_SERVER_AS_USER,
                races::AS_USER,
                neighbours::AS_USER,
                poison::AS_USER,
                &[Attempt {
                    row: "E1",
                    variant: "after all of it, everything else is as it was (user)",
                    run: arena::nothing_else_was_touched,
                }],
            ],
        },
        Scene {
            name: "programs gone wild, the daemon as root",
            raise: exhaustion::as_root,
            attempts: &[exhaustion::AS_ROOT],
        },
        Scene {
            name: "programs gone wild, the daemon as an ordinary user",
            raise: exhaustion::as_ordinary_user,
            attempts: &[exhaustion::AS_USER],
        },
        Scene {
            name: "what is counted for everybody, the daemon as root",
            raise: quotas::as_root,
            attempts: &[quotas::AS_ROOT],
        },
        Scene {
            name: "what is counted for everybody, the daemon as an ordinary user",
            raise: quotas::as_ordinary_user,
            attempts: &[quotas::AS_USER],
        },
    ],
};
