//! The tool calls of a turn: through the gate, journalled before and after.

use crate::LOG;
use crate::call_line;
use crate::course::TurnFailure;
use crate::current::runs_programs;
use crate::facts::InTurn;
use crate::gate::{self, Call, Denial, NotPassed};
use crate::history::unanswered;
use crate::messages::last_output;
use crate::pictures::TurnPictures;
use crate::provenance::Provenance;
use crate::quarantine::TurnReader;
use crate::remember::TurnMemory;
use crate::run::calls;
use crate::schedules::TurnSchedules;
use crate::send::TurnOutbox;
use crate::subagents::TurnDelegate;
use crate::transcript::ScopedHistory;
use crate::turn::{Broken, Turn};
use crate::untrusted;
use insula_capabilities::mcp::AgentServers;
use insula_capabilities::programs::{Chat, Given, SessionShell, tells_of_walls};
use insula_capabilities::skills::AgentSkills;
use insula_capabilities::web::SessionWeb;
use insula_domain::hook::HookEvent;
use insula_domain::tool::ToolSpec;
use insula_domain::{FailureCause, Integrity, IntegrityProfile};
use insula_registry::events::turn::{TurnEnd, TurnEvent};
use insula_store::{CommandOutcome, Message, MessageSeq, NewMessage, NewStep, Part, Role, Usage};
use insula_tools::{Cleared, Course, Hands, Output, Picture, Piece, Recall, ToolError};
use tracing::Instrument as _;

/// What would make more of a glance than a moment.
const HOOKS: [HookEvent; 3] =
    [HookEvent::PreToolCall, HookEvent::TransformToolResult, HookEvent::PostToolCall];

/// How often one refused call may come again before the turn is told to stop trying.
const REFUSALS_MAX: usize = 3;
/// How often one call may give the same result before the model is told.
const SAME_TOLD: usize = 4;
/// How often before the turn ends.
const SAME_MAX: usize = 12;

/// What became of a call.
enum Called {
    /// It has a result.
    Result(MessageSeq, NewMessage),
    /// It is a question to the person, with the result that stands for it meanwhile.
    Ask(String, NewMessage),
}

/// A turn that does the same thing over and over ends.
fn in_circles(why: String) -> Broken {
    Broken::Said(TurnFailure::new(FailureCause::InCircles, why))
}

