//! Why a command is not harmless: the rules, what each is about, and what to do instead.

use std::fmt;

/// How much stands against a command; a greater one is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Nobody looked at all of it, and the operator's settings say what becomes of it.
    Opaque,
    /// Who is an admin of the agent may do it; for everybody else an admin may allow it.
    Admins,
    /// An admin of the agent may allow it.
    NeedsApproval,
    /// Nobody may.
    Never,
}

/// What of a call nobody looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unseen {
    /// What `$(…)` or `<(…)` give. The commands in them are read.
    Substitution,
    /// Commands in backticks and the like, which are not.
    Nested,
    /// A name that is a variable, a pattern, an alias or a function.
    Name,
    /// Code, or a script.
    Code,
    /// A command that another one makes.
    HandedOn,
    /// What is no command line the lexer knows.
    Unreadable,
    /// A line that is not whole yet.
    Partial,
}

impl Unseen {
    /// What was not looked at: "not looked at: …".
    pub fn says(self) -> &'static str {
        match self {
            Self::Substitution => "what `$(…)` or `<(…)` gives, which is only known when it runs",
            Self::Nested => "the commands between backticks, in a here document or in a sum",
            Self::Name => "which program runs, since its name is only known when it runs",
            Self::Code => "the script or code that it runs",
            Self::HandedOn => "the command that `eval`, `sh -c`, `xargs` or the like make of it",
            Self::Unreadable => "the part of the line that can't be read",
            Self::Partial => "the rest of the line, which is not written yet",
        }
    }

    /// Whether it may be another command of the line, and not what a named command does.
    pub(super) fn hides_commands(self) -> bool {
        !matches!(self, Self::Code | Self::Substitution)
    }
}

macro_rules! rules {
    ($($rule:ident $severity:ident $name:literal $says:literal $instead:literal;)*) => {
        /// A rule of the classifier.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DangerRule {
            $(#[doc = concat!("A command that ", $says, ".")] $rule,)*
        }

        impl DangerRule {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$rule),*];

            /// Its severity, its name, what a command that matches it does, and what to do instead.
            fn row(self) -> (Severity, &'static str, &'static str, &'static str) {
                match self {
                    $(Self::$rule => (Severity::$severity, $name, $says, $instead),)*
                }
            }
        }
    };
}

rules! {
    WipeDisk Never "wipe_disk" "writes over a disk or its partitions"
        "work on an image file in the workspace";
    WipeSystem Never "wipe_system" "deletes or changes the whole system or the whole home folder"
        "name the files inside the workspace that are meant";
    ForkBomb Never "fork_bomb" "starts itself again and again"
        "start a known number of processes";
    HostPower Never "host_power" "shuts the machine down or restarts it"
        "ask the people who run the machine";
    KillAll Never "kill_all" "kills every process or the first one"
        "kill a process of your own by its id";
    Opaque Opaque "opaque" "does something that its words do not say"
        "write the commands out in full, with every quote closed";
    Install Admins "install" "installs programs, packages or extensions, or changes an agent"
        "use what is there, or ask an admin of yours to install it";
    Delete NeedsApproval "delete" "deletes many files or can't be undone"
        "delete single files by name, or move them into a folder of the workspace";
    Privilege NeedsApproval "privilege" "asks for more rights than you have"
        "do it without more rights";
    Permissions NeedsApproval "permissions" "changes permissions or owners widely"
        "give only the permission that is needed to the files by name";
    HostSettings NeedsApproval "host_settings"
        "changes services, schedules, accounts or settings of the machine"
        "ask the people who run the machine";
    Kill NeedsApproval "kill" "ends processes it does not name one by one"
        "kill a process of your own by its id";
    SystemFile NeedsApproval "system_file" "writes to files of the system, of the shell or of keys"
        "write inside the workspace";
    History NeedsApproval "history" "throws work away or rewrites history"
        "make a new commit or a branch instead";
    RemoteShell NeedsApproval "remote_shell" "connects a shell or a raw socket to the network"
        "use an HTTP client for hosts you were granted";
    Publish NeedsApproval "publish" "publishes, or deletes or changes what others use"
        "prepare it, and let a person do the last step";
    Database NeedsApproval "database" "destroys data in a database"
        "select first, and work on a copy";
    // No command does; a tool says so.
    ChangeSelf NeedsApproval "change_self" "changes what you are told in later conversations"
        "tell the person what you would change, and let an admin of yours do it";
    // Nothing the classifier finds.
    Hook NeedsApproval "hook" "is something a hook of this agent wants an admin to agree to"
        "do it in another way, or wait until an admin agrees";
    Preload NeedsApproval "preload" "makes other programs load code"
        "run the program without that setting";
}

impl DangerRule {
    /// How much stands against what it matches.
    pub fn severity(self) -> Severity {
        self.row().0
    }

    /// Its name, as records and configuration have it.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// What a command that matches it does: "it …".
    pub fn says(self) -> &'static str {
        self.row().2
    }

    /// What can be done instead.
    pub fn instead(self) -> &'static str {
        self.row().3
    }
}

impl fmt::Display for DangerRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
