//! How a turn looks while it runs. Knows no terminal: it says what to write, and when.
//!
//! What is in flight (waiting, thinking, a tool at work) is one line that is written over;
//! what remains is the reply, and a dim line for each tool and for thoughts.

use super::event::{Approval, ChildAct, ChildEvent, Ended, Event, Status};
use super::markdown::{Paint, Renderer, Style};
use super::terminal::Screen;
use crate::output::clean;
use serde_json::Value;
use std::time::Duration;

/// Goes to the start of the line and clears it.
const WIPE: &str = "\r\x1b[2K";
/// One sign a tick.
const SIGNS: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How often the line in flight changes.
pub const TICK: Duration = Duration::from_millis(120);
/// Waiting is not worth telling before this.
const WAIT_UNTOLD: Duration = Duration::from_secs(2);
/// What of a child's goal is shown, in characters: a line.
const GOAL_CHARS_MAX: usize = 60;

/// The line about a child, further in the deeper it is.
fn of_child(event: &ChildEvent) -> String {
    let ChildEvent { child, act } = event;
    let child = clean(child);
    let indent = "  ".repeat(1 + child.matches('.').count().min(8));
    match act {
        ChildAct::Started(goal) => {
            let line = clean(goal.lines().next().unwrap_or_default());
            let short: String = line.chars().take(GOAL_CHARS_MAX).collect();
            let rest = if short.len() < line.len() { "…" } else { "" };
            format!("{indent}↳ {child} {short}{rest}")
        }
        ChildAct::ToolDone(done) => {
            let became = if done.is_error { "failed" } else { "done" };
            format!("{indent}  {child} ⚙ {} · {became}", clean(&done.name))
        }
        ChildAct::Ended(outcome) => {
            format!("{indent}↲ {child} {}", clean(outcome).replace('_', " "))
        }
    }
}

/// What surrounds the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Around {
    /// A conversation: room around the reply, and what it took.
    Conversation,
    /// One message and the reply.
    OneShot,
}

/// What was written last and remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Note,
    Text,
}

/// The looks of one turn.
#[derive(Debug)]
pub struct Display {
    screen: Screen,
    around: Around,
    began: Duration,
    renderer: Option<Renderer>,
    last: Last,
    /// The line in flight is on the screen.
    in_flight: bool,
    ticks: usize,
    stopping: bool,
    thinking_since: Option<Duration>,
    running: Vec<String>,
    /// Whether any of the reply is on the screen.
    told: bool,
    /// Whether a question waits for an answer.
    asking: bool,
}

impl Display {
    /// A turn that begins now.
    pub fn new(screen: Screen, around: Around, now: Duration) -> Self {
        Self {
            screen,
            around,
            began: now,
            renderer: None,
            last: Last::Nothing,
            in_flight: false,
            ticks: 0,
            stopping: false,
            thinking_since: None,
            running: vec![],
            told: false,
            asking: false,
        }
    }

    /// What to write for an event.
    pub fn event(&mut self, event: &Event, now: Duration) -> String {
        let mut out = String::new();
        match event {
            Event::Accepted { .. } => {}
            Event::Text(text) => {
                self.end_thinking(&mut out, now);
                self.text(&mut out, text);
            }
            Event::Reasoning(_) => {
                self.end_text(&mut out);
                self.thinking_since.get_or_insert(now);
                self.fly(&mut out, now);
            }
            Event::ToolCall(name) => {
                self.end_thinking(&mut out, now);
                self.end_text(&mut out);
                self.running.push(clean(name));
                self.fly(&mut out, now);
            }
            Event::ToolDone(done) => {
                self.end_text(&mut out);
                let name = clean(&done.name);
                if let Some(at) = self.running.iter().position(|running| *running == name) {
                    self.running.remove(at);
                }
                let became = if done.is_error { "failed" } else { "done" };
                self.note(&mut out, &format!("⚙ {name} · {became}"));
                self.fly(&mut out, now);
            }
            Event::Approval(asked) => {
                self.end_thinking(&mut out, now);
                self.end_text(&mut out);
                let Approval { id, tool, what, rule } = asked;
                self.note(&mut out, &format!("? {tool} needs approval ({rule}):"));
                // All of it: what is allowed is what is seen.
                for line in what.lines() {
                    self.note(&mut out, &format!("    {line}"));
                }
                let how = match self.around {
                    Around::Conversation => {
                        "  y allows it once · s in this session · a always · n refuses it"
                            .to_owned()
                    }
                    Around::OneShot => format!("  `insula approvals approve {id}`, or `deny {id}`"),
                };
                self.note(&mut out, &how);
                self.asking = true;
            }
            Event::ApprovalDone(outcome) => {
                self.asking = false;
                self.note(&mut out, &format!("? {}", outcome.replace('_', " ")));
            }
            Event::Child(event) => {
                self.end_text(&mut out);
                self.note(&mut out, &of_child(event));
                self.fly(&mut out, now);
            }
            Event::Reset => {
                let had_text = self.renderer.is_some() || self.told;
                self.end_text(&mut out);
                self.told = false;
                if had_text {
                    self.note(&mut out, "↻ that was cut off; the reply begins anew");
                }
            }
            Event::Compressed => {
                self.end_text(&mut out);
                self.note(&mut out, "⋯ the older part of the conversation was summarised");
            }
            Event::Ended(ended) => self.end(&mut out, ended, now),
        }
        out
    }

    /// Whether a question may be answered by a key: in a conversation keys are not shown.
    pub fn takes_keys(&self) -> bool {
        self.around == Around::Conversation
    }

