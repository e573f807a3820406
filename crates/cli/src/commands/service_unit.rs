//! The unit that tells systemd how to run the daemon.

use crate::supervisor::MARK;
use std::path::Path;

/// Whose service it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// The person's who installs it.
    Person,
    /// The machine's, run as this user, by name or number.
    Machine(String),
}

/// What the unit says.
pub struct Unit<'a> {
    pub program: &'a Path,
    pub home: &'a Path,
    pub whose: Whose,
}

impl Unit<'_> {
    /// The file. Fails with what can't be written in one.
    pub fn text(&self) -> Result<String, String> {
        let (program, home) = (quoted(self.program)?, quoted(self.home)?);
        let (after, user, wanted_by) = match &self.whose {
            Whose::Person => (String::new(), String::new(), "default.target"),
            Whose::Machine(user) => {
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
                if user.is_empty() || !user.chars().all(fits) {
                    return Err("the user's name can't be written in a unit".to_owned());
                }
                let online = "After=network-online.target\nWants=network-online.target\n";
                (online.to_owned(), format!("User={user}\n{MACHINE}"), "multi-user.target")
            }
        };
        Ok(format!(
            "{MARK}\n[Unit]\nDescription=Insula: many agents, each in its own trust domain\n{after}\n\
             [Service]\nExecStart={program} --home {home} up\n{SERVICE}{user}\n\
             [Install]\nWantedBy={wanted_by}\n"
        ))
    }
}

/// How the daemon is run, whoever it belongs to. It puts what agents run into namespaces of its
/// own, with a /proc of their own, so nothing stands here that forbids namespaces or covers parts
/// of /proc: the kernel then refuses a new /proc below.
const SERVICE: &str = "\
Type=notify
NotifyAccess=main
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=2
TimeoutStartSec=120
TimeoutStopSec=60
WatchdogSec=60
# Agents' programs are ended by the daemon, in order; what is left goes with it.
KillMode=mixed
# A program of an agent that ran out of memory is that agent's affair.
OOMPolicy=continue
# Limits of agents' programs are groups below this service's own.
Delegate=yes
LimitNOFILE=524288
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
";

/// What only the machine's manager can do.
const MACHINE: &str = "\
ProtectSystem=full
ProtectClock=yes
ProtectKernelModules=yes
";

/// A path as one word of a command.
fn quoted(path: &Path) -> Result<String, String> {
    let text = path.to_str().filter(|text| !text.contains(char::is_control));
    let Some(text) = text else {
        return Err(format!("{} can't be written in a unit", path.display()));
    };
    let mut word = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => word.extend(['\\', c]),
            // Begins a specifier or a variable.
            '%' | '$' => word.extend([c, c]),
            c => word.push(c),
        }
    }
    Ok(word + "\"")
}

#[cfg(test)]
mod tests {
    use super::{Unit, Whose};
    use std::path::Path;

    fn text(program: &str, home: &str, whose: Whose) -> Result<String, String> {
        Unit { program: Path::new(program), home: Path::new(home), whose }.text()
    }

    #[test]
    fn a_person_s_unit_and_the_machine_s() {
        let own = text("/usr/bin/insula", "/home/u/.insula", Whose::Person).unwrap();
        assert!(own.contains("ExecStart=\"/usr/bin/insula\" --home \"/home/u/.insula\" up\n"));
        assert!(own.contains("WantedBy=default.target") && !own.contains("User="));
        let machine = Whose::Machine("insula".to_owned());
        let machine = text("/usr/bin/insula", "/srv/insula", machine).unwrap();
        assert!(
            machine.contains("User=insula\n") && machine.contains("WantedBy=multi-user.target")
        );
        for both in [own, machine] {
            for line in ["Type=notify", "WatchdogSec=60", "Delegate=yes", "NoNewPrivileges=yes"] {
                assert!(both.lines().any(|it| it == line), "{line}");
            }
            // The sandbox needs both.
            assert!(
                !both.contains("RestrictNamespaces") && !both.contains("ProtectKernelTunables")
            );
        }
    }

    #[test]
    fn no_path_and_no_user_says_more_than_itself() {
        let odd = text("/a b/in\"sula", "/100%/$HOME\\x", Whose::Person).unwrap();
        assert!(
            odd.contains("ExecStart=\"/a b/in\\\"sula\" --home \"/100%%/$$HOME\\\\x\" up\n"),
            "{odd}"
        );
        assert!(text("/insula", "/a\nUser=root", Whose::Person).is_err());
        assert!(text("/insula", "/a", Whose::Machine("x\nExecStart=/y".to_owned())).is_err());
        assert!(text("/insula", "/a", Whose::Machine(String::new())).is_err());
    }
}
