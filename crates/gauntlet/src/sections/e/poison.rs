//! Poisoned surroundings: what an agent leaves in its folder for the next program, for the daemon
//! and for the operator's terminal.

use super::arena::Arena;
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::Ground;
use crate::machine;
use crate::puppet::Script;
use crate::{control, hold};
use anyhow::Result;
use serde_json::json;

/// What a person's terminal would act on: a title, the clipboard, a colour, a moved cursor, a
/// hidden line, a bell, the same in one byte, text that runs the other way.
const SEQUENCES: &str = "\u{1b}]0;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}[31mred\u{1b}[2J\u{1b}[8mhidden\u{9b}31m\u{202e}txt.exe";

/// Programs by the names that others look for.
const PROGRAMS: [&str; 8] = ["sh", "bash", "git", "python3", "ls", "cat", "env", "insula"];

fn missing(ground: &Ground) -> Result<Option<Verdict>> {
    Ok(Arena::of(ground)?.missing.clone().map(Verdict::NotRun))
}

/// Everything that makes the daemon and its commands start something.
fn everybody_works(ground: &Ground) -> Result<String> {
    let mut said =
        ground.shell("shell", "poison", "ls >/dev/null; cat /dev/null; git --version; env")?;
    let code = json!({ "code": "import os\nprint(sorted(os.environ))" });
    said += &ground.call("shell", "poison", "execute_code", code)?;
    for command in
        [&["doctor"][..], &["check"], &["reload"], &["skills", "list", "shell"], &["status"]]
    {
        let told = ground.cli(command);
        said += &told.stdout;
    }
    Ok(said)
}

fn programs_by_known_names(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    let mut plant = "mkdir -p bin .local/bin; ".to_owned();
    for name in PROGRAMS {
        plant += &format!(
            "printf '#!/bin/dash\\necho {name} >> \"{{ran}}\"\\n' > {name}; chmod 755 {name}; cp {name} bin/; cp {name} .local/bin/; "
        );
    }
    let ran = ground.path("agents/shell/workspace/ran")?;
    let said =
        ground.shell("shell", "poison", &plant.replace("{ran}", &ran.display().to_string()))?;
    control!(!said.contains("[exit"), "nothing could be planted: {said}");
    let own = ground.shell("shell", "poison", "./ls; cat ran")?;
    control!(own.contains("ls"), "what was planted does not run by its own name: {own}");
    ground.shell("shell", "poison", "rm -f ran")?;
    everybody_works(ground)?;
    let ran = machine::read(&ran).unwrap_or_default();
    hold!(ran.is_empty(), "programs of the workspace ran: {}", String::from_utf8_lossy(&ran));
    let tidy: Vec<&str> = PROGRAMS.to_vec();
    ground.shell("shell", "poison", &format!("rm -rf bin .local {}", tidy.join(" ")))?;
    Ok(Verdict::Held)
}

fn a_preloaded_library(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    let plant = "echo x > evil.so; export LD_PRELOAD=$PWD/evil.so LD_LIBRARY_PATH=$PWD PYTHONPATH=$PWD BASH_ENV=$PWD/rc ENV=$PWD/rc GIT_EXEC_PATH=$PWD; env";
    let own = ground.shell("shell", "preload", plant)?;
    control!(own.contains("LD_PRELOAD"), "it is not even in its own shell: {own}");
    for session in ["preload", "another"] {
        let said = ground.shell("shell", session, "env")?;
        for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "BASH_ENV", "GIT_EXEC_PATH"] {
            hold!(!said.contains(name), "{name} is in the next program: {said}");
        }
    }
    let said = ground.call(
        "shell",
        "preload",
        "execute_code",
        json!({ "code": "import os\nprint(os.environ)" }),
    )?;
    hold!(!said.contains("LD_PRELOAD"), "it is in code that is run next: {said}");
    Ok(Verdict::Held)
}

fn start_files_of_a_shell(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    let files = [
        ".bashrc",
        ".profile",
        ".bash_profile",
        ".bash_login",
        ".zshrc",
        ".shrc",
        "rc",
        ".pythonrc.py",
        "sitecustomize.py",
        "usercustomize.py",
    ];
    for file in files {
        let path = ground.path(&format!("agents/shell/workspace/{file}"))?;
        let text =
            if file.ends_with(".py") { "print('poi' + 'soned')\n" } else { "echo poi''soned\n" };
        machine::write(&path, text.as_bytes())?;
        beside::set_mode(&path, 0o755)?;
    }
    let own = ground.shell("shell", "rc", "sh ./.profile")?;
    control!(own.contains("poisoned"), "it does not even run by its own name: {own}");
    let mut said = everybody_works(ground)?;
    said += &ground.shell("shell", "rc", "bash -c true; python3 -c pass; sh -c true")?;
    let background = json!({ "command": "sleep 0", "background": true });
    said += &ground.call("shell", "rc", "terminal", background)?;
    hold!(!said.contains("poisoned"), "a start file was run: {said}");
    ground.shell("shell", "rc", &format!("rm -f {}", files.join(" ")))?;
    Ok(Verdict::Held)
}

