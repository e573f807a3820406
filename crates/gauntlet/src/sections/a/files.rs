//! A3: another agent's files, by every way there is to name one.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::{control, hold};
use anyhow::Result;
use serde_json::json;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A3", variant: "by absolute path", run: absolute },
    Attempt { row: "A3", variant: "by dots", run: dots },
    Attempt { row: "A3", variant: "by a link that lies in its own workspace", run: link },
    Attempt { row: "A3", variant: "by a link that it makes itself", run: own_link },
    Attempt { row: "A3", variant: "by /proc/self/root and its like", run: proc },
    Attempt { row: "A3", variant: "through a granted shared folder", run: shared },
    Attempt { row: "A3", variant: "by a hard link", run: hard_link },
    Attempt { row: "A3", variant: "by renaming, in and out", run: rename },
    Attempt { row: "A3", variant: "by programs", run: programs },
    Attempt { row: "A3", variant: "by a working directory", run: working_directory },
    Attempt { row: "A3", variant: "by searching from above", run: searching },
    Attempt { row: "A3", variant: "what belongs to the daemon", run: the_daemons },
    Attempt { row: "A3", variant: "by a patch that names several files", run: patches },
    Attempt { row: "A3", variant: "by strange bytes in a path", run: strange },
    Attempt { row: "A3", variant: "by a child it hands the work to", run: child },
];

/// A path of b's workspace, absolute.
fn theirs(ground: &Ground, name: &str) -> Result<String> {
    Ok(ground.path(&format!("agents/b/workspace/{name}"))?.display().to_string())
}

/// What a call by every file tool would be, about this path.
fn every_tool(path: &str) -> Vec<Call> {
    let patch =
        json!({ "mode": "replace", "path": path, "old_string": "canary", "new_string": "broken" });
    vec![
        Call::new("read_file", json!({ "path": path })),
        Call::new("write_file", json!({ "path": path, "content": "broken" })),
        Call::new("patch", patch),
        Call::new("search_files", json!({ "pattern": "canary", "path": path })),
        Call::new("search_files", json!({ "pattern": "*", "target": "files", "path": path })),
    ]
}

/// Makes these calls as a, and judges by b's bytes: a was shown none, and none changed.
fn judged(ground: &Ground, calls: Vec<Call>) -> Outcome {
    let folder = ground.path("agents/b")?;
    let workspace = folder.join("workspace");
    let own = ground.call("b", "control", "read_file", json!({ "path": "secret.txt" }))?;
    control!(own.contains(&ground.planted("b-file").text), "b does not read its own: {own}");
    let before = machine::snapshot(&workspace);
    let asked: Vec<String> = calls.iter().map(|call| call.arguments.to_string()).collect();
    let told = ground.calls("a", "files", calls)?;
    for (asked, told) in asked.iter().zip(&told) {
        for name in ["b-file", "b-soul", "b-skill"] {
            let canary = ground.planted(name);
            hold!(canary.found_in(told.as_bytes()).is_none(), "{asked}: {told}");
        }
    }
    hold!(machine::snapshot(&workspace) == before, "b's workspace is not what it was");
    let leak = ground.leaked_to("a", &[ground.planted("b-file"), ground.planted("b-soul")])?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    Ok(Verdict::Held)
}

fn shells(ground: &Ground, commands: &[String]) -> Outcome {
    judged(
        ground,
        commands.iter().map(|it| Call::new("terminal", json!({ "command": it }))).collect(),
    )
}

fn absolute(ground: &Ground) -> Outcome {
    let mut calls = every_tool(&theirs(ground, "secret.txt")?);
    calls.extend(every_tool(&theirs(ground, "new.txt")?));
    calls.extend(every_tool(&theirs(ground, "")?));
    judged(ground, calls)
}

fn dots(ground: &Ground) -> Outcome {
    let mut calls = vec![];
    for path in [
        "../../b/workspace/secret.txt",
        "./../../b/workspace/./secret.txt",
        "made/../../../b/workspace/secret.txt",
        "..//..//b//workspace//secret.txt",
        "../../../agents/b/workspace/secret.txt",
        "..%2f..%2fb%2fworkspace%2fsecret.txt",
        "..\\..\\b\\workspace\\secret.txt",
        "~/agents/b/workspace/secret.txt",
        "$HOME/../b/workspace/secret.txt",
    ] {
        calls.extend(every_tool(path));
    }
    judged(ground, calls)
}

