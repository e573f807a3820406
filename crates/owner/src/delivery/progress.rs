//! What a chat reads of a turn that has said nothing yet: the tools it uses, one line each. Pure.

use std::collections::VecDeque;

/// Lines that are shown: what came before them is of no use to anybody who waits.
const LINES_MAX: usize = 6;

/// How much is told of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// The tool and what it is about.
    All,
    /// The tool alone: others read along, and a path or a question may be one person's.
    Name,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    Done,
    Failed,
    /// For somebody's yes.
    Waits,
}

#[derive(Debug, Clone)]
struct Step {
    name: String,
    about: String,
    state: State,
}

/// The tools that a turn used lately.
#[derive(Debug, Default)]
pub(super) struct Progress {
    steps: VecDeque<Step>,
}

impl Progress {
    /// A tool is called.
    pub(super) fn called(&mut self, name: String, about: String) {
        self.steps.push_back(Step { name, about, state: State::Runs });
        if self.steps.len() > LINES_MAX {
            self.steps.pop_front();
        }
    }

    /// A tool came back.
    pub(super) fn done(&mut self, name: &str, is_error: bool) {
        self.turn(name, if is_error { State::Failed } else { State::Done });
    }

    /// A call waits for somebody's yes.
    pub(super) fn waits(&mut self, name: &str) {
        self.turn(name, State::Waits);
    }

    /// It waits no longer.
    pub(super) fn goes_on(&mut self, name: &str) {
        self.turn(name, State::Runs);
    }

    /// Whether a call waits for somebody's yes.
    pub(super) fn is_waiting(&self) -> bool {
        self.steps.iter().any(|step| step.state == State::Waits)
    }

    /// The last call of this tool that is not over is another now.
    fn turn(&mut self, name: &str, state: State) {
        let is_open =
            |it: &&mut Step| it.name == name && matches!(it.state, State::Runs | State::Waits);
        if let Some(step) = self.steps.iter_mut().rev().find(is_open) {
            step.state = state;
        }
    }

    /// What a chat reads; empty where no tool was used.
    pub(super) fn text(&self, detail: Detail) -> String {
        let lines = self.steps.iter().map(|step| {
            let Step { name, about, state } = step;
            // What stands between marks is shown as it is; a mark in it would end that.
            let about = match detail {
                Detail::All if !about.is_empty() => format!(" `{}`", about.replace('`', "'")),
                _ => String::new(),
            };
            match state {
                State::Runs => format!("⚙ {name}{about}"),
                State::Done => format!("✓ {name}{about}"),
                State::Failed => format!("✗ {name}{about}"),
                State::Waits => format!("⏳ {name}{about} waits for an admin's approval"),
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_tools_are_told_with_what_became_of_them() {
        let mut progress = Progress::default();
        assert_eq!(progress.text(Detail::All), "");
        progress.called("read_file".into(), "a.txt".into());
        progress.done("read_file", false);
        progress.called("terminal".into(), "echo `date`".into());
        progress.waits("terminal");
        assert_eq!(
            progress.text(Detail::All),
            "✓ read_file `a.txt`\n⏳ terminal `echo 'date'` waits for an admin's approval"
        );
        progress.goes_on("terminal");
        progress.called("todo".into(), String::new());
        progress.done("todo", true);
        assert_eq!(progress.text(Detail::Name), "✓ read_file\n⚙ terminal\n✗ todo");
        for at in 0..20 {
            progress.called(format!("t{at}"), String::new());
        }
        assert_eq!(progress.text(Detail::All).lines().count(), LINES_MAX);
        assert!(progress.text(Detail::All).ends_with("⚙ t19"));
    }
}
