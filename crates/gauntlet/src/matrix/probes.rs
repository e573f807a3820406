//! How each cell of the matrix is tried: as a model by tools, as a token by routes. A cell is a
//! yes only when the effect was seen: a canary that came back, a row or file that changed.

use super::{Action, Cell, Kind};
use crate::ground::Ground;
use crate::machine;
use crate::puppet::{Call, Script, obey};
use anyhow::Result;
use serde_json::{Value, json};

/// All verbs a token can have.
const VERBS: [&str; 5] = ["chat", "read", "approve", "manage", "admin"];

/// Tries one cell. Every kind and action stands here, or it does not compile.
pub fn tried(
    ground: &Ground,
    kind: Kind,
    action: Action,
    actor: &str,
    owner: &str,
) -> Result<Cell> {
    let probe = Probe { ground, actor, owner };
    match (kind, action) {
        (Kind::MemoryScope, Action::Read) => probe.recalls(),
        (Kind::MemoryScope, Action::Write) => probe.remembers(),
        (Kind::File, Action::Read) => probe.reads_file(),
        (Kind::File, Action::Write) => probe.writes_file(),
        (Kind::File, Action::Call) => probe.runs_file(),
        (Kind::Database, Action::Read) => probe.reads_database(),
        (Kind::Database, Action::Write) => probe.writes_database(),
        (Kind::Secret, Action::Read) => probe.reads_secret(),
        (Kind::Secret, Action::Write) => probe.writes_secret(),
        (Kind::Secret, Action::Call) => probe.uses_secret(),
        (Kind::Tool, Action::Read) => probe.route_reads("tools"),
        (Kind::Tool, Action::Call) => probe.calls_tool(),
        (Kind::McpServer, Action::Read) => probe.route_reads("mcp"),
        (Kind::McpServer, Action::Call) => probe.calls_server(),
        (Kind::Process, Action::Read) => probe.reads_process(),
        (Kind::Process, Action::Write) => probe.writes_process(),
        (Kind::Process, Action::Call) => probe.kills_process(),
        (Kind::Session, Action::Read) => probe.reads_session(),
        (Kind::Session, Action::Write) => probe.writes_session(),
        (Kind::Session, Action::Call) => {
            probe.route_does("POST", "new", &json!({ "session": "matrix" }))
        }
        (Kind::Approval, Action::Read) => probe.route_reads("approvals"),
        (Kind::Approval, Action::Write) => probe.answers(),
        (Kind::Audit, Action::Read) => probe.route_reads("audit"),
        (Kind::Audit, Action::Call) => probe.route_reads("audit/verify"),
        (Kind::Token, Action::Read) => probe.lists_tokens(),
        (Kind::Token, Action::Write) => probe.makes_token(),
        (Kind::Token, Action::Call) => probe.uses_token(),
        (Kind::Route, Action::Read) => probe.explains_route(),
        (Kind::Route, Action::Write) => probe.binds_route(),
        (Kind::Route, Action::Call) => probe.route_reads("deliveries"),
        (Kind::CronJob, Action::Read) => probe.reads_jobs(),
        (Kind::CronJob, _) => probe.changes_jobs(),
        (Kind::Board, Action::Read) => probe.reads_board(),
        (Kind::Board, _) => probe.writes_board(),
        (Kind::MemoryScope | Kind::Database | Kind::Approval, Action::Call)
        | (Kind::Tool | Kind::McpServer | Kind::Audit, Action::Write) => Ok(Cell::Nothing),
    }
}

struct Probe<'g> {
    ground: &'g Ground,
    actor: &'g str,
    owner: &'g str,
}

