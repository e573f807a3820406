//! Spans to an OpenTelemetry collector, over HTTP, in its JSON form. What spans carry is names and
//! numbers (agent, session, turn, step, tool), never what was said.
//!
//! Written by hand: what is sent is one small document, and the client that asks models can send it.
//! Who collects is not waited for: what can't be sent in time is dropped, and the log says so once.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Uri};
use http_body_util::Full;
use insula_wire::{Timeouts, Transport};
use insula_world::{Clock, World};
use serde_json::{Map, Value, json};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// Spans that wait to be sent; more are dropped.
const WAITING_MAX: usize = 4_096;
/// Spans in one request.
const BATCH_MAX: usize = 512;
/// How long spans wait for others to go with.
const EVERY: Duration = Duration::from_secs(2);
/// The longest wait for the collector.
const WAIT: Duration = Duration::from_secs(5);

/// Gives the spans of the daemon to whoever sends them.
pub struct SpanLayer {
    send: mpsc::Sender<Value>,
    clock: Arc<dyn Clock>,
    /// What ids are made of: no two runs have the same.
    seed: [u8; 32],
    count: AtomicU64,
}

/// Sends what the layer was given.
pub struct Exporter {
    receive: mpsc::Receiver<Value>,
    transport: Transport,
    uri: Uri,
    clock: Arc<dyn Clock>,
}

/// What is kept with a span until it ends.
struct Kept {
    trace: String,
    span: String,
    parent: Option<String>,
    began_ms: i64,
    attributes: Vec<Value>,
}

/// The two ends, for a collector at this address, such as `http://127.0.0.1:4318`.
pub fn pair(
    world: &World,
    transport: Transport,
    address: &str,
) -> Result<(SpanLayer, Exporter), String> {
    let whole = format!("{}/v1/traces", address.trim_end_matches('/'));
    let uri = whole.parse().map_err(|error| format!("`logging.otlp`: {whole}: {error}"))?;
    let (send, receive) = mpsc::channel(WAITING_MAX);
    let seed = world.random.stream(&["otlp"]).bytes();
    let clock = world.clock.clone();
    let layer = SpanLayer { send, clock: clock.clone(), seed, count: AtomicU64::new(0) };
    Ok((layer, Exporter { receive, transport, uri, clock }))
}

/// Which spans are sent: our own.
pub fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target().starts_with("insula")
}

impl SpanLayer {
    /// An id of this many bytes, in hexadecimal.
    fn id(&self, bytes: usize) -> String {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let hash = blake3::keyed_hash(&self.seed, &number.to_le_bytes());
        hash.to_hex()[..bytes * 2].to_owned()
    }
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let above = span.parent().and_then(|parent| {
            parent.extensions().get::<Kept>().map(|it| (it.trace.clone(), it.span.clone()))
        });
        let (trace, parent) = match above {
            Some((trace, parent)) => (trace, Some(parent)),
            None => (self.id(16), None),
        };
        let mut fields = Fields(Vec::new());
        attributes.record(&mut fields);
        let kept = Kept {
            trace,
            span: self.id(8),
            parent,
            began_ms: self.clock.now().as_millis(),
            attributes: fields.0,
        };
        span.extensions_mut().insert(kept);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(kept) = span.extensions_mut().remove::<Kept>() else { return };
        let mut ended = json!({
            "traceId": kept.trace,
            "spanId": kept.span,
            "name": span.name(),
            "kind": 1,
            "startTimeUnixNano": nanos(kept.began_ms),
            "endTimeUnixNano": nanos(self.clock.now().as_millis()),
            "attributes": kept.attributes,
        });
        if let Some(parent) = kept.parent {
            ended["parentSpanId"] = parent.into();
        }
        // Whoever collects too slowly gets less.
        let _ = self.send.try_send(ended);
    }
}

/// As the protocol writes a moment: numbers of 64 bits are texts in JSON.
fn nanos(ms: i64) -> String {
    (i128::from(ms) * 1_000_000).to_string()
}

