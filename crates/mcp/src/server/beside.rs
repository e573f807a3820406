//! What a server has beside its tools: resources that can be read, and prompts that people can
//! choose. All of it is bounded, and described by the server alone.

use super::{Connection, Opener, Patience, Server, ServerError, ServerFuture};
use crate::content::{CallOutcome, Reading, contents, label};
use crate::words::plain;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResponse, JsonObject, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, Role,
};
use rmcp::service::ServiceError;
use std::fmt::Write as _;
use std::sync::Arc;

/// Most prompts that are taken from one server.
pub const PROMPTS_MAX: usize = 100;
/// Most arguments of a prompt.
const ARGUMENTS_MAX: usize = 20;
/// Longest name, and longest description, in characters.
const NAME_CHARS_MAX: usize = 100;
const ABOUT_CHARS_MAX: usize = 300;
/// Pages of a list that are read.
const PAGES_MAX: usize = 16;
/// Resources and templates that one listing names; the rest is found by what the server's own
/// words say of it.
const RESOURCES_MAX: usize = 500;
/// Longest address of a resource, in bytes.
const URI_BYTES_MAX: usize = 8 * 1024;

/// What a server has beside its tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beside {
    /// Whether it has resources.
    pub has_resources: bool,
    pub prompts: Vec<Prompt>,
}

/// A prompt that people can choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub name: String,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
}

/// What a prompt is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: String,
    pub description: String,
    pub is_needed: bool,
}

impl Server {
    /// What it has beside its tools.
    pub fn beside<'a>(
        self: &'a Arc<Self>,
        opener: &'a dyn Opener,
        patience: Patience,
    ) -> ServerFuture<'a, Beside> {
        Box::pin(async move {
            let connection = self.connection(opener, patience).await?;
            let has = connection.has();
            let prompts = match has.prompts {
                true => self.prompts(&connection).await?,
                false => Vec::new(),
            };
            Ok(Beside { has_resources: has.resources, prompts })
        })
    }

    async fn prompts(&self, connection: &Connection) -> Result<Vec<Prompt>, ServerError> {
        let (mut prompts, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let asking = connection.service.peer().list_prompts(Some(params));
            let page = self.patiently(connection, None, asking).await?;
            let room = PROMPTS_MAX - prompts.len();
            prompts.extend(page.prompts.into_iter().filter_map(prompt).take(room));
            cursor = page.next_cursor;
            if cursor.is_none() || prompts.len() >= PROMPTS_MAX {
                break;
            }
        }
        Ok(prompts)
    }

    /// The text of a prompt, filled with these arguments.
    pub fn prompt<'a>(
        self: &'a Arc<Self>,
        opener: &'a dyn Opener,
        name: &'a str,
        arguments: JsonObject,
    ) -> ServerFuture<'a, CallOutcome> {
        Box::pin(async move {
            let connection = self.connection(opener, Patience::Usual).await?;
            let mut params = GetPromptRequestParams::new(name);
            if !arguments.is_empty() {
                params = params.with_arguments(arguments);
            }
            let asking = connection.service.peer().get_prompt_once(params);
            match self.patiently(&connection, None, asking).await? {
                GetPromptResponse::Complete(result) => {
                    let mut read = Reading::default();
                    for message in &result.messages {
                        // Most prompts are words for the model; what it is to have said is told.
                        let before = match message.role {
                            Role::Assistant => "[as if you had said] ",
                            _ => "",
                        };
                        read.push(before, &message.content);
                    }
                    Ok(read.end())
                }
                _ => Err(ServerError::Wants("input in between, which nobody gives it")),
            }
        })
    }

    /// Its resources and templates of such, in words.
    pub fn resources<'a>(
        self: &'a Arc<Self>,
        opener: &'a dyn Opener,
    ) -> ServerFuture<'a, CallOutcome> {
        Box::pin(async move {
            let connection = self.connection(opener, Patience::Usual).await?;
            if !connection.has().resources {
                return Err(ServerError::Answered("it has no resources".to_owned()));
            }
            let mut list = Listing::default();
            let mut cursor = None;
            for _ in 0..PAGES_MAX {
                let params = PaginatedRequestParams::default().with_cursor(cursor.take());
                let asking = connection.service.peer().list_resources(Some(params));
                let page = self.patiently(&connection, None, asking).await?;
                for it in page.resources {
                    let about = it.description.or(it.title);
                    list.add(&it.uri, &it.name, it.mime_type.as_deref(), about.as_deref());
                }
                cursor = page.next_cursor;
                if cursor.is_none() || list.is_full() {
                    break;
                }
            }
            list.has_more |= cursor.is_some();
            self.templates(&connection, &mut list).await?;
            Ok(CallOutcome { text: list.end(), ..CallOutcome::default() })
        })
    }

    async fn templates(
        &self,
        connection: &Connection,
        list: &mut Listing,
    ) -> Result<(), ServerError> {
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let peer = connection.service.peer();
            let asking = async {
                match peer.list_resource_templates(Some(params)).await {
                    // Many have none, and say so by not knowing what is meant.
                    Err(ServiceError::McpError(_)) => Ok(None),
                    other => other.map(Some),
                }
            };
            let Some(page) = self.patiently(connection, None, asking).await? else { break };
            for it in page.resource_templates {
                let about = it.description.or(it.title);
                list.add(&it.uri_template, &it.name, it.mime_type.as_deref(), about.as_deref());
                list.has_templates = true;
            }
            cursor = page.next_cursor;
            if cursor.is_none() || list.is_full() {
                break;
            }
        }
        list.has_more |= cursor.is_some();
        Ok(())
    }

    /// What a resource holds, by its address.
    pub fn read<'a>(
        self: &'a Arc<Self>,
        opener: &'a dyn Opener,
        uri: &'a str,
    ) -> ServerFuture<'a, CallOutcome> {
        Box::pin(async move {
            if uri.len() > URI_BYTES_MAX {
                let why = format!("an address has {URI_BYTES_MAX} bytes at the most");
                return Err(ServerError::Answered(why));
            }
            let connection = self.connection(opener, Patience::Usual).await?;
            let params = ReadResourceRequestParams::new(uri);
            let asking = connection.service.peer().read_resource_once(params);
            match self.patiently(&connection, None, asking).await? {
                ReadResourceResponse::Complete(result) => Ok(contents(&result.contents)),
                _ => Err(ServerError::Wants("input in between, which nobody gives it")),
            }
        })
    }
}

