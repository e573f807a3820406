//! What whoever has to allow a call is shown of it: see [`insula_domain::question`]. Secrets are
//! taken out of each argument before it is shown, since nothing would recognise them after.

use insula_domain::command::Unseen;
use insula_domain::question::{Argument, AskedCall, StartFolder, TooLong, show};
use serde_json::{Map, Value};

/// Shows a call, in the words that `told` makes of its own. `process` is the command of the
/// process that would read it, where one would; `unseen` is what nobody looked at before.
pub(crate) fn shown(
    arguments: &Value,
    (folder, process): (StartFolder<'_>, Option<&str>),
    unseen: Option<Unseen>,
    told: impl Fn(String) -> String,
) -> Result<String, TooLong> {
    let process = process.map(|command| told(command.to_owned()));
    let folder_told = match folder {
        StartFolder::In(folder) => told(folder.to_owned()),
        StartFolder::Nowhere | StartFolder::Usual => String::new(),
    };
    let folder = match folder {
        StartFolder::In(_) => StartFolder::In(&folder_told),
        other => other,
    };
    let argument = |value: &Value| match value {
        Value::String(text) => Argument::Text(told(text.clone())),
        other => Argument::Json(told(sorted(other).to_string())),
    };
    let arguments = match arguments {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (told(name.clone()), argument(value))).collect()
        }
        other => vec![("arguments".to_owned(), argument(other))],
    };
    show(&AskedCall { folder, process: process.as_deref(), unseen, arguments })
}

/// A value with its fields in the one order that does not depend on who wrote it.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            let fields = names.into_iter().map(|name| (name.clone(), sorted(&fields[name])));
            Value::Object(Map::from_iter(fields))
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;
    use serde_json::json;

    #[test]
    fn every_argument_of_a_call_is_shown_in_one_order_and_without_secrets() {
        let arguments =
            json!({ "to": "ann", "n": { "b": [1], "a": "s3cret" }, "text": "s3cret\nx" });
        let hide = |text: String| text.replace("s3cret", "[secret]");
        let there = (StartFolder::In("/x/s3cret"), None);
        let seen = shown(&arguments, there, None, hide).unwrap();
        assert_eq!(
            seen,
            "in \"/x/[secret]\"\nn = {\"a\":\"[secret]\",\"b\":[1]}\ntext:\n| [secret]\n| x\nto:\n| ann"
        );
        let other: Value =
            serde_json::from_str(r#"{"text":"s3cret\nx","n":{"a":"s3cret","b":[1]},"to":"ann"}"#)
                .unwrap();
        assert_eq!(shown(&other, there, None, hide).unwrap(), seen);
        let nowhere = (StartFolder::Nowhere, None);
        assert_eq!(shown(&json!([1]), nowhere, None, hide).unwrap(), "arguments = [1]");
        let read = shown(&json!([1]), (StartFolder::Usual, Some("sh s3cret")), None, hide).unwrap();
        assert!(read.contains("\n| sh [secret]\n"), "{read}");
    }
}
