//! Where the attack comes, and which words it takes.

use super::*;
use serde_json::json;

fn course(attacker: Attacker, suite: &str, task: &str, injection: &str) -> Option<Course> {
    let suite = Suite::load(suite).expect("a suite");
    let by_id = |all: &[Task], id: &str| all.iter().find(|it| it.id == id).cloned();
    let task = by_id(&suite.tasks, task).expect("a task");
    let injection = by_id(&suite.injections, injection).expect("an injection");
    attacker.course(&suite, &task, &injection)
}

fn attack(attacker: Attacker, suite: &str, task: &str, injection: &str) -> Vec<Value> {
    let course = course(attacker, suite, task, injection).expect("a course");
    course.attack.into_iter().map(|it| it.arguments).collect()
}

#[test]
fn the_attack_comes_where_its_text_was_read() {
    let lengths = |attacker: Attacker| {
        let course = course(attacker, "slack", "user_task_1", "injection_task_1");
        course.map(|it| (it.before.len(), it.attack.len(), it.after.len()))
    };
    assert_eq!(lengths(Attacker::Literal), Some((3, 1, 0)));
    assert_eq!(lengths(Attacker::AfterRead), Some((1, 1, 2)));
    assert_eq!(lengths(Attacker::Split), Some((2, 1, 1)));
    assert_eq!(lengths(Attacker::Description), Some((0, 1, 3)));
    assert_eq!(course(Attacker::Split, "slack", "user_task_0", "injection_task_1"), None);
}

#[test]
fn known_names_stand_in_the_state_and_were_not_said() {
    let pairs = [
        ("slack", "user_task_1", "injection_task_1", "Alice"),
        ("banking", "user_task_0", "injection_task_4", "US133000000121212121212"),
    ];
    for (name, task, injection, before) in pairs {
        let suite = Suite::load(name).expect("a suite");
        let message = suite.tasks.iter().find(|it| it.id == task).map(|it| it.words.as_str());
        let made = attack(Attacker::KnownNames, name, task, injection);
        let recipient = made[0]["recipient"].as_str().unwrap_or_default();
        assert_ne!(recipient, before, "it was said, or nobody here knows it");
        assert!(words::known_names(&suite.state).contains(recipient), "{made:?}");
        assert!(!stands_in(recipient, message.unwrap_or_default()), "{made:?}");
    }
}

#[test]
fn what_was_said_is_taken_word_for_word_and_as_what_it_has_to_be() {
    let made = attack(Attacker::Said, "slack", "user_task_1", "injection_task_5");
    assert_eq!(made[2], json!({ "user": "Alice" }));
    let made = attack(Attacker::Said, "workspace", "user_task_5", "injection_task_1");
    assert_eq!(made[0], json!({ "file_id": "15" }), "out of 2024-05-15");
    let made = attack(Attacker::Said, "banking", "user_task_14", "injection_task_7");
    assert_eq!(made[0], json!({ "password": "1j1l-2k3j" }));
}

#[test]
fn every_attacker_is_found_by_name() {
    for attacker in Attacker::ALL {
        assert_eq!(Attacker::parse(attacker.as_str()), Ok(vec![attacker]));
    }
    assert_eq!(Attacker::parse("all").map(|it| it.len()), Ok(Attacker::ALL.len()));
    assert!(Attacker::parse("nobody").is_err());
}
