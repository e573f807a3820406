//! What becomes of a list that is written in a hurry.

use super::*;
use crate::mend::mend;
use serde_json::{Value, json};

fn asked(written: &str) -> Result<Vec<Item>, ToolError> {
    let mended = mend(Todo.parameters(), &Todo.habits(), |_| Vec::new(), written);
    let value = match mended {
        Some(mended) => Value::Object(mended.arguments),
        None => serde_json::from_str(written).unwrap(),
    };
    let Arguments { todos, .. } = arguments(&value)?;
    let items = merged(Vec::new(), todos.unwrap_or_default());
    check(&items).map(|()| items)
}

fn items(contents: &[&str]) -> Vec<Item> {
    let item = |(at, content): (usize, &&str)| Item {
        id: (at + 1).to_string(),
        content: (*content).to_owned(),
        status: Status::Pending,
    };
    contents.iter().enumerate().map(item).collect()
}

#[test]
fn a_text_or_a_list_of_texts_is_a_list_of_things_to_do() {
    for (written, expected) in [
        (r#""x""#, vec!["x"]),
        (r#"["a", "b"]"#, vec!["a", "b"]),
        (r#"[{"content": "a"}]"#, vec!["a"]),
        (r#"{"todos": "x"}"#, vec!["x"]),
        (r#"{"todos": ["a", "b"]}"#, vec!["a", "b"]),
        (r#"{"items": [{"content": "a"}, "b"]}"#, vec!["a", "b"]),
        (r#"{"todos": [{"id": 1, "content": "a"}, {"id": 2, "content": "b"}]}"#, vec!["a", "b"]),
        ("{}", vec![]),
    ] {
        assert_eq!(asked(written).unwrap(), items(&expected), "{written}");
    }
}

#[test]
fn an_item_without_an_id_gets_one_that_no_other_has() {
    let items = asked(r#"{"todos": [{"content": "a"}, {"id": "1", "content": "b"}, "c"]}"#);
    let ids: Vec<String> = items.unwrap().into_iter().map(|item| item.id).collect();
    assert_eq!(ids, ["2", "1", "3"]);
    assert!(
        asked(r#"{"todos": [{"id": "1", "content": "a"}, {"id": "1", "content": "b"}]}"#).is_err()
    );
}

#[test]
fn merging_finds_an_item_by_its_id_or_by_what_it_says() {
    let done = |id: Option<&str>, content: &str| Asked {
        id: id.map(str::to_owned),
        content: content.to_owned(),
        status: Status::Completed,
    };
    let list =
        merged(items(&["a", "b"]), vec![done(Some("1"), "A"), done(None, "b"), done(None, "c")]);
    let told: Vec<(&str, &str)> = list.iter().map(|it| (&*it.id, &*it.content)).collect();
    assert_eq!(told, [("1", "A"), ("2", "b"), ("3", "c")]);
    assert!(list.iter().all(|item| item.status == Status::Completed));
}

#[test]
fn what_can_t_be_an_item_is_refused_in_words_that_a_schema_has() {
    let error = arguments::<Arguments>(&json!({"todos": [3]})).err().unwrap().to_string();
    assert!(error.contains("expected an object") && !error.contains("struct"), "{error}");
}
