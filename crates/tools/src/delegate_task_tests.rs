//! What is asked of children, and how their reports read.

use super::*;
use crate::ToolRef;
use crate::delegate::Delegate;
use crate::hands::{HandError, History, Hit, Search};
use serde_json::{Value, json};
use std::sync::Mutex;

#[derive(Default)]
struct FakeDelegate {
    asked: Mutex<Vec<Task>>,
    says: Mutex<Vec<ChildReport>>,
}

#[async_trait]
impl Delegate for FakeDelegate {
    async fn delegate(&self, tasks: Vec<Task>) -> Result<Vec<ChildReport>, ToolError> {
        *self.asked.lock().unwrap() = tasks;
        Ok(self.says.lock().unwrap().clone())
    }
}

#[async_trait]
impl History for FakeDelegate {
    async fn search(&self, _: Search<'_>) -> Result<Vec<Hit>, HandError> {
        Ok(vec![])
    }

    async fn around(&self, _: &str, _: i64, _: usize) -> Result<Vec<Hit>, HandError> {
        Ok(vec![])
    }
}

async fn run(delegate: &FakeDelegate, arguments: Value) -> Result<Output, ToolError> {
    let hands = Hands { delegate: Some(delegate), ..Hands::bare(delegate) };
    let call = Cleared::by_the_gate(ToolRef::BuiltIn(&DelegateTask), arguments);
    call.run(&hands).await
}

fn report(child: &str, end: DelegateOutcome) -> ChildReport {
    ChildReport {
        child: child.to_owned(),
        end,
        changed: vec![],
        note: None,
        words: QuotedSource::Own,
    }
}

#[tokio::test]
async fn one_goal_or_several_tasks_become_tasks() {
    let delegate = FakeDelegate::default();
    let asked = async |arguments| {
        let _ = run(&delegate, arguments).await;
        std::mem::take(&mut *delegate.asked.lock().unwrap())
    };
    let goal = |goal: &str| Task { goal: goal.to_owned(), ..Task::default() };
    assert_eq!(asked(json!({"goal": "a"})).await, [goal("a")]);
    let two = json!({
        "context": "all", "model": "m/1",
        "tasks": [{"goal": "a", "role": "orchestrator", "tools": ["todo"], "max_tokens": 7},
                  {"goal": "b", "context": "own", "model": "m/2"}],
    });
    let first = Task {
        context: Some("all".to_owned()),
        role: Role::Orchestrator,
        tools: Some(vec!["todo".to_owned()]),
        model: Some("m/1".to_owned()),
        max_tokens: Some(7),
        ..goal("a")
    };
    let (context, model) = (Some("own".to_owned()), Some("m/2".to_owned()));
    assert_eq!(asked(two).await, [first, Task { context, model, ..goal("b") }]);
    let parts =
        json!({"goal": "a site", "tasks": [{"goal": "a"}, {"goal": "b", "context": "own"}]});
    let part = |own: &str| Some(format!("This is one part of: a site{own}"));
    let (first, second) = (part(""), part("\n\nown"));
    assert_eq!(
        asked(parts).await,
        [Task { context: first, ..goal("a") }, Task { context: second, ..goal("b") }]
    );
}

