//! A conversation at the terminal: reads a line, says it or does it, and reads the next.

use super::display::{Around, Display, money, painted, thousands};
use super::editor::{Prompt, Typed};
use super::event::Status;
use super::markdown::{Paint, Style};
use super::slash::{self, ENTRIES, Slash, TypedLine};
use super::terminal::{self, Quiet, Screen, screen};
use super::turn::{Ask, Talk, Turns};
use crate::commands::approvals;
use crate::failure::Failure;
use crate::layout::wrap;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Setting;
use rustyline::error::ReadlineError;
use serde_json::{Value, json};

/// What `/forget` wants to know.
pub const WHAT: &str = "say what: a number of /memory, words of one entry, or `all`";

/// What comes after a line.
enum Next {
    Line,
    Leave,
}

pub(super) struct Conversation<'a> {
    pub(super) reach: &'a Reach,
    setting: &'a Setting,
    pub(super) talk: Talk,
    turns: Turns<'a>,
    quiet: Quiet,
}

/// Holds one until the person leaves.
pub async fn hold(reach: &Reach, setting: &Setting, talk: Talk) -> Result<u8, Failure> {
    let turns = Turns::new(reach, setting)?;
    let quiet = Quiet::begin();
    let mut conversation = Conversation { reach, setting, talk, turns, quiet };
    let agent = conversation.agent(&conversation.talk.agent).await?;
    // It may have been called by its name.
    if let Some(id) = agent["id"].as_str() {
        conversation.talk.agent = id.to_owned();
    }
    let mut prompt = Prompt::new(&setting.home, conversation.screen().paint).map_err(unreadable)?;
    conversation.welcome(&agent);
    loop {
        // Agents come and go while one talks; what can't be listed is not offered.
        prompt.know(conversation.agents().await.unwrap_or_default());
        let next = match prompt.read(&conversation.talk.agent).map_err(unreadable)? {
            Typed::Line(line) => conversation.take(&line).await,
            Typed::Dropped => Ok(Next::Line),
            Typed::Interrupt => {
                conversation.note("Ctrl-D or /quit leaves\n");
                Ok(Next::Line)
            }
            Typed::End => Ok(Next::Leave),
        };
        match next {
            Ok(Next::Line) => {}
            Ok(Next::Leave) => return Ok(0),
            // What failed leaves a clean next line.
            Err(failure) => {
                output::failure(&failure);
                terminal::write("\n");
            }
        }
    }
}

/// Does one command.
pub async fn once(
    reach: &Reach,
    setting: &Setting,
    talk: Talk,
    command: Slash,
) -> Result<u8, Failure> {
    let turns = Turns::new(reach, setting)?;
    let quiet = Quiet::begin();
    let mut conversation = Conversation { reach, setting, talk, turns, quiet };
    conversation.command(command).await?;
    Ok(0)
}

fn unreadable(error: ReadlineError) -> Failure {
    Failure::Failed(format!("the terminal can't be read: {error}"))
}

