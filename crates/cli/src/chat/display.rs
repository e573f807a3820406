//! How a turn looks while it runs. Knows no terminal: it says what to write, and when.
//!
//! What is in flight (waiting, thinking, a tool at work) is one line that is written over;
//! what remains is the reply, and a dim line for each tool and for thoughts.

use super::event::{Approval, ChildAct, ChildEvent, Ended, Event, Status, ToolCall, ToolDone};
use super::markdown::{Paint, Renderer, Style};
use super::terminal::Screen;
use crate::layout::{cut, width, wrap};
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
/// What of a child's goal is shown, in columns.
const GOAL_COLUMNS_MAX: usize = 60;

/// The line about a tool.
fn of_tool(call: &ToolCall, became: &str) -> String {
    let (name, about) = (clean(&call.name), clean(&call.about));
    match about.is_empty() {
        true => format!("{name} · {became}"),
        false => format!("{name} · {became} · {about}"),
    }
}

/// A question of the agent's that waits for somebody's yes.
#[derive(Debug, Clone, Copy)]
struct Asking {
    /// When silence becomes a no.
    until: Option<Duration>,
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
    running: Vec<ToolCall>,
    /// The same of children, by their numbers.
    running_below: Vec<(String, ToolCall)>,
    /// Whether any of the reply is on the screen.
    told: bool,
    /// The question that waits for an answer.
    asking: Option<Asking>,
    /// Whether the daemon is away.
    is_away: bool,
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
            running_below: vec![],
            told: false,
            asking: None,
            is_away: false,
        }
    }

    /// What to write for an event.
    pub fn event(&mut self, event: &Event, now: Duration) -> String {
        let mut out = String::new();
        self.is_away = false;
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
            Event::ToolCall(call) => {
                self.end_thinking(&mut out, now);
                self.end_text(&mut out);
                // What was said before a call is not the reply: a question that ends the turn
                // is still to come.
                self.told = false;
                self.running.push(call.clone());
                self.fly(&mut out, now);
            }
            Event::ToolDone(done) => {
                self.end_text(&mut out);
                let at = self.running.iter().position(|running| running.name == done.name);
                let call = at.map(|at| self.running.remove(at));
                self.tool_line(&mut out, "⚙ ", call, done);
                self.fly(&mut out, now);
            }
            Event::Approval(asked) => {
                self.end_thinking(&mut out, now);
                self.end_text(&mut out);
                self.ask(&mut out, asked, now);
                self.fly(&mut out, now);
            }
            Event::ApprovalDone(outcome) => {
                self.asking = None;
                let style = if outcome == "approved" { Style::PLAIN } else { Style::BAD };
                self.line(&mut out, &format!("? {}", outcome.replace('_', " ")), style);
            }
            Event::Child(event) => {
                self.end_text(&mut out);
                self.child(&mut out, event);
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

    /// What to write while the daemon is looked for.
    pub fn away(&mut self, now: Duration) -> String {
        let mut out = String::new();
        self.end_text(&mut out);
        self.is_away = true;
        self.fly(&mut out, now);
        out
    }

    /// Shows a question, so that nobody takes it for one of many dim lines.
    fn ask(&mut self, out: &mut String, asked: &Approval, now: Duration) {
        let Approval { id, tool, what, rule, wait } = asked;
        self.line(out, &format!("? {tool} needs approval ({rule}):"), Style::ASK);
        // All of it: what is allowed is what is seen.
        for line in what.lines() {
            self.line(out, &format!("    {line}"), Style::PLAIN);
        }
        let how = match self.around {
            Around::Conversation => {
                "  y allows it once · s in this session · a always · n refuses it".to_owned()
            }
            Around::OneShot => format!("  `insula approvals approve {id}`, or `deny {id}`"),
        };
        self.line(out, &how, Style::CODE);
        if let (Some(wait), false) = (wait, self.screen.live) {
            self.line(out, &format!("  no answer within {} is a no", seconds(*wait)), Style::PLAIN);
        }
        self.asking = Some(Asking { until: wait.map(|wait| now + wait) });
    }

    /// Writes the line about a tool that is done: one line, however long its command is.
    fn tool_line(
        &mut self,
        out: &mut String,
        before: &str,
        call: Option<ToolCall>,
        done: &ToolDone,
    ) {
        let unknown = || ToolCall { name: done.name.clone(), about: String::new() };
        let (became, style) = match done.is_error {
            true => ("failed", Style::BAD),
            false => ("done", Style::DIM),
        };
        let line = format!("{before}{}", of_tool(&call.unwrap_or_else(unknown), became));
        let line = cut(&line, self.screen.columns);
        self.line(out, &line, style);
    }

    /// Writes the line about a child, further in the deeper it is.
    fn child(&mut self, out: &mut String, event: &ChildEvent) {
        let ChildEvent { child, act } = event;
        let child = clean(child);
        let indent = "  ".repeat(1 + child.matches('.').count().min(8));
        match act {
            ChildAct::Started(goal) => {
                let line = clean(goal.lines().next().unwrap_or_default());
                let begin = format!("{indent}↳ {child} ");
                let room = self.screen.columns.saturating_sub(width(&begin));
                self.note(out, &(begin + &cut(&line, room.min(GOAL_COLUMNS_MAX))));
            }
            ChildAct::ToolCall(call) => self.running_below.push((child, call.clone())),
            ChildAct::ToolDone(done) => {
                let is_it =
                    |(whose, call): &(String, ToolCall)| *whose == child && call.name == done.name;
                let at = self.running_below.iter().position(is_it);
                let call = at.map(|at| self.running_below.remove(at).1);
                self.tool_line(out, &format!("{indent}  {child} ⚙ "), call, done);
            }
            ChildAct::Ended(outcome) => {
                self.note(out, &format!("{indent}↲ {child} {}", outcome.replace('_', " ")));
            }
        }
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
        for call in std::mem::take(&mut self.running) {
            let line = format!("⚙ {}", of_tool(&call, "not finished"));
            self.note(out, &cut(&line, self.screen.columns));
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
        self.line(out, text, Style::DIM);
    }

    /// Writes a line that remains, broken between words.
    fn line(&mut self, out: &mut String, text: &str, style: Style) {
        self.land(out);
        if self.last == Last::Text {
            out.push('\n');
        }
        self.last = Last::Note;
        out.push_str(&painted(text, style, &self.screen));
        out.push('\n');
    }

    /// Writes the line in flight.
    fn fly(&mut self, out: &mut String, now: Duration) {
        if !self.screen.live {
            return;
        }
        let line = cut(&self.in_flight_line(now), self.screen.columns.saturating_sub(1));
        if self.last == Last::Text && !self.in_flight {
            out.push('\n');
            self.last = Last::Nothing;
        }
        out.push_str(WIPE);
        out.push_str(&dim(line.trim_end(), self.screen.paint));
        self.in_flight = true;
    }

    fn in_flight_line(&self, now: Duration) -> String {
        let sign = SIGNS[self.ticks % SIGNS.len()];
        if let (Some(Asking { until }), false) = (self.asking, self.stopping) {
            return match until {
                Some(until) => {
                    let left = until.saturating_sub(now);
                    format!("{sign} waits for an answer; a no in {}", countdown(left))
                }
                None => format!("{sign} waits for an answer"),
            };
        }
        let waited = now.saturating_sub(self.thinking_since.unwrap_or(self.began));
        let doing = match (self.running.as_slice(), self.thinking_since) {
            _ if self.stopping => "stopping".to_owned(),
            _ if self.is_away => "the daemon is away; waiting for it".to_owned(),
            ([], Some(_)) => "thinking".to_owned(),
            ([], None) => String::new(),
            ([one], _) if !one.about.is_empty() => {
                format!("{} · {}", clean(&one.name), clean(&one.about))
            }
            (several, _) => {
                let names: Vec<String> = several.iter().map(|it| clean(&it.name)).collect();
                names.join(", ")
            }
        };
        if waited < WAIT_UNTOLD {
            return format!("{sign} {doing}");
        }
        let hint = if self.stopping { "" } else { " · Ctrl-C stops" };
        let waited = format!(" {}{hint}", seconds(waited));
        // What is done is cut before how long it takes.
        let room = self.screen.columns.saturating_sub(3 + width(&waited));
        format!("{sign} {}{waited}", cut(&doing, room))
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

/// A text in a style, broken between words.
pub fn painted(text: &str, style: Style, screen: &Screen) -> String {
    let laid_out = wrap(&clean(text), screen.columns, 2);
    let lines = laid_out.split('\n').map(|line| style.paint(line, screen.paint));
    lines.collect::<Vec<_>>().join("\n")
}

/// What is left of a time, in whole seconds.
fn countdown(left: Duration) -> String {
    match left.as_secs() {
        seconds @ 0..=59 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
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
