//! Socket Mode: a socket that is replaced before it ends, and heard until it does.
//!
//! Slack ends every socket after some hours, and says so a moment before. The next one is opened then,
//! and the old one is heard until the next has said hello: Slack gives each event to one of them.
//!
//! Slack's protocol has no heartbeat of its own; pings are its proxies'. So a socket by which nothing
//! was said for a while is replaced as well: the hello of the next is Slack's own word. One that
//! carries nothing any more, though it is open, has ended with that.
//!
//! Of the accounts of one app one holds the sockets; the others hear by it (`sharing.rs`).
//!
//! What is not acknowledged comes again, by whatever socket there is then, for some minutes. What was
//! said while there was no socket longer than that is read (`gap.rs`), and a little of it where one
//! was silent: it may have been deaf.

use super::Slack;
use super::failure::Failure;
use super::gap::{self, Missing};
use super::handling::Told;
use super::listened::Reach;
use super::sharing::{Held, Joined, Passed, Pulse, Route};
use super::types::Frame;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use insula_channel::{ConnectFault, Inbox};
use insula_wire::{Heard, Refusal, Socket, SocketFault};
use serde_json::json;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a healthy connection may say nothing.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(900);
/// After how long a silent socket is replaced.
const QUIET: Duration = Duration::from_secs(600);
/// How long Slack may take to say hello.
const HELLO_WITHIN: Duration = Duration::from_secs(20);
/// How long the old socket is heard after the new one said hello, if Slack does not end it.
const LINGER: Duration = Duration::from_secs(10);
/// How soon another socket is tried for where one can't be had and the old one still serves.
const RETRY: Duration = Duration::from_secs(30);
/// How long the address of a socket is good. Slack says half a minute.
const TICKET_LASTS: Duration = Duration::from_secs(10);

/// One socket.
struct Line {
    number: u64,
    socket: Socket,
    /// When it is given up: where hello does not come, or another one took its place.
    until: Option<Duration>,
    is_greeted: bool,
}

type Opening<'a> = Pin<Box<dyn Future<Output = Result<Socket, ConnectFault>> + Send + 'a>>;

/// What is to be acknowledged, when another account has taken it: by which socket, and its name.
type Passing = BoxFuture<'static, Option<(u64, String)>>;

struct Session<'a> {
    us: &'a Slack,
    inbox: &'a dyn Inbox,
    stop: &'a CancellationToken,
    joined: Joined,
    /// What was heard of the socket while another account held it.
    pulse: Pulse,
    /// The right to the sockets, or the wait for it.
    held: Option<Held>,
    holding: BoxFuture<'static, Held>,
    passing: FuturesUnordered<Passing>,
    /// The number of the next socket.
    next: u64,
    /// The oldest first; two at most.
    lines: Vec<Line>,
    opening: Option<Opening<'a>>,
    /// When the newest is replaced.
    renew_at: Duration,
    /// Why something may be missing when the next hello comes.
    missed: Missed,
    /// What is read of what is missing.
    missing: Option<Missing<'a>>,
}

/// Whether something may not have been heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missed {
    Nothing,
    /// A socket was silent, which may be all there was.
    Perhaps,
    /// There was no socket.
    All,
}

impl Slack {
    pub(super) async fn hear(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        self.learn_us(stop).await.map_err(Failure::into_fault)?;
        self.take_up(inbox).await?;
        let Some(us) = self.known().us.clone() else {
            return Err(broken("nobody knows who we are"));
        };
        let joined = self.app.join(&self.account, us, &self.clock)?;
        let mut session = Session {
            us: self,
            inbox,
            stop,
            joined,
            pulse: Pulse::default(),
            held: None,
            holding: Box::pin(self.app.clone().hold()),
            passing: FuturesUnordered::new(),
            next: 0,
            lines: vec![],
            opening: None,
            renew_at: Duration::ZERO,
            missed: Missed::All,
            missing: None,
        };
        let ended = session.attend().await;
        // What failed is dropped: a goodbye would wait for an answer that may never come.
        if ended.is_ok() {
            for line in session.lines {
                line.socket.close(1000, "").await;
            }
        }
        ended
    }

