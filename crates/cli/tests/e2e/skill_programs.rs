//! Programs of agents and the files of skills: what a skill brings runs where its view says,
//! nobody changes it, and nobody else finds it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and processes and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use serde_json::{Value, json as value};
use std::os::unix::fs::PermissionsExt as _;

const CONFIG: &str = "approvals: {mode: off}\nagents:\n  a: {default: true, tools: coding}\n  b: {tools: coding, skills: [ops]}\n  c: {tools: coding, sandbox: off}\n";

fn skill(name: &str, front: &str) -> String {
    format!("---\nname: {name}\ndescription: What {name} is for.\n{front}---\nDo it.\n")
}

fn call(home: &Home, agent: &str, tool: &str, arguments: &Value) -> String {
    let message = format!("call {tool} {arguments}");
    insula(home, &["chat", "--agent", agent, "--session", "one", "-m", &message]).ok().stdout
}

fn shell(home: &Home, agent: &str, command: &str) -> String {
    call(home, agent, "terminal", &value!({ "command": command }))
}

fn view(home: &Home, agent: &str, name: &str) -> String {
    call(home, agent, "skill_view", &value!({ "name": name }))
}

/// The folder that a view names.
fn folder(view: &str) -> String {
    let rest = view.split("programs find its files in ").nth(1).unwrap_or_else(|| panic!("{view}"));
    rest.split([',', ';', ']']).next().unwrap().to_owned()
}

/// A skill with a script of each kind, put into a folder of skills by hand.
fn plant(home: &Home, place: &str, name: &str) {
    home.write(&format!("{place}/SKILL.md"), skill(name, "")).unwrap();
    let python =
        format!("import pathlib\nprint('python of {name}', pathlib.Path(__file__).parent.name)\n");
    home.write(&format!("{place}/scripts/say.py"), python).unwrap();
    let run = format!("{place}/scripts/run.sh");
    home.write(&run, format!("#!/bin/sh\necho \"shell of {name} $1\"\n")).unwrap();
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(home.path().join(run), mode).unwrap();
}

#[test]
fn scripts_of_a_skill_run_where_its_view_says_and_can_not_be_changed() {
    let home = configured(CONFIG);
    let from = Home::with([("x", "")]).unwrap();
    plant(&from, "deploy", "deploy");
    let source = from.path().join("deploy").display().to_string();
    insula(&home, &["skills", "install", "a", &source]).ok();
    let _daemon = start_still(&home);
    let shown = view(&home, "a", "deploy");
    let path = folder(&shown);
    // The view says how one of them is run, to the letter.
    let (_, run) = shown.split_once("is run by terminal with ").unwrap();
    let run: Value = serde_json::from_str(run.split_once(']').unwrap().0).unwrap();
    let said = call(&home, "a", "terminal", &run);
    assert!(said.contains("shell of deploy"), "{said}");
    let said = shell(&home, "a", &format!("python3 {path}/scripts/say.py"));
    assert!(said.contains("python of deploy scripts"), "{said}");
    // What was a program where it came from is one here.
    let said = shell(&home, "a", &format!("(cd {path} && ./scripts/run.sh now)"));
    assert!(said.contains("shell of deploy now"), "{said}");
    let code = format!("print(open('{path}/SKILL.md').read())");
    let said = call(&home, "a", "execute_code", &value!({ "code": code }));
    assert!(said.contains("Do it."), "{said}");
    for attempt in [
        format!("echo x > {path}/SKILL.md"),
        format!("echo x > {path}/new"),
        format!("rm -f {path}/scripts/run.sh"),
        format!("chmod 777 {path}/scripts/run.sh"),
        format!("mkdir {path}/../other"),
        format!("mv {path} {path}2"),
        format!("ln -s /etc {path}/etc"),
    ] {
        let said = shell(&home, "a", &format!("({attempt}) && echo it''-worked"));
        assert!(!said.contains("it-worked"), "{attempt}: {said}");
    }
    assert_eq!(json(&home, &["skills", "verify", "a"])["ok"], value!(true));
    // A skill that goes is gone for the next program, and for one that runs.
    let watch = format!("while [ -e {path}/SKILL.md ]; do sleep 0.1; done; echo gone > watched");
    call(&home, "a", "terminal", &value!({ "command": watch, "background": true }));
    insula(&home, &["skills", "remove", "a", "deploy"]).ok();
    call(&home, "a", "process", &value!({ "action": "wait", "session_id": "p1", "timeout": 60 }));
    assert_eq!(home.read("agents/a/workspace/watched").unwrap(), "gone\n");
    let said = shell(&home, "a", &format!("cat {path}/SKILL.md || echo not''-there"));
    assert!(said.contains("not-there") && !said.contains("Do it."), "{said}");
}