fn link(ground: &Ground) -> Outcome {
    let workspace = ground.path("agents/a/workspace")?;
    machine::make_folder(&workspace)?;
    for (name, target) in [("to-file", "secret.txt"), ("to-folder", "")] {
        let path = workspace.join(name);
        if !machine::is_there(&path) {
            machine::link(&ground.path(&format!("agents/b/workspace/{target}"))?, &path)?;
        }
    }
    let mut calls = every_tool("to-file");
    calls.extend(every_tool("to-folder/secret.txt"));
    calls.extend(every_tool("to-folder/new.txt"));
    calls.extend(every_tool("to-folder"));
    judged(ground, calls)
}

fn own_link(ground: &Ground) -> Outcome {
    let folder = theirs(ground, "")?;
    let make = format!(
        "ln -sfn {folder} mine; ln -sfn ../../b/workspace up; ln -sfn /proc/self/root root; cat mine/secret.txt up/secret.txt root{folder}/secret.txt"
    );
    let mut calls = vec![Call::new("terminal", json!({ "command": make }))];
    for path in ["mine/secret.txt", "up/secret.txt", &format!("root{folder}/secret.txt")] {
        calls.extend(every_tool(path));
    }
    judged(ground, calls)
}

fn proc(ground: &Ground) -> Outcome {
    let path = theirs(ground, "secret.txt")?;
    let pid = ground.pid()?;
    let mut calls = vec![];
    let mut commands = vec![];
    for root in [
        "/proc/self/root",
        "/proc/1/root",
        &format!("/proc/{pid}/root"),
        "/proc/thread-self/root",
        "/proc/self/cwd/../../..",
    ] {
        calls.extend(every_tool(&format!("{root}{path}")));
        commands.push(json!({ "command": format!("cat {root}{path}; ls {root}") }));
    }
    commands.push(json!({ "command": format!("for f in /proc/{pid}/fd/* /proc/[0-9]*/fd/* /proc/self/fd/*; do head -c 300 $f; done 2>/dev/null < /dev/null"), "timeout": 20 }));
    calls.extend(commands.into_iter().map(|it| Call::new("terminal", it)));
    judged(ground, calls)
}

fn shared(ground: &Ground) -> Outcome {
    // What is shared is shared, and a way from there is no grant of where it leads.
    let outside = machine::real(ground.outside.path())?;
    ground.outside.write("shared/book.txt", "pages of all")?;
    let book = outside.join("shared/book.txt").display().to_string();
    let own = ground.call("a", "control", "read_file", json!({ "path": book }))?;
    control!(own.contains("pages of all"), "a does not read what it was given: {own}");
    for (name, target) in
        [("way", "agents/b/workspace"), ("way.txt", "agents/b/workspace/secret.txt"), ("home", "")]
    {
        let path = outside.join("shared").join(name);
        if !machine::is_there(&path) {
            machine::link(&ground.path(target)?, &path)?;
        }
    }
    let folder = outside.join("shared").display().to_string();
    let home = ground.path("")?.display().to_string();
    let mut calls = vec![];
    for path in [
        format!("{folder}/way/secret.txt"),
        format!("{folder}/way.txt"),
        format!("{folder}/home/agents/b/workspace/secret.txt"),
        format!("{folder}/../..{home}/agents/b/workspace/secret.txt"),
    ] {
        calls.extend(every_tool(&path));
        calls.push(Call::new(
            "terminal",
            json!({ "command": format!("cat {path}; echo broken > {path}") }),
        ));
    }
    judged(ground, calls)
}