    /// The address of a new socket, kept for who opens it at once.
    pub(super) async fn ask_for_ticket(
        &self,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        let url = self.api.open(stop).await.map_err(app_fault)?;
        self.known().ticket = Some((self.clock.elapsed(), url));
        Ok(())
    }

    async fn open(&self, stop: &CancellationToken) -> Result<Socket, ConnectFault> {
        let kept = self.known().ticket.take();
        let now = self.clock.elapsed();
        let url = match kept.filter(|(at, _)| *at + TICKET_LASTS > now) {
            Some((_, url)) => url,
            None => self.api.open(stop).await.map_err(app_fault)?,
        };
        let call = self.api.socket(&url).map_err(Failure::into_fault)?;
        let opened = self.api.transport.socket(call, stop).await;
        opened.map_err(|refusal| match refusal {
            Refusal::Answered { wait, .. } => {
                ConnectFault::Broken { why: refusal.to_string().into(), wait }
            }
            Refusal::Wire(fault) => broken(&fault.to_string()),
        })
    }
}

impl Session<'_> {
    /// Hears until something fails.
    async fn attend(&mut self) -> Result<(), ConnectFault> {
        let clock = self.us.clock.clone();
        loop {
            let now = clock.elapsed();
            let has_none = self.held.is_none();
            let renews = self.opening.is_none() && !has_none;
            let renew_at = Some(self.renew_at).filter(|_| renews);
            let due = self.lines.iter().filter_map(|line| line.until).chain(renew_at).min();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(()),
                (at, heard) = next(&mut self.lines) => match heard {
                    Ok(Heard::Text(text)) => self.take_in(at, &text).await?,
                    // That the connection carries something is no word of Slack's.
                    Ok(_) => {}
                    Err(fault) => {
                        drop(self.lines.remove(at));
                        self.look_for_any();
                        if self.lines.is_empty() && self.opening.is_none() {
                            return Err(broken(&fault.to_string()));
                        }
                        // The newest broke: the old one serves until there is another.
                        self.renew();
                    }
                },
                opened = ready(&mut self.opening) => {
                    self.opening = None;
                    self.opened(opened)?;
                }
                held = &mut self.holding, if has_none => self.hold(held),
                Some(passed) = self.joined.passed.recv() => self.take_passed(passed).await?,
                Ok(()) = self.joined.pulse.changed(), if has_none => self.feel().await,
                Some(taken) = self.passing.next() => self.acknowledge(taken).await,
                found = gap::next(&mut self.missing) => {
                    self.us.take_missed(found, &mut self.missing, self.inbox).await?;
                }
                () = clock.sleep(due.unwrap_or(now).saturating_sub(now)), if due.is_some() => {
                    self.look().await?;
                }
            }
        }
    }

    /// The sockets are ours from now on.
    fn hold(&mut self, held: Held) {
        self.held = Some(held);
        self.missed = Missed::All;
        self.opening = Some(Box::pin(self.us.open(self.stop)));
    }

    /// What another account hears of Slack says that we are connected, and what may be missing.
    async fn feel(&mut self) {
        let pulse = *self.joined.pulse.borrow_and_update();
        let before = std::mem::replace(&mut self.pulse, pulse);
        if !pulse.is_heard {
            return;
        }
        self.inbox.alive();
        let now = self.us.clock.elapsed();
        if pulse.breaks != before.breaks || !before.is_heard {
            self.missed = Missed::All;
        } else if pulse.silences != before.silences && self.missed == Missed::Nothing {
            self.missed = Missed::Perhaps;
        }
        if self.missed != Missed::Nothing {
            self.catch_up(now).await;
        }
        self.us.listened().heard(now);
    }

    /// Takes what another account heard for us.
    async fn take_passed(&mut self, passed: Passed) -> Result<(), ConnectFault> {
        let envelopes = self.us.envelopes(passed.told, &passed.payload).await;
        let taken = self.us.hand_over_new(envelopes, self.inbox).await;
        taken.map_err(|error| broken(&error.to_string()))?;
        passed.taken();
        Ok(())
    }

    /// Another account took something: acknowledges it where it was heard, if that is still there.
    async fn acknowledge(&mut self, taken: Option<(u64, String)>) {
        let Some((number, envelope_id)) = taken else { return };
        let line = self.lines.iter_mut().find(|line| line.number == number);
        if let Some(line) = line
            && line.socket.text(answer(&envelope_id)).await.is_err()
        {
            tracing::debug!(account = %self.us.account, "an event could not be acknowledged");
        }
    }

    /// Where no socket is heard any more, something is missing from now on.
    fn look_for_any(&mut self) {
        if !self.lines.iter().any(|line| line.is_greeted) {
            self.missed = Missed::All;
        }
    }

    /// A socket is heard: what is missing is read.
    async fn greeted(&mut self, at: usize, now: Duration) {
        self.inbox.alive();
        if let Some(line) = self.lines.get_mut(at) {
            (line.is_greeted, line.until) = (true, None);
        }
        for old in self.lines.iter_mut().take(at) {
            old.until = Some(now + LINGER);
        }
        let missed = self.missed;
        if let Some(held) = &self.held {
            held.tell(|pulse| {
                pulse.is_heard = true;
                pulse.breaks += u64::from(missed == Missed::All);
                pulse.silences += u64::from(missed == Missed::Perhaps);
            });
        }
        self.catch_up(now).await;
    }

    /// Begins to read what may be missing.
    async fn catch_up(&mut self, now: Duration) {
        let missed = std::mem::replace(&mut self.missed, Missed::Nothing);
        let reach = match missed {
            Missed::All => self.us.listened().reach(now),
            // What could not be read the last time is tried again.
            _ if self.missing.is_none() && self.us.listened().is_behind() => Reach::Whole,
            Missed::Perhaps if self.missing.is_none() => Reach::Lately,
            _ => return,
        };
        self.missing = self.us.catch_up(reach, self.inbox).await;
    }

    /// Begins to open another socket, if that is not under way.
    fn renew(&mut self) {
        let is_fresh = self.lines.last().is_some_and(|line| !line.is_greeted);
        if self.opening.is_none() && !is_fresh {
            self.opening = Some(Box::pin(self.us.open(self.stop)));
        }
    }

    fn opened(&mut self, opened: Result<Socket, ConnectFault>) -> Result<(), ConnectFault> {
        let now = self.us.clock.elapsed();
        match opened {
            Ok(socket) => {
                self.renew_at = now + QUIET;
                let until = Some(now + HELLO_WITHIN);
                let number = self.next;
                self.next += 1;
                self.lines.push(Line { number, socket, until, is_greeted: false });
            }
            Err(fault) if self.lines.is_empty() => return Err(fault),
            Err(fault) => {
                tracing::warn!(account = %self.us.account, "no other socket can be had yet: {fault}");
                self.renew_at = now + RETRY;
            }
        }
        Ok(())
    }

    /// Gives up what is over, and begins what is due.
    async fn look(&mut self) -> Result<(), ConnectFault> {
        let now = self.us.clock.elapsed();
        loop {
            let is_over = |line: &Line| line.until.is_some_and(|until| until <= now);
            let at = self.lines.iter().position(is_over);
            let Some(at) = at else { break };
            let line = self.lines.remove(at);
            self.look_for_any();
            if line.is_greeted {
                line.socket.close(1000, "").await;
            } else if self.lines.is_empty() {
                return Err(broken("Slack says nothing, though the connection is open"));
            } else {
                self.renew_at = now + RETRY;
            }
        }
        if self.renew_at <= now {
            if self.missed == Missed::Nothing {
                self.missed = Missed::Perhaps;
            }
            self.renew();
        }
        Ok(())
    }

    /// Takes in what one of the sockets said.
    async fn take_in(&mut self, at: usize, text: &str) -> Result<(), ConnectFault> {
        let now = self.us.clock.elapsed();
        // What makes no sense would make none the next time.
        let Ok(frame) = serde_json::from_str::<Frame>(text) else {
            tracing::debug!(account = %self.us.account, "a frame makes no sense and is left out");
            return Ok(());
        };
        let told = match frame.kind.as_str() {
            "hello" => {
                self.greeted(at, now).await;
                self.us.listened().heard(now);
                return Ok(());
            }
            "disconnect" if frame.reason == "link_disabled" => {
                let why =
                    "Socket Mode was turned off for the app; turn it on at api.slack.com/apps";
                return Err(ConnectFault::Refused(why.into()));
            }
            "disconnect" => {
                // An old one that ends has its successor.
                if at + 1 == self.lines.len() {
                    self.renew();
                }
                return Ok(());
            }
            "events_api" => Some(Told::Event),
            "interactive" => Some(Told::Interaction),
            "slash_commands" => Some(Told::Command),
            _ => None,
        };
        if frame.envelope_id.is_empty() {
            return Ok(());
        }
        self.inbox.alive();
        self.us.listened().heard(now);
        if let Some(held) = &self.held {
            held.tell(|pulse| pulse.beats += 1);
        }
        if at + 1 == self.lines.len() {
            self.renew_at = self.renew_at.max(now + QUIET);
        }
        if let Some(told) = told {
            match self.joined.route(told, &frame.payload) {
                Route::Here => {}
                Route::Passed(taken) => {
                    let number = self.lines.get(at).map_or(0, |line| line.number);
                    let answered =
                        async move { taken.await.ok().map(|()| (number, frame.envelope_id)) };
                    self.passing.push(Box::pin(answered));
                    return Ok(());
                }
                Route::Behind => return Ok(()),
            }
            let envelopes = self.us.envelopes(told, &frame.payload).await;
            let taken = self.us.hand_over_new(envelopes, self.inbox).await;
            taken.map_err(|error| broken(&error.to_string()))?;
        }
        let Some(line) = self.lines.get_mut(at) else { return Ok(()) };
        if line.socket.text(answer(&frame.envelope_id)).await.is_err() {
            // It comes again by another socket, and is recognised; what reads says what broke.
            tracing::debug!(account = %self.us.account, "an event could not be acknowledged");
        }
        Ok(())
    }
}

fn answer(envelope_id: &str) -> String {
    json!({ "envelope_id": envelope_id }).to_string()
}

/// What a refused socket means.
fn app_fault(failure: Failure) -> ConnectFault {
    match failure.into_fault() {
        ConnectFault::Refused(why) => {
            let why = format!(
                "`app_token`: {why} (it is made under Basic Information, App-Level Tokens, with \
                 `connections:write`, and Socket Mode has to be on)"
            );
            ConnectFault::Refused(why.into())
        }
        other => other,
    }
}

/// What the next socket says that says something.
async fn next(lines: &mut [Line]) -> (usize, Result<Heard, SocketFault>) {
    match lines {
        [] => std::future::pending().await,
        [one] => (0, one.socket.next().await),
        [old, new, ..] => tokio::select! {
            biased;
            heard = old.socket.next() => (0, heard),
            heard = new.socket.next() => (1, heard),
        },
    }
}

async fn ready(opening: &mut Option<Opening<'_>>) -> Result<Socket, ConnectFault> {
    match opening {
        Some(opening) => opening.await,
        None => std::future::pending().await,
    }
}

fn broken(why: &str) -> ConnectFault {
    ConnectFault::Broken { why: why.into(), wait: None }
}
