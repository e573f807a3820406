//! `delegate_task`: hands work to children, which run in parallel and report back.

use crate::delegate::{ChildReport, DelegateOutcome, Task};
use crate::{
    Cleared, Course, Habits, Hands, Output, Piece, QuotedSource, Tool, ToolError, arguments,
};
use async_trait::async_trait;
use insula_domain::Role;
use insula_domain::Source;
use serde::Deserialize;
use std::fmt::Write as _;

/// Children of one call; more is a program, not a plan.
const TASKS_MAX: usize = 32;
/// Longest goal with its context, in bytes: larger things are files.
const TASK_BYTES_MAX: usize = 200_000;
/// What of a child's report its parent is shown, in characters.
const SUMMARY_CHARS_MAX: usize = 24_000;
/// What of all reports of a call together, in characters.
const SUMMARIES_CHARS_MAX: usize = 120_000;
/// Paths of changed files that are named.
const PATHS_MAX: usize = 50;

/// Hands work to children.
pub struct DelegateTask;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    goal: Option<String>,
    context: Option<String>,
    role: Option<String>,
    tools: Option<Vec<String>>,
    model: Option<String>,
    max_tokens: Option<u64>,
    #[serde(default)]
    tasks: Vec<TaskArguments>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskArguments {
    goal: String,
    context: Option<String>,
    role: Option<String>,
    tools: Option<Vec<String>>,
    model: Option<String>,
    max_tokens: Option<u64>,
}

#[async_trait]
impl Tool for DelegateTask {
    fn name(&self) -> &'static str {
        "delegate_task"
    }

    fn description(&self) -> &'static str {
        "Hand a `goal` to a child, which works it out by itself and reports back. It sees only `goal` and `context`, shares your files, has at most your tools, and can't ask anybody. For several children at once give `tasks`, one for each."
    }

    fn parameters(&self) -> &'static str {
        // `tools`, `model` and `max_tokens` are taken as well, and not shown: small models fill in
        // all they see, and a child without tools, or of a model that nobody has, can do nothing.
        r#"{"type":"object","properties":{"goal":{"type":"string","description":"what is to be done, in full"},"context":{"type":"string","description":"what to know for it"},"tasks":{"type":"array","maxItems":32,"description":"for several children: the goal of each","items":{"type":"object","properties":{"goal":{"type":"string"}},"required":["goal"]}},"role":{"type":"string","enum":["leaf","orchestrator"]}},"required":["goal"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("task", "goal"),
                ("objective", "goal"),
                ("instruction", "goal"),
                ("instructions", "goal"),
                ("prompt", "goal"),
                ("description", "goal"),
                ("background", "context"),
                ("subtasks", "tasks"),
                ("goals", "tasks"),
            ],
            blank_is_nothing: &["context", "model", "role"],
            ..Habits::default()
        }
    }

    fn course(&self) -> Course {
        Course::Journalled
    }

    fn source(&self, _shown: &str) -> Option<Source> {
        None
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let reports = hands.delegate()?.delegate(tasks(arguments(value)?)?).await?;
        let chars_max = SUMMARY_CHARS_MAX.min(SUMMARIES_CHARS_MAX / reports.len().max(1));
        let mut told = Telling::default();
        for report in &reports {
            if !told.own.is_empty() {
                told.own.push('\n');
            }
            tell(&mut told, hands, report, chars_max).await;
        }
        let is_done =
            reports.iter().any(|report| matches!(report.end, DelegateOutcome::Finished(_)));
        let Telling { mut pieces, own } = told;
        if pieces.is_empty() {
            return match is_done {
                true => Ok(Output::Text(own)),
                false => Err(ToolError::Hand(crate::HandError(own))),
            };
        }
        if !own.is_empty() {
            pieces.push(Piece::Own(own));
        }
        if is_done { Ok(Output::Pieces(pieces)) } else { Err(ToolError::Pieces(pieces)) }
    }
}