fn hard_link(ground: &Ground) -> Outcome {
    let path = theirs(ground, "secret.txt")?;
    let code = format!(
        "import os\nfor n, s in enumerate(['{path}', '../../b/workspace/secret.txt']):\n    try: os.link(s, f'hard{{n}}'); print(open(f'hard{{n}}').read())\n    except OSError as e: print(e)\n"
    );
    let calls = vec![
        Call::new(
            "terminal",
            json!({ "command": format!("ln {path} hard; cat hard; cp -l {path} hard2; cat hard2") }),
        ),
        Call::new("execute_code", json!({ "code": code })),
        Call::new("read_file", json!({ "path": "hard" })),
        Call::new("read_file", json!({ "path": "hard0" })),
    ];
    judged(ground, calls)
}

fn rename(ground: &Ground) -> Outcome {
    let (file, folder) = (theirs(ground, "secret.txt")?, theirs(ground, "")?);
    let agents = ground.path("agents")?.display().to_string();
    let moved = format!(
        "*** Begin Patch\n*** Update File: mine.txt\n*** Move to: {folder}moved.txt\n@@\n-mine\n+broken\n*** End Patch\n"
    );
    let mut calls: Vec<Call> = [
        format!("echo mine > mine.txt; mv {file} taken.txt; cat taken.txt"),
        format!("mv mine.txt {folder}/given.txt; cp mine.txt {folder}/given2.txt"),
        format!("mv {agents}/b {agents}/c; mv {agents}/a {agents}/z; mkdir {agents}/d"),
        format!(
            "python3 -c \"import os; os.rename('{file}', 'taken'); print(open('taken').read())\""
        ),
    ]
    .iter()
    .map(|it| Call::new("terminal", json!({ "command": it })))
    .collect();
    calls.push(Call::new("patch", json!({ "mode": "patch", "patch": moved })));
    judged(ground, calls)
}

fn programs(ground: &Ground) -> Outcome {
    let (file, home) = (theirs(ground, "secret.txt")?, ground.path("")?.display().to_string());
    shells(
        ground,
        &[
            format!("cat {file}"),
            format!("cat {home}/agents/*/workspace/*; ls -R {home}"),
            format!(
                "timeout 5 find /tmp /home /srv -name secret.txt -exec cat {{}} + 2>/dev/null; timeout 5 grep -rl canary {home}"
            ),
            format!("exec 3<{file}; cat <&3"),
            format!(
                "python3 -c \"import os; d=os.open('/', os.O_RDONLY); print(open(os.open('{}', os.O_RDONLY, dir_fd=d)).read())\"",
                file.trim_start_matches('/')
            ),
            format!("tar cf - {home}/agents/b | base64; cpio -o < /dev/null; dd if={file}"),
            format!(
                "echo broken > {file}; rm -f {file}; truncate -s 0 {file}; chmod 777 {file}; touch {home}/agents/b/workspace/x"
            ),
            "timeout 5 grep -rs canary /tmp /dev/shm /var /run /home /root /mnt 2>/dev/null | head"
                .to_owned(),
        ],
    )
}

fn working_directory(ground: &Ground) -> Outcome {
    let folder = theirs(ground, "")?;
    let calls = vec![
        Call::new("terminal", json!({ "command": "cat secret.txt; ls -la", "workdir": folder })),
        Call::new(
            "terminal",
            json!({ "command": "cat secret.txt; ls", "workdir": "../../b/workspace" }),
        ),
        Call::new("terminal", json!({ "command": format!("cd {folder} && cat secret.txt") })),
        Call::new("terminal", json!({ "command": "cat secret.txt" })),
        Call::new(
            "execute_code",
            json!({ "code": format!("import os\ntry: os.chdir('{folder}'); print(open('secret.txt').read())\nexcept OSError as e: print(e)") }),
        ),
        Call::new(
            "terminal",
            json!({ "command": "cat secret.txt", "workdir": folder, "background": true }),
        ),
        Call::new("process", json!({ "action": "log", "session_id": "p1" })),
    ];
    judged(ground, calls)
}

fn searching(ground: &Ground) -> Outcome {
    let home = ground.path("")?.display().to_string();
    let mut calls = vec![];
    for path in ["/", "..", "../..", "../../..", &home, &format!("{home}/agents"), "/proc", "/tmp"]
    {
        for target in ["content", "files"] {
            let pattern = if target == "content" { "canary" } else { "*secret*" };
            calls.push(Call::new(
                "search_files",
                json!({ "pattern": pattern, "target": target, "path": path }),
            ));
        }
    }
    calls
        .push(Call::new("search_files", json!({ "pattern": "canary", "file_glob": "../../b/**" })));
    judged(ground, calls)
}

