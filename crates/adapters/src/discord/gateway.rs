//! The gateway: a session that is begun once and taken up again wherever it broke, also by another
//! run of the daemon.
//!
//! The server says hello; we begin a session or take ours up, and say every so many seconds that we
//! are there. It numbers events and sends those again that we do not know to have taken. A goodbye
//! of ours is never 1000 or 1001: those end the session.

use super::Discord;
use super::cursor::{Gap, Position};
use super::known::Us;
use super::limits::Route;
use super::types::{Frame, Gateway, Hello};
use crate::trouble::Trouble;
use insula_channel::{ConnectFault, Envelope, Inbox};
use insula_wire::{Heard, Refusal, Socket, SocketFault};
use insula_world::Clock;
use serde_json::json;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a healthy connection may say nothing: heartbeats are answered more often.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(150);
/// The bounds of how often the server may want to hear from us. It wants it every 41 seconds.
const HEARTBEAT_MS: std::ops::RangeInclusive<u64> = 1_000..=60_000;
/// How long the server may take to say hello, and to begin a session.
const HELLO_WITHIN: Duration = Duration::from_secs(20);
/// How often taking a session up may fail until another is begun.
const RESUMES_MAX: u32 = 3;
/// How long a session has to have stood to be taken up at once when the server asks for that.
const STOOD: Duration = Duration::from_secs(5);
/// How many events are taken without a note of where we are, where they bring nothing.
const UNNOTED_MAX: u32 = 100;
/// With what we leave: a code of our own, which ends no session.
const GOODBYE: u16 = 4900;

/// Servers, members of threads aside; messages and reactions in them and in direct chats.
const INTENTS: u64 = 1 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 13;
/// What people say to others than us.
const CONTENT: u64 = 1 << 15;

/// How a connection ended where nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// We were told to stop.
    Stopped,
    /// The server asks us to come back.
    Again,
    /// The session is gone.
    Anew,
}

/// One time of listening.
pub(super) struct Session<'a> {
    pub(super) us: &'a Discord,
    pub(super) who: Us,
    pub(super) inbox: &'a dyn Inbox,
    pub(super) stop: &'a CancellationToken,
    pub(super) position: Position,
    pub(super) gap: Gap,
    /// Since when the session is known to stand.
    live_since: Option<Duration>,
    /// Events since the last note.
    unnoted: u32,
}

/// When we say that we are there, and whether the server answered the last time.
struct Beat {
    every: Duration,
    at: Duration,
    is_answered: bool,
}

impl Discord {
    pub(super) async fn hear(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        let ended = self.hear_on(inbox, stop).await;
        // Whatever was under way when we were told to stop failed for that alone.
        if stop.is_cancelled() { Ok(()) } else { ended }
    }

    async fn hear_on(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        let known = self.known().us.clone();
        let who = match known {
            Some(who) => who,
            None => self.learn_us(stop).await.map_err(Trouble::into_fault)?.0,
        };
        let kept = inbox.cursor().await.map_err(|error| broken(&error.to_string()))?;
        let position = kept.as_ref().and_then(Position::read).unwrap_or_default();
        let gap = Gap::default();
        let mut session =
            Session { us: self, who, inbox, stop, position, gap, live_since: None, unnoted: 0 };
        loop {
            match session.run().await? {
                Ended::Stopped => return Ok(()),
                Ended::Again => {}
                Ended::Anew => {
                    session.forget().await?;
                    // As the server wants it: between one second and five.
                    let chance = u64::from(u16::from_le_bytes(self.chance()));
                    let wait = Duration::from_millis(1_000 + chance % 4_000);
                    tokio::select! {
                        () = stop.cancelled() => return Ok(()),
                        () = self.clock.sleep(wait) => {}
                    }
                }
            }
        }
    }
}

