//! What a model is asked, in no provider's words. Wire formats are inside each provider.
//!
//! Long texts are `Arc<str>` and schemas are raw JSON: a prefix that is built once is shared
//! by every request that begins with it, and is never parsed or rendered again on the way.

use serde_json::value::RawValue;
use std::fmt;
use std::sync::Arc;

/// Bytes of a request for one token, where it must not be more than were counted.
pub(crate) const BYTES_PER_TOKEN: usize = 3;

/// One question to a model: everything it will see, and how it should answer.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model's name as its provider knows it, without the provider's name.
    pub model: Arc<str>,
    /// The system prompt, in blocks.
    pub system: Vec<SystemBlock>,
    /// The conversation, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// The tools the model may call.
    pub tools: Arc<[ToolSchema]>,
    /// Names of what it was told of and may call as if it were a tool, a skill say.
    pub mistakable: Arc<[Box<str>]>,
    /// Whether it must, may or must not call one.
    pub tool_choice: ToolChoice,
    /// The most tokens the answer may have; `None` leaves it to the provider.
    pub max_tokens: Option<u32>,
    /// Whether the answer may have twice the tokens that it has where nobody says: its thoughts
    /// used up what there was.
    pub has_more_room: bool,
    /// Sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<f32>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// How hard to think first; `None` leaves it to the provider.
    pub effort: Option<Effort>,
    /// What the answer has to look like; `None` for words.
    pub format: Option<AnswerFormat>,
    /// Whether one answer may ask for several calls; `None` leaves it to the provider.
    pub parallel_calls: Option<bool>,
    /// Whom it is asked for. It is not sent: what a server says of a model in the answers to one
    /// is kept from the others.
    pub asker: Arc<str>,
    /// Tells a provider which requests have a beginning in common. It says nothing to whoever
    /// reads it, and is never the same for two agents.
    pub cache_key: Option<Arc<str>>,
}

/// What an answer has to look like, where it is not words.
#[derive(Debug, Clone)]
pub enum AnswerFormat {
    /// A JSON object.
    Json,
    /// What a JSON schema describes.
    Schema {
        /// What it is called.
        name: Arc<str>,
        /// The schema, sent as it stands.
        schema: Arc<RawValue>,
        /// Whether the provider should hold the model to it letter by letter.
        is_strict: Option<bool>,
    },
}

impl Request {
    /// A request with these messages and nothing else.
    pub fn new(model: impl Into<Arc<str>>, messages: Vec<Message>) -> Self {
        Self {
            model: model.into(),
            system: vec![],
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: Arc::new([]),
            mistakable: Arc::new([]),
            tool_choice: ToolChoice::Auto,
            max_tokens: None,
            has_more_room: false,
            temperature: None,
            stop: vec![],
            effort: None,
            format: None,
            parallel_calls: None,
            asker: "".into(),
            cache_key: None,
        }
    }

    /// The same with words about its pictures in their place.
    pub(crate) fn without_pictures(&self) -> Self {
        let mut request = self.clone();
        for message in &mut request.messages {
            if message.parts.iter().any(Part::has_picture) {
                Arc::make_mut(message).parts.iter_mut().for_each(Part::put_in_words);
            }
        }
        request
    }

    /// How many tokens the answer may have where nobody says and `usual` are what a model has: twice
    /// that where it needs more room, as far as the window has it beside the question.
    pub(crate) fn answer_tokens(&self, usual: u32, window: u32) -> u32 {
        if !self.has_more_room {
            return usual;
        }
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        let brought: usize = parts.map(Part::brought_len).sum();
        let question = (self.weight() + brought) / BYTES_PER_TOKEN;
        let left = window.saturating_sub(u32::try_from(question).unwrap_or(u32::MAX));
        usual.saturating_mul(2).min(left).max(usual)
    }

    /// How many bytes its words are, roughly: enough to make room for them at once.
    pub(crate) fn weight(&self) -> usize {
        let system: usize = self.system.iter().map(|block| block.text.len()).sum();
        let tools: usize = self.tools.iter().map(|tool| tool.size() + 64).sum();
        let said = |part: &Part| match part {
            Part::Text(text) | Part::Reasoning { text, .. } => text.len(),
            Part::ToolCall { name, arguments, .. } => name.len() + arguments.len(),
            // What else there is grows the buffer when it comes.
            Part::Image(_) | Part::ToolResult { .. } => 0,
        };
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        let messages = parts.map(said).sum::<usize>() + self.messages.len() * 64;
        let all = system + tools + messages;
        // What is escaped takes more.
        all + all / 16 + 512
    }
}

/// One block of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemBlock {
    pub text: Arc<str>,
    /// Whether what comes up to here stays the same in the next request.
    pub cache: CacheHint,
}

/// Where a provider that needs to be told may end a cached prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheHint {
    /// Nothing is said.
    #[default]
    None,
    /// All up to and including this block will come again.
    Breakpoint,
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person, or what stands in for one.
    User,
    /// The model.
    Assistant,
    /// Results of the tools the model called.
    Tool,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What it consists of.
    pub parts: Vec<Part>,
    /// Whether what comes up to here stays the same in the next request.
    pub cache: CacheHint,
}