#[test]
fn an_agent_finds_its_own_skills_and_its_bundles_and_nobody_elses() {
    let home = configured(CONFIG);
    plant(&home, "agents/a/skills/deploy", "deploy");
    plant(&home, "skills/ops/release", "release");
    let _daemon = start_still(&home);
    let (own, bundled) =
        (folder(&view(&home, "a", "deploy")), folder(&view(&home, "b", "release")));
    assert_ne!(own, bundled);
    let said = shell(&home, "b", &format!("{bundled}/scripts/run.sh here"));
    assert!(said.contains("shell of release here"), "{said}");
    assert!(shell(&home, "a", &format!("cat {own}/SKILL.md")).contains("Do it."));
    let top = home.path().canonicalize().unwrap();
    let top = top.display();
    for (agent, path) in [
        ("b", own.clone()),
        ("b", format!("{top}/agents/a/mounted-skills/deploy")),
        ("b", format!("{top}/agents/a/skills/deploy")),
        ("a", bundled),
        ("a", format!("{top}/skills/ops/release")),
        // Not even by where the operator keeps it: the copy is what an agent is given.
        ("a", format!("{top}/agents/a/skills/deploy")),
        ("a", format!("{top}/agents/a/skills")),
    ] {
        let said =
            shell(&home, agent, &format!("ls {path} || cat {path}/SKILL.md || echo no''thing"));
        assert!(said.contains("nothing") && !said.contains("Do it."), "{agent} {path}: {said}");
    }
    // One that was never viewed tells no more: the list of the folder is the agent's own.
    let said = shell(&home, "b", &format!("ls {top}/agents {top}/agents/b/mounted-skills"));
    assert!(!said.contains("deploy") && said.contains("release"), "{said}");
}

#[test]
fn without_a_sandbox_a_view_names_the_real_folder() {
    let home = configured(CONFIG);
    plant(&home, "agents/c/skills/writing/notes", "notes");
    let _daemon = start_still(&home);
    let path = folder(&view(&home, "c", "notes"));
    let real = home.path().canonicalize().unwrap().join("agents/c/skills/writing/notes");
    assert_eq!(path, real.display().to_string());
    let said = shell(&home, "c", &format!("{path}/scripts/run.sh real"));
    assert!(said.contains("shell of notes real"), "{said}");
}

#[test]
fn a_link_that_comes_later_leads_nowhere_and_takes_the_skill_along() {
    let home = configured(CONFIG);
    home.write("outside/SKILL.md", "private words").unwrap();
    plant(&home, "agents/a/skills/deploy", "deploy");
    plant(&home, "agents/a/skills/notes", "notes");
    let _daemon = start_still(&home);
    let (deploy, notes) = (folder(&view(&home, "a", "deploy")), folder(&view(&home, "a", "notes")));
    assert!(shell(&home, "a", &format!("cat {deploy}/SKILL.md")).contains("Do it."));
    let link = home.path().join("agents/a/skills/deploy/scripts/out");
    std::os::unix::fs::symlink(home.path().join("outside"), link).unwrap();
    let said = shell(&home, "a", &format!("cat {deploy}/scripts/out/SKILL.md"));
    assert!(!said.contains("private words"), "{said}");
    assert!(said.contains("is not given to programs: has a link beside it"), "{said}");
    assert!(shell(&home, "a", &format!("cat {notes}/SKILL.md")).contains("Do it."));
}

#[test]
fn what_was_changed_after_it_was_installed_is_not_run() {
    let home = configured(CONFIG);
    let from = Home::with([("x", "")]).unwrap();
    plant(&from, "deploy", "deploy");
    let source = from.path().join("deploy").display().to_string();
    insula(&home, &["skills", "install", "a", &source]).ok();
    let _daemon = start_still(&home);
    let path = folder(&view(&home, "a", "deploy"));
    home.write("agents/a/skills/deploy/scripts/run.sh", "#!/bin/sh\necho evil\n").unwrap();
    let said = shell(&home, "a", &format!("{path}/scripts/run.sh"));
    assert!(
        !said.contains("evil") && said.contains("was changed after it was installed"),
        "{said}"
    );
    let said = view(&home, "a", "deploy");
    assert!(said.contains("programs don't find its files: it was changed"), "{said}");
}

