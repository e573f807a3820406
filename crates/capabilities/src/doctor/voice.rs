//! Programs that hear and speak for agents: whether they are there. Models are tried with all
//! other providers.

use super::{DoctorFinding, Status, finding};
use crate::Capabilities;
use crate::programs::PATH;
use insula_config::voice::VoiceBackend;
use insula_registry::registry::AgentState;
use insula_sandbox::is_there;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Looks for each program once.
pub(super) async fn examine(caps: &Capabilities) -> Vec<DoctorFinding> {
    let snapshot = caps.registry.snapshot();
    let mut wanted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (id, entry) in &snapshot.agents {
        let AgentState::Ready(agent) = &entry.state else { continue };
        // Whoever says where programs are looked for knows it better.
        if agent.programs.env.iter().any(|(name, _)| &**name == "PATH") {
            continue;
        }
        let hear = agent.voice.hear.iter().map(|it| &it.by);
        for by in hear.chain(agent.voice.speak.iter().map(|it| &it.by)) {
            if let VoiceBackend::Command(command) = by
                && let Some(program) = program(command)
            {
                wanted.entry(program.to_owned()).or_default().push(id.to_string());
            }
        }
    }
    let look = move || {
        let look = |(program, mut agents): (String, Vec<String>)| {
            agents.dedup();
            let agents = agents.join(", ");
            match places(&program).into_iter().find(|it| is_there(it)) {
                Some(place) => {
                    let detail = format!("{} is there; run for {agents}", place.display());
                    finding("voice", Status::Good, detail)
                }
                None => {
                    let detail = format!(
                        "`{program}` is not there, by which {agents} hears or speaks; install it, or name it by its whole path"
                    );
                    finding("voice", Status::Bad, detail)
                }
            }
        };
        wanted.into_iter().map(look).collect()
    };
    caps.world.storage.run(look).await.unwrap_or_default()
}

/// The program that a line begins with; nothing where a shell has more to say about that.
fn program(command: &str) -> Option<&str> {
    let word = command.split_whitespace().next()?;
    let is_plain =
        |it: char| it.is_ascii_alphanumeric() || matches!(it, '/' | '.' | '-' | '_' | '+');
    (word.chars().all(is_plain) && !BUILT_IN.contains(&word)).then_some(word)
}

/// What a shell does itself.
const BUILT_IN: [&str; 8] = ["cd", "export", "if", "for", "while", "set", "exec", "test"];

fn places(program: &str) -> Vec<PathBuf> {
    match program.contains('/') {
        true => vec![PathBuf::from(program)],
        false => PATH.split(':').map(|folder| Path::new(folder).join(program)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_its_program_where_that_is_plain() {
        assert_eq!(program("whisper-cli -f {file}"), Some("whisper-cli"));
        assert_eq!(program("/opt/x/hear {file} | cat"), Some("/opt/x/hear"));
        for line in
            ["", "X=1 hear {file}", "(hear {file})", "cd /opt && hear {file}", "$HEAR {file}"]
        {
            assert_eq!(program(line), None, "{line}");
        }
        assert_eq!(places("/opt/x"), [PathBuf::from("/opt/x")]);
        assert!(places("sh").contains(&PathBuf::from("/bin/sh")));
    }
}