/// What a server says that it has.
struct Has {
    resources: bool,
    prompts: bool,
}

impl Connection {
    fn has(&self) -> Has {
        let info = self.service.peer().peer_info();
        let has = info.as_deref().map(|info| &info.capabilities);
        Has {
            resources: has.is_some_and(|it| it.resources.is_some()),
            prompts: has.is_some_and(|it| it.prompts.is_some()),
        }
    }
}

fn prompt(prompt: rmcp::model::Prompt) -> Option<Prompt> {
    let arguments = prompt.arguments.unwrap_or_default();
    let is_name = |name: &str| {
        let plain = |it: char| !it.is_control() && it != '=' && it != '"';
        !name.trim().is_empty() && name.chars().count() <= NAME_CHARS_MAX && name.chars().all(plain)
    };
    // Whoever can't be told all of it could not fill it in.
    if !is_name(&prompt.name)
        || arguments.len() > ARGUMENTS_MAX
        || !arguments.iter().all(|it| is_name(&it.name) && !it.name.contains(' '))
    {
        return None;
    }
    let about = |text: Option<String>| -> String {
        plain(&text.unwrap_or_default()).chars().take(ABOUT_CHARS_MAX).collect()
    };
    let argument = |it: rmcp::model::PromptArgument| PromptArgument {
        name: it.name,
        description: about(it.description.or(it.title)),
        is_needed: it.required == Some(true),
    };
    Some(Prompt {
        name: prompt.name,
        description: about(prompt.description.or(prompt.title)),
        arguments: arguments.into_iter().map(argument).collect(),
    })
}

/// A list in words.
#[derive(Default)]
struct Listing {
    text: String,
    count: usize,
    has_templates: bool,
    has_more: bool,
}

impl Listing {
    fn is_full(&self) -> bool {
        self.count >= RESOURCES_MAX
    }

    fn add(&mut self, uri: &str, name: &str, media_type: Option<&str>, about: Option<&str>) {
        if self.is_full() {
            self.has_more = true;
            return;
        }
        self.count += 1;
        let kind = media_type.map_or_else(String::new, |it| format!(" ({})", label(it)));
        let about = about.map_or_else(String::new, |it| format!(": {}", label(it)));
        // Writing to a String can't fail.
        let _ = writeln!(self.text, "{} {}{kind}{about}", label(uri), label(name));
    }

    fn end(mut self) -> String {
        if self.count == 0 {
            return "it lists no resources".to_owned();
        }
        if self.has_templates {
            self.text.push_str("Addresses with `{…}` are templates: fill in what stands there.\n");
        }
        if self.has_more {
            let _ = writeln!(self.text, "[there are more than these {}]", self.count);
        }
        self.text
    }
}