    /// What to write as time goes by.
    pub fn tick(&mut self, now: Duration) -> String {
        let mut out = String::new();
        self.ticks += 1;
        if self.renderer.is_none() {
            self.fly(&mut out, now);
        }
        out
    }

    /// What to write once a stop was asked for.
    pub fn stopping(&mut self, now: Duration) -> String {
        let mut out = String::new();
        self.end_text(&mut out);
        self.stopping = true;
        self.fly(&mut out, now);
        out
    }

    /// What to write when the turn goes on out of sight.
    pub fn leave(&mut self) -> String {
        let mut out = String::new();
        self.end_text(&mut out);
        self.land(&mut out);
        out
    }

    fn end(&mut self, out: &mut String, ended: &Ended, now: Duration) {
        self.end_thinking(out, now);
        if !self.told
            && self.renderer.is_none()
            && let Some(text) = &ended.text
        {
            self.text(out, text);
        }
        self.end_text(out);
        self.land(out);
        for name in std::mem::take(&mut self.running) {
            self.note(out, &format!("⚙ {name} · not finished"));
        }
        if ended.status == Status::Stopped {
            self.note(out, "■ stopped");
        }
        if let Some(why) = ended.breaks_off() {
            self.note(out, &format!("✂ {why}"));
        }
        if self.around == Around::Conversation
            && ended.status == Status::Replied
            && let Some(used) = used(&ended.usage)
        {
            self.note(out, &format!("{used} · {}", seconds(now.saturating_sub(self.began))));
        }
    }

    fn text(&mut self, out: &mut String, text: &str) {
        if text.is_empty() {
            return;
        }
        self.land(out);
        if self.renderer.is_none() {
            self.renderer = Some(Renderer::new(self.screen.paint, self.screen.columns));
        }
        let shown = self.renderer.as_mut().map(|renderer| renderer.push(text)).unwrap_or_default();
        self.show(out, &shown);
    }

    /// Writes a part of the reply, apart from what is no part of it.
    fn show(&mut self, out: &mut String, shown: &str) {
        if shown.is_empty() {
            return;
        }
        if self.last == Last::Note {
            out.push('\n');
        }
        self.last = Last::Text;
        self.told = true;
        out.push_str(shown);
    }

    fn end_text(&mut self, out: &mut String) {
        if let Some(renderer) = self.renderer.take() {
            let rest = renderer.finish();
            self.show(out, &rest);
        }
    }

    fn end_thinking(&mut self, out: &mut String, now: Duration) {
        if let Some(since) = self.thinking_since.take() {
            let took = seconds(now.saturating_sub(since));
            self.note(out, &format!("✻ thought for {took}"));
        }
    }

    /// Writes a dim line that remains.
    fn note(&mut self, out: &mut String, text: &str) {
        self.land(out);
        if self.last == Last::Text {
            out.push('\n');
        }
        self.last = Last::Note;
        out.push_str(&dim(text, self.screen.paint));
        out.push('\n');
    }

    /// Writes the line in flight.
    fn fly(&mut self, out: &mut String, now: Duration) {
        if !self.screen.live || self.asking {
            return;
        }
        let sign = SIGNS[self.ticks % SIGNS.len()];
        let waited = now.saturating_sub(self.thinking_since.unwrap_or(self.began));
        let doing = match (self.stopping, self.running.is_empty(), self.thinking_since) {
            (true, ..) => "stopping".to_owned(),
            (false, false, _) => self.running.join(", "),
            (false, true, Some(_)) => "thinking".to_owned(),
            (false, true, None) => String::new(),
        };
        let mut line = format!("{sign} {doing}");
        if waited >= WAIT_UNTOLD {
            line += &format!(" {}", seconds(waited));
            if !self.stopping {
                line += " · Ctrl-C stops";
            }
        }
        let line: String = line.chars().take(self.screen.columns.saturating_sub(1)).collect();
        if self.last == Last::Text && !self.in_flight {
            out.push('\n');
            self.last = Last::Nothing;
        }
        out.push_str(WIPE);
        out.push_str(&dim(line.trim_end(), self.screen.paint));
        self.in_flight = true;
    }

    /// Takes the line in flight away.
    fn land(&mut self, out: &mut String) {
        if std::mem::take(&mut self.in_flight) {
            out.push_str(WIPE);
        }
    }
}

/// A text in the background.
pub fn dim(text: &str, paint: Paint) -> String {
    Style::DIM.paint(&clean(text), paint)
}

/// A time for people.
fn seconds(time: Duration) -> String {
    let tenths = time.as_millis() / 100;
    match tenths {
        0..=99 => format!("{}.{} s", tenths / 10, tenths % 10),
        100..=599 => format!("{} s", tenths / 10),
        _ => format!("{} min {} s", tenths / 600, tenths / 10 % 60),
    }
}

/// What a turn took, for people.
pub fn used(usage: &Value) -> Option<String> {
    let number = |key: &str| usage[key].as_u64();
    let mut parts = vec![
        format!("{} tokens in", thousands(number("input")?)),
        format!("{} out", thousands(number("output")?)),
    ];
    if let Some(cached) = number("cached").filter(|cached| *cached > 0) {
        parts[0] += &format!(" ({} cached)", thousands(cached));
    }
    if let Some(cost) = number("cost_micros").filter(|cost| *cost > 0) {
        parts.push(money(cost));
    }
    Some(parts.join(" · "))
}

/// Millionths of a dollar, for people.
pub fn money(micros: u64) -> String {
    match micros {
        0..10_000 => format!("${:.4}", micros as f64 / 1e6),
        _ => format!("${:.2}", micros as f64 / 1e6),
    }
}

/// A number with its thousands apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