impl Turn<'_> {
    /// Ends what a crash left open: calls that the last answer asked for and that have no
    /// result. One that had begun is not repeated; the model is told that nobody knows.
    pub(super) async fn catch_up(
        &mut self,
        history: &mut Vec<Message>,
    ) -> Result<Option<TurnEnd>, Broken> {
        let is_asking = |it: &Message| it.turn == Some(self.cx.turn) && it.role == Role::Assistant;
        let Some(at) = history.iter().rposition(is_asking) else { return Ok(None) };
        let unanswered = unanswered(history, at);
        let mut open = calls(&history[at].parts);
        open.retain(|(id, ..)| unanswered.iter().any(|open| **open == **id));
        // What is journalled as it is done is made again: it finds what it had done.
        let goes_on = |name: &str| {
            let tool = self.shop.built.iter().find(|tool| tool.name() == name);
            tool.is_some_and(|tool| tool.course() == Course::Journalled)
        };
        let (begun, fresh): (Vec<_>, Vec<_>) = open.into_iter().partition(|(id, name, _)| {
            self.interrupted.contains_key(id.as_str()) && !goes_on(name)
        });
        self.count_again(history, &fresh);
        for (id, name, _) in begun {
            let text = "this call was interrupted and its outcome is unknown; find out before you repeat it";
            self.interrupted.remove(id.as_str());
            let result = self.result(&id, text.to_owned(), true);
            let ended = NewStep::CallEnded { call: id.as_str().into(), message: result.clone() };
            let audit = self.audit((&id, &name), "interrupted", None);
            let seq = self.journal(ended, Some(audit)).await?;
            history.push(self.placed(&result, seq));
        }
        self.calls(fresh, history).await
    }

    /// Counts the calls that were made before a crash. Whether one was refused is not told
    /// apart, so that nothing is made more often than it may be.
    fn count_again(&self, history: &[Message], fresh: &[(String, String, String)]) {
        let own = history.iter().filter(|it| it.turn == Some(self.cx.turn));
        for call in own.flat_map(|it| calls(&it.parts)).filter(|call| !fresh.contains(call)) {
            let (_, name, arguments) = call;
            self.cx.made.add(&name, serde_json::from_str(&arguments).unwrap_or_default());
        }
    }

    /// Makes the calls of one answer; the end of the turn, if one of them is it.
    pub(super) async fn calls(
        &mut self,
        calls: Vec<(String, String, String)>,
        history: &mut Vec<Message>,
    ) -> Result<Option<TurnEnd>, Broken> {
        for (id, name, arguments) in calls {
            self.go_on()?;
            let span = tracing::debug_span!(target: LOG, "tool", tool = %name);
            match self.call(&id, &name, &arguments, history).instrument(span).await? {
                Called::Result(seq, message) => history.push(self.placed(&message, seq)),
                Called::Ask(text, result) => {
                    let question = self.message(Role::Assistant, vec![Part::Text(text.clone())]);
                    self.reply(vec![result, question], Usage::default(), None).await?;
                    let (usage, calls) = (self.spent, Vec::new());
                    return Ok(Some(TurnEnd::Replied { text, usage, cut: None, calls }));
                }
            }
        }
        Ok(None)
    }

    async fn call(
        &mut self,
        id: &str,
        name: &str,
        arguments: &str,
        history: &[Message],
    ) -> Result<Called, Broken> {
        let cx = self.cx;
        let about = call_line::about(arguments, |text| self.redaction().told(text));
        cx.live.voice.say(TurnEvent::ToolCall { name: name.to_owned(), about });
        self.tell_editor_of_call(id, name, arguments).await;
        self.course.begin_call(self.shop.world.clock.elapsed());
        // From before the first look, so that no change falls between two.
        let changes = self.shop.registry.changes();
        let permit = match gate::pass(self, Call { id, name, arguments, history }).await {
            Ok(permit) => permit,
            Err(NotPassed::Denied(denial)) => {
                return self.refuse(id, name, arguments, denial).await;
            }
            Err(NotPassed::Broken(broken)) => return Err(broken),
        };
        let cleared = permit.cleared();
        let (caps, access) = (&self.shop.caps, &self.shop.access);
        let around = InTurn { caps, access, cx, history };
        let step = self.begin(id, name).await?;
        let provenance = Provenance::new(self.shop, cx, cleared.tool(), cleared);
        provenance.before().await?;
        let previous = match cleared.tool().recall() {
            Recall::LastOutput => last_output(history, name),
            Recall::Nothing => None,
        };
        let chat = (Chat::of(&cx.key), &cx.from.address);
        let caps = &self.shop.caps;
        let variables = self.variables_in_use(history);
        // Before anything is given to it.
        let given = match runs_programs(cleared.tool()) {
            true => Some(Given::now(&cx.agent, &variables).await),
            false => None,
        };
        let shell = SessionShell::new(caps, &cx.agent, cx.session, chat, &cx.principal, &cx.files)
            .with_variables(variables.clone())
            .with_viewed(self.viewed_by_leave(history))
            .knowing_walls(knows_walls(history))
            .at(permit.ground())
            .read_by(permit.reader());
        let web = SessionWeb::new(&self.shop.caps, &cx.agent, cx.session, &cx.principal);
        let skills = AgentSkills::new(&self.shop.caps, cx.occasion());
        let servers = AgentServers {
            caps: &self.shop.caps,
            agent: &cx.agent,
            person: self.person(cleared.tool(), history),
        };
        let delegate = TurnDelegate::new(self.shop, cx, step);
        let outbox = TurnOutbox::new(self.shop, cx, step);
        let schedules = TurnSchedules::new(self.shop, cx);
        let chain = match cleared.tool().is_quarantined() {
            true => Some(self.chain().await?),
            false => None,
        };
        let reader = TurnReader::new(self, chain);
        let pictures = TurnPictures::new(self);
        let scoped = ScopedHistory::new(self);
        let memory = TurnMemory::new(self, id, permit.approved_by());
        let hands = Hands {
            history: &scoped,
            previous,
            files: Some(&cx.files),
            shell: Some(&shell),
            web: Some(&web),
            skills: Some(&skills),
            servers: Some(&servers),
            delegate: Some(&delegate),
            memory: memory.as_ref().map(|it| it as _),
            outbox: Some(&outbox),
            schedules: Some(&schedules),
            reader: Some(&reader),
            pictures: Some(&pictures),
        };
        self.ask_editor(cleared.tool(), cleared).await;
        let is_dropped = cleared.tool().course() != Course::Journalled;
        let outcome = tokio::select! {
            biased;
            () = cx.live.cancel.cancelled(), if is_dropped => {
                self.note_stopped((id, name), cleared).await?;
                return Err(Broken::Stopped(None, Usage::default()));
            }
            // What it had running ends with it.
            denial = self.taken_away(changes, (cleared.tool(), cleared), (given, &variables), &around), if is_dropped => {
                self.note_stopped((id, name), cleared).await?;
                return self.refuse(id, name, arguments, denial).await;
            }
            outcome = cleared.run(&hands) => outcome,
        };
        let changes = cx.files.buffers().map(|it| it.take_changes()).unwrap_or_default();
        let untaken = self.hand_to_editor(&changes).await;
        let made = pictures.done();
        self.spent += delegate.spent();
        self.spent += made.spent;
        if !is_dropped && let Err(broken) = self.go_on() {
            self.note_stopped((id, name), cleared).await?;
            return Err(broken);
        }
        let read = provenance.after(&outcome).await?;
        // The boundary has its say where the handle is: only there is it known what a path is.
        let rule = matches!(outcome, Err(ToolError::Refused(_))).then_some("boundary");
        let mut foreign = None;
        let mut said = |pieces: Vec<Piece>| {
            let said = Piece::plain(&pieces);
            foreign = untrusted::is_among(&pieces).then_some(pieces);
            said
        };
        let mut shown = Vec::new();
        let (text, mut is_error, ask) = match outcome {
            Ok(Output::Text(text)) => (text, false, None),
            Ok(Output::Pieces(pieces)) => (said(pieces), false, None),
            Ok(Output::WithPictures { pieces, pictures }) => {
                shown = pictures;
                (said(pieces), false, None)
            }
            Ok(Output::AskFor { question }) => {
                self.see_asker(cleared.tool());
                let text = "the user was asked; their answer is the next message, and the call goes on with it".to_owned();
                (text, false, Some(question))
            }
            Ok(Output::Ask { question, choices }) => {
                let text = "the user was asked; their answer is the next message".to_owned();
                (text, false, Some(asked(&question, &choices)))
            }
            Err(ToolError::Pieces(pieces)) => (said(pieces), true, None),
            Err(error) => (error.to_string(), true, None),
        };
        let text = match &ask {
            Some(_) => text,
            None => {
                let (after, error) = self.after_call(name, cleared, text.clone(), is_error).await;
                is_error = error;
                // What a hook made of something foreign is as foreign.
                if after != text {
                    foreign = foreign.map(|pieces| untrusted::changed(&pieces, &after));
                }
                after
            }
        };
        // What has its own marks says itself where it came from.
        let is_marked = foreign.is_some();
        if !is_marked && ask.is_none() && self.is_fenced(&read) {
            let source = read.for_models();
            foreign = Some(vec![Piece::Foreign { source, text: text.clone() }]);
        }
        // The marks are new for every call, so what comes again is told without them.
        let note = if ask.is_none() { self.watch(name, arguments, &text)? } else { None };
        let mut text = match &foreign {
            Some(pieces) => untrusted::enclosed(pieces, &self.mark(id)),
            None => text,
        };
        text.extend(note.into_iter().chain(untaken));
        cx.live.voice.say(TurnEvent::ToolDone { name: name.to_owned(), is_error });
        self.tell_editor_of_end((id, name), (is_error, rule), &text, changes);
        let verdict = match (rule, is_error) {
            (Some(_), _) => "refused",
            (None, true) => "failed",
            (None, false) => "done",
        };
        let subject = cleared.tool().subject(cleared);
        let audit = self.audit_about((id, name), verdict, rule, subject);
        // First, so that the result itself says whose words it was made of.
        if let Some(pieces) = foreign.as_ref().filter(|_| is_marked) {
            let sources = untrusted::sources(&**cleared.tool(), pieces);
            sources.for_each(|it| cx.see_words_of(it));
        }
        let mut result = self.result(id, text, is_error);
        if foreign.is_some() {
            untrusted::set(&mut result.parts);
            cx.seen.add_foreign();
        }
        result.parts.extend(made.attachments);
        // A result that a hook withholds takes its pictures with it.
        if !is_error {
            result.parts.extend(shown.into_iter().map(picture));
        }
        if let Some(question) = ask {
            self.commit(vec![audit]).await?;
            return Ok(Called::Ask(question, result));
        }
        let ended = NewStep::CallEnded { call: id.into(), message: result.clone() };
        let seq = self.journal(ended, Some(audit)).await?;
        Ok(Called::Result(seq, result))
    }

    /// Whether what came from files that others had a word in is told apart from other words.
    fn is_fenced(&self, read: &Integrity) -> bool {
        !read.is_own() && self.cx.agent.boundary.integrity.profile != IntegrityProfile::Off
    }

    /// Writes down that a call was stopped: what it had done by then is done.
    async fn note_stopped(&self, call: (&str, &str), cleared: &Cleared) -> Result<(), Broken> {
        let subject = cleared.tool().subject(cleared);
        let audit = self.audit_about(call, "stopped", None, subject);
        self.commit(vec![audit]).await.map(drop)
    }

    /// Journals that a call begins, and says in which step; one that a crash cut off began
    /// then. One that only looks has no need: whoever goes on after a crash may look again.
    async fn begin(&mut self, id: &str, name: &str) -> Result<u32, Broken> {
        if let Some(step) = self.interrupted.remove(id) {
            return Ok(step);
        }
        if insula_domain::tool::find(name).is_some_and(ToolSpec::only_looks) {
            return Ok(0);
        }
        let at = self.shop.world.clock.now();
        let begun = NewStep::CallBegun { call: id.into(), name: name.into(), at };
        let done = self.commit(vec![self.step(begun)]).await?;
        let number = done.outcomes.iter().find_map(|outcome| match outcome {
            CommandOutcome::Stepped { number, .. } => Some(*number),
            _ => None,
        });
        Ok(number.unwrap_or_default())
    }

    /// Tells a model that goes in circles, and ends the turn when it does not listen.
    fn watch(&mut self, name: &str, arguments: &str, text: &str) -> Result<Option<String>, Broken> {
        let hash = blake3::hash(text.as_bytes());
        let call = (name.to_owned(), arguments.to_owned());
        let (before, count) = self.same.entry(call).or_insert((hash, 0));
        *count = if *before == hash { *count + 1 } else { 1 };
        *before = hash;
        match *count {
            ..SAME_TOLD => Ok(None),
            SAME_TOLD..SAME_MAX => Ok(Some(format!(
                "\n[this call gave the same result {count} times in this turn; do something else, or answer]"
            ))),
            _ => Err(in_circles(format!(
                "the same call of `{name}` was made again and again, with the same result"
            ))),
        }
    }

    async fn refuse(
        &mut self,
        id: &str,
        name: &str,
        arguments: &str,
        denial: Denial,
    ) -> Result<Called, Broken> {
        let count = self.refused.entry((name.to_owned(), arguments.to_owned())).or_default();
        *count += 1;
        if *count > REFUSALS_MAX {
            return Err(in_circles(format!(
                "the same refused call of `{name}` was made again and again"
            )));
        }
        let denial = if *count > 1 { Denial::Repeated { name: name.to_owned() } } else { denial };
        self.cx.live.voice.say(TurnEvent::ToolDone { name: name.to_owned(), is_error: true });
        // Which rule of the operator's it was, by its name.
        let by = match &denial {
            Denial::Rule { refused, .. } => Some(refused.rule.to_string()),
            Denial::Hook { hook, .. } => Some(hook.clone()),
            Denial::Tainted { by, .. } => Some(by.clone()),
            _ => None,
        };
        let audit = self.audit_about((id, name), "refused", Some(denial.rule()), by);
        let rule = (true, Some(denial.rule()));
        self.tell_editor_of_end((id, name), rule, &denial.to_string(), Vec::new());
        let result = self.result(id, denial.to_string(), true);
        let ended = NewStep::CallEnded { call: id.into(), message: result.clone() };
        let seq = self.journal(ended, Some(audit)).await?;
        Ok(Called::Result(seq, result))
    }

    /// What the marks around a call's foreign text are told apart by.
    fn mark(&self, call: &str) -> String {
        let (agent, turn) = (self.cx.agent.id.as_str(), self.cx.turn.to_string());
        self.shop.world.random.stream(&["untrusted", agent, &turn, call]).id()
    }

    pub(super) fn result(&self, call: &str, text: String, is_error: bool) -> NewMessage {
        let call = call.into();
        let part = Part::ToolResult { call, text, is_error, untrusted: false };
        self.message(Role::Tool, vec![part])
    }
}