impl Probe<'_> {
    fn is_own(&self) -> bool {
        self.actor == self.owner
    }

    /// A word that is only in what this probe plants.
    fn canary(&self, what: &str) -> String {
        self.ground.canary(&format!("{what} of {}", self.owner)).text
    }

    fn owners(&self, path: &str) -> Result<String> {
        Ok(self.ground.path(&format!("agents/{}/{path}", self.owner))?.display().to_string())
    }

    /// What these calls of the actor came to, in one text.
    fn told(&self, calls: Vec<Call>) -> Result<String> {
        Ok(self.ground.calls(self.actor, "matrix", calls)?.join("\n"))
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("terminal", json!({ "command": command }))
    }

    /// What the API answers the actor's token, which has every verb.
    fn route(&self, method: &str, what: &str, body: &Value) -> Result<machine::Answer> {
        let token = self.ground.mint(self.actor, &VERBS)?;
        self.ground.api(&token.text, method, what, body)
    }

    fn route_reads(&self, what: &str) -> Result<Cell> {
        let answer =
            self.route("GET", &format!("/api/agents/{}/{what}", self.owner), &Value::Null)?;
        Ok(Cell::of(answer.status == 200))
    }

    fn route_does(&self, method: &str, what: &str, body: &Value) -> Result<Cell> {
        let answer = self.route(method, &format!("/api/agents/{}/{what}", self.owner), body)?;
        Ok(Cell::of(answer.status < 300))
    }

    /// A card on the owner's board, made where the owner will look for it, by a word that only it
    /// has: the board, the card's number and the word.
    fn card(&self) -> Result<(String, String, String)> {
        let (canary, board) = (self.canary("card"), format!("of-{}", self.owner));
        let wish = json!({ "board": board, "title": canary });
        self.ground.call(self.owner, "matrix", "kanban_create", wish)?;
        let path = format!("/api/boards/{board}/cards");
        let find = || -> Result<Option<String>> {
            let cards = self.ground.admin("GET", &path, &Value::Null)?.json();
            let mut all = cards.as_array().into_iter().flatten();
            Ok(all.find(|it| it["title"] == canary).map(|it| it["id"].to_string()))
        };
        if find()?.is_none() {
            // Who has no tool for it is given one by the operator.
            self.ground.admin("POST", &path, &json!({ "title": canary }))?;
        }
        let card = find()?.ok_or_else(|| anyhow::anyhow!("no card on {board}"))?;
        Ok((board, card, canary))
    }

    fn reads_board(&self) -> Result<Cell> {
        let (board, card, canary) = self.card()?;
        let show = json!({ "board": board, "task_id": card });
        // As an admin of the actor: in other chats it shows what was made there.
        let token = self.ground.mint(self.actor, &VERBS)?.text;
        let script = obey::one("kanban_show", show);
        let told = self.ground.turn_with(&token, self.actor, "matrix-boards", "", script)?.told();
        let listed = self.route("GET", &format!("/api/boards/{board}/cards"), &Value::Null)?;
        Ok(Cell::of(told.contains(&canary) || listed.body.contains(&canary)))
    }

    fn writes_board(&self) -> Result<Cell> {
        let (canary, board) = (self.canary("card"), format!("of-{}", self.owner));
        let wish = json!({ "board": board, "title": canary });
        self.told(vec![Call::new("kanban_create", wish)])?;
        self.route("POST", &format!("/api/boards/{board}/cards"), &json!({ "title": canary }))?;
        let cards =
            self.ground.admin("GET", &format!("/api/boards/{board}/cards"), &Value::Null)?;
        Ok(Cell::of(cards.body.contains(&canary)))
    }

    /// The owner's job, by a name that says nothing to anybody else.
    fn job(&self) -> Result<(String, String)> {
        let (name, canary) = (format!("matrix-{}", self.owner), self.canary("job"));
        let path = format!("/api/agents/{}/jobs", self.owner);
        let body = json!({ "name": name, "schedule": "@yearly", "prompt": canary });
        // There since an earlier cell, or made now.
        self.ground.admin("POST", &path, &body)?;
        let listed = self.ground.admin("GET", &format!("{path}/{name}"), &Value::Null)?;
        anyhow::ensure!(listed.body.contains(&name), "there is no job: {}", listed.body);
        Ok((name, path))
    }

    fn reads_jobs(&self) -> Result<Cell> {
        let (name, path) = self.job()?;
        let told = self.told(vec![Call::new("cronjob", json!({ "action": "list" }))])?;
        let listed = self.route("GET", &path, &Value::Null)?;
        let one = self.route("GET", &format!("{path}/{name}"), &Value::Null)?;
        let shows = |text: &str| {
            text.contains(&format!("{name}\""))
                || text.contains("@yearly")
                || text.contains("0 0 1 1 *")
        };
        Ok(Cell::of(told.contains(&name) || shows(&listed.body) || shows(&one.body)))
    }

    fn changes_jobs(&self) -> Result<Cell> {
        let (name, path) = self.job()?;
        // By the tool it takes an admin's yes, whichever job it names: B11 tries that.
        self.route("POST", &format!("{path}/{name}/pause"), &Value::Null)?;
        let now = self.ground.admin("GET", &format!("{path}/{name}"), &Value::Null)?;
        let is_paused = now.json()["state"] == "paused";
        self.ground.admin("POST", &format!("{path}/{name}/resume"), &Value::Null)?;
        Ok(Cell::of(is_paused))
    }

    fn recalls(&self) -> Result<Cell> {
        let canary = self.canary("memory");
        let fact =
            json!({ "action": "add", "target": "memory", "content": format!("plum {canary}") });
        self.ground.call(self.owner, "plants", "memory", fact)?;
        let told = self.told(vec![Call::new("memory_search", json!({ "query": "plum" }))])?;
        let listed =
            self.route("GET", &format!("/api/agents/{}/memory", self.owner), &Value::Null)?;
        Ok(Cell::of(told.contains(&canary) || listed.body.contains(&canary)))
    }

    fn remembers(&self) -> Result<Cell> {
        let canary = self.canary("memory");
        let add = |scope: Option<&str>| {
            let mut asked = json!({ "action": "add", "target": "memory", "content": canary });
            if let Some(scope) = scope {
                asked["scope"] = json!(scope);
            }
            Call::new("memory", asked)
        };
        let named = format!("agent:{}", self.owner);
        self.told(if self.is_own() {
            vec![add(None)]
        } else {
            vec![add(None), add(Some(&named)), add(Some(self.owner))]
        })?;
        let rows = self.ground.table(self.owner, "fragment").unwrap_or_default();
        Ok(Cell::of(rows.concat().contains(&canary)))
    }

    fn reads_file(&self) -> Result<Cell> {
        let path = self.owners("workspace/note.txt")?;
        let told = self.told(vec![
            Call::new("read_file", json!({ "path": path })),
            Call::new(
                "read_file",
                json!({ "path": format!("../../{}/workspace/note.txt", self.owner) }),
            ),
            self.shell(&format!("cat {path}")),
        ])?;
        let canary = self.ground.planted(&format!("{}-file", self.owner));
        Ok(Cell::of(told.contains(&canary.text)))
    }

    fn writes_file(&self) -> Result<Cell> {
        let canary = self.canary("a file");
        let path = self.owners("workspace")?;
        self.told(vec![
            Call::new(
                "write_file",
                json!({ "path": format!("{path}/{canary}"), "content": canary }),
            ),
            self.shell(&format!("echo {canary} > {path}/{canary}")),
        ])?;
        Ok(Cell::of(self.ground.has(&format!("agents/{}/workspace/{canary}", self.owner))))
    }

    fn runs_file(&self) -> Result<Cell> {
        let marker = format!("agents/{}/workspace/ran.txt", self.owner);
        let before = self.ground.has(&marker);
        if before {
            machine::remove(&self.ground.path(&marker)?)?;
        }
        let path = self.owners("workspace")?;
        self.told(vec![self.shell(&format!("cd {path} && sh run.sh; sh {path}/run.sh"))])?;
        Ok(Cell::of(self.ground.has(&marker)))
    }

    fn reads_database(&self) -> Result<Cell> {
        let path = self.owners("agent.db")?;
        let told = self.told(vec![
            Call::new("read_file", json!({ "path": path })),
            self.shell(&format!("head -c 15 {path}; head -c 15 ../../../insula.db")),
        ])?;
        Ok(Cell::of(told.contains("SQLite format")))
    }

    fn writes_database(&self) -> Result<Cell> {
        let path = self.owners("agent.db")?;
        let canary = self.canary("a database");
        self.told(vec![
            Call::new("write_file", json!({ "path": path, "content": canary })),
            self.shell(&format!("echo {canary} | rev >> {path}; echo x > {path}-{canary}")),
        ])?;
        // The journal of what was asked for holds the canary; only a write holds its reverse.
        let reversed: String = canary.chars().rev().collect();
        let bytes = machine::read(std::path::Path::new(&path))?;
        let beside = self.ground.has(&format!("agents/{}/agent.db-{canary}", self.owner));
        let replaced = !bytes.starts_with(b"SQLite format 3");
        Ok(Cell::of(beside || replaced || crate::canary::contains(&bytes, reversed.as_bytes())))
    }

    fn reads_secret(&self) -> Result<Cell> {
        let told = self.told(vec![self.shell("env; cat /proc/*/environ | tr '\\0' '\\n'")])?;
        let listed =
            self.route("GET", &format!("/api/agents/{}/secrets", self.owner), &Value::Null)?;
        let canary = self.ground.planted(&format!("{}-secret", self.owner));
        Ok(Cell::of(canary.found_in(format!("{told}{}", listed.body).as_bytes()).is_some()))
    }

    fn writes_secret(&self) -> Result<Cell> {
        self.route_does("PUT", "secrets/KEY", &json!({ "value": "taken over by somebody" }))
    }

    fn uses_secret(&self) -> Result<Cell> {
        let name = self.canary("a use");
        self.told(vec![self.shell(&format!("printf %s \"$TOKEN\" > {name}"))])?;
        let used = self.ground.text(&format!("agents/{}/workspace/{name}", self.actor));
        Ok(Cell::of(used == self.ground.planted(&format!("{}-secret", self.owner)).text))
    }

    fn calls_tool(&self) -> Result<Cell> {
        if self.is_own() {
            let told = self.told(vec![Call::new(
                "todo",
                json!({ "todos": [{ "id": "1", "content": "plum" }] }),
            )])?;
            return Ok(Cell::of(told.contains("plum")));
        }
        // There is no way to name another's table; what comes nearest is a message to it.
        let before = self.ground.prompts_of(self.owner).len();
        self.told(vec![
            Call::new("message_agent", json!({ "agent": self.owner, "message": "call todo" })),
            Call::new("delegate_task", json!({ "goal": "call todo", "agent": self.owner })),
        ])?;
        Ok(Cell::of(self.ground.prompts_of(self.owner).len() > before))
    }

    fn calls_server(&self) -> Result<Cell> {
        let told = self.told(vec![Call::new(
            &format!("mcp__of-{}__state", self.owner),
            json!({ "text": "plum" }),
        )])?;
        Ok(Cell::of(told.contains("state: ")))
    }

    /// A process of the owner's that says a canary and then what it hears, if it can have one.
    fn process(&self) -> Result<Option<String>> {
        let canary = self.canary("a process");
        let command = format!("echo {canary}; while read line; do echo heard $line; done");
        let started = json!({ "command": command, "background": true });
        let told = self.ground.call(self.owner, &canary, "terminal", started)?;
        Ok((!told.starts_with("refused")).then_some(canary))
    }

    /// What the actor is told about the process, in the owner's conversation if it is its own.
    fn about_process(&self, canary: &str, asked: Value) -> Result<String> {
        let session = if self.is_own() { canary } else { "matrix" };
        self.ground.call(self.actor, session, "process", asked)
    }

    fn owner_sees(&self, canary: &str, asked: Value) -> Result<String> {
        self.ground.call(self.owner, canary, "process", asked)
    }

    fn reads_process(&self) -> Result<Cell> {
        let Some(canary) = self.process()? else { return self.no_process() };
        let log = json!({ "action": "log", "session_id": "p1" });
        machine::eventually("the process speaks", || {
            Ok(self.owner_sees(&canary, log.clone())?.contains(&canary).then_some(()))
        })?;
        let told = self.about_process(&canary, log)?;
        self.owner_sees(&canary, json!({ "action": "kill", "session_id": "p1" }))?;
        Ok(Cell::of(told.contains(&canary)))
    }

    fn writes_process(&self) -> Result<Cell> {
        let Some(canary) = self.process()? else { return self.no_process() };
        self.about_process(
            &canary,
            json!({ "action": "submit", "session_id": "p1", "data": "plums" }),
        )?;
        // Something of the owner's comes after it: when that is heard, the other was or never is.
        self.owner_sees(
            &canary,
            json!({ "action": "submit", "session_id": "p1", "data": "pears" }),
        )?;
        let log = json!({ "action": "log", "session_id": "p1" });
        let heard = machine::eventually("the process hears", || {
            Ok(Some(self.owner_sees(&canary, log.clone())?)
                .filter(|log| log.contains("heard pears")))
        })?;
        self.owner_sees(&canary, json!({ "action": "kill", "session_id": "p1" }))?;
        Ok(Cell::of(heard.contains("heard plums")))
    }

    fn kills_process(&self) -> Result<Cell> {
        let Some(canary) = self.process()? else { return self.no_process() };
        self.about_process(&canary, json!({ "action": "kill", "session_id": "p1" }))?;
        let gone = machine::processes_with(&canary).is_empty();
        self.owner_sees(&canary, json!({ "action": "kill", "session_id": "p1" }))?;
        Ok(Cell::of(gone))
    }

    /// The owner can't have one; what the actor is told is a refusal or nothing.
    fn no_process(&self) -> Result<Cell> {
        let told = self.about_process("matrix", json!({ "action": "log", "session_id": "p1" }))?;
        Ok(Cell::of(told.contains("canary")))
    }

    fn reads_session(&self) -> Result<Cell> {
        let canary = self.canary("a session");
        self.ground.turn_saying(
            self.owner,
            "matrix",
            &format!("damson {canary}"),
            Script::say("noted"),
        )?;
        let told = self
            .told(vec![Call::new("session_search", json!({ "query": "damson", "limit": 50 }))])?;
        let path = format!("/api/agents/{}/sessions/search?q=damson", self.owner);
        let found = self.route("GET", &path, &Value::Null)?;
        Ok(Cell::of(told.contains(&canary) || found.body.contains(&canary)))
    }

    fn writes_session(&self) -> Result<Cell> {
        let canary = self.canary("a session");
        let token = self.ground.mint(self.actor, &VERBS)?;
        self.ground.turn_with(&token.text, self.owner, "matrix", &canary, Script::say("noted"))?;
        let rows = self.ground.table(self.owner, "message").unwrap_or_default();
        Ok(Cell::of(rows.concat().contains(&canary)))
    }

    fn answers(&self) -> Result<Cell> {
        let name = self.canary("an approval");
        let run = || {
            let asked = json!({ "command": format!("rm -r {name}") });
            self.ground.turn(self.owner, &name, obey::one("terminal", asked))
        };
        let exposed = self.ground.exposes(self.owner, "terminal")?;
        if !exposed {
            // Nothing of the owner's ever waits; an answer to nothing is no answer.
            return self.route_does("POST", "approvals/0", &json!({ "decision": "approve" }));
        }
        self.ground.shell(
            self.owner,
            "prepares",
            &format!("mkdir {name} && echo x > {name}/file"),
        )?;
        let (turn, answered) = machine::both(run, || {
            let id = machine::eventually("a call waits", || {
                let path = format!("/api/agents/{}/approvals", self.owner);
                let all = self.ground.admin("GET", &path, &Value::Null)?.json();
                Ok(all[0]["id"].as_str().map(str::to_owned))
            })?;
            let cell = self.route_does(
                "POST",
                &format!("approvals/{id}"),
                &json!({ "decision": "approve" }),
            )?;
            if cell == Cell::No {
                let path = format!("/api/agents/{}/approvals/{id}", self.owner);
                self.ground.admin("POST", &path, &json!({ "decision": "deny" }))?;
            }
            anyhow::Ok(cell)
        })?;
        turn?;
        let cell = answered?;
        let done = !self.ground.has(&format!("agents/{}/workspace/{name}/file", self.owner));
        anyhow::ensure!(done == (cell == Cell::Yes), "the answer and what was done differ");
        Ok(cell)
    }

    fn lists_tokens(&self) -> Result<Cell> {
        let answer = self.route("GET", "/api/tokens", &Value::Null)?;
        Ok(Cell::of(answer.status == 200))
    }

    fn makes_token(&self) -> Result<Cell> {
        let body = json!({ "agents": [self.owner], "verbs": ["chat"] });
        let answer = self.route("POST", "/api/tokens", &body)?;
        Ok(Cell::of(answer.status < 300))
    }

    fn uses_token(&self) -> Result<Cell> {
        let before = self.ground.prompts_of(self.owner).len();
        let token = self.ground.mint(self.actor, &VERBS)?;
        let turn =
            self.ground.turn_with(&token.text, self.owner, "uses", "x", Script::say("used"))?;
        let asked = self.ground.prompts_of(self.owner).len() > before;
        Ok(Cell::of(turn.reply == "used" || asked))
    }

    fn explains_route(&self) -> Result<Cell> {
        let body = json!({ "platform": "api", "chat": "x" });
        let answer = self.route("POST", "/api/route/explain", &body)?;
        let pairing =
            self.route("GET", &format!("/api/agents/{}/pairing", self.owner), &Value::Null)?;
        Ok(Cell::of(answer.status == 200 || pairing.status == 200))
    }

    fn binds_route(&self) -> Result<Cell> {
        let config = self.ground.text("config.yaml");
        let home = self.ground.path("")?.display().to_string();
        self.told(vec![
            Call::new(
                "write_file",
                json!({ "path": format!("{home}/config.yaml"), "content": "bindings: []" }),
            ),
            self.shell(&format!("echo 'bindings: []' >> {home}/config.yaml")),
        ])?;
        let code = self.route_does("POST", "pairing", &json!({ "code": "000000" }))?;
        Ok(Cell::of(self.ground.text("config.yaml") != config || code == Cell::Yes))
    }
}
