//! One turn: sends the request, shows what comes, and lets Ctrl-C stop it.

use super::display::{Display, TICK};
use super::event::{Approval, Ended, Event, Status, ToolDone};
use super::frames::Frames;
use super::terminal::{self, Keys};
use crate::commands::approvals;
use crate::endpoint::Answer;
use crate::failure::Failure;
use crate::output;
use crate::reach::{Fate, Reach, part};
use crate::setting::Setting;
use insula_world::World;
use serde_json::{Value, json};
use std::pin::Pin;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// With whom, and in which conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Talk {
    pub agent: String,
    /// The conversation.
    pub session: String,
}

/// What to ask of the agent.
#[derive(Debug, Clone, Copy)]
pub enum Ask<'a> {
    /// To answer this.
    Message(&'a str),
    /// To answer the last message again.
    Retry,
}

/// How a turn went.
#[derive(Debug)]
pub struct Outcome {
    /// Its id.
    pub turn: Value,
    pub ended: Ended,
    /// The tools it used.
    pub tools: Vec<ToolDone>,
    /// Whether Ctrl-C was pressed.
    pub interrupted: bool,
}

/// What turns are run with.
pub struct Turns<'a> {
    reach: &'a Reach,
    setting: &'a Setting,
    interrupt: Signal,
    /// How many were said.
    said: u64,
}

/// How long a daemon that broke off may take to run again before its turn is given up here.
const BACK_WITHIN: Duration = Duration::from_secs(60);
/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How many looks in a row a daemon that broke off is there before it is one that stays.
const LOOKS_MAX: u32 = 10;

impl Talk {
    /// The path of something of the agent's.
    pub fn path(&self, rest: &str) -> String {
        format!("/api/agents/{}/{rest}", part(&self.agent))
    }
}

impl<'a> Turns<'a> {
    /// From here on Ctrl-C stops a turn and does not end the program.
    pub fn new(reach: &'a Reach, setting: &'a Setting) -> Result<Self, Failure> {
        Ok(Self { reach, setting, interrupt: signal(SignalKind::interrupt())?, said: 0 })
    }

    /// A name for what is said next, by which the daemon knows it when it is said again.
    fn key(&mut self) -> String {
        self.said += 1;
        let World { clock, random, .. } = &self.setting.world;
        let (at, number) = (clock.now().as_millis().to_string(), self.said.to_string());
        random.stream(&["chat", "said", &at, &number]).id()
    }

    /// Runs one to its end. A second Ctrl-C leaves it to end on its own.
    pub async fn run(
        &mut self,
        talk: &Talk,
        ask: Ask<'_>,
        mut display: Option<Display>,
    ) -> Result<Outcome, Failure> {
        self.forget_interrupts().await;
        let result = self.follow(talk, ask, &mut display).await;
        if result.is_err() {
            show(&mut display, Display::leave);
        }
        result
    }

    /// A key pressed before a turn began was not meant for it.
    async fn forget_interrupts(&mut self) {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => {}
            () = std::future::ready(()) => {}
        }
    }

    async fn follow(
        &mut self,
        talk: &Talk,
        ask: Ask<'_>,
        display: &mut Option<Display>,
    ) -> Result<Outcome, Failure> {
        let asked = match ask {
            Ask::Message(text) => Asked {
                path: talk.path("messages"),
                body: json!({ "session": talk.session, "text": text, "mode": "queue" }),
                key: Some(self.key()),
            },
            // Said twice it would be done twice.
            Ask::Retry => {
                let body = json!({ "session": talk.session });
                Asked { path: talk.path("retry"), body, key: None }
            }
        };
        let stop_path = talk.path("stop");
        let (reach, setting) = (self.reach, self.setting);
        let clock = &setting.world.clock;
        let mut opening: Option<Opening<'_>> = Some(Box::pin(asked.say(reach)));
        let (mut stopping, mut is_again) = (None, false);
        let mut response = None;
        let mut frames = Frames::default();
        let (mut question, mut answering) = (None, None);
        let (mut turn, mut tools, mut interrupted) = (Value::Null, vec![], false);
        loop {
            // Ctrl-C first: a flood of text must not keep it waiting.
            tokio::select! {
                biased;
                _ = self.interrupt.recv() => {
                    if interrupted {
                        let ended = Ended { status: Status::Stopped, text: None, cut: None, error: None, usage: Value::Null };
                        show(display, Display::leave);
                        return Ok(Outcome { turn, ended, tools, interrupted });
                    }
                    interrupted = true;
                    let now = clock.elapsed();
                    show(display, |display| display.stopping(now));
                    let body = json!({ "session": talk.session });
                    stopping = Some(Box::pin(reach.post(&stop_path, Some(body))));
                }
                stopped = async { some(&mut stopping).await } => {
                    stopping = None;
                    stopped?;
                }
                answered = async { some(&mut answering).await } => {
                    answering = None;
                    // Somebody else was faster, or the time was up: the turn says which.
                    let _ = answered;
                }
                opened = async { some(&mut opening).await } => {
                    opening = None;
                    // A daemon that is away may be about to begin anew.
                    if !is_again && asked.key.is_some() && matches!(opened, Err(Failure::Failed(_))) {
                        let now = clock.elapsed();
                        show(display, |display| display.away(now));
                        opening = Some(Box::pin(asked.say_again(reach, setting)));
                        is_again = true;
                        continue;
                    }
                    response = Some(opened?);
                    // And its reply begins anew.
                    let now = clock.elapsed();
                    if is_again {
                        show(display, |display| display.event(&Event::Reset, now));
                    }
                }
                piece = async { next(&mut response).await } => {
                    let Some(piece) = piece else {
                        // The turn goes on with the next daemon.
                        show(display, Display::leave);
                        (response, frames, question) = (None, Frames::default(), None);
                        opening = Some(Box::pin(asked.say_again(reach, setting)));
                        is_again = true;
                        continue;
                    };
                    for frame in frames.push(&piece).map_err(|_| broken_off())? {
                        let Some(event) = Event::read(&frame) else { continue };
                        let now = clock.elapsed();
                        // Before the question is there: who answers it at once is heard.
                        let takes_keys = display.as_ref().is_some_and(Display::takes_keys);
                        let asks = matches!(event, Event::Approval(_));
                        let keys = if asks && takes_keys { Keys::begin() } else { None };
                        show(display, |display| display.event(&event, now));
                        match event {
                            Event::Accepted { turn: id } => turn = id,
                            Event::ToolDone(done) => tools.push(done),
                            Event::Approval(asked) => {
                                if display.is_none() {
                                    output::notice(&waits(talk, &asked));
                                }
                                question = keys.map(|keys| Question { id: asked.id, keys });
                            }
                            Event::ApprovalDone(outcome) => {
                                if display.is_none() {
                                    output::notice(&format!("approval: {}", outcome.replace('_', " ")));
                                }
                                question = None;
                            }
                            Event::Ended(ended) => {
                                return Ok(Outcome { turn, ended, tools, interrupted });
                            }
                            _ => {}
                        }
                    }
                }
                () = clock.sleep(TICK), if display.is_some() => {
                    let now = clock.elapsed();
                    show(display, |display| display.tick(now));
                    let key = question.as_ref().and_then(|asked: &Question| asked.keys.pressed());
                    if let (Some(body), Some(Question { id, .. })) = (choice(key), &question) {
                        let (agent, id) = (talk.agent.clone(), id.clone());
                        question = None;
                        answering = Some(Box::pin(async move {
                            approvals::answer(reach, &agent, &id, body).await
                        }));
                    }
                }
            }
        }
    }
}

