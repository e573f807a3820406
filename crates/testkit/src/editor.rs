//! An editor's side of `insula acp`: the real command, its frames, and whoever sits at it.
//!
//! Waiting means reading what the command writes. The limit only bounds a test that has already
//! failed.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this file owns the processes that a test starts, and the threads that read them"
)]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// The longest that an answer may take, on a busy machine.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// An editor that talks to an agent. The command is killed on drop.
pub struct Editor {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    asked: u64,
    /// What it was told of conversations, in order.
    pub updates: Vec<Value>,
    /// What it was asked: the method and its parameters.
    pub questions: Vec<(String, Value)>,
    /// What it has open, by path; a file that is not here is answered with an error.
    pub open: BTreeMap<String, String>,
    /// What it chooses where it is asked for leave; `None` answers nothing at all.
    pub choice: Option<&'static str>,
}

impl Editor {
    /// Starts `BINARY --home HOME acp ARGS…`.
    ///
    /// # Panics
    /// When the binary can't be started.
    pub fn start(binary: impl AsRef<Path>, home: impl AsRef<Path>, args: &[&str]) -> Self {
        let mut command = Command::new(binary.as_ref());
        command.env_clear().arg("--home").arg(home.as_ref()).arg("acp").args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("no editor: {error}"));
        let (tell, lines) = channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if tell.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            asked: 0,
            updates: Vec::new(),
            questions: Vec::new(),
            open: BTreeMap::new(),
            choice: Some("once"),
        }
    }

    /// The same, introduced: it offers to read and write files.
    ///
    /// # Panics
    /// When it is not taken.
    pub fn introduced(binary: impl AsRef<Path>, home: impl AsRef<Path>, args: &[&str]) -> Self {
        let mut editor = Self::start(binary, home, args);
        let fs = json!({ "readTextFile": true, "writeTextFile": true });
        let capabilities = json!({ "fs": fs, "terminal": true });
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        let answer = editor.ask("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        editor
    }

    /// Writes a line as it is.
    pub fn write(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            // A command that ended says so by what it wrote.
            let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
        }
    }

    /// Sends a notification.
    pub fn tell(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Sends a request; its number.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let frame =
            json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        self.write(&frame.to_string());
        self.asked
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Panics
    /// When none comes.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer_to(id)
    }

    /// Waits for the answer to a request, and deals with what comes meanwhile.
    ///
    /// # Panics
    /// When none comes.
    pub fn answer_to(&mut self, id: u64) -> Value {
        self.until(|frame| frame["id"] == id && frame.get("method").is_none())
    }

    /// Deals with frames until one is what is waited for.
    ///
    /// # Panics
    /// When none comes.
    pub fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame =
                self.next_frame().unwrap_or_else(|| panic!("no answer: {:?}", self.updates));
            if is_it(&frame) {
                return frame;
            }
        }
    }

    /// The next frame, dealt with; `None` where the command has ended.
    ///
    /// # Panics
    /// When none comes, and when what comes is no frame: nothing else may be there.
    pub fn next_frame(&mut self) -> Option<Value> {
        let line = match self.lines.recv_timeout(ANSWER_MAX) {
            Ok(line) => line,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
            Err(error) => panic!("nothing comes: {error}; {:?}", self.updates),
        };
        let frame: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(frame["jsonrpc"], "2.0", "{frame}");
        let params = frame["params"].clone();
        match (frame["method"].as_str(), frame.get("id")) {
            (Some("session/update"), None) => self.updates.push(params["update"].clone()),
            (Some(method), Some(id)) => {
                let method = method.to_owned();
                let answer = self.answered(&method, &params);
                self.questions.push((method, params));
                if let Some(mut answer) = answer {
                    (answer["jsonrpc"], answer["id"]) = ("2.0".into(), id.clone());
                    self.write(&answer.to_string());
                }
            }
            _ => {}
        }
        Some(frame)
    }

    fn answered(&mut self, method: &str, params: &Value) -> Option<Value> {
        let path = params["path"].as_str().unwrap_or_default();
        Some(match method {
            "session/request_permission" => {
                let outcome = json!({ "outcome": "selected", "optionId": self.choice? });
                json!({ "result": { "outcome": outcome } })
            }
            "fs/read_text_file" => match self.open.get(path) {
                Some(text) => json!({ "result": { "content": text } }),
                None => json!({ "error": { "code": -32_002, "message": "not open" } }),
            },
            "fs/write_text_file" => {
                let text = params["content"].as_str().unwrap_or_default();
                self.open.insert(path.to_owned(), text.to_owned());
                json!({ "result": null })
            }
            _ => json!({ "error": { "code": -32_601, "message": "not here" } }),
        })
    }

    /// Begins a conversation in a folder; its name.
    ///
    /// # Panics
    /// When it is refused.
    pub fn begin(&mut self, folder: &Path) -> String {
        let answer = self.ask("session/new", json!({ "cwd": folder, "mcpServers": [] }));
        let name = answer["result"]["sessionId"].as_str();
        name.unwrap_or_else(|| panic!("no conversation: {answer}")).to_owned()
    }

    /// Says something and waits for the end of the turn.
    ///
    /// # Panics
    /// When no end comes.
    pub fn prompt(&mut self, session: &str, words: &str) -> Value {
        self.ask("session/prompt", prompt(session, words))
    }

    /// All that was said to it, of one kind of update.
    pub fn said(&self, kind: &str) -> String {
        let own = self.updates.iter().filter(|it| it["sessionUpdate"] == kind);
        own.filter_map(|it| it["content"]["text"].as_str()).collect()
    }

    /// The first update of a kind.
    pub fn update(&self, kind: &str) -> Option<&Value> {
        self.updates.iter().find(|it| it["sessionUpdate"] == kind)
    }

    /// Closes its side, and waits for the command; its exit code.
    pub fn leave(mut self) -> Option<i32> {
        self.stdin = None;
        while self.next_frame().is_some() {}
        self.child.wait().ok()?.code()
    }
}

/// The parameters of a prompt.
pub fn prompt(session: &str, words: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": words }] })
}

impl Drop for Editor {
    fn drop(&mut self) {
        // One that ended already can't be killed, and is waited for all the same.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