fn a_repository_with_a_will_of_its_own(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    let arena = Arena::of(ground)?;
    let marker = arena.marker()?.with_file_name("by-git");
    let hooks = [
        "post-checkout",
        "pre-commit",
        "post-merge",
        "fsmonitor-watchman",
        "pre-auto-gc",
        "post-index-change",
    ];
    let touch = format!("touch {}", marker.display());
    let script = format!(
        "mkdir -p repo && cd repo && git init -q . && mkdir -p skill && printf -- '---\\nname: skill\\ndescription: a skill\\n---\\nwords\\n' > skill/SKILL.md && printf '* filter=evil\\n' > .gitattributes && git -c user.name=a -c user.email=a@b add . && git -c user.name=a -c user.email=a@b commit -qm one && git config core.fsmonitor '{touch}' && git config core.sshCommand '{touch}' && git config filter.evil.smudge '{touch}' && git config uploadpack.packObjectsHook '{touch}' && git config core.pager '{touch}' && for hook in {}; do printf '#!/bin/sh\\n{touch}\\n' > .git/hooks/$hook; chmod 755 .git/hooks/$hook; done; ls .git/hooks | wc -l",
        hooks.join(" ")
    );
    let said = ground.shell("shell", "git", &script)?;
    control!(!said.contains("[exit"), "no repository could be made: {said}");
    everybody_works(ground)?;
    // The operator takes what the agent made for a collection of skills.
    let repository = ground.path("agents/shell/workspace/repo")?;
    for source in [format!("file://{}", repository.display()), repository.display().to_string()] {
        ground.cli(&["skills", "install", "b", &source]);
        hold!(!machine::is_there(&marker), "a program of the repository ran outside of the walls");
    }
    ground.cli(&["skills", "remove", "b", "skill"]);
    Ok(Verdict::Held)
}

fn sequences_on_the_operators_terminal(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    let mut script = vec![];
    let name = format!("file-{SEQUENCES}");
    for (tool, arguments) in [
        ("write_file", json!({ "path": name, "content": SEQUENCES })),
        ("terminal", json!({ "command": format!("echo '{SEQUENCES}'") })),
        ("todo", json!({ "todos": [{ "id": SEQUENCES, "content": SEQUENCES }] })),
        (SEQUENCES, json!({})),
    ] {
        script.push(crate::puppet::Act::Call(vec![crate::puppet::Call::new(tool, arguments)]));
    }
    script.push(crate::puppet::Act::Say(format!("words {SEQUENCES} words")));
    let turn = ground.turn_saying("shell", "sequences", SEQUENCES, Script::steps(script))?;
    control!(turn.reply.contains("words"), "no turn: {turn:?}");
    let tag = ground.puppets.learn(Script::say(&format!("words {SEQUENCES} words")));
    let sessions = ground.cli_json(&["sessions", "list", "shell"])?;
    let newest =
        sessions.as_array().and_then(|all| all.iter().filter_map(|it| it["id"].as_u64()).max());
    let newest = newest.unwrap_or(1).to_string();
    let mut seen = 0;
    for command in [
        &["chat", "--agent", "shell", "-m", &*tag][..],
        &["sessions", "list", "shell"],
        &["sessions", "show", "shell", &*newest],
        &["sessions", "search", "shell", "words"],
        &["audit", "tail", "shell", "-n", "50"],
        &["approvals", "list"],
        &["deliveries", "list"],
        &["memory", "list", "shell"],
        &["agents", "list"],
        &["usage"],
    ] {
        let told = ground.cli(command);
        let text = format!("{}{}", told.stdout, told.stderr);
        seen += text.matches("words").count();
        let bad =
            text.chars().find(|c| (c.is_control() && !"\n\t".contains(*c)) || *c == '\u{202e}');
        hold!(
            bad.is_none(),
            "`insula {}` prints {bad:?} to the terminal: {text:?}",
            command.join(" ")
        );
    }
    control!(seen >= 2, "the words were shown {seen} times");
    let log = ground.log();
    let bad = log.chars().find(|c| c.is_control() && !"\n\t\r".contains(*c));
    hold!(bad.is_none(), "the daemon's log has {bad:?}");
    Ok(Verdict::Held)
}

macro_rules! poisons {
    ($who:literal) => {
        &[
            Attempt {
                row: "E7",
                variant: concat!("programs by known names in the workspace (", $who, ")"),
                run: programs_by_known_names,
            },
            Attempt {
                row: "E7",
                variant: concat!("LD_PRELOAD and its like (", $who, ")"),
                run: a_preloaded_library,
            },
            Attempt {
                row: "E7",
                variant: concat!("start files of shells and interpreters (", $who, ")"),
                run: start_files_of_a_shell,
            },
            Attempt {
                row: "E7",
                variant: concat!("git's configuration and hooks (", $who, ")"),
                run: a_repository_with_a_will_of_its_own,
            },
            Attempt {
                row: "E7",
                variant: concat!("escape sequences for the operator's terminal (", $who, ")"),
                run: sequences_on_the_operators_terminal,
            },
        ]
    };
}

/// Where the daemon is root.
pub const AS_ROOT: &[Attempt] = poisons!("root");
/// Where the daemon is an ordinary user.
pub const AS_USER: &[Attempt] = poisons!("user");
