//! One call from the gate to its journalled result, in three steps: whether it may be made, and
//! that it begins; making it, which changes nothing of the turn; and what came of it. Calls that
//! are made at once are judged and written down one after the other (`side_by_side.rs`).

use crate::boards::TurnBoards;
use crate::call_line;
use crate::calls::{Called, picture};
use crate::course::CallCourse;
use crate::current::runs_programs;
use crate::facts::InTurn;
use crate::gate::{self, Call, Denial, NotPassed, Permit};
use crate::links::TurnLinks;
use crate::messages::last_output;
use crate::pictures::{MadePictures, TurnPictures};
use crate::provenance::Provenance;
use crate::quarantine::TurnReader;
use crate::remember::TurnMemory;
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
use insula_domain::tool::ToolSpec;
use insula_domain::{Integrity, IntegrityProfile};
use insula_models::Chain;
use insula_registry::events::turn::TurnEvent;
use insula_registry::signal::Changes;
use insula_store::{CommandOutcome, Message, NewStep, Part, Usage};
use insula_tools::{Cleared, Course, FileChange, Hands, Output, Piece, Recall, ToolError};
use std::time::Duration;

/// A call as a model made it: its id, the tool, the arguments as they were written.
pub(super) type Asked<'c> = (&'c str, &'c str, &'c str);