struct Fields(Vec<Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.push(json!({ "key": format!("insula.{}", field.name()), "value": value }));
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, json!({ "intValue": value.to_string() }));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, json!({ "intValue": value.to_string() }));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, json!({ "stringValue": value }));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, json!({ "stringValue": format!("{value:?}") }));
    }
}

impl Exporter {
    /// Sends until told to stop, and once more then.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut is_told = false;
        loop {
            let mut batch = Vec::new();
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                received = self.receive.recv_many(&mut batch, BATCH_MAX) => {
                    if received == 0 {
                        return;
                    }
                    // Others that end soon go along.
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = self.clock.sleep(EVERY) => {}
                    }
                }
            }
            while batch.len() < BATCH_MAX
                && let Ok(more) = self.receive.try_recv()
            {
                batch.push(more);
            }
            let is_last = stop.is_cancelled();
            if !batch.is_empty()
                && let Err(why) = self.send(batch).await
                && !is_told
            {
                is_told = true;
                tracing::warn!(%why, "spans can't be sent to `logging.otlp`; they are dropped");
            }
            if is_last {
                return;
            }
        }
    }

    async fn send(&self, spans: Vec<Value>) -> Result<(), String> {
        let mut request = http::Request::new(Full::new(Bytes::from(document(spans).to_string())));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let limits = Timeouts { connect: WAIT, first_byte: WAIT, idle: WAIT };
        let answer = self.transport.send(request, &limits, &CancellationToken::new()).await;
        match answer.map_err(|error| error.to_string())?.status() {
            status if status.is_success() => Ok(()),
            status => Err(format!("the collector answers with status {status}")),
        }
    }
}

/// What a collector takes.
fn document(spans: Vec<Value>) -> Value {
    let text = |value: &str| json!({ "stringValue": value });
    let resource = json!({ "attributes": [
        { "key": "service.name", "value": text("insula") },
        { "key": "service.version", "value": text(env!("CARGO_PKG_VERSION")) },
    ] });
    let mut scoped = Map::new();
    scoped.insert("scope".to_owned(), json!({ "name": "insula" }));
    scoped.insert("spans".to_owned(), Value::Array(spans));
    json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": [scoped] }] })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;
    use tracing_subscriber::filter::filter_fn;
    use tracing_subscriber::layer::SubscriberExt as _;

    #[test]
    fn spans_are_sent_with_their_parents_and_without_those_of_others() {
        let world = World::real().unwrap();
        let transport = Transport::new(&world, &[]).unwrap();
        let (layer, mut exporter) = pair(&world, transport, "http://127.0.0.1:4318/").unwrap();
        assert_eq!(exporter.uri.to_string(), "http://127.0.0.1:4318/v1/traces");
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter_fn(is_ours)));
        tracing::subscriber::with_default(subscriber, || {
            let turn =
                tracing::info_span!(target: "insula::turn", "turn", agent = "a", turn = 3_i64);
            turn.in_scope(|| {
                tracing::info_span!(target: "hyper", "request").in_scope(|| {
                    drop(tracing::info_span!(target: "insula::turn", "tool", tool = "todo"));
                });
            });
        });
        let tool = exporter.receive.try_recv().unwrap();
        let turn = exporter.receive.try_recv().unwrap();
        assert!(exporter.receive.try_recv().is_err());
        assert_eq!((&turn["name"], &tool["name"]), (&json!("turn"), &json!("tool")));
        assert_eq!(tool["traceId"], turn["traceId"]);
        assert_eq!(tool["parentSpanId"], turn["spanId"]);
        assert_eq!(turn["traceId"].as_str().unwrap().len(), 32);
        assert_eq!(turn["spanId"].as_str().unwrap().len(), 16);
        let known = json!([
            { "key": "insula.agent", "value": { "stringValue": "a" } },
            { "key": "insula.turn", "value": { "intValue": "3" } },
        ]);
        assert_eq!(turn["attributes"], known);
        let sent = document(vec![turn.clone()]);
        assert_eq!(sent["resourceSpans"][0]["scopeSpans"][0]["spans"][0], turn);
    }
}
