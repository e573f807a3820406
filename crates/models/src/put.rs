//! How a question is put to a server: in one manner after the other, until it takes it.

use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelFault};
use crate::learnt::Learnt;
use crate::manner::Manner;
use crate::provider::Adjusted;
use crate::request::{BYTES_PER_TOKEN, Request};
use crate::taught::Taught;
use bytes::Bytes;
use insula_wire::{Body, Timeouts};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Most requests that one question is put in. Each is another one, so there are few anyway.
const MANNERS_MAX: usize = 8;

/// Puts a question, again where the server says why it can't take it so, or where there is a
/// plainer way. Each manner is tried once, and there are few of them. What comes with the answer
/// is what was asked, as it was sent. What a refusal says of the model is learnt: its bounds, and
/// the manner that it takes, which is tried first from then on.
pub(crate) async fn put(
    endpoint: &Endpoint,
    request: &Request,
    first: Manner,
    (limits, learnt): (&Timeouts, &Learnt),
    cancel: &CancellationToken,
    encode: impl Fn(&Manner) -> Result<Vec<u8>, serde_json::Error> + Send + Sync,
) -> Result<(Body, Adjusted, Bytes), ModelError> {
    let model = &request.model;
    let encode = |manner: &Manner| {
        let unsent = |error: serde_json::Error| {
            endpoint.error(model, ModelFault::Refused { status: 0, message: error.to_string() })
        };
        encode(manner).map(Bytes::from).map_err(unsent)
    };
    let known = learnt.manner(request);
    let mut taught = known;
    let mut manner = Manner { answer_max: learnt.answer_max(request), ..known.applied(first) };
    let mut asked = encode(&manner)?;
    if let Some(most) = learnt.room_beside(request, asked.len() / BYTES_PER_TOKEN) {
        manner.answer_max = Some(manner.capped(most));
        asked = encode(&manner)?;
    }
    // What is left beside one question is no bound of the model; what the server names as one is,
    // once it took an answer of that length.
    let (mut bound, mut number) = (None, 0);
    loop {
        number += 1;
        let fault = match endpoint.post(asked.clone(), limits, cancel).await {
            Ok(body) => {
                if let Some(bound) = bound {
                    learnt.answer(request, bound);
                }
                taught.was_taken(manner, request);
                if taught != known {
                    learnt.set_manner(request, taught);
                }
                return Ok((body, manner.since(first), asked));
            }
            Err(fault) => fault,
        };
        let (tokens, window) = (tokens_of(&asked), fault.window());
        if let Some(window) = window {
            learnt.window(request, window);
        }
        let next = manner.after_fault(&fault, request, tokens);
        let Some(next) = next.filter(|_| number < MANNERS_MAX) else {
            // It may have been started anew, with another template.
            if known != Taught::default() && matches!(fault, ModelFault::Refused { .. }) {
                learnt.set_manner(request, Taught::default());
            }
            return Err(endpoint.error(model, fault));
        };
        taught.refused(&fault, (manner, next), request);
        if window.is_none() && next.answer_max != manner.answer_max {
            bound = next.answer_max;
        }
        let error = endpoint.error(model, fault).without_words();
        tracing::info!(?next, "{error}; it is asked in another manner");
        (manner, asked) = (next, encode(&next)?);
    }
}

/// How long the answer to a request may be, as it was sent.
fn tokens_of(body: &[u8]) -> Option<u32> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let own = ["max_tokens", "max_completion_tokens"].into_iter().find_map(|name| body.get(name));
    let tokens = own.or_else(|| body.get("options")?.get("num_predict"))?.as_u64()?;
    u32::try_from(tokens).ok()
}
