//! The keys of `sandbox`: how an agent's programs are confined.

use super::POSITIVE;
use crate::rules;
use crate::shape::{Field, Object, Shape::*};

pub(super) static SANDBOX: Object = Object {
    required: &[],
    fields: &[
        Field::new("off", Bool, "Takes the wall down.").default("false"),
        Field::new(
            "optional",
            List(&Choice(&[
                "user_namespace",
                "pid_namespace",
                "mount_namespace",
                "network_namespace",
                "landlock",
                "seccomp",
            ])),
            "Layers that may be missing on this machine.",
        ),
        Field::new("memory", Text(&rules::SIZE), "Memory of one program and all it starts."),
        Field::new("processes", POSITIVE, "Processes at once."),
        Field::new("file_size", Text(&rules::SIZE), "Largest file a child may write."),
        Field::new("descriptors", POSITIVE, "Open files of a child."),
        Field::new("cpu_time", Text(&rules::DURATION), "Processor time of one process."),
        Field::new("wall_clock", Text(&rules::DURATION), "How long a child may run."),
        Field::new("output", Text(&rules::SIZE), "How much a child may print."),
        Field::new("free_space", Text(&rules::SIZE), "What stays free on the disks it writes to.")
            .default("`256MB`, or a twentieth of a small disk"),
        Field::new("growth", Text(&rules::SIZE), "How much one program may add to a disk.")
            .default("`20GB`"),
        Field::new("new_files", POSITIVE, "How many files one program may add to a disk.")
            .default("1000000"),
    ],
};
