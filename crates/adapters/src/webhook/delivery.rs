//! Where the reply to a webhook goes: to a chat of another account, to an address, or nowhere.

use super::signature::{SIGNATURE, Signer, TIMESTAMP};
use crate::others::OtherAccounts;
use insula_channel::{MessageId, Outbound, Post, PostError, PostTarget, Posted, WaitScope};
use insula_config::rules::ChatDestination;
use insula_domain::ChatType;
use insula_wire::{HeaderName, HeaderValue, HttpCall, Transport, Uri, WireFault};
use insula_world::World;
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Most of an answer to a callback that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Where replies go.
pub enum Delivery {
    /// Nowhere: what the agent does is all that was wanted.
    Nowhere,
    /// To a chat of another account.
    Chat {
        to: ChatDestination,
        /// How the other account is found.
        accounts: OtherAccounts,
    },
    /// To an address, signed as requests are.
    Callback {
        /// The address.
        uri: Uri,
        /// The way there.
        transport: Transport,
    },
}

impl Delivery {
    /// The account that replies go out by, where it is another.
    pub fn other(&self) -> Option<Arc<dyn Outbound>> {
        match self {
            Self::Chat { to, accounts } => accounts.outbound(to.platform, &to.account),
            Self::Nowhere | Self::Callback { .. } => None,
        }
    }

    /// Delivers a reply.
    pub async fn deliver(
        &self,
        post: &Post,
        account: &str,
        signer: &Signer,
        world: &World,
    ) -> Result<Posted, PostError> {
        match self {
            Self::Nowhere => Ok(Posted { message: MessageId("nowhere".into()) }),
            Self::Chat { to, .. } => {
                let Some(other) = self.other() else {
                    let why = format!("account `{}.{}` is not connected", to.platform, to.account);
                    return Err(PostError::Later {
                        why: why.into(),
                        wait: None,
                        reach: WaitScope::Account,
                    });
                };
                let target = PostTarget {
                    host: None,
                    tenant: post.target.tenant.clone(),
                    chat: to.chat.clone(),
                    chat_type: ChatType::Group,
                    topic: to.topic.clone(),
                };
                // What it answers is no message of that chat.
                let post = Post { target, reply_to: None, ..post.clone() };
                other.post(&post).await
            }
            Self::Callback { uri, transport } => {
                call_back(uri, transport, post, account, signer, world).await
            }
        }
    }
}

async fn call_back(
    uri: &Uri,
    transport: &Transport,
    post: &Post,
    account: &str,
    signer: &Signer,
    world: &World,
) -> Result<Posted, PostError> {
    let body = json!({
        "account": account,
        "chat": post.target.chat.as_str(),
        "event": post.reply_to.as_ref().map(|event| &*event.0),
        "id": &*post.idempotency,
        "text": post.body.markdown,
    });
    let body = body.to_string();
    let moment_s = world.clock.now().as_millis().div_euclid(1_000);
    let headers = [
        (TIMESTAMP, moment_s.to_string()),
        (SIGNATURE, signer.sign(moment_s, body.as_bytes())),
        ("idempotency-key", post.idempotency.to_string()),
    ];
    let mut call = HttpCall::post(uri.clone()).len_max(ANSWER_BYTES_MAX);
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            call = call.header(HeaderName::from_static(name), value);
        }
    }
    let call = call.bytes("application/json", body.into());
    let reply = transport.call(call, &CancellationToken::new()).await.map_err(failed)?;
    let why = || format!("the callback answered {}: {}", reply.status, reply.excerpt()).into();
    match reply.status {
        200..=299 => Ok(Posted { message: MessageId(post.idempotency.clone()) }),
        408 | 425 | 429 | 500..=599 => {
            Err(PostError::Later { why: why(), wait: reply.retry_after, reach: WaitScope::Account })
        }
        _ => Err(PostError::Never { why: why() }),
    }
}

fn failed(fault: WireFault) -> PostError {
    let why = format!("the callback {fault}").into();
    match fault {
        WireFault::Unreachable { .. } | WireFault::Cancelled => {
            PostError::Later { why, wait: None, reach: WaitScope::Account }
        }
        _ => PostError::Uncertain { why },
    }
}
