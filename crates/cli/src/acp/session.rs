//! A conversation of an editor: what it is called, where it works, and what was chosen for it.

use insula_domain::SessionKey;
use serde_json::{Value, json};

/// What names of such conversations begin with.
const PREFIX: &str = "editor.";
/// The mode in which the agent may do all that it may.
pub const EVERYTHING: &str = "default";
/// The mode in which nothing is changed.
pub const LOOK: &str = "look";
/// The choice that leaves the agent's own chain of models as it is.
pub const OWN_CHAIN: &str = "default";

/// A conversation of an editor, while it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorSession {
    /// The folder it works in.
    pub cwd: String,
    /// Whether it only looks.
    pub looks_only: bool,
    /// The model it runs on; `None` for the agent's own chain.
    pub model: Option<String>,
    /// The models there are.
    pub models: Vec<String>,
    /// Whether whoever holds it may answer what needs an approval.
    pub may_approve: bool,
    /// Whether they may see what tools bring, and so be asked for files.
    pub may_read: bool,
    /// Whether a turn is under way.
    pub is_busy: bool,
}

/// The name of a new conversation in a folder. Both stand in it, so that whoever lists
/// conversations knows where each works, and none can be loaded into another folder.
pub fn name(id: &str, cwd: &str) -> String {
    format!("{PREFIX}{id}.{cwd}")
}

/// The folder of a conversation, by its name; `None` for a name of others.
pub fn cwd_of(name: &str) -> Option<&str> {
    let (id, cwd) = name.strip_prefix(PREFIX)?.split_once('.')?;
    (!id.is_empty() && cwd.starts_with('/')).then_some(cwd)
}

/// The name of the conversation that a session key is of, where it is an editor's of the same
/// person as `account`.
pub fn of_key(key: &str, account: &str) -> Option<String> {
    let key: SessionKey = key.parse().ok()?;
    let name = key.chat.as_str();
    (key.account.as_str() == account && cwd_of(name).is_some()).then(|| name.to_owned())
}

impl EditorSession {
    /// One that the daemon offers, as `POST …/editor` describes it.
    pub fn offered(cwd: &str, offer: &Value) -> Self {
        let models = offer["models"].as_array().into_iter().flatten();
        Self {
            cwd: cwd.to_owned(),
            looks_only: false,
            model: None,
            models: models.filter_map(|it| it.as_str().map(str::to_owned)).collect(),
            may_approve: offer["may_approve"] == true,
            may_read: offer["may_read"] == true,
            is_busy: false,
        }
    }

    fn mode(&self) -> &'static str {
        if self.looks_only { LOOK } else { EVERYTHING }
    }

    /// The modes there are and the one that holds.
    pub fn modes(&self) -> Value {
        json!({ "currentModeId": self.mode(), "availableModes": [
            { "id": EVERYTHING, "name": "Everything", "description": "All that the agent may do" },
            { "id": LOOK, "name": "Look only", "description": "Nothing that changes anything" },
        ] })
    }

    /// What can be chosen, and what is.
    pub fn options(&self) -> Value {
        let modes = json!([
            { "value": EVERYTHING, "name": "Everything" },
            { "value": LOOK, "name": "Look only" },
        ]);
        let own = json!({ "value": OWN_CHAIN, "name": "The agent's own" });
        let models = self.models.iter().map(|model| json!({ "value": model, "name": model }));
        let models: Vec<Value> = std::iter::once(own).chain(models).collect();
        json!([
            { "type": "select", "id": "mode", "name": "Mode", "category": "mode",
              "currentValue": self.mode(), "options": modes },
            { "type": "select", "id": "model", "name": "Model", "category": "model",
              "currentValue": self.model.as_deref().unwrap_or(OWN_CHAIN), "options": models },
        ])
    }

    /// Chooses; an error says what there is.
    pub fn choose(&mut self, option: &str, value: &str) -> Result<(), String> {
        match (option, value) {
            ("mode", EVERYTHING) => self.looks_only = false,
            ("mode", LOOK) => self.looks_only = true,
            ("mode", other) => {
                return Err(format!("`{other}` is no mode: {EVERYTHING}, {LOOK}"));
            }
            ("model", OWN_CHAIN) => self.model = None,
            ("model", model) if self.models.iter().any(|it| it == model) => {
                self.model = Some(model.to_owned());
            }
            ("model", other) => {
                let all = self.models.join(", ");
                return Err(format!("`{other}` is no model of this agent's: {OWN_CHAIN}, {all}"));
            }
            (other, _) => return Err(format!("`{other}` can't be chosen: mode, model")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rule_08_a_name_says_its_folder_and_no_other(id in "[a-z0-9]{1,12}", cwd in "/[ -~]{0,40}") {
            let name = name(&id, &cwd);
            prop_assert_eq!(cwd_of(&name), Some(&*cwd));
        }

        #[test]
        fn no_name_of_others_is_one(text in "[ -~]{0,40}") {
            if let Some(cwd) = cwd_of(&text) {
                prop_assert!(text.starts_with(PREFIX) && cwd.starts_with('/'));
            }
        }
    }

    #[test]
    fn what_is_chosen_is_what_there_is() {
        let offer = json!({ "models": ["a/b", "c/d"], "may_approve": true });
        let mut session = EditorSession::offered("/p", &offer);
        assert_eq!(session.options()[1]["currentValue"], "default");
        session.choose("model", "c/d").unwrap();
        session.choose("mode", LOOK).unwrap();
        assert_eq!(session.options()[1]["currentValue"], "c/d");
        assert_eq!(session.modes()["currentModeId"], "look");
        for (option, value) in [("model", "x/y"), ("mode", "yolo"), ("colour", "red")] {
            session.choose(option, value).unwrap_err();
        }
        session.choose("model", OWN_CHAIN).unwrap();
        assert_eq!(session.model, None);
    }
}
