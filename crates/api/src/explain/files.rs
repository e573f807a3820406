//! Whether an agent can read or write a file, by where the file is.

use super::{Finding, Subject};
use insula_domain::{AccessMode, AgentId, Effect};
use std::path::{Component, Path, PathBuf};

/// What is to be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Access {
    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    fn effects(self) -> &'static [Effect] {
        match self {
            Self::Read => &[Effect::ReadFiles, Effect::RunProgram],
            Self::Write => &[Effect::WriteFiles, Effect::RunProgram],
        }
    }
}

/// A path without `.` and `..`, by its text: what links lead to is decided when it is opened.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

pub(super) fn find(subject: &Subject<'_>, access: Access, what: &str) -> Finding {
    let (agent, word) = (&subject.agent, access.word());
    let has_tool = agent.tools().exposed().filter_map(insula_domain::tool::find);
    let mut tools = has_tool.filter(|tool| tool.first_of(access.effects()).is_some());
    let Some(tool) = tools.next() else {
        return Finding::no(format!("it has no tool that can {word} files")).by(["tools"]).change(
            match access {
                Access::Read => "give it one: `tools: {also_allow: [read_file]}`",
                Access::Write => "give it one: `tools: {also_allow: [write_file]}`",
            },
        );
    };
    let agents = plain(&subject.api.home.root().join("agents"));
    let own = plain(&agent.workspace.path);
    let first = what.split('/').next().unwrap_or_default();
    let is_agent = AgentId::new(first)
        .is_ok_and(|id| subject.api.registry.snapshot().agents.contains_key(&id));
    let path = match (Path::new(what).is_absolute(), is_agent && what.contains('/')) {
        (true, _) => PathBuf::from(what),
        (false, true) => agents.join(what),
        (false, false) => own.join(what),
    };
    let path = plain(&path);
    let by = format!("by `{}`", tool.name);
    if path.starts_with(&own) {
        return Finding::yes(format!("it is in its workspace, {by}"))
            .by(["workspace", "tools"])
            .note("a link in the workspace that leads out of it is not followed");
    }
    let shared = agent.boundary.files.shared.iter();
    let holding = shared.filter(|it| path.starts_with(plain(Path::new(&*it.path))));
    if let Some(shared) = holding.max_by_key(|it| it.path.len()) {
        return match (access, shared.mode) {
            (Access::Write, AccessMode::Ro) => {
                Finding::no(format!("`{}` is shared with it to be read only", shared.path))
                    .by(["files.shared"])
                    .change("share it with `mode: rw`")
            }
            _ => Finding::yes(format!("`{}` is shared with it, {by}", shared.path))
                .by(["files.shared", "tools"]),
        };
    }
    let finding = Finding::no("it is neither in its workspace nor in a folder shared with it");
    let finding = finding.by(["files.shared", "workspace"]);
    match path.strip_prefix(&agents) {
        Ok(rest) => {
            let whose = rest.components().next().map(|it| it.as_os_str().to_string_lossy());
            finding
                .note(format!(
                    "what is in the folder of agent `{}` is that agent's alone",
                    whose.unwrap_or_default()
                ))
                .change("put what both need into a folder outside of the home, and share that with both: `files: {shared: [{path: …, mode: ro}]}`")
        }
        Err(_) => finding.change(format!(
            "share its folder: `files: {{shared: [{{path: {}, mode: {}}}]}}`",
            path.parent().unwrap_or(&path).display(),
            if access == Access::Read { "ro" } else { "rw" }
        )),
    }
}
