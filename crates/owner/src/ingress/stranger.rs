//! What becomes of those who may not talk to an agent.
//!
//! Who may is decided in the registry ([`Daemon::admit`](insula_registry::Daemon::admit)), for
//! every message anew. Here somebody unknown is given a code, where the agent's operator wants
//! that, or nothing at all; what they said goes no further.

use insula_channel::{Envelope, Happening};
use insula_domain::{ChatType, Unknown};
use insula_registry::access::{InboundCounts, InboundOutcome, PairingOutcome};
use insula_registry::{Access, AgentContext};
use insula_store::{PlatformUser, StoreError};

/// What somebody hears who is turned away.
pub(super) enum Reply {
    /// The code they asked for.
    Code(String),
    /// That too many wait. Whoever asks again hears it again, so who says it has to see that
    /// nobody can make it a flood.
    Full(&'static str),
}

/// What is said where too many wait: nothing about the agent, nor that there is one.
const FULL: &str = "Too many people wait to be let in here. Please come back later.";

/// Turns somebody away who may not talk to an agent: with a code where that is wanted, which is
/// what is said to them, and otherwise without a word. In a group always without: others would
/// read it.
pub(super) async fn turn_away(
    (access, inbound): (&Access, &InboundCounts),
    agent: &AgentContext,
    envelope: &Envelope,
) -> Result<Option<Reply>, StoreError> {
    inbound.count(InboundOutcome::Stranger);
    let address = &envelope.address;
    let Some(user) = &address.user else { return Ok(None) };
    // Where bots are invited to a chat, asking for one is asking to talk. Who can't reach the
    // agent at all is not to know that there is one.
    let asks = matches!(envelope.what, Happening::Said(_) | Happening::Added)
        && !envelope.sender.is_bot
        && access.can_reach(&agent.id, address);
    if !asks || address.chat_type != ChatType::Dm || agent.access.unknown == Unknown::Ignore {
        return Ok(None);
    }
    let who = PlatformUser {
        platform: address.platform.as_str().into(),
        account: address.account.as_str().into(),
        user: user.as_str().into(),
    };
    let place = address.chat.as_str().to_owned();
    match access.ask_pairing(agent, who, &envelope.sender.name, place).await? {
        PairingOutcome::Code(code) => {
            inbound.count(InboundOutcome::Code);
            Ok(Some(Reply::Code(offer(&code))))
        }
        PairingOutcome::Full => Ok(Some(Reply::Full(FULL))),
        PairingOutcome::TooSoon => Ok(None),
    }
}

/// What somebody is told who is not known: nothing about the agent, nor that there is one.
fn offer(code: &str) -> String {
    format!(
        "I don't know you yet. Your code is {code}. Tell it to whoever runs this bot: within an hour they can let you in with it."
    )
}
