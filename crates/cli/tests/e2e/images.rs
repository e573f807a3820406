//! Pictures, with the real daemon and a real server on loopback that makes them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::support::*;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const KEY: &str = "painters-own-key-5b1c9d7e20f4";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01....\0\0\0\0IEND\xae\x42\x60\x82";

/// What came: the first line, the key, and the body.
type Asked = (String, Option<String>, Value);

/// A server that makes pictures and leaves them at an address of its own.
struct Painter {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Painter {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, own) = (asked.clone(), url.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (kept, own) = (kept.clone(), own.clone());
                std::thread::spawn(move || serve(stream.unwrap(), &own, &kept));
            }
        });
        Self { url, asked }
    }
}

fn serve(stream: TcpStream, url: &str, kept: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let length = header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (media_type, content) = match line.as_str() {
        "POST /v1/images/generations" => {
            let made = json!({ "created": 1, "data": [{ "url": format!("{url}/made.png") }] });
            ("application/json", made.to_string().into_bytes())
        }
        "GET /made.png" => ("image/png", PNG.to_vec()),
        _ => ("text/plain", b"no".to_vec()),
    };
    kept.lock().unwrap().push((line, header("authorization"), body));
    let mut stream = reader.into_inner();
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    let _ = stream.write_all(&content);
}

#[test]
fn a_picture_is_made_by_an_agent_that_may_and_by_no_other() {
    let painter = Painter::start();
    let home = configured(&format!(
        "providers: {{paint: {{kind: openai, base_url: '{}/v1'}}}}
agents:
  painter: {{default: true, tools: [image_generate], secrets: [KEY], images: {{model: paint/m, api_key: '${{secret:KEY}}', price: 0.04}}, budget: {{usd_per_day: 0.05}}}}
  other: {{tools: [image_generate], secrets: [KEY], images: {{model: paint/m, api_key: '${{secret:KEY}}'}}}}
  plain: {{tools: [image_generate]}}
",
        painter.url
    ));
    let daemon = start(&home);
    let set = insula_testkit::run_with_input(
        INSULA,
        home.path(),
        &["secret", "set", "painter", "KEY"],
        KEY,
    );
    set.ok();
    let call = "call image_generate {\"prompt\": \"A cat\"}";
    let said = daemon.cli(&["chat", "--agent", "painter", "-m", call]).ok().stdout;
    assert!(said.contains("made images/a-cat.png (image/png, 36 bytes)"), "{said}");
    let file = home.path().join("agents/painter/workspace/images/a-cat.png");
    assert_eq!(std::fs::read(file).unwrap(), PNG);
    let asked = painter.asked.lock().unwrap().clone();
    assert_eq!(asked[0].0, "POST /v1/images/generations");
    assert_eq!(asked[0].1.as_deref(), Some(&*format!("Bearer {KEY}")));
    assert_eq!((asked[1].0.as_str(), &asked[1].1), ("GET /made.png", &None), "no key goes there");
    // The next one is more than is left of the day.
    let said = daemon.cli(&["chat", "--agent", "painter", "-m", call]).ok().stdout;
    assert!(said.contains("refused: ") && said.contains("budget"), "{said}");
    let said = daemon.cli(&["chat", "--agent", "other", "-m", call]).ok().stdout;
    assert!(said.contains("`images.api_key`"), "{said}");
    let said = daemon.cli(&["chat", "--agent", "plain", "-m", call]).ok().stdout;
    assert!(said.contains("does not offer"), "{said}");
    let tools = json(&home, &["tools", "plain"]);
    let tools = tools.as_array().unwrap();
    let row = tools.iter().find(|row| row["name"] == "image_generate").unwrap();
    assert!(row["rule"].as_str().unwrap().contains("`images.model` names one"), "{row}");
    assert_eq!(painter.asked.lock().unwrap().len(), 2, "nothing else was asked for");
    let usage = json(&home, &["usage"]).to_string();
    assert!(usage.contains("0.04"), "{usage}");
    let kinds = kinds(&home, "painter");
    assert!(kinds.iter().any(|kind| kind == "egress"), "{kinds:?}");
    drop(daemon);
    assert_eq!(holders(&home, KEY), Vec::<std::path::PathBuf>::new(), "the key is nowhere to read");
}
