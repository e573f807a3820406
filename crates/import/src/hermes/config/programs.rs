//! What a profile starts and calls: MCP servers, programs, hooks.

use super::At;
use crate::doc::texts;
use crate::hermes::on;
use crate::names::{is_secret, secret_name};
use crate::plan::{Fate, SecretPlan};
use insula_config::schema::{AGENT, HOOK_EVENTS};
use insula_config::yaml::{MapEntry, Node};
use serde_json::{Map, Value, json};

impl At<'_, '_> {
    pub(super) fn servers(&mut self, entry: &MapEntry) {
        for server in entry.value.entries() {
            let name = &*server.key;
            let what = format!("MCP server {name}");
            let ok = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            if !ok || name.is_empty() || name.len() > 64 {
                self.say(Fate::Trouble, server, &what, "its name can't be used here");
                continue;
            }
            let mut settings = Map::new();
            for inner in server.value.entries() {
                self.server_setting(server, inner, &mut settings);
            }
            let note = match settings.contains_key("command") {
                true => {
                    "its program runs in the agent's sandbox and sees no network and no files but its own until they are granted"
                }
                false => "its host has to stand in the agent's network",
            };
            self.say(Fate::Changes, server, &what, note);
            self.agent.set(&["mcp_servers", name], settings);
        }
    }

    fn server_setting(
        &mut self,
        server: &MapEntry,
        inner: &MapEntry,
        settings: &mut Map<String, Value>,
    ) {
        let what = format!("MCP server {}: {}", server.key, inner.key);
        match &*inner.key {
            "command" | "url" => {
                settings
                    .insert(inner.key.to_string(), json!(inner.value.text().unwrap_or_default()));
            }
            "args" => {
                settings.insert("args".to_owned(), json!(texts(&inner.value)));
            }
            "env" | "headers" => {
                let mut values = Map::new();
                for pair in inner.value.entries() {
                    let value = pair.value.text().unwrap_or_default();
                    values.insert(
                        pair.key.to_string(),
                        self.concealed(&server.key, pair, value).into(),
                    );
                }
                settings.insert(inner.key.to_string(), values.into());
            }
            "timeout" | "connect_timeout" => {
                if let Some(seconds) = inner.value.number().filter(|it| *it >= 1.0) {
                    settings.insert(inner.key.to_string(), format!("{}s", seconds.round()).into());
                }
            }
            "enabled" => {
                settings.insert("enabled".to_owned(), on(&inner.value).into());
            }
            "tools" => {
                let mut lists = Map::new();
                for list in inner.value.entries() {
                    if ["include", "exclude"].contains(&&*list.key) {
                        lists.insert(list.key.to_string(), json!(texts(&list.value)));
                    }
                }
                settings.insert("tools".to_owned(), lists.into());
            }
            _ => self.say(Fate::NoPlace, inner, &what, "a setting of the other program"),
        }
    }

    /// A value for a server: itself, or the name of the secret it is now.
    fn concealed(&mut self, server: &str, pair: &MapEntry, value: &str) -> String {
        // What names a variable there names a secret here.
        if let Some(name) = value.strip_prefix("${").and_then(|it| it.strip_suffix('}')) {
            let name = secret_name(&[name.trim_start_matches("env:")]);
            self.agent.add(&["secrets"], name.clone());
            return format!("${{secret:{name}}}");
        }
        if !is_secret(&pair.key, value) {
            return value.to_owned();
        }
        let name = secret_name(&[server, &pair.key]);
        self.plan.secrets.push(SecretPlan {
            agent: Some(self.profile.id.clone()),
            name: name.clone(),
            value: value.to_owned(),
            from: self.doc.place(pair.key_span),
        });
        self.agent.add(&["secrets"], name.clone());
        let note = format!("in its part of the vault as {name}");
        self.say(Fate::Comes, pair, &format!("MCP server {server}: {}", pair.key), &note);
        format!("${{secret:{name}}}")
    }

    pub(super) fn terminal(&mut self, entry: &MapEntry) {
        for inner in entry.value.entries() {
            let what = format!("terminal.{}", inner.key);
            match &*inner.key {
                "cwd" if inner.value.text().is_some_and(|it| it.starts_with(['/', '~'])) => {
                    let note = "its programs worked in a folder of yours; here they have a workspace of their own. Grant the folder by files.shared";
                    self.say(Fate::Closed, inner, &what, note);
                }
                "cwd" => {}
                "env_passthrough" if !texts(&inner.value).is_empty() => {
                    let note = "programs saw your environment; here they see what `env` and `secrets` grant";
                    self.say(Fate::Closed, inner, &what, note);
                }
                "env_passthrough" => {}
                _ => self.say(
                    Fate::NoPlace,
                    inner,
                    &what,
                    "programs run in the sandbox of this daemon",
                ),
            }
        }
    }

    pub(super) fn timezone(&mut self, entry: &MapEntry) {
        let Some(zone) = entry.value.text().filter(|it| !it.is_empty()) else { return };
        if AGENT.fields.iter().any(|field| field.name == "timezone") {
            self.agent.set(&["timezone"], zone);
            return self.say(Fate::Comes, entry, "timezone", zone);
        }
        self.say(Fate::NoPlace, entry, "timezone", "agents have no time zone of their own yet");
    }

    /// Programs that decide or watch. One that decides and can't run here refuses.
    pub(super) fn hooks(&mut self, entry: &MapEntry) {
        for event in entry.value.entries() {
            let what = format!("hook {}", event.key);
            if !HOOK_EVENTS.contains(&&*event.key) {
                self.say(Fate::NoPlace, event, &what, "there is no such event here");
                continue;
            }
            for hook in event.value.items() {
                let text = |key: &str| hook.get(key).and_then(Node::text).unwrap_or_default();
                if text("command").is_empty() {
                    self.say(Fate::Trouble, event, &what, "it names no command");
                    continue;
                }
                let mut settings = Map::new();
                settings.insert("command".to_owned(), json!(self.brought(text("command"))));
                // Patterns can't be said here: without one it is asked about every tool.
                let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '|';
                let matcher = text("matcher");
                if !matcher.is_empty() && matcher.chars().all(is_plain) {
                    settings.insert("matcher".to_owned(), json!(matcher));
                }
                if let Some(seconds) =
                    hook.get("timeout").and_then(Node::integer).filter(|it| *it > 0)
                {
                    settings.insert("timeout".to_owned(), json!(format!("{seconds}s")));
                }
                self.agent.add(&["hooks", &event.key], Value::Object(settings));
                let note = "it runs in the agent's sandbox, in its folder `hooks`; one that decides and fails refuses";
                self.say(Fate::Changes, event, &what, note);
            }
        }
    }

    /// A command, with the program it runs brought along where that is one of their home.
    fn brought(&mut self, command: &str) -> String {
        let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
        let root = format!("{}/", self.profile.home.root().display());
        let inside = ["~/.hermes/", "$HERMES_HOME/", "${HERMES_HOME}/", root.as_str()];
        let inside = inside.iter().find_map(|it| program.strip_prefix(it));
        let found = inside.and_then(|path| Some((path, self.profile.home.bytes(path).ok()??)));
        let Some((path, bytes)) = found else { return command.to_owned() };
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        let runs = match name.rsplit('.').next() {
            Some("py") => "python3 ",
            _ => "sh ",
        };
        self.agent.hooks.insert(name.clone(), bytes);
        format!("{runs}./{name} {rest}").trim_end().to_owned()
    }
}
