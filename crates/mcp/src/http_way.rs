//! Messages over HTTP, through the agent's own way to the network.
//!
//! Every request is a decision of the agent's egress policy. Redirects are not followed: a
//! header with a credential must not travel to where somebody else points.

use crate::task_form;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use insula_sandbox::egress::{Client, Fetch, FetchError, Response};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use std::collections::HashMap;
use std::sync::Arc;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
/// How much of a refusal is repeated to whoever asked, in characters.
const SAID_CHARS_MAX: usize = 200;

type Error = StreamableHttpError<FetchError>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// One server over HTTP.
#[derive(Clone)]
pub(crate) struct HttpWay {
    /// For requests that end with their answer.
    pub(crate) ask: Client,
    /// For the stream on which a server tells without being asked.
    pub(crate) listen: Client,
    /// What the operator has sent with every request.
    pub(crate) headers: HeaderMap,
}

impl HttpWay {
    async fn fetch(
        &self,
        client: &Client,
        method: Method,
        url: &str,
        session: Option<&str>,
        more: HashMap<HeaderName, HeaderValue>,
        body: Bytes,
    ) -> Result<Response, Error> {
        let mut headers = HeaderMap::new();
        headers.extend(more);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        if let Some(session) = session.and_then(|it| HeaderValue::from_str(it).ok()) {
            headers.insert(SESSION, session);
        }
        let ours = [ACCEPT, CONTENT_TYPE, SESSION];
        let own = &self.headers;
        for (name, value) in own.iter().filter(|(name, _)| !ours.contains(name)) {
            headers.insert(name.clone(), value.clone());
        }
        let fetch = Fetch { method, url: url.to_owned(), headers, body };
        client.fetch(fetch).await.map_err(|error| match error {
            FetchError::Redirects(to, _) => {
                let what = format!("it redirects to `{to}`, which is not followed; if that is right, write the new address under `url`");
                StreamableHttpError::UnexpectedServerResponse(what.into())
            }
            error => StreamableHttpError::Client(error),
        })
    }
}

impl StreamableHttpClient for HttpWay {
    type Error = FetchError;

    async fn post_message(
        &self,
        url: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let body = Bytes::from(serde_json::to_vec(&message)?);
        let had_session = session.is_some();
        let answer =
            self.fetch(&self.ask, Method::POST, &url, session.as_deref(), more, body).await?;
        let status = answer.status;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let named = header(&answer, &SESSION);
        let kind = header(&answer, &CONTENT_TYPE).unwrap_or_default();
        if !status.is_success() {
            return refused(answer, &kind, named).await;
        }
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(answer), named));
        }
        let wants_answer = matches!(message, JsonRpcMessage::Request(_));
        let bytes = answer.bytes().await.map_err(StreamableHttpError::Client)?;
        let kept = task_form::kept(&bytes);
        let bytes = kept.as_deref().unwrap_or(&bytes);
        match serde_json::from_slice::<ServerJsonRpcMessage>(bytes) {
            Ok(message) if kind.starts_with(JSON) => {
                Ok(StreamableHttpPostResponse::Json(message, named))
            }
            _ if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            Ok(_) => Err(StreamableHttpError::UnexpectedContentType(Some(shortened(&kind)))),
            Err(_) => {
                let what = "its answer is not a message of MCP";
                Err(StreamableHttpError::UnexpectedServerResponse(what.into()))
            }
        }
    }

    async fn delete_session(
        &self,
        url: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Error> {
        // Whatever it answers: we are gone.
        self.fetch(&self.ask, Method::DELETE, &url, Some(&session), more, Bytes::new())
            .await
            .map(drop)
    }

    async fn get_stream(
        &self,
        url: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        mut more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Error> {
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(&last).ok()) {
            more.insert(LAST_EVENT, last);
        }
        let empty = Bytes::new();
        let answer =
            self.fetch(&self.listen, Method::GET, &url, session.as_deref(), more, empty).await?;
        let kind = header(&answer, &CONTENT_TYPE).unwrap_or_default();
        match answer.status.is_success() && kind.starts_with(EVENTS) {
            true => Ok(events(answer)),
            // It need not have one, and says so in many ways.
            false => Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
    }
}

/// An answer that says no: with a message of the protocol, or without.
async fn refused(
    answer: Response,
    kind: &str,
    session: Option<String>,
) -> Result<StreamableHttpPostResponse, Error> {
    let status = answer.status;
    let is_access = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let bytes = answer.bytes().await.unwrap_or_default();
    if kind.starts_with(JSON)
        && !is_access
        && let Ok(message @ JsonRpcMessage::Error(_)) = serde_json::from_slice(&bytes)
    {
        return Ok(StreamableHttpPostResponse::Json(message, session));
    }
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        return Err(HttpStatusError::new(status.as_u16(), None).into());
    }
    let said = shortened(&String::from_utf8_lossy(&bytes));
    let what = match is_access {
        true => format!("HTTP {status}: check the credential under its `headers`"),
        false => format!("HTTP {status}: {said}"),
    };
    Err(StreamableHttpError::UnexpectedServerResponse(what.into()))
}

fn header(answer: &Response, name: &HeaderName) -> Option<String> {
    Some(answer.headers.get(name)?.to_str().ok()?.to_owned())
}

fn shortened(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).take(SAID_CHARS_MAX).collect()
}

fn events(answer: Response) -> Events {
    let pieces = unfold(Some(answer), |answer| async {
        let mut answer = answer?;
        match answer.piece().await {
            Ok(Some(piece)) => Some((Ok(piece), Some(answer))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    let events = SseStream::from_bytes_stream(pieces.boxed());
    let kept = events.map(|event| {
        event.map(|event| {
            let kept = event.data.as_deref().and_then(|it| task_form::kept(it.as_bytes()));
            match kept.and_then(|kept| String::from_utf8(kept).ok()) {
                Some(kept) => Sse { data: Some(kept), ..event },
                None => event,
            }
        })
    });
    kept.boxed()
}
