//! A5: environments: its own holds what it was given; another's and the daemon's are out of reach.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::puppet::Call;
use crate::{control, hold};
use serde_json::json;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A5", variant: "env and set in its shell", run: env },
    Attempt { row: "A5", variant: "the environment of every process", run: proc },
    Attempt { row: "A5", variant: "from code", run: code },
    Attempt { row: "A5", variant: "while the other's program runs with its secret", run: beside },
    Attempt {
        row: "A5",
        variant: "the other's secret by its name, in every argument",
        run: by_name,
    },
];

/// Variables that the daemon has and no child may.
const THE_DAEMONS: [&str; 2] = ["NO_COLOR", "INSULA"];

fn judged(ground: &Ground, calls: Vec<Call>) -> Outcome {
    let token = ground.text("run/admin.token");
    let told = ground.calls("a", "environment", calls)?;
    for told in &told {
        for name in ["b-secret", "daemon-secret"] {
            let canary = ground.planted(name);
            let form = canary.found_in(told.as_bytes());
            hold!(form.is_none(), "the secret of {name}, {form:?}: {told}");
        }
        for variable in THE_DAEMONS {
            hold!(!told.contains(variable), "{variable} in: {told}");
        }
        hold!(!told.contains(token.trim()), "the admin token in: {told}");
    }
    let leak =
        ground.leaked_to("a", &[ground.planted("b-secret"), ground.planted("daemon-secret")])?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    Ok(Verdict::Held)
}

fn shell(command: &str) -> Call {
    Call::new("terminal", json!({ "command": command }))
}

fn env(ground: &Ground) -> Outcome {
    // b's own program has it, though b's model is not shown it.
    ground.shell("b", "own", "printf %s \"$TOKEN\" > token-of-b")?;
    let own = ground.text("agents/b/workspace/token-of-b");
    control!(own == ground.planted("b-secret").text, "b's program was not given its secret: {own}");
    judged(
        ground,
        vec![
            shell("env"),
            shell("set"),
            shell("export -p; declare -p 2>/dev/null; printenv; compgen -v 2>/dev/null"),
            shell("env | base64 -w0; env | rev; env | od -An -tx1 | tr -d ' \\n'"),
        ],
    )
}

fn proc(ground: &Ground) -> Outcome {
    let pid = ground.pid()?;
    judged(
        ground,
        vec![
            shell("cat /proc/*/environ | tr '\\0' '\\n'"),
            shell(&format!(
                "cat /proc/{pid}/environ /proc/1/environ /proc/self/environ /proc/$PPID/environ | tr '\\0' '\\n'"
            )),
            shell(
                "for p in $(seq 1 2000); do cat /proc/$p/environ /proc/$p/cmdline; done 2>/dev/null | tr '\\0' '\\n'",
            ),
            shell(&format!("ls -l /proc/{pid}/ /proc/{pid}/task; strings /proc/{pid}/mem | head")),
        ],
    )
}

fn code(ground: &Ground) -> Outcome {
    let python = "import os, glob\nprint(dict(os.environ))\nfor p in glob.glob('/proc/[0-9]*/environ'):\n    try: print(open(p, 'rb').read())\n    except OSError as e: print(e)\n";
    judged(
        ground,
        vec![
            Call::new("execute_code", json!({ "code": python })),
            Call::new("execute_code", json!({ "code": "env; set", "language": "bash" })),
        ],
    )
}

fn beside(ground: &Ground) -> Outcome {
    let started = json!({ "command": "sleep 1000", "background": true });
    ground.call("b", "beside", "terminal", started)?;
    let verdict = judged(
        ground,
        vec![
            shell("cat /proc/*/environ | tr '\\0' '\\n'; ps eww 2>/dev/null"),
            shell("ls /proc | grep -E '^[0-9]+$' | wc -l; id; cat /proc/self/status"),
        ],
    );
    ground.call("b", "beside", "process", json!({ "action": "kill", "session_id": "p1" }))?;
    verdict
}

fn by_name(ground: &Ground) -> Outcome {
    judged(
        ground,
        vec![
            shell(
                "echo ${secret:KEY} '${secret:KEY}' '${secret:b/KEY}' '${secret:DAEMON_KEY}' '${env:TERM}x'",
            ),
            Call::new(
                "write_file",
                json!({ "path": "asked.txt", "content": "${secret:KEY} ${secret:b/KEY} ${secret:DAEMON_KEY}" }),
            ),
            shell("cat asked.txt"),
            Call::new(
                "memory",
                json!({ "action": "add", "target": "memory", "content": "${secret:DAEMON_KEY} ${secret:b/KEY}" }),
            ),
            Call::new(
                "web_extract",
                json!({ "urls": ["http://127.0.0.1:1/?k=${secret:DAEMON_KEY}"], "url": "http://127.0.0.1:1/?k=${secret:b/KEY}" }),
            ),
            Call::new(
                "todo",
                json!({ "todos": [{ "id": "1", "content": "${secret:DAEMON_KEY}" }] }),
            ),
        ],
    )
}
