//! What a child is told: a function of its parent's name, its role and its task, and of
//! nothing else.

use insula_config::agent::Soul;
use insula_domain::Role;

/// Who a child is.
pub(super) fn soul(parent: &str, role: Role) -> Soul {
    let more = match role {
        Role::Leaf => "",
        Role::Orchestrator => {
            " You may hand parts of it on with delegate_task, where you have that tool."
        }
    };
    let text = format!(
        "You are a helper of the agent `{parent}`, which handed you one task.{more} You see nothing of its conversation, and nobody answers questions while you work: where something is open, decide, and say what you assumed. Others may work on the same files: read before you write. Your last message is all that goes back: say what you did and found, with paths and names, and what is left."
    );
    Soul { text: text.into(), origin: "built-in".into() }
}

/// What it is to do, as its first message.
pub(super) fn message(goal: &str, context: Option<&str>) -> String {
    match context.map(str::trim).filter(|context| !context.is_empty()) {
        Some(context) => format!("{}\n\nContext:\n{context}", goal.trim()),
        None => goal.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_10_a_child_is_told_its_task_and_who_it_helps_and_nothing_else() {
        let leaf = soul("coder", Role::Leaf);
        assert!(leaf.text.contains("`coder`") && !leaf.text.contains("delegate_task"));
        assert!(soul("coder", Role::Orchestrator).text.contains("delegate_task"));
        assert_eq!(soul("coder", Role::Leaf), leaf);
        assert_eq!(message(" count ", None), "count");
        assert_eq!(message("count", Some(" ")), "count");
        assert_eq!(message("count", Some("in src")), "count\n\nContext:\nin src");
    }
}