impl Session<'_> {
    /// One connection, until it ends.
    async fn run(&mut self) -> Result<Ended, ConnectFault> {
        let takes_up = self.position.session.is_some();
        self.live_since = None;
        let ended = self.connect().await;
        let is_dead = self.live_since.is_none() && !self.stop.is_cancelled();
        if takes_up && is_dead && ended.is_err() {
            // Its address may be gone, or it is broken where nobody says so.
            let failed = self.us.resumes_failed.fetch_add(1, Ordering::Relaxed) + 1;
            if failed >= RESUMES_MAX {
                self.forget().await?;
            }
        }
        match ended {
            // Sent back and forth, we come back later.
            Ok(Ended::Again) if !self.stood() => {
                Err(broken("the gateway sends us away as soon as we come"))
            }
            Ok(Ended::Anew) if !takes_up && is_dead => {
                let wait = Some(Duration::from_secs(5));
                Err(ConnectFault::Broken { why: "the gateway begins no session".into(), wait })
            }
            ended => ended,
        }
    }

    fn stood(&self) -> bool {
        self.live_since.is_some_and(|since| self.us.clock.elapsed() >= since + STOOD)
    }

    /// The session is known to stand.
    pub(super) fn is_live(&mut self) {
        if self.live_since.is_none() {
            self.live_since = Some(self.us.clock.elapsed());
            self.us.resumes_failed.store(0, Ordering::Relaxed);
        }
    }

    /// The session can't be taken up any more, also not by another run.
    async fn forget(&mut self) -> Result<(), ConnectFault> {
        self.position.session = None;
        self.us.resumes_failed.store(0, Ordering::Relaxed);
        self.note().await
    }

    async fn connect(&mut self) -> Result<Ended, ConnectFault> {
        let url = match &self.position.session {
            Some(session) => session.url.clone(),
            None => self.gateway().await?,
        };
        let call = self.us.api.socket(&url).map_err(Trouble::into_fault)?;
        let opened = self.us.api.transport.socket(call, self.stop).await;
        let mut socket = opened.map_err(|refusal| match refusal {
            Refusal::Answered { wait, .. } => {
                ConnectFault::Broken { why: refusal.to_string().into(), wait }
            }
            Refusal::Wire(fault) => broken(&fault.to_string()),
        })?;
        let ended = self.attend(&mut socket).await;
        // What failed is dropped: a goodbye would wait for an answer that may never come. The next
        // one begins only when this one is gone.
        if ended.is_ok() {
            socket.close(GOODBYE, "").await;
        }
        ended
    }

    /// Where a session begins, while we may begin one.
    async fn gateway(&self) -> Result<String, ConnectFault> {
        let route = Route::of("GET gateway", "");
        let asked = self.us.api.get(route, "/gateway/bot".to_owned(), self.stop).await;
        let gateway: Gateway = asked.map_err(Trouble::into_fault)?;
        match gateway.session_start_limit {
            Some(limit) if limit.remaining == Some(0) => Err(ConnectFault::Broken {
                why: "the bot has begun as many sessions today as Discord allows".into(),
                wait: Some(Duration::from_millis(limit.reset_after)),
            }),
            _ => Ok(gateway.url),
        }
    }

    /// Hears until the connection ends.
    async fn attend(&mut self, socket: &mut Socket) -> Result<Ended, ConnectFault> {
        let clock = self.us.clock.clone();
        let Some(every) = self.greeted(socket).await? else { return Ok(Ended::Stopped) };
        self.begin(socket).await?;
        // Many that were cut off together do not speak together.
        let chance = f64::from(u16::from_le_bytes(self.us.chance())) / f64::from(u16::MAX);
        let mut beat =
            Beat { every, at: clock.elapsed() + every.mul_f64(chance), is_answered: true };
        let live_by = clock.elapsed() + HELLO_WITHIN;
        loop {
            let now = clock.elapsed();
            if self.live_since.is_none() && now >= live_by {
                return Err(broken("the gateway begins no session, though the connection is open"));
            }
            let due = match self.live_since {
                None => beat.at.min(live_by),
                Some(_) => beat.at,
            };
            let heard = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(Ended::Stopped),
                heard = socket.next() => heard,
                () = clock.sleep(due.saturating_sub(now)) => {
                    if clock.elapsed() < beat.at {
                        continue;
                    }
                    if !beat.is_answered {
                        let why = "the gateway says nothing, though the connection is open";
                        return Err(broken(why));
                    }
                    self.beat(socket, &mut beat).await?;
                    continue;
                }
            };
            let text = match heard {
                Ok(Heard::Text(text)) => text,
                Ok(_) => continue,
                Err(fault) => return self.closed(&fault),
            };
            // What makes no sense would make none the next time.
            let Ok(frame) = serde_json::from_str::<Frame<'_>>(&text) else {
                tracing::debug!(account = %self.us.account, "a frame makes no sense and is left out");
                continue;
            };
            self.inbox.alive();
            match frame.op {
                0 => self.take_while_beating(socket, &mut beat, &frame).await?,
                // The server wants to know at once.
                1 => self.beat(socket, &mut beat).await?,
                7 => return Ok(Ended::Again),
                9 if frame.read::<bool>() == Some(true) => {
                    return Err(broken("the gateway does not take the session up yet"));
                }
                9 => return Ok(Ended::Anew),
                11 => beat.is_answered = true,
                _ => {}
            }
        }
    }

    /// Waits for hello: how often the server wants to hear from us. Nothing when told to stop.
    async fn greeted(&self, socket: &mut Socket) -> Result<Option<Duration>, ConnectFault> {
        let clock = self.us.clock.clone();
        let late = clock.sleep(HELLO_WITHIN);
        let mut late = pin!(late);
        loop {
            let heard = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(None),
                heard = socket.next() => heard.map_err(|fault| broken(&fault.to_string()))?,
                () = &mut late => {
                    return Err(broken("the gateway says no hello, though the connection is open"));
                }
            };
            let Heard::Text(text) = heard else { continue };
            let frame = serde_json::from_str::<Frame<'_>>(&text).ok();
            let hello = frame.filter(|frame| frame.op == 10).and_then(|it| it.read::<Hello>());
            if let Some(Hello { heartbeat_interval }) = hello {
                let every = heartbeat_interval.clamp(*HEARTBEAT_MS.start(), *HEARTBEAT_MS.end());
                return Ok(Some(Duration::from_millis(every)));
            }
        }
    }

    /// Begins a session, or takes ours up.
    async fn begin(&self, socket: &mut Socket) -> Result<(), ConnectFault> {
        let token = self.us.api.token();
        let said = match &self.position.session {
            Some(session) => json!({ "op": 6, "d": {
                "token": token, "session_id": session.id, "seq": session.number,
            } }),
            None => json!({ "op": 2, "d": {
                "token": token,
                "intents": if self.who.hears_content { INTENTS | CONTENT } else { INTENTS },
                "properties": { "os": std::env::consts::OS, "browser": "insula", "device": "insula" },
                "large_threshold": 50,
            } }),
        };
        socket.text(said.to_string()).await.map_err(|fault| broken(&fault.to_string()))
    }

    async fn beat(&self, socket: &mut Socket, beat: &mut Beat) -> Result<(), ConnectFault> {
        let number = self.position.session.as_ref().map(|session| session.number);
        beat_now(socket, beat, &*self.us.clock, number).await
    }

    /// Takes an event in, for however long that takes, and goes on saying that we are there.
    async fn take_while_beating(
        &mut self,
        socket: &mut Socket,
        beat: &mut Beat,
        frame: &Frame<'_>,
    ) -> Result<(), ConnectFault> {
        let clock = self.us.clock.clone();
        let number = self.position.session.as_ref().map(|session| session.number);
        let mut work = pin!(self.take_in(frame));
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = clock.sleep(beat.at.saturating_sub(clock.elapsed())) => {
                    beat_now(socket, beat, &*clock, number).await?;
                    // Its answer waits behind what we are at.
                    beat.is_answered = true;
                }
            }
        }
    }

    /// What the end of a socket means.
    fn closed(&self, fault: &SocketFault) -> Result<Ended, ConnectFault> {
        let refused = |why: &str| Err(ConnectFault::Refused(why.into()));
        let SocketFault::Closed { code: Some(code), .. } = fault else {
            return Err(broken(&fault.to_string()));
        };
        match code {
            4004 => refused(
                "Discord does not take the token (4004); copy it anew from the application's page \
                 `Bot`, and set it again",
            ),
            4011 => refused(
                "the bot is on more servers than one connection may serve (4011): give it fewer, \
                 or several bots",
            ),
            4010 | 4012 => refused(
                "Discord does not take this way to connect any more (4010, 4012); a newer version \
                 of this program may know another",
            ),
            4013 | 4014 => refused(
                "Discord refuses what the bot asks to hear (4013, 4014): in the Developer Portal, \
                 page `Bot`, turn on Message Content Intent",
            ),
            4003 | 4007 | 4009 => Ok(Ended::Anew),
            _ => Err(broken(&fault.to_string())),
        }
    }

    /// Gives envelopes to who takes them, with a note of where we are.
    pub(super) async fn hand_over(&mut self, envelopes: Vec<Envelope>) -> Result<(), ConnectFault> {
        self.unnoted += 1;
        // While a gap is read, what was noted before it is where to begin again.
        let is_worth = !envelopes.is_empty() || self.unnoted >= UNNOTED_MAX;
        let is_noted = is_worth && !self.gap.is_open(self.us.clock.elapsed());
        if is_noted {
            self.unnoted = 0;
        }
        let cursor = is_noted.then(|| self.position.cursor());
        if envelopes.is_empty() && cursor.is_none() {
            return Ok(());
        }
        let taken = self.inbox.take(envelopes, cursor).await;
        taken.map_err(|error| broken(&error.to_string()))
    }

    /// Notes where we are, whatever came.
    pub(super) async fn note(&mut self) -> Result<(), ConnectFault> {
        self.unnoted = 0;
        let taken = self.inbox.take(vec![], Some(self.position.cursor())).await;
        taken.map_err(|error| broken(&error.to_string()))
    }
}

async fn beat_now(
    socket: &mut Socket,
    beat: &mut Beat,
    clock: &dyn Clock,
    number: Option<u64>,
) -> Result<(), ConnectFault> {
    beat.is_answered = false;
    beat.at = clock.elapsed() + beat.every;
    let said = json!({ "op": 1, "d": number }).to_string();
    socket.text(said).await.map_err(|fault| broken(&fault.to_string()))
}

pub(super) fn broken(why: &str) -> ConnectFault {
    ConnectFault::Broken { why: why.into(), wait: None }
}