impl Conversation<'_> {
    /// The screen as it is now: windows change.
    fn screen(&self) -> Screen {
        let unknown = Screen { paint: Paint::Plain, columns: 80, live: false };
        screen(&self.setting.environment).unwrap_or(unknown)
    }

    pub(super) fn note(&self, text: &str) {
        terminal::write(&(painted(text, Style::DIM, &self.screen()) + "\n"));
    }

    fn welcome(&self, agent: &Value) {
        let Talk { agent: id, session } = &self.talk;
        let Screen { paint, columns, .. } = self.screen();
        let name = agent["name"].as_str().filter(|name| !name.is_empty()).unwrap_or(id);
        let name = output::clean(name);
        let model = agent["model"].as_str().unwrap_or("no model");
        let about = format!("{name} · {model} · conversation `{session}` · /help");
        let about = wrap(&output::clean(&about), columns, 2);
        let rest = about.strip_prefix(&name).unwrap_or_default();
        let bold = Style { bold: true, ..Style::PLAIN };
        let rest = rest.split('\n').map(|line| Style::DIM.paint(line, paint));
        let rest = rest.collect::<Vec<_>>().join("\n");
        terminal::write(&format!("{}{rest}\n", bold.paint(&name, paint)));
        if model.starts_with("rehearsal/") {
            self.note("The built-in practice model answers: it follows fixed rules, and its tool calls are real. Say `help` to see what it can do; for another, add a provider to config.yaml.");
        }
        terminal::write("\n");
    }

    async fn take(&mut self, line: &str) -> Result<Next, Failure> {
        match slash::read(line) {
            TypedLine::Empty => {}
            TypedLine::Message(text) => self.turn(Ask::Message(&text)).await?,
            TypedLine::Unknown(unknown) => self.note(&format!("{unknown}\n")),
            TypedLine::Command(Slash::Quit) => return Ok(Next::Leave),
            TypedLine::Command(Slash::Retry) => self.turn(Ask::Retry).await?,
            TypedLine::Command(command) => {
                self.command(command).await?;
                terminal::write("\n");
            }
        }
        Ok(Next::Line)
    }

    async fn turn(&mut self, ask: Ask<'_>) -> Result<(), Failure> {
        let now = self.setting.world.clock.elapsed();
        let display = Display::new(self.screen(), Around::Conversation, now);
        terminal::write("\n");
        self.quiet.mark_pastes();
        let outcome = self.turns.run(&self.talk, ask, Some(display)).await?;
        if outcome.ended.status == Status::Failed {
            return Err(Failure::Failed(super::why(&outcome)));
        }
        terminal::write("\n");
        Ok(())
    }

    async fn command(&mut self, command: Slash) -> Result<(), Failure> {
        match command {
            Slash::Help => self.help().await,
            Slash::Agents => {
                let agents = self.reach.get("/api/agents").await?;
                let rows = agents.as_array().into_iter().flatten().map(|agent| {
                    let text = |key: &str| agent[key].as_str().unwrap_or("-").to_owned();
                    let here = if agent["id"] == self.talk.agent.as_str() { "›" } else { "" };
                    let name = super::super::commands::name_beside(agent);
                    vec![here.to_owned(), text("id"), text("state"), text("model"), name]
                });
                output::table(&["", "id", "state", "model", "name"], rows);
            }
            Slash::Agent(None) => {
                self.note(&format!("this is {}; /agent NAME for another", self.talk.agent));
            }
            Slash::Agent(Some(name)) => {
                let agent = self.agent(&name).await?;
                self.talk.agent = agent["id"].as_str().unwrap_or(&name).to_owned();
                self.welcome(&agent);
            }
            Slash::New => {
                self.post("new").await?;
                self.note("a new conversation begins; the old one is in /sessions");
            }
            Slash::Stop => match self.post("stop").await?["stopped"].as_u64() {
                Some(0) | None => self.note("nothing runs in this conversation"),
                Some(count) => self.note(&format!("stopped {}", count_of_turns(count))),
            },
            Slash::Sessions(wanted) => self.sessions(wanted).await?,
            Slash::Model(wanted) => self.model(wanted).await?,
            Slash::Undo => self.undo().await?,
            Slash::Compress => self.compress().await?,
            Slash::Who => self.who().await?,
            Slash::Cron(words) => self.typed("cron", words).await?,
            Slash::Board(words) => self.typed("board", words).await?,
            Slash::Back => self.typed("back", None).await?,
            Slash::Session(None) => {
                let session = &self.talk.session;
                self.note(&format!("this is `{session}`; /session NAME for another, new or old"));
            }
            Slash::Session(Some(name)) => {
                self.note(&format!("from here on in conversation `{name}`"));
                self.talk.session = name;
            }
            Slash::Tools => {
                let tools = self.reach.get(&self.talk.path("tools")).await?;
                let known = tools.as_array().into_iter().flatten();
                let known = known.filter(|tool| tool["exposed"] == true);
                let names: Vec<&str> = known.filter_map(|tool| tool["name"].as_str()).collect();
                output::line(&names.join(", "));
                self.note(&format!(
                    "`insula tools {}` says why each is in or out",
                    self.talk.agent
                ));
            }
            Slash::Memory => self.remembered().await?,
            Slash::Forget(what) => self.forget(what).await?,
            Slash::Approvals => approvals::table(&self.waiting().await?),
            Slash::Approve(id) => {
                let body = json!({ "decision": "approve", "scope": "once" });
                self.decide(id, body, "approved").await?;
            }
            Slash::Deny(id) => self.decide(id, json!({ "decision": "deny" }), "denied").await?,
            Slash::Usage => self.usage().await?,
            Slash::Retry | Slash::Quit => {}
        }
        Ok(())
    }

    async fn post(&self, what: &str) -> Result<Value, Failure> {
        let body = json!({ "session": self.talk.session });
        self.reach.post(&self.talk.path(what), Some(body)).await
    }

    async fn remembered(&self) -> Result<(), Failure> {
        let here = self.post("remembered").await?;
        let entries = here["entries"].as_array().map_or(&[][..], Vec::as_slice);
        if here["memory"] != true {
            self.note("this agent does not remember");
        } else if entries.is_empty() && here["held_back"] == 0 {
            self.note("nothing is remembered here");
        }
        if let Some(count) = here["held_back"].as_u64().filter(|count| *count > 0) {
            self.note(&format!("held back, because said in other conversations: {count}"));
        }
        for entry in entries {
            let blocked = if entry["blocked"] == true { " (blocked)" } else { "" };
            let text = entry["text"].as_str().unwrap_or_default();
            let target = entry["target"].as_str().unwrap_or_default();
            crate::output::line(&format!("{}. [{target}]{blocked} {text}", entry["number"]));
        }
        Ok(())
    }

    async fn forget(&self, what: Option<String>) -> Result<(), Failure> {
        let Some(what) = what else {
            self.note(WHAT);
            return Ok(());
        };
        let body = json!({ "session": self.talk.session, "what": what });
        let done = self.reach.post(&self.talk.path("forget"), Some(body)).await?;
        let unclear = done["unclear"].as_array().map_or(&[][..], Vec::as_slice);
        if done["memory"] != true {
            self.note("this agent does not remember");
        } else if !unclear.is_empty() {
            self.note("several entries have these words; give more of the one you mean:");
            for text in unclear {
                crate::output::line(&format!("- {}", text.as_str().unwrap_or_default()));
            }
        } else {
            self.note(&format!("forgot {}", done["forgotten"]));
        }
        if done["unfinished"] == true {
            let what = "a file may still have these words and could not be cleaned; `insula memory forget` says which, and it is tried again";
            return Err(Failure::Failed(what.to_owned()));
        }
        Ok(())
    }

    /// What waits for approval at this agent.
    async fn waiting(&self) -> Result<Value, Failure> {
        self.reach.get(&self.talk.path("approvals")).await
    }

    /// Answers what waits at this agent: what was named, or the only one.
    async fn decide(&self, id: Option<String>, body: Value, done: &str) -> Result<(), Failure> {
        let waiting = self.waiting().await?;
        let ids = waiting.as_array().into_iter().flatten().filter_map(|it| it["id"].as_str());
        let ids: Vec<&str> = ids.collect();
        let id = match (id.as_deref(), ids.as_slice()) {
            (Some(id), _) => id,
            (None, [only]) => only,
            (None, []) => {
                self.note("nothing waits for approval");
                return Ok(());
            }
            (None, _) => {
                self.note("several wait; /approvals lists them, and `/approve ID` answers one");
                return Ok(());
            }
        };
        approvals::answer(self.reach, &self.talk.agent, id, body).await?;
        self.note(&format!("{done} {id}"));
        Ok(())
    }

    async fn help(&self) {
        let screen = self.screen();
        let mut all: Vec<(String, String)> = ENTRIES
            .iter()
            .map(|it| (format!("{}{}", it.name, it.argument), it.about.to_owned()))
            .collect();
        // Whoever may not look at the servers is told of none.
        let servers = self.reach.get_if_there(&self.talk.path("mcp")).await.ok().flatten();
        for (command, arguments, about) in slash::prompts(&servers.unwrap_or_default()) {
            all.push((output::clean(&format!("{command}{arguments}")), output::clean(&about)));
        }
        terminal::write(&slash::help(&all, screen));
        self.note("  Alt-Enter or a backslash at the end goes on in the next line; Tab completes; Up and Ctrl-R find what was typed before; Ctrl-C stops a turn; Ctrl-D leaves.");
    }

    async fn usage(&self) -> Result<(), Failure> {
        let used = self.reach.get_if_there(&self.talk.path("usage?days=1")).await?;
        let Some(used) = used else {
            self.note("this daemon does not count usage yet");
            return Ok(());
        };
        let number = |key: &str| used[key].as_u64().unwrap_or(0);
        let usd = |value: &Value| value.as_f64().map(|usd| money((usd * 1e6).round() as u64));
        let tokens_in = thousands(number("input_tokens"));
        let tokens_out = thousands(number("output_tokens"));
        let turns = output::count(usize::try_from(number("turns")).unwrap_or(usize::MAX), "turn");
        let mut today = format!("{turns}, {tokens_in} tokens in, {tokens_out} out");
        if let Some(usd) = usd(&used["usd"]) {
            today += &format!(", {usd}");
        }
        let mut facts = vec![("agent", self.talk.agent.clone()), ("today", today)];
        let budget = &used["budget"];
        if let (Some(left), Some(most)) = (usd(&budget["usd_left"]), usd(&budget["usd_per_day"])) {
            facts.push(("left", format!("{left} of {most}")));
        }
        let tokens = |key: &str| budget[key].as_u64().map(thousands);
        if let (Some(left), Some(most)) = (tokens("tokens_left"), tokens("tokens_per_day")) {
            facts.push(("left", format!("{left} of {most} tokens")));
        }
        output::facts(&facts);
        Ok(())
    }

    /// An agent that can be talked to, or why not.
    async fn agent(&self, id: &str) -> Result<Value, Failure> {
        self.reach.get(&format!("/api/agents/{}", part(id))).await
    }

    async fn agents(&self) -> Result<Vec<String>, Failure> {
        let agents = self.reach.get("/api/agents").await?;
        let ids = agents.as_array().into_iter().flatten();
        Ok(ids.filter_map(|agent| agent["id"].as_str().map(str::to_owned)).collect())
    }
}

fn count_of_turns(count: u64) -> String {
    output::count(usize::try_from(count).unwrap_or(usize::MAX), "turn")
}
