//! Lines that read as commands which send credentials away, stay behind, or hand over control.

use super::Category::{Exfiltration, Persistence, RemoteControl};
use super::fold::Folded;
use super::{Category, Found, Uses};

/// Programs that reach other machines.
const NETWORK: &[&str] = &[
    "curl",
    "wget",
    "nc",
    "ncat",
    "netcat",
    "scp",
    "rsync",
    "ftp",
    "sftp",
    "httpie",
    "invoke-webrequest",
    "socat",
];
/// Ways to hand them something.
const HANDING: &[&str] = &[
    "-d ",
    "-d@",
    "--data",
    "-f ",
    "--form",
    "-t ",
    "--upload-file",
    "--post-file",
    "--post-data",
    "| curl",
    "|curl",
    "| nc",
    "|nc",
    "| ncat",
    "| wget",
    "$(",
    "`cat",
    "`env",
    "< ",
    "-x post",
    "@",
];
/// Files and commands that are full of credentials.
const CREDENTIALS: &[&str] = &[
    ".ssh/",
    "id_rsa",
    "id_ed25519",
    ".aws/credentials",
    "/etc/shadow",
    "/etc/passwd",
    ".netrc",
    ".env",
    "printenv",
    "env |",
    "env|",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".kube/config",
    ".docker/config.json",
    "agent.db",
    "vault/",
    ".gnupg/",
    "$(env)",
    "`env`",
    "/proc/self/environ",
];
/// Files that make something happen later.
const START_UP: &[&str] = &[
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    "/etc/cron",
    "crontab -",
    "/etc/systemd/",
    ".config/autostart",
    "soul.md",
    "agents.md",
    "claude.md",
    "agent.yaml",
    ".mcp.json",
];
/// Ways to write to them.
const WRITING: &[&str] = &[">>", "tee -a", "| tee", "> ~", ">~", "> $home", "sed -i"];

/// A rule about one line: something of each set must be in it.
struct LineRule {
    category: Category,
    what: &'static str,
    uses: Uses,
    sets: &'static [&'static [&'static str]],
}

const LINE_RULES: &[LineRule] = &[
    LineRule {
        category: Exfiltration,
        what: "a command that sends credentials elsewhere",
        uses: Uses::ALL,
        sets: &[NETWORK, HANDING, CREDENTIALS],
    },
    LineRule {
        category: Persistence,
        what: "a command that lets somebody else's key in",
        uses: Uses::ALL,
        sets: &[&["authorized_keys"], &[">>", "> ", "tee", "cp ", "mv ", "echo "]],
    },
    LineRule {
        category: Persistence,
        what: "a command that changes what an agent or a shell starts with",
        uses: Uses::NOT_SKILL,
        sets: &[START_UP, WRITING],
    },
    LineRule {
        category: RemoteControl,
        what: "a command that opens a shell for somebody else",
        uses: Uses::ALL,
        sets: &[&["/dev/tcp/", "/dev/udp/"], &["bash", "sh", "exec", "cat"]],
    },
    LineRule {
        category: RemoteControl,
        what: "a command that opens a shell for somebody else",
        uses: Uses::ALL,
        sets: &[
            &["nc", "ncat", "netcat"],
            &["-e /bin", "-e sh", "-e bash", "-c /bin/sh", "-c bash", "-le "],
        ],
    },
    LineRule {
        category: RemoteControl,
        what: "runs what it fetches",
        uses: Uses::NOT_SKILL,
        sets: &[
            &["curl", "wget"],
            &["| sh", "|sh", "| bash", "|bash", "| sudo", "| python", "|python"],
        ],
    },
    LineRule {
        category: RemoteControl,
        what: "runs what it decodes",
        uses: Uses::ALL,
        sets: &[
            &["base64 -d", "base64 --decode", "xxd -r"],
            &["| sh", "|sh", "| bash", "|bash", "eval "],
        ],
    },
];

/// Notes lines that read as such commands.
pub(super) fn look(folded: &Folded, found: &mut Found) {
    let joined;
    // A shell goes on in the next line after a backslash. Same length, so places stay.
    let text = if folded.text.contains("\\\n") {
        joined = folded.text.replace("\\\n", "  ");
        &joined
    } else {
        &folded.text
    };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        for rule in LINE_RULES {
            if rule.sets.iter().all(|set| set.iter().any(|piece| holds(line, piece))) {
                found.note(rule.uses, rule.category, rule.what, folded.origin(start));
            }
        }
        let fetches = ["curl", "wget"].iter().any(|program| holds(line, program));
        if fetches && line.contains("http") && names_secret_variable(line) {
            let what = "a command that sends a secret variable elsewhere";
            found.note(Uses::MEMORY, Exfiltration, what, folded.origin(start));
        }
        start += line.len();
    }
}

/// Whether a piece is in a line; one that begins or ends with a letter, as a word of its own.
fn holds(line: &str, piece: &str) -> bool {
    let inside =
        |character: Option<char>| character.is_some_and(|one| one.is_alphanumeric() || one == '_');
    line.match_indices(piece).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + piece.len()..).and_then(|text| text.chars().next());
        let begins = piece.starts_with(|one: char| one.is_ascii_alphanumeric()) && inside(before);
        let ends = piece.ends_with(|one: char| one.is_ascii_alphanumeric()) && inside(after);
        !begins && !ends
    })
}

/// Whether a line has a variable (`$GITHUB_TOKEN`) that is named as a secret.
fn names_secret_variable(line: &str) -> bool {
    line.split('$').skip(1).any(|variable| {
        let variable = variable.trim_start_matches('{');
        let end = variable
            .find(|one: char| !one.is_alphanumeric() && one != '_')
            .unwrap_or(variable.len());
        let name = variable.get(..end).unwrap_or_default();
        ["token", "key", "secret", "password", "passwd"].iter().any(|word| name.contains(word))
    })
}