#[tokio::test]
async fn what_a_child_can_not_have_can_not_be_written() {
    let delegate = FakeDelegate::default();
    for field in [
        "agent",
        "also_allow",
        "approvals",
        "budget",
        "env",
        "files",
        "hosts",
        "isolation",
        "max_depth",
        "memory",
        "network",
        "sandbox",
        "secrets",
        "shared",
        "workspace",
    ] {
        for arguments in
            [json!({"goal": "a", field: "x"}), json!({"tasks": [{"goal": "a", field: "x"}]})]
        {
            let refused = run(&delegate, arguments).await;
            assert!(matches!(refused, Err(ToolError::Arguments(_))), "{field}: {refused:?}");
        }
    }
    for arguments in [
        json!({}),
        json!({"goal": " "}),
        json!({"goal": "a", "role": "admin"}),
        json!({"goal": "a", "max_tokens": 0}),
        json!({"goal": "a".repeat(300_000)}),
        json!({"tasks": vec![json!({"goal": "a"}); 33]}),
    ] {
        let refused = run(&delegate, arguments).await;
        assert!(matches!(refused, Err(ToolError::Arguments(_))), "{refused:?}");
    }
    assert!(delegate.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn reports_are_bounded_one_by_one_and_together() {
    let delegate = FakeDelegate::default();
    let long = |count: usize| {
        (1..=count)
            .map(|n| report(&n.to_string(), DelegateOutcome::Finished("é".repeat(50_000))))
            .collect()
    };
    for (count, chars) in [(1, SUMMARY_CHARS_MAX), (32, SUMMARIES_CHARS_MAX / 32)] {
        *delegate.says.lock().unwrap() = long(count);
        let Ok(Output::Text(text)) = run(&delegate, json!({"goal": "a"})).await else { panic!() };
        assert_eq!(text.matches('é').count(), chars * count);
        assert_eq!(text.matches("[cut; 100000 bytes in all]").count(), count);
    }
}

#[tokio::test]
async fn a_report_says_how_it_ended_and_what_changed() {
    let delegate = FakeDelegate::default();
    let mut first = report("1", DelegateOutcome::Finished("all well\n".to_owned()));
    first.changed = vec!["a.rs".to_owned(), "b.rs".to_owned()];
    let second = report("2", DelegateOutcome::Failed("no model".to_owned()));
    *delegate.says.lock().unwrap() = vec![first, second.clone()];
    let Ok(Output::Text(text)) = run(&delegate, json!({"goal": "a"})).await else { panic!() };
    assert_eq!(
        text,
        "child 1 finished:\nall well\n[it changed a.rs, b.rs; read them again before you change them]\n\nchild 2 failed:\nno model\n"
    );
    let mut limited = report("1", DelegateOutcome::Finished("done".to_owned()));
    limited.note = Some("it worked as a leaf".to_owned());
    *delegate.says.lock().unwrap() = vec![limited];
    let Ok(Output::Text(text)) = run(&delegate, json!({"goal": "a"})).await else { panic!() };
    assert_eq!(text, "child 1 finished:\ndone\n[it worked as a leaf]\n");
    // Where nobody finished, the call failed.
    *delegate.says.lock().unwrap() = vec![second];
    assert!(matches!(run(&delegate, json!({"goal": "a"})).await, Err(ToolError::Hand(_))));
}

#[tokio::test]
async fn a_report_of_a_child_that_read_something_foreign_is_foreign() {
    let delegate = FakeDelegate::default();
    let mut read = report("1", DelegateOutcome::Finished("the page says: obey".to_owned()));
    read.words = QuotedSource::Foreign;
    read.changed = vec!["a.rs".to_owned()];
    let source = || "child 1, which has read text from outside".to_owned();
    let other = report("2", DelegateOutcome::Finished("done".to_owned()));
    *delegate.says.lock().unwrap() = vec![read.clone(), other];
    let Ok(Output::Pieces(pieces)) = run(&delegate, json!({"goal": "a"})).await else { panic!() };
    assert_eq!(
        pieces,
        [
            Piece::Own("child 1 finished:".to_owned()),
            Piece::Foreign { source: source(), text: "the page says: obey".to_owned() },
            Piece::Own("[it changed a.rs; read them again before you change them]\n\nchild 2 finished:\ndone\n".to_owned()),
        ]
    );
    read.end = DelegateOutcome::Failed("the page said no".to_owned());
    read.changed.clear();
    *delegate.says.lock().unwrap() = vec![read];
    let failed = run(&delegate, json!({"goal": "a"})).await;
    let Err(ToolError::Pieces(pieces)) = failed else { panic!("{failed:?}") };
    assert_eq!(pieces[1], Piece::Foreign { source: source(), text: "the page said no".to_owned() });
}
