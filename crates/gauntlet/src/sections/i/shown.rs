//! I7: what a person is asked to approve, on every surface that asks, is exactly what runs.

use super::super::c::socket::Socket;
use super::routes::mcp;
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside::Reading;
use crate::ground::{Ground, Plan, Token};
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::{Context as _, Result};
use insula_testkit::telegram::{User, Where};
use serde_json::{Value, json};

const ADA: &str = "7:ada-token";

/// Where a question is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surface {
    Api,
    All,
    Stream,
    CommandLine,
    Mcp,
    Telegram,
    WebChat,
}

const SURFACES: [Surface; 7] = [
    Surface::Api,
    Surface::All,
    Surface::Stream,
    Surface::CommandLine,
    Surface::Mcp,
    Surface::Telegram,
    Surface::WebChat,
];

/// Routes of the daemon's description that questions go by; another is another surface.
const ROUTES: [&str; 3] =
    ["/api/agents/{id}/approvals", "/api/agents/{id}/approvals/{approval}", "/api/approvals"];

/// What runs unseen if only a part is shown.
const TAIL: &str = "rm -r victim";

/// Characters that change what a person sees and not what a shell does.
const UNSEEN: [char; 18] = [
    '\u{202e}',
    '\u{202d}',
    '\u{202a}',
    '\u{2066}',
    '\u{2067}',
    '\u{2069}',
    '\u{200b}',
    '\u{200d}',
    '\u{2060}',
    '\u{feff}',
    '\u{ad}',
    '\u{61c}',
    '\u{200e}',
    '\u{2028}',
    '\u{180e}',
    '\u{1b}',
    '\u{e0041}',
    '\u{8}',
];

/// Commands in which something could be hidden, and what a question has to show of each.
fn commands() -> Vec<(&'static str, String)> {
    let filler = "echo nothing to see here, it goes on as it began; ";
    let long = |count: usize| format!("{}{TAIL}", filler.repeat(count / filler.len() + 1));
    vec![
        ("1,600 characters", long(1_600)),
        ("4,200 characters", long(4_200)),
        ("20,000 characters", long(20_000)),
        ("many lines", format!("echo x{}{TAIL}", "\n".repeat(400))),
        ("a wide line", format!("echo x;{}{TAIL}", " ".repeat(3_000))),
        ("a return", format!("{TAIL} #\recho harmless")),
        ("marks that fold", format!("echo '```'\n{TAIL}\necho '```' '</code></pre>'")),
        ("characters nobody sees", format!("{TAIL} #{}", UNSEEN.iter().collect::<String>())),
        ("a line that runs backwards", format!("echo '\u{202e}mitciv r- mr\u{202c}'; {TAIL}")),
        ("letters that look alike", format!("{TAIL} \u{430}\u{435}\u{43e}")),
    ]
}

/// One agent on all surfaces.
pub fn raise(stage: &Stage) -> Result<Ground> {
    let plan = Plan::new()
        .top("approvals: {mode: manual, timeout: 10m}\nstore: {durability: process}")
        .agent("a", "tools: coding, access: {allow: ['telegram:*', 'web:*'], admins: ['telegram:1', 'web:ADMIN']}")
        .binding("agent: a, telegram: {account: ada}")
        .binding("agent: a, web: {account: site}")
        .channel("web: {accounts: {site: {}}}")
        .bot(ADA, "ada");
    let ground = Ground::raise(stage, plan)?;
    let token = ground.mint("a", &["chat", "read", "approve"])?;
    let config = ground.text("config.yaml").replace("web:ADMIN", &format!("web:{}", token.id));
    ground.home().write("config.yaml", &config)?;
    let answer = ground.admin("POST", "/api/reload", &Value::Null)?;
    anyhow::ensure!(answer.status == 200, "{answer:?}");
    Ok(ground.with(token))
}