/// What the gate said of a call.
pub(super) enum Judged<'c> {
    /// It may be made, and has begun.
    Begun(Box<Begun<'c>>),
    /// It may not.
    Denied(Box<(Asked<'c>, Denial, CallCourse)>),
}

/// A call that has begun.
pub(super) struct Begun<'c> {
    call: Asked<'c>,
    permit: Permit,
    /// The step in which it began.
    step: u32,
    /// What was changed since it was judged.
    changes: Changes,
    /// Who reads for it, where it is read in quarantine.
    chain: Option<Chain>,
    /// How far it has come.
    course: CallCourse,
}

/// A call that was made.
pub(super) struct Ran {
    outcome: RunOutcome,
    /// What it changed in an editor, and what that did not take.
    changed: (Vec<FileChange>, Option<String>),
    made: MadePictures,
    spent: Usage,
    /// When it was over.
    at: Duration,
}

/// How making a call ended.
enum RunOutcome {
    Stopped,
    /// It is not allowed any more.
    TakenAway(Denial),
    Back(Result<Output, ToolError>),
}

impl Turn<'_> {
    pub(super) async fn call(
        &mut self,
        id: &str,
        name: &str,
        arguments: &str,
        history: &[Message],
    ) -> Result<Called, Broken> {
        let judged = self.judge((id, name, arguments), history).await?;
        let ran = match &judged {
            Judged::Begun(begun) => Some(self.run_call(begun, history).await),
            Judged::Denied(..) => None,
        };
        self.finish(judged, ran).await
    }

    /// Has the gate judge a call, and journals that it begins.
    pub(super) async fn judge<'c>(
        &mut self,
        call: Asked<'c>,
        history: &[Message],
    ) -> Result<Judged<'c>, Broken> {
        let (id, name, arguments) = call;
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
                let course = self.course.set_aside();
                return Ok(Judged::Denied(Box::new((call, denial, course))));
            }
            Err(NotPassed::Broken(broken)) => return Err(broken),
        };
        let cleared = permit.cleared();
        let step = self.begin(id, name).await?;
        Provenance::new(self.shop, cx, cleared.tool(), cleared).before().await?;
        let chain = match cleared.tool().is_quarantined() {
            true => Some(self.chain().await?),
            false => None,
        };
        let course = self.course.set_aside();
        Ok(Judged::Begun(Box::new(Begun { call, permit, step, changes, chain, course })))
    }

    /// Makes a call that has begun.
    pub(super) async fn run_call(&self, begun: &Begun<'_>, history: &[Message]) -> Ran {
        let Begun { call: (id, name, _), permit, step, changes, chain, .. } = begun;
        let (cx, step, cleared) = (self.cx, *step, permit.cleared());
        let (caps, access) = (&self.shop.caps, &self.shop.access);
        let around = InTurn { caps, access, cx, history };
        let previous = match cleared.tool().recall() {
            Recall::LastOutput => last_output(history, name),
            Recall::Nothing => None,
        };
        let chat = (Chat::of(&cx.key), &cx.from.address);
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
        let agents = TurnLinks::new(self.shop, cx, step);
        let schedules = TurnSchedules::new(self.shop, cx);
        let boards = TurnBoards::new(self.shop, cx, step);
        let reader = TurnReader::new(self, chain.clone());
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
            agents: Some(&agents),
            schedules: Some(&schedules),
            boards: Some(&boards),
            reader: Some(&reader),
            pictures: Some(&pictures),
        };
        self.ask_editor(cleared.tool(), cleared).await;
        let is_dropped = is_dropped(cleared);
        let about = (cleared.tool(), &**cleared);
        let outcome = tokio::select! {
            biased;
            () = cx.live.cancel.cancelled(), if is_dropped => RunOutcome::Stopped,
            // What it had running ends with it.
            denial = self.taken_away(changes.clone(), about, (given, &variables), &around), if is_dropped => {
                RunOutcome::TakenAway(denial)
            }
            outcome = cleared.run(&hands) => {
                RunOutcome::Back(self.asked_anew(outcome, history))
            }
        };
        let changed = match &outcome {
            RunOutcome::Back(_) => {
                let changes = cx.files.buffers().map(|it| it.take_changes()).unwrap_or_default();
                let untaken = self.hand_to_editor(&changes).await;
                (changes, untaken)
            }
            RunOutcome::Stopped | RunOutcome::TakenAway(_) => (Vec::new(), None),
        };
        let spent = delegate.spent();
        let at = self.shop.world.clock.elapsed();
        Ran { outcome, changed, made: pictures.done(), spent, at }
    }

    /// Writes down what came of a call.
    pub(super) async fn finish(
        &mut self,
        judged: Judged<'_>,
        ran: Option<Ran>,
    ) -> Result<Called, Broken> {
        let (begun, ran) = match (judged, ran) {
            (Judged::Denied(denied), _) => {
                let ((id, name, arguments), denial, course) = *denied;
                self.course.bring_back(course);
                return self.refuse(id, name, arguments, denial).await;
            }
            (Judged::Begun(begun), Some(ran)) => (begun, ran),
            // It was not made.
            (Judged::Begun(_), None) => return Err(Broken::Stopped(None, Usage::default())),
        };
        let Begun { call: (id, name, arguments), permit, mut course, .. } = *begun;
        let (cx, cleared) = (self.cx, permit.cleared());
        course.end(ran.at);
        self.course.bring_back(course);
        let outcome = match ran.outcome {
            RunOutcome::Stopped => {
                self.note_stopped((id, name), cleared).await?;
                return Err(Broken::Stopped(None, Usage::default()));
            }
            RunOutcome::TakenAway(denial) => {
                self.note_stopped((id, name), cleared).await?;
                return self.refuse(id, name, arguments, denial).await;
            }
            RunOutcome::Back(outcome) => outcome,
        };
        let ((changes, untaken), made) = (ran.changed, ran.made);
        self.spent += ran.spent;
        self.spent += made.spent;
        if !is_dropped(cleared)
            && let Err(broken) = self.go_on()
        {
            self.note_stopped((id, name), cleared).await?;
            return Err(broken);
        }
        let read = Provenance::new(self.shop, cx, cleared.tool(), cleared).after(&outcome).await?;
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
            Ok(Output::Last { text, said }) => (text, false, Some(said)),
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
}

/// Whether a call ends where its turn is stopped. What is journalled as it is done comes to its own
/// end.
fn is_dropped(cleared: &Cleared) -> bool {
    cleared.tool().course() != Course::Journalled
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