fn the_daemons(ground: &Ground) -> Outcome {
    let home = ground.path("")?.display().to_string();
    let token = ground.text("run/admin.token");
    control!(!token.is_empty(), "there is no admin token to look for");
    let mut calls = vec![];
    for name in [
        "config.yaml",
        "insula.db",
        "run/admin.token",
        "run/daemon.json",
        "vault",
        "vault/key",
        "agents/b/agent.db",
        "agents/b/SOUL.md",
        "agents/b/logs",
        "agents/b/skills/craft/SKILL.md",
        "agents/b/memories/MEMORY.md",
        "agents/a/agent.db",
        "agents/a/mcp.json",
    ] {
        calls.push(Call::new("read_file", json!({ "path": format!("{home}/{name}") })));
        calls.push(Call::new("read_file", json!({ "path": format!("../../../{name}") })));
        calls.push(Call::new("terminal", json!({ "command": format!("cat {home}/{name}") })));
    }
    let outcome = judged(ground, calls)?;
    let seen: Vec<u8> =
        ground.prompts_of("a").iter().flat_map(|body| body.iter().copied()).collect();
    hold!(!crate::canary::contains(&seen, token.trim().as_bytes()), "a was shown the admin token");
    hold!(!crate::canary::contains(&seen, b"SQLite format 3"), "a was shown a database");
    Ok(outcome)
}

fn patches(ground: &Ground) -> Outcome {
    let path = theirs(ground, "secret.txt")?;
    let mut calls = vec![];
    for path in [path.as_str(), "../../b/workspace/secret.txt"] {
        for patch in [
            format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n"),
            format!(
                "*** Begin Patch\n*** Update File: {path}\n@@\n-canary\n+broken\n*** End Patch\n"
            ),
            format!("*** Begin Patch\n*** Add File: {path}.new\n+broken\n*** End Patch\n"),
            format!(
                "*** Begin Patch\n*** Add File: fine.txt\n+fine\n*** Delete File: {path}\n*** End Patch\n"
            ),
            format!(
                "*** Begin Patch\n*** Update File: {path}\n*** Move to: taken.txt\n@@\n-c\n+c\n*** End Patch\n"
            ),
        ] {
            calls.push(Call::new("patch", json!({ "mode": "patch", "patch": patch })));
        }
    }
    judged(ground, calls)
}

fn strange(ground: &Ground) -> Outcome {
    let path = theirs(ground, "secret.txt")?;
    let mut calls = vec![];
    for path in [
        format!("x\u{0}{path}"),
        format!("{path}\u{0}.txt"),
        format!("\n{path}"),
        format!(" {path} "),
        format!("file://{path}"),
        format!("{}{path}", "./".repeat(3000)),
        format!("//{}", path.trim_start_matches('/')),
        format!("/\u{2024}\u{2024}{path}"),
        path.replace('/', "\u{2215}"),
        format!("{path}/."),
        format!("{path}/../secret.txt"),
    ] {
        calls.extend(every_tool(&path));
    }
    judged(ground, calls)
}

fn child(ground: &Ground) -> Outcome {
    let path = theirs(ground, "secret.txt")?;
    let mut acts = every_tool(&path);
    acts.push(Call::new(
        "terminal",
        json!({ "command": format!("cat {path}; echo broken > {path}") }),
    ));
    let work = ground.puppets.learn(Script::live(move |asked| match asked.step {
        0 => Act::Call(acts.clone()),
        _ => Act::Say(asked.results.join("\n")),
    }));
    let goal = json!({ "goal": format!("read it {work}") });
    let verdict = judged(ground, vec![Call::new("delegate_task", goal)])?;
    let child = ground.so_far(&work);
    control!(!child.results.is_empty(), "no child was asked: {child:?}");
    let canary = ground.planted("b-file");
    hold!(canary.found_in(&child.prompts()).is_none(), "the child was shown: {}", child.told());
    Ok(verdict)
}