/// The fate of a question on a surface: all that was shown, or none where it was not asked.
fn asked(ground: &Ground, surface: Surface, number: usize, call: &Call) -> Result<Option<String>> {
    let token: &Token = ground.own()?;
    let session = format!("{surface:?}-{number}").to_lowercase();
    let tag = ground.puppets.learn(Script::steps(vec![Act::Call(vec![call.clone()])]));
    let words = format!("please {tag}");
    let mut socket = None;
    let mut stream = None;
    let before = ground.telegram()?.sent().len();
    // What an attempt that failed has left waiting is none of ours.
    let list = "/api/agents/a/approvals";
    let all = ground.admin("GET", list, &Value::Null)?.json();
    let earlier: Vec<String> =
        all.as_array().into_iter().flatten().map(|it| it["id"].to_string()).collect();
    match surface {
        Surface::Telegram => {
            ground.say(Where::Dm(ADA), &User::new(1, "Root"), &words)?;
        }
        Surface::WebChat => {
            let mut page = Socket::open(ground.listen()?, &token.text)?;
            page.say(&json!({ "type": "join" }))?;
            page.wait_for("joined")?;
            page.say(&json!({ "type": "say", "id": session, "text": words }))?;
            socket = Some(page);
        }
        _ => {
            let body = json!({ "session": session, "text": words }).to_string();
            let path = "/api/agents/a/messages";
            stream = Some(Reading::open(ground.listen()?, &token.text, "POST", path, &body)?);
        }
    }
    let waits = || -> Result<Option<Value>> {
        let all = ground.admin("GET", list, &Value::Null)?.json();
        let all = all.as_array().cloned().unwrap_or_default();
        Ok(all.into_iter().find(|it| !earlier.contains(&it["id"].to_string())))
    };
    // It waits, or the turn is over without it.
    let question = machine::eventually("it is asked or refused", || {
        let asked = waits()?;
        let over = ground.puppets.with_tag(&tag).len() > 1;
        Ok((asked.is_some() || over).then_some(asked))
    })?;
    let Some(question) = question else { return Ok(None) };
    let id = question["id"].as_str().context("a question without an id")?.to_owned();
    let shown = match surface {
        Surface::Api => words_of(&question),
        Surface::All => {
            let all = ground.admin("GET", "/api/approvals", &Value::Null)?.json();
            words_of(&all)
        }
        Surface::Stream => {
            let stream = stream.as_mut().context("no stream")?;
            let told = stream.until("approval.asked\ndata: ")?;
            let data = told.lines().rev().find_map(|line| line.strip_prefix("data: "));
            words_of(&serde_json::from_str(data.unwrap_or_default()).unwrap_or_default())
        }
        Surface::CommandLine => ground.cli(&["approvals", "list", "a"]).stdout,
        Surface::Mcp => {
            let told = mcp(ground, &token.text, "approvals", json!({}))?;
            let text = told.json()["result"]["content"][0]["text"].as_str().map(str::to_owned);
            let text = text.unwrap_or(told.body);
            serde_json::from_str::<Value>(&text).map_or(text, |it| words_of(&it))
        }
        Surface::Telegram => {
            let telegram = ground.telegram()?;
            let sent = ground.wait("the question is sent", async {
                let asks = |it: &insula_testkit::telegram::Telegram| {
                    let sent: Vec<_> = it.sent().into_iter().skip(before).collect();
                    sent.iter().any(|it| !it.buttons.is_empty()).then_some(sent)
                };
                telegram.until(asks).await
            })?;
            let mut text = String::new();
            for sent in sent {
                text += &sent.text;
                // A file may be sent along with all of it.
                let file = sent.file.unwrap_or_default().1;
                text += &String::from_utf8_lossy(&file);
            }
            text
        }
        Surface::WebChat => {
            let page = socket.as_mut().context("no page")?;
            let mut text = String::new();
            loop {
                let frame = page.next()?;
                // What was asked before is shown again to whoever joins.
                if frame["buttons"].is_array() && !frame.to_string().contains(&id) {
                    text.clear();
                    continue;
                }
                if frame["type"] == "message" && frame["by"] == "agent" {
                    text += frame["text"].as_str().unwrap_or_default();
                    for file in frame["files"].as_array().into_iter().flatten() {
                        text += &decoded(file["content"].as_str().unwrap_or_default());
                    }
                }
                if frame["buttons"].as_array().is_some_and(|rows| !rows.is_empty()) {
                    break text;
                }
            }
        }
    };
    let denied = ground.admin("POST", &format!("{list}/{id}"), &json!({ "decision": "deny" }))?;
    anyhow::ensure!(denied.status == 200, "{denied:?}");
    machine::eventually("nothing waits", || Ok(waits()?.is_none().then_some(())))?;
    Ok(Some(shown))
}