impl Message {
    /// A message.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { role, parts, cache: CacheHint::None }
    }

    /// A message of the person.
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self::new(Role::User, vec![Part::Text(text.into())])
    }

    /// A message of the model.
    pub fn assistant(parts: Vec<Part>) -> Self {
        Self::new(Role::Assistant, parts)
    }

    /// The result of one tool call, as text.
    pub fn tool_result(call_id: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        let content = vec![Part::Text(text.into())];
        let part = Part::ToolResult { call_id: call_id.into(), content, is_error: false };
        Self::new(Role::Tool, vec![part])
    }

    /// Its text parts, one after the other.
    pub fn text(&self) -> String {
        text_of(&self.parts)
    }
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Text(Arc<str>),
    /// A picture.
    Image(Image),
    /// The model wants a tool to run.
    ToolCall {
        /// Which call; the result names it.
        id: Arc<str>,
        /// Which tool.
        name: Arc<str>,
        /// Its arguments as the model wrote them: JSON, if the model was right.
        arguments: Arc<str>,
    },
    /// What a tool gave back.
    ToolResult {
        /// The call it answers.
        call_id: Arc<str>,
        /// Text and images; other parts are left out of the request.
        content: Vec<Part>,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// What the model thought before it answered.
    Reasoning {
        /// The thought; empty when the provider keeps it to itself.
        text: Arc<str>,
        /// The provider's proof that it is its own, to be passed back unchanged.
        signature: Option<Arc<str>>,
    },
}

impl Part {
    /// Whether it is a picture, or what a tool gave back with one.
    pub(crate) fn has_picture(&self) -> bool {
        match self {
            Self::Image(_) => true,
            Self::ToolResult { content, .. } => content.iter().any(Self::has_picture),
            _ => false,
        }
    }

    /// How many bytes a tool gave back as words.
    fn brought_len(&self) -> usize {
        let Self::ToolResult { content, .. } = self else { return 0 };
        let texts = content.iter().map(|part| match part {
            Self::Text(text) => text.len(),
            _ => 0,
        });
        texts.sum()
    }

    /// Puts words about pictures in their place.
    pub fn put_in_words(&mut self) {
        match self {
            Self::Image(image) => *self = Self::Text(image.in_words().into()),
            Self::ToolResult { content, .. } => content.iter_mut().for_each(Self::put_in_words),
            _ => {}
        }
    }
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Its media type, such as `image/png`; may be empty beside a URL.
    pub mime: Arc<str>,
    /// The picture itself, or where it is.
    pub data: ImageData,
}

/// Where the bytes of a picture are.
#[derive(Clone, PartialEq, Eq)]
pub enum ImageData {
    /// Here, in base64.
    Base64(Arc<str>),
    /// There, for the provider to fetch.
    Url(Arc<str>),
}

impl Image {
    /// The picture a `data:` URL holds, or a picture somewhere else.
    pub fn from_url(url: &str) -> Self {
        let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match inline {
            Some((mime, data)) => Self { mime: mime.into(), data: ImageData::Base64(data.into()) },
            None => Self { mime: "".into(), data: ImageData::Url(url.into()) },
        }
    }

    /// What a model is told of it that can't be shown it.
    pub fn in_words(&self) -> String {
        const WHY: &str = "this model can't be shown it";
        let kind = if self.mime.is_empty() { String::new() } else { format!(", {}", self.mime) };
        match &self.data {
            ImageData::Url(url) => format!("[a picture{kind} at {url}; {WHY}]"),
            ImageData::Base64(data) => {
                // Four characters stand for three bytes.
                let kilobytes = (data.len() / 4 * 3).div_ceil(1_000);
                format!("[a picture{kind}, {kilobytes} KB; {WHY}]")
            }
        }
    }
}

impl fmt::Debug for ImageData {
    /// The size of it: nobody reads base64.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base64(data) => write!(f, "Base64({} bytes)", data.len()),
            Self::Url(url) => write!(f, "Url({url:?})"),
        }
    }
}

/// A tool as the model is shown it.
#[derive(Debug, Clone)]
pub struct ToolSchema {
    /// What the model calls it by.
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// JSON schema of its arguments, sent as it stands.
    pub parameters: Arc<RawValue>,
}

impl ToolSchema {
    /// A tool whose arguments are described by the JSON text `parameters`, mended where servers
    /// would refuse it.
    pub fn new(
        name: impl Into<Arc<str>>,
        description: impl Into<Arc<str>>,
        parameters: &str,
    ) -> Result<Self, serde_json::Error> {
        let mended = crate::schema::mended(parameters);
        let parameters = RawValue::from_string(mended.unwrap_or_else(|| parameters.to_owned()))?;
        let parameters = Arc::from(parameters);
        Ok(Self { name: name.into(), description: description.into(), parameters })
    }

    /// How many bytes of words it is.
    pub fn size(&self) -> usize {
        self.name.len() + self.description.len() + self.parameters.get().len()
    }
}

/// Whether the model must, may or must not call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// None, though it sees them.
    None,
    /// At least one.
    Required,
    /// This one.
    Tool(Arc<str>),
}

/// How hard to think before answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Not at all, where the model can be told so.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
}

impl Effort {
    /// What a setting means.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "off" => Some(Self::Off),
            "low" => Some(Self::Low),
            "medium" => Some(Self::Medium),
            "high" => Some(Self::High),
            _ => None,
        }
    }
}

/// The text parts of `parts`, one after the other.
pub(crate) fn text_of(parts: &[Part]) -> String {
    let mut all = String::new();
    for part in parts {
        if let Part::Text(text) = part {
            all.push_str(text);
        }
    }
    all
}
