//! Programs that hear and speak for an agent: the operator's, as confined as the agent's own.

use crate::Capabilities;
use crate::programs::ANSWER_BYTES_MAX;
use insula_domain::Actor;
use insula_registry::context::AgentContext;
use insula_store::SessionId;
use insula_tools::Files;
use std::time::Duration;

/// What a command writes where it takes the file with the recording.
const FILE: &str = "{file}";
/// The largest sound that is taken, in bytes: files of agents are no larger.
const SPEECH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Whose program it is: where, and for whom.
#[derive(Clone, Copy)]
pub struct VoiceOf<'v> {
    pub agent: &'v AgentContext,
    pub principal: &'v Actor,
    pub session: SessionId,
    pub files: &'v Files,
}

/// The line that is run: the recording comes on standard input, and lies in a folder that is the
/// program's alone while it runs. Its name is ours, so nothing of a sender's is in the line.
fn hearing(command: &str, ending: &str) -> String {
    let file = format!("\"$voice_folder/voice.{ending}\"");
    let command = command.replace(FILE, &file);
    format!(
        "voice_folder=$(mktemp -d) || exit 1\ntrap 'rm -rf \"$voice_folder\"' EXIT\ncat > {file} || exit 1\n{command}"
    )
}

impl Capabilities {
    /// Has a program write down a recording: what it prints.
    pub async fn hear_by_program(
        &self,
        of: VoiceOf<'_>,
        (command, timeout): (&str, Duration),
        (recording, ending): (Vec<u8>, &'static str),
    ) -> Result<String, String> {
        let command = hearing(command, ending);
        let line = (&*command, timeout, ANSWER_BYTES_MAX);
        let whose = (of.principal, of.session);
        let printed = self.script_reading(of.agent, whose, of.files, line, recording).await?;
        Ok(String::from_utf8_lossy(&printed).trim().to_owned())
    }

    /// Has a program say something, which it reads: the sound that it prints.
    pub async fn speak_by_program(
        &self,
        of: VoiceOf<'_>,
        (command, timeout): (&str, Duration),
        words: String,
    ) -> Result<Vec<u8>, String> {
        let line = (command, timeout, SPEECH_BYTES_MAX);
        let whose = (of.principal, of.session);
        self.script_reading(of.agent, whose, of.files, line, words.into_bytes()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_gets_a_file_of_ours_wherever_it_names_one() {
        let line = hearing("hear -f {file} && rm {file}", "ogg");
        assert!(
            line.ends_with("hear -f \"$voice_folder/voice.ogg\" && rm \"$voice_folder/voice.ogg\"")
        );
    }
}