/// The tasks that are asked for. What stands beside them holds for those that say nothing else;
/// a goal beside them is what they are parts of.
fn tasks(asked: Arguments) -> Result<Vec<Task>, ToolError> {
    let Arguments { goal, context, role, tools, model, max_tokens, tasks } = asked;
    let whole = goal.clone().filter(|it| !tasks.is_empty() && !it.trim().is_empty());
    // What one of them is to do is nothing that the others are a part of.
    let whole = whole.filter(|it| tasks.iter().all(|task| task.goal.trim() != it.trim()));
    let tasks = match (goal, tasks.is_empty()) {
        (None, true) => return wrong("`goal` or `tasks` is needed"),
        (Some(goal), true) => vec![TaskArguments {
            goal,
            context: None,
            role: None,
            tools: None,
            model: None,
            max_tokens: None,
        }],
        (_, false) => tasks,
    };
    if tasks.len() > TASKS_MAX {
        return wrong(&format!("at most {TASKS_MAX} `tasks` in one call"));
    }
    let task = |task: TaskArguments| {
        let role_name = task.role.as_ref().or(role.as_ref());
        let task = Task {
            goal: task.goal,
            context: in_whole(whole.as_deref(), task.context.or_else(|| context.clone())),
            role: role_name.map_or(Ok(Role::Leaf), |name| {
                let unknown =
                    || format!("`{name}` is no role; there are `leaf` and `orchestrator`");
                Role::parse(name).ok_or_else(|| ToolError::Arguments(unknown()))
            })?,
            tools: task.tools.or_else(|| tools.clone()),
            model: task.model.or_else(|| model.clone()),
            max_tokens: task.max_tokens.or(max_tokens),
        };
        let bytes = task.goal.len() + task.context.as_ref().map_or(0, String::len);
        match () {
            () if task.goal.trim().is_empty() => wrong("a `goal` is empty"),
            () if task.max_tokens == Some(0) => wrong("`max_tokens` is at least 1"),
            () if bytes > TASK_BYTES_MAX => wrong(&format!(
                "a task has more than {TASK_BYTES_MAX} bytes; put what it needs into a file"
            )),
            () => Ok(task),
        }
    };
    tasks.into_iter().map(task).collect()
}

/// What a child is told besides its own goal, with the one that it is a part of.
fn in_whole(whole: Option<&str>, context: Option<String>) -> Option<String> {
    let Some(whole) = whole else { return context };
    let part = format!("This is one part of: {whole}");
    Some(context.map_or_else(|| part.clone(), |context| format!("{part}\n\n{context}")))
}

fn wrong<T>(what: &str) -> Result<T, ToolError> {
    Err(ToolError::Arguments(what.to_owned()))
}

/// What is told of children: the pieces so far, and what follows them in our own words.
#[derive(Default)]
struct Telling {
    pieces: Vec<Piece>,
    own: String,
}

/// Writes down what became of a child, with the whole of a long report in a file.
async fn tell(told: &mut Telling, hands: &Hands<'_>, report: &ChildReport, chars_max: usize) {
    let ChildReport { child, end, changed, note, words } = report;
    let (became, text) = match end {
        DelegateOutcome::Finished(text) => ("finished", text),
        DelegateOutcome::Failed(why) => ("failed", why),
        DelegateOutcome::Stopped(why) => ("was stopped", why),
    };
    let shown = match text.char_indices().nth(chars_max) {
        Some((at, _)) => &text[..at],
        None => text,
    };
    let shown = shown.trim_end();
    let _ = write!(told.own, "child {child} {became}:");
    match words {
        QuotedSource::Own => {
            let _ = writeln!(told.own, "\n{shown}");
        }
        QuotedSource::Foreign => {
            told.pieces.push(Piece::Own(std::mem::take(&mut told.own)));
            let source = format!("child {child}, which has read text from outside");
            told.pieces.push(Piece::Foreign { source, text: shown.to_owned() });
        }
    }
    let out = &mut told.own;
    if shown.len() < text.trim_end().len() {
        let kept = match hands.files {
            Some(files) => files.keep_output(text.clone().into_bytes(), *words).await.ok(),
            None => None,
        };
        let _ = match kept {
            Some(path) => {
                writeln!(out, "[cut; the whole is in {path}, for read_file and search_files]")
            }
            None => writeln!(out, "[cut; {} bytes in all]", text.len()),
        };
    }
    if let Some(note) = note {
        let _ = writeln!(out, "[{note}]");
    }
    if !changed.is_empty() {
        let some = changed[..changed.len().min(PATHS_MAX)].join(", ");
        let more = changed.len().saturating_sub(PATHS_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(out, "[it changed {some}{more}; read them again before you change them]");
    }
}

#[cfg(test)]
#[path = "delegate_task_tests.rs"]
mod delegate_task_tests;