/// A picture as it is journalled, beside the result that it came by.
pub(crate) fn picture(picture: Picture) -> Part {
    let Picture { media_type, data } = picture;
    let source = format!("data:{media_type};base64,{data}").into();
    Part::Image { source, media_type: media_type.into() }
}

/// Whether a conversation was told what its programs see.
fn knows_walls(history: &[Message]) -> bool {
    let mut parts = history.iter().flat_map(|message| &message.parts);
    parts.any(|part| matches!(part, Part::ToolResult { text, .. } if tells_of_walls(text)))
}

/// A question with its choices, as people read it.
fn asked(question: &str, choices: &[String]) -> String {
    let mut text = question.to_owned();
    for (index, choice) in choices.iter().enumerate() {
        text.push_str(&format!("\n{}. {choice}", index + 1));
    }
    text
}

impl Turn<'_> {
    /// Journals an answer, now or with the result of what it asks for, and makes its calls; the
    /// end of the turn, if one of them is it.
    pub(super) async fn answered(
        &mut self,
        message: NewMessage,
        usage: Usage,
        history: &mut Vec<Message>,
    ) -> Result<Option<TurnEnd>, Broken> {
        let calls = calls(&message.parts);
        let step = NewStep::Answered { message: message.clone(), usage };
        let at = history.len();
        if calls.iter().all(|(_, name, _)| self.is_glance(name)) {
            self.pending.put(self.step(step));
            history.push(self.placed(&message, MessageSeq::default()));
        } else {
            let seq = self.journal(step, None).await?;
            history.push(self.placed(&message, seq));
        }
        let end = self.calls(calls, history).await?;
        if let (Some(seq), Some(answer)) = (self.pending.place(), history.get_mut(at)) {
            answer.seq = seq;
        }
        Ok(end)
    }

    fn is_glance(&self, name: &str) -> bool {
        let tool = self.shop.built.iter().find(|tool| tool.name() == name);
        tool.is_some_and(|tool| tool.course() == Course::Glance)
            && !HOOKS.iter().any(|event| self.cx.agent.hooks.has(*event))
    }
}