#[test]
fn where_a_hook_decides_about_views_programs_find_what_was_viewed() {
    let hooks = "hooks: {skill:load: [{expr: \"extra.skill == 'open'\"}]}";
    let home = configured(&CONFIG.replace("a: {", &format!("a: {{{hooks}, ")));
    plant(&home, "agents/a/skills/open", "open");
    plant(&home, "agents/a/skills/closed", "closed");
    let _daemon = start_still(&home);
    let top = home.path().canonicalize().unwrap();
    let list = format!("ls {}/agents/a/mounted-skills/ || echo no''thing", top.display());
    let said = shell(&home, "a", &list);
    assert!(said.contains("nothing"), "{said}");
    assert!(view(&home, "a", "closed").contains("a hook does not allow"));
    let path = folder(&view(&home, "a", "open"));
    let said = shell(&home, "a", &list);
    assert!(said.contains("open") && !said.contains("closed"), "{said}");
    assert!(shell(&home, "a", &format!("{path}/scripts/run.sh x")).contains("shell of open x"));
}

#[test]
fn files_of_a_skill_are_found_whatever_their_case_and_in_parts_where_they_are_long() {
    let home = configured(CONFIG);
    let long: String = (0..9_000).map(|at| format!("line {at}\n")).collect();
    home.write("agents/a/skills/deploy/skill.md", format!("{}{long}", skill("deploy", "")))
        .unwrap();
    home.write("agents/a/skills/deploy/REFERENCE.md", "Slowly.\n").unwrap();
    for name in ["notes.txt", "NOTES.txt"] {
        home.write(&format!("agents/a/skills/deploy/{name}"), name).unwrap();
    }
    let _daemon = start_still(&home);
    let read = |file: &str| {
        call(&home, "a", "skill_view", &value!({ "name": "deploy", "file_path": file }))
    };
    assert!(read("reference.md").contains("Slowly."));
    assert!(read("SKILL.md").contains("Do it.") && read("Skill.MD").contains("Do it."));
    assert!(read("NOTES.txt").contains("NOTES.txt"));
    assert!(read("Notes.txt").contains("could be NOTES.txt or notes.txt"));
    // A practice model repeats the beginning of what it was shown, which is enough to see where
    // a part begins.
    let part = |offset: u64| {
        call(&home, "a", "skill_view", &value!({ "name": "deploy", "offset": offset }))
    };
    assert!(part(0).contains("line 0\n") && !part(60_000).contains("line 0\n"));
    assert!(part(60_000).contains("\nline 6"), "{}", part(60_000));
    assert!(part(9_999_999).contains("beyond its end"), "{}", part(9_999_999));
}

#[test]
fn the_doctor_says_what_skills_of_each_agent_need_and_what_to_do() {
    let home = configured(CONFIG);
    let front = "requires:\n  programs: [sh, no-such-program]\n  packages: [no-such-package, npm:no-such-module]\n";
    home.write("agents/a/skills/pdf/SKILL.md", skill("pdf", front)).unwrap();
    home.write("agents/b/skills/fine/SKILL.md", skill("fine", "requires: [sh, cat]\n")).unwrap();
    for with_daemon in [false, true] {
        let _daemon = with_daemon.then(|| start_still(&home));
        let text = insula(&home, &["doctor", "--json"]).json().to_string();
        let about = |agent: &str| text.contains(&format!("skills of agent `{agent}`"));
        assert!(about("a") && !about("b") && !about("c"), "{text}");
        for words in [
            "skill `pdf` needs",
            "program `no-such-program`: install it",
            "pip install no-such-package",
            "npm install -g no-such-module",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("program `sh`"), "{text}");
    }
}

#[test]
fn a_need_that_is_misspelt_is_named() {
    let home = configured(CONFIG);
    let front = "requires: {programs: [sh], package: [pypdf]}\n";
    home.write("agents/a/skills/look/SKILL.md", skill("look", front)).unwrap();
    let meant = "`package` of `requires` is not read; did you mean `packages`?";
    for command in [&["check"][..], &["skills", "show", "a", "look"], &["doctor", "--json"]] {
        let said = insula(&home, command).stdout;
        assert!(said.contains(meant), "{command:?}: {said}");
    }
}
