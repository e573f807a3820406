//! Answers that a server holds to a JSON schema: either one call or one reply. What the schema is,
//! and a reply read while it comes.

use super::in_words::REPLY;
use crate::request::{AnswerFormat, Request, ToolChoice, ToolSchema};
use serde_json::{Map, Value, json};

/// How deep schemas of arguments are followed; what is deeper may be anything.
const DEPTH_MAX: usize = 8;
/// The name of the schema on the wire.
const NAME: &str = "answer";

/// What the answer to a request has to look like: a call of one of its tools, or a reply.
pub fn format(request: &Request) -> Option<AnswerFormat> {
    let may_call = |tool: &&ToolSchema| match &request.tool_choice {
        ToolChoice::None => false,
        ToolChoice::Tool(name) => tool.name == *name,
        ToolChoice::Auto | ToolChoice::Required => true,
    };
    let mut kinds: Vec<Value> = request
        .tools
        .iter()
        .filter(may_call)
        .map(|tool| {
            let parameters = serde_json::from_str(tool.parameters.get()).unwrap_or_default();
            let name = json!({ "type": "string", "enum": [&*tool.name] });
            object([("name", name), ("arguments", simple(&parameters, 0))])
        })
        .collect();
    if kinds.is_empty() {
        return None;
    }
    if request.tool_choice == ToolChoice::Auto {
        kinds.push(object([(REPLY, json!({ "type": "string" }))]));
    }
    let schema = serde_json::value::to_raw_value(&json!({ "anyOf": kinds })).ok()?;
    Some(AnswerFormat::Schema { name: NAME.into(), schema: schema.into(), is_strict: Some(true) })
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let required = json!(required);
    let properties: Map<String, Value> =
        fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A schema of what every server can hold a model to: types, fields, items and lists of values.
fn simple(schema: &Value, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return json!({});
    }
    let mut plain = Map::new();
    for key in ["type", "enum", "const", "required"] {
        if let Some(value) = schema.get(key) {
            plain.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let each = properties.iter().map(|(name, it)| (name.clone(), simple(it, depth + 1)));
        plain.insert("properties".to_owned(), Value::Object(each.collect()));
        plain.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if let Some(items) = schema.get("items").filter(|it| it.is_object()) {
        plain.insert("items".to_owned(), simple(items, depth + 1));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(kinds) = schema.get(key).and_then(Value::as_array) {
            let kinds = kinds.iter().map(|it| simple(it, depth + 1)).collect();
            plain.insert("anyOf".to_owned(), Value::Array(kinds));
        }
    }
    Value::Object(plain)
}

/// What an answer turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    /// Not clear yet.
    Open,
    /// A reply, whose words are given as they come.
    Reply,
    /// Something else: a call, or an answer that nobody held to anything.
    Other,
}

/// An answer as it comes.
#[derive(Default)]
pub struct Reply {
    text: String,
    /// Where the words that were not given yet begin.
    at: usize,
    turned: Option<Turned>,
    is_over: bool,
}

impl Reply {
    /// Takes more of it, and gives the words of a reply that are certain.
    pub fn push(&mut self, more: &str) -> (Turned, String) {
        self.text.push_str(more);
        if self.turned.is_none() {
            match begun(&self.text) {
                Begun::At(at) => {
                    self.turned = Some(Turned::Reply);
                    self.at = at;
                }
                Begun::Perhaps => return (Turned::Open, String::new()),
                Begun::No => self.turned = Some(Turned::Other),
            }
        }
        match self.turned {
            Some(Turned::Reply) => (Turned::Reply, self.words()),
            _ => (Turned::Other, String::new()),
        }
    }

    /// Whether it begins as an object.
    pub fn is_object(&self) -> bool {
        self.text.trim_start().starts_with('{')
    }

    /// All of it, as it was written.
    pub fn into_text(self) -> String {
        self.text
    }

    fn words(&mut self) -> String {
        let mut words = String::new();
        while !self.is_over {
            let rest = &self.text[self.at..];
            let Some(c) = rest.chars().next() else { break };
            match c {
                '"' => self.is_over = true,
                '\\' => match unescaped(rest) {
                    Some((c, len)) => {
                        words.push(c);
                        self.at += len;
                        continue;
                    }
                    None => break,
                },
                c => words.push(c),
            }
            self.at += c.len_utf8();
        }
        words
    }
}

enum Begun {
    At(usize),
    Perhaps,
    No,
}

/// Whether a text begins as the object of a reply; where its words begin.
fn begun(text: &str) -> Begun {
    let mut at = 0;
    for token in ["{", "\"reply\"", ":", "\""] {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        if !rest.starts_with(token) {
            return if token.starts_with(rest) { Begun::Perhaps } else { Begun::No };
        }
        at += token.len();
    }
    Begun::At(at)
}

/// The character that an escape stands for, and how long it is; nothing while it is not complete.
fn unescaped(text: &str) -> Option<(char, usize)> {
    let kind = text.chars().nth(1)?;
    let simple = |c| Some((c, 1 + kind.len_utf8()));
    match kind {
        'n' => simple('\n'),
        't' => simple('\t'),
        'r' => simple('\r'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'u' => {
            let code = |from: usize| u32::from_str_radix(text.get(from..from + 4)?, 16).ok();
            let first = code(2)?;
            if !(0xd800..0xdc00).contains(&first) {
                return Some((char::from_u32(first).unwrap_or('\u{fffd}'), 6));
            }
            // Half of a pair: the other half may be to come.
            let rest = text.get(6..)?;
            if rest.len() < 6 && "\\u".starts_with(rest.get(..rest.len().min(2))?) {
                return None;
            }
            let joined =
                code(8).filter(|it| rest.starts_with("\\u") && (0xdc00..0xe000).contains(it));
            Some(match joined {
                Some(second) => {
                    let joined = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    (char::from_u32(joined).unwrap_or('\u{fffd}'), 12)
                }
                None => ('\u{fffd}', 6),
            })
        }
        other => simple(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Message;
    use proptest::prelude::*;

    fn in_pieces(text: &str, cuts: &[usize]) -> (Turned, String) {
        let mut reply = Reply::default();
        let (mut words, mut turned, mut from) = (String::new(), Turned::Open, 0);
        for cut in cuts.iter().copied().chain([text.len()]) {
            if cut >= from && text.is_char_boundary(cut) {
                let (now, more) = reply.push(&text[from..cut]);
                turned = now;
                words += &more;
                from = cut;
            }
        }
        (turned, words)
    }

    #[test]
    fn a_reply_is_told_from_a_call() {
        for (text, turned, words) in [
            (r#"{"reply": "a \"b\"\nc 😀"}"#, Turned::Reply, "a \"b\"\nc 😀"),
            (r#" { "reply" : "\ud83d\ude00\u00e9"}"#, Turned::Reply, "😀é"),
            (r#"{"reply": "cut of"#, Turned::Reply, "cut of"),
            (r#"{"name": "read_file"#, Turned::Other, ""),
            ("Hello", Turned::Other, ""),
            (r#"{"rep"#, Turned::Open, ""),
            ("", Turned::Open, ""),
        ] {
            assert_eq!(in_pieces(text, &[]), (turned, words.to_owned()), "{text}");
        }
    }

    #[test]
    fn the_schema_has_one_kind_for_each_tool_and_one_for_words() {
        let mut request = Request::new("m", vec![Message::user("x")]);
        assert!(format(&request).is_none());
        let parameters = r#"{"type":"object","properties":{"path":{"type":"string","description":"x","pattern":"^a"},"tags":{"type":"array","items":{"enum":["a"]},"minItems":1}},"required":["path"]}"#;
        request.tools = [ToolSchema::new("read_file", "reads", parameters).unwrap()].into();
        let shown = |request: &Request| match format(request) {
            Some(AnswerFormat::Schema { schema, .. }) => {
                serde_json::from_str::<Value>(schema.get()).unwrap()
            }
            other => panic!("{other:?}"),
        };
        let arguments = json!({
            "type": "object",
            "required": ["path"],
            "properties": {
                "path": { "type": "string" },
                "tags": { "type": "array", "items": { "enum": ["a"] } },
            },
            "additionalProperties": false,
        });
        let name = json!({ "type": "string", "enum": ["read_file"] });
        let call = object([("name", name), ("arguments", arguments)]);
        let reply = object([(REPLY, json!({ "type": "string" }))]);
        assert_eq!(shown(&request), json!({ "anyOf": [call, reply] }));
        request.tool_choice = ToolChoice::Required;
        assert_eq!(shown(&request), json!({ "anyOf": [call] }));
    }

    proptest! {
        #[test]
        fn a_reply_is_the_same_in_whichever_pieces_it_comes(words in "\\PC*|[\\x00-\\x7f\u{1f600}é]*", mut cuts in prop::collection::vec(0usize..200, 0..12)) {
            cuts.sort_unstable();
            let text = json!({ REPLY: words }).to_string();
            prop_assert_eq!(in_pieces(&text, &cuts), (Turned::Reply, words));
        }

        #[test]
        fn nothing_makes_it_panic(text in "[{}\"\\\\ureply:0-9a-f 😀]*", mut cuts in prop::collection::vec(0usize..60, 0..6)) {
            cuts.sort_unstable();
            in_pieces(&text, &cuts);
            in_pieces(&format!("{{\"reply\":\"{text}"), &cuts);
        }
    }
}