/// What the person at the terminal may answer by a key.
struct Question {
    id: String,
    keys: Keys,
}

/// What waits, and how to answer it, for whoever sees no more of the turn than its reply.
fn waits(talk: &Talk, asked: &Approval) -> String {
    let Approval { id, tool, what, rule, .. } = asked;
    format!(
        "{} waits for approval of {tool} ({rule}):\n{what}\nanswer in another terminal: `insula approvals approve {id}`, or `insula approvals deny {id}`",
        talk.agent,
    )
}

/// What a key answers.
fn choice(key: Option<char>) -> Option<Value> {
    let approve = |scope: &str| Some(json!({ "decision": "approve", "scope": scope }));
    match key?.to_ascii_lowercase() {
        'y' => approve("once"),
        's' => approve("session"),
        'a' => approve("always"),
        'n' => Some(json!({ "decision": "deny" })),
        _ => None,
    }
}

fn show(display: &mut Option<Display>, looks: impl FnOnce(&mut Display) -> String) {
    if let Some(display) = display {
        terminal::write(&looks(display));
    }
}

fn broken_off() -> Failure {
    Failure::Failed(
        "the daemon broke off; what it had taken on it goes on with when it runs again".to_owned(),
    )
}

/// The outcome of a future that may not be there, in which case there never is one.
async fn some<F: Future + Unpin>(future: &mut Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// The next piece of an answer; `None` where it broke off.
async fn next(response: &mut Option<Answer>) -> Option<Vec<u8>> {
    match response {
        Some(response) => response.piece().await.ok()?.map(|piece| piece.to_vec()),
        None => std::future::pending().await,
    }
}

type Opening<'o> = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + 'o>>;

/// What is asked of the daemon.
struct Asked {
    path: String,
    body: Value,
    /// By which it is known when it is said again.
    key: Option<String>,
}

impl Asked {
    async fn say(&self, reach: &Reach) -> Result<Answer, Failure> {
        reach.stream(&self.path, self.key.as_deref(), &self.body).await
    }

    /// The same again, to the daemon that runs in the place of one that broke off: it listens to
    /// the turn that goes on, or is told how it ended.
    async fn say_again(&self, reach: &Reach, setting: &Setting) -> Result<Answer, Failure> {
        let clock = &setting.world.clock;
        let end = clock.elapsed() + BACK_WITHIN;
        let (mut looks, mut is_another) = (0, false);
        while self.key.is_some() && clock.elapsed() < end {
            let fate = reach.look_again().await?;
            is_another |= fate == Fate::Renewed;
            looks += 1;
            match fate {
                // One that is being killed may still be there for a moment; one that stays has
                // cut us off, and would again.
                Fate::Runs if !is_another && looks >= LOOKS_MAX => break,
                Fate::Runs if !is_another => {}
                Fate::Gone => looks = 0,
                Fate::Runs | Fate::Renewed => match self.say(reach).await {
                    // It has not taken its turns up yet, or is gone again.
                    Err(Failure::Refused { code, .. }) if code == "known_request" => {}
                    Err(Failure::Failed(_)) => {}
                    said => return said,
                },
            }
            clock.sleep(LOOK_EVERY).await;
        }
        Err(broken_off())
    }
}