fn decoded(content: &str) -> String {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(content).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Every text in a value, one after the other.
fn words_of(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(all) => all.iter().map(words_of).collect(),
        Value::Object(all) => all.values().map(words_of).collect(),
        _ => String::new(),
    }
}

/// Letters and digits of a text: what a person reads, however it is set. What stands between
/// `⟦` and `⟧` is written out for what nobody would see.
fn letters(text: &str) -> String {
    let mut is_note = false;
    let is_read = |it: &char| {
        match it {
            '⟦' => is_note = true,
            '⟧' => is_note = false,
            _ => {}
        }
        !is_note && it.is_ascii_alphanumeric()
    };
    text.chars().filter(is_read).collect()
}

/// What is wrong with how a command was shown.
fn hidden(command: &str, shown: &str) -> Option<String> {
    let all = letters(command);
    if !letters(shown).contains(&all) {
        let has_tail = letters(shown).contains(&letters(TAIL));
        let told = shown.chars().count();
        // Head, tail, length and all of it elsewhere is a way to show it too; less is not.
        let says_length = shown.contains(&command.chars().count().to_string())
            || shown.contains(&command.len().to_string());
        if !(has_tail && says_length) {
            return Some(format!("{told} characters were shown of {}", command.chars().count()));
        }
    }
    let unseen = shown.chars().find(|c| UNSEEN.contains(c) || *c == '\r');
    unseen.map(|c| format!("U+{:04X} is shown as it is", c as u32))
}

fn on_every_surface(ground: &Ground) -> Outcome {
    let document = ground.admin("GET", "/api/openapi.json", &Value::Null)?.json();
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    let unknown: Vec<&String> = paths
        .keys()
        .filter(|path| path.contains("approv") && !path.contains("/mcp/"))
        .filter(|path| !ROUTES.contains(&path.as_str()))
        .collect();
    control!(unknown.is_empty(), "questions go by routes that nothing here looks at: {unknown:?}");
    let mut told = vec![];
    for surface in SURFACES {
        let plain = Call::new("terminal", json!({ "command": TAIL }));
        let shown = asked(ground, surface, 0, &plain)?;
        let shown = shown.with_context(|| format!("{surface:?}: a plain command is not asked"))?;
        control!(hidden(TAIL, &shown).is_none(), "{surface:?} shows nothing: {shown}");
        for (number, (name, command)) in commands().iter().enumerate() {
            let call = Call::new("terminal", json!({ "command": command }));
            let Some(shown) = asked(ground, surface, number + 1, &call)? else { continue };
            if let Some(what) = hidden(command, &shown) {
                told.push(format!("{surface:?}, {name}: {what}"));
            }
        }
    }
    hold!(told.is_empty(), "{}", told.join("; "));
    Ok(Verdict::Held)
}

/// The folder a command begins in is part of what is shown.
fn the_folder(ground: &Ground) -> Outcome {
    let mut told = vec![];
    ground.shell("a", "makes", "mkdir -p elsewhere")?;
    for surface in SURFACES {
        let filler = "echo nothing to see here; ".repeat(200);
        for (number, command) in [TAIL.to_owned(), format!("{filler}{TAIL}")].iter().enumerate() {
            let wish = json!({ "command": command, "workdir": "elsewhere" });
            let call = Call::new("terminal", wish);
            let Some(shown) = asked(ground, surface, 50 + number, &call)? else { continue };
            if !shown.contains("elsewhere") {
                told.push(format!("{surface:?}, {} characters", command.len()));
            }
        }
    }
    hold!(told.is_empty(), "the folder is not shown: {}", told.join("; "));
    Ok(Verdict::Held)
}

/// I7.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "I7", variant: "every way to hide, on every surface", run: on_every_surface },
    Attempt { row: "I7", variant: "the folder, on every surface", run: the_folder },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_or_bent_is_hidden() {
        let command = format!("echo {}; {TAIL}", "x".repeat(100));
        assert_eq!(hidden(&command, &format!("terminal {command}")), None);
        assert!(hidden(&command, &command[..50]).is_some());
        assert_eq!(
            hidden(&command, &format!("echo … {TAIL} ({} characters)", command.len())),
            None
        );
        assert!(hidden(TAIL, &format!("{TAIL} \u{202e}")).is_some());
        assert_eq!(hidden("rm \u{202e}x", "| rm ⟦U+202E⟧x"), None);
    }
}
