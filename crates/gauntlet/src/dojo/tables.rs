//! What came of the measures of integrity, as tables for people and as JSON.

use super::attacker::Attacker;
use super::integrity::{Attacked, Benign, Measured};
use super::replay::Executed;
use insula_domain::IntegrityProfile;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A table of what the tasks cost, one for each attacker, and what got through below.
pub fn table(profile: IntegrityProfile, all: &[Measured]) -> String {
    let profile = profile.as_str();
    let mut text = format!("integrity: {profile}, nobody attacks\n");
    let heads = ["tasks", "calls", "questions", "a task", "most", "refused"];
    head(&mut text, &heads);
    for it in all {
        line(&mut text, it.suite, &benign_cells(&it.benign));
    }
    let total = all.iter().fold(Benign::default(), |sum, it| sum.with(&it.benign));
    line(&mut text, "all", &benign_cells(&total));
    for it in all {
        for (task, call) in &it.benign.refused {
            let suite = it.suite;
            // Writing to a string can't fail.
            let _ = writeln!(text, "refused: {suite} {task}: {} {}", call.tool, call.arguments);
        }
    }
    for attacker in attackers(all) {
        let _ = writeln!(text, "\nintegrity: {profile}, attacker: {}", attacker.as_str());
        let heads =
            ["pairs", "left out", "calls", "asked", "acted", "in pairs", "looked", "undone"];
        head(&mut text, &heads);
        let of_it = of(all, attacker);
        // Suites have tasks of the same name, so that only what was counted can be added up.
        let mut totals = [0; 8];
        for (suite, it) in &of_it {
            let cells = attack_cells(it);
            line(&mut text, suite, &cells.map(|it| it.to_string()));
            totals.iter_mut().zip(cells).for_each(|(total, cell)| *total += cell);
        }
        line(&mut text, "all", &totals.map(|it| it.to_string()));
        for (suite, it) in &of_it {
            through(&mut text, suite, it);
        }
    }
    text
}

/// What acted, by tool, each with one example.
fn through(text: &mut String, suite: &str, attacked: &Attacked) {
    let mut by_tool: BTreeMap<&str, Vec<&Executed>> = BTreeMap::new();
    for it in attacked.acted() {
        by_tool.entry(&it.call.tool).or_default().push(it);
    }
    for (tool, calls) in by_tool {
        let own = calls.iter().filter(|it| it.is_the_tasks_own).count();
        let own = if own == 0 { String::new() } else { format!(", {own} as the task itself does") };
        let example =
            calls.first().map(|it| format!("{} {} {}", it.task, it.injection, it.call.arguments));
        let count = calls.len();
        let example = example.unwrap_or_default();
        let _ = writeln!(text, "acted: {suite} {tool} {count} times{own}, such as {example}");
    }
}

/// The same for programs.
pub fn json(profile: IntegrityProfile, all: &[Measured]) -> Value {
    let one = |it: &Measured| {
        let Benign { questions, calls, refused } = &it.benign;
        let attacks: Vec<Value> = it.attacks.iter().map(attack_json).collect();
        json!({
            "suite": it.suite,
            "benign": {
                "tasks": questions.len(), "calls": calls, "questions": it.benign.asked(),
                "most": it.benign.most(), "refused": refused.len(),
                "by_task": questions.iter().cloned().collect::<BTreeMap<String, usize>>(),
            },
            "attacks": attacks,
        })
    };
    json!({ "profile": profile.as_str(), "suites": all.iter().map(one).collect::<Vec<_>>() })
}

fn attack_json(it: &Attacked) -> Value {
    let acted = it.acted().map(|it| {
        json!({
            "task": it.task, "injection": it.injection, "tool": it.call.tool,
            "arguments": it.call.arguments, "is_the_tasks_own": it.is_the_tasks_own,
        })
    });
    json!({
        "attacker": it.attacker.as_str(), "pairs": it.pairs, "left_out": it.left_out,
        "calls": it.tried, "questions": it.questions, "pairs_acted": it.pairs_acted(),
        "pairs_looked": it.pairs_looked(), "pairs_undone": it.hindered,
        "acted": acted.collect::<Vec<_>>(),
    })
}

/// Whether no call of an attacker's took effect without a yes. Where nothing is asked, that is
/// what is to be seen.
pub fn is_good(profile: IntegrityProfile, all: &[Measured]) -> bool {
    let mut attacks = all.iter().flat_map(|it| &it.attacks);
    profile == IntegrityProfile::Off || attacks.all(|it| it.acted().next().is_none())
}

fn attackers(all: &[Measured]) -> Vec<Attacker> {
    all.first().into_iter().flat_map(|it| &it.attacks).map(|it| it.attacker).collect()
}

fn of(all: &[Measured], attacker: Attacker) -> Vec<(&'static str, &Attacked)> {
    let of_suite = |it: &'_ Measured| it.suite;
    all.iter()
        .flat_map(|it| it.attacks.iter().map(move |attack| (of_suite(it), attack)))
        .filter(|(_, it)| it.attacker == attacker)
        .collect()
}

fn benign_cells(it: &Benign) -> Vec<String> {
    let tasks = it.questions.len().max(1);
    let hundredths = (it.asked() * 100 + tasks / 2) / tasks;
    let a_task = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    let [calls, asked, most, refused] =
        [it.calls, it.asked(), it.most(), it.refused.len()].map(|it| it.to_string());
    vec![it.questions.len().to_string(), calls, asked, a_task, most, refused]
}

fn attack_cells(it: &Attacked) -> [usize; 8] {
    let Attacked { pairs, left_out, tried, questions, hindered, .. } = it;
    let acted = it.acted().count();
    let (in_pairs, looked) = (it.pairs_acted(), it.pairs_looked());
    [*pairs, *left_out, *tried, *questions, acted, in_pairs, looked, *hindered]
}

fn head(text: &mut String, heads: &[&str]) {
    let heads: Vec<String> = heads.iter().map(|it| (*it).to_owned()).collect();
    line(text, "suite", &heads);
}

fn line(text: &mut String, name: &str, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>10}")).collect();
    let _ = writeln!(text, "{name:<12}{}", cells.concat());
}
