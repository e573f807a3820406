//! Ids of replies: a turn's number under the key of whoever asked.
//!
//! Nobody else can read or make one, and it does not show how much an agent has to do. So an
//! id of another caller's, and one that was made up, are found to be nothing in the same way.

use crate::caller::Caller;
use insula_domain::AgentId;
use insula_store::TurnId;

/// What the id of a message of a reply begins with.
pub const MESSAGE: &str = "msg_";
/// What the id of a call begins with that the client is to make.
pub const CALL: &str = "call_";
/// What the id of an item begins with that tells of such a call.
pub const FUNCTION_CALL: &str = "fc_";

/// What the key of a token is derived for.
const PURPOSE: &str = "ids of replies";

/// The id of a turn's reply, for its caller.
pub fn seal(caller: &Caller, agent: &AgentId, turn: TurnId) -> String {
    let key = key(caller);
    let mark = mark(&key, agent, turn.0);
    let masked = turn.0 ^ mask(&key, &mark);
    hex(&masked.to_be_bytes()) + &hex(&mark)
}

/// The turn an id of this caller's and this agent's stands for.
pub fn open(caller: &Caller, agent: &AgentId, id: &str) -> Option<TurnId> {
    let bytes = bytes(id)?;
    let (masked, shown) = bytes.split_first_chunk::<8>()?;
    let shown: [u8; 16] = shown.try_into().ok()?;
    let key = key(caller);
    let turn = i64::from_be_bytes(*masked) ^ mask(&key, &shown);
    let expected = mark(&key, agent, turn);
    let is_ours = subtle::ConstantTimeEq::ct_eq(&expected[..], &shown[..]);
    bool::from(is_ours).then_some(TurnId(turn))
}

/// A part of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyId {
    pub turn: TurnId,
    /// Which part, counted by what kind it is.
    pub part: u8,
}

/// The id of a part of a reply whose own id is `sealed`.
pub fn part(prefix: &str, sealed: &str, part: usize) -> String {
    format!("{prefix}{sealed}{:02x}", part.min(0xff))
}

/// The part of a reply that an id of this caller's and this agent's stands for. What follows a
/// dot tells several ids of one part apart.
pub fn open_part(caller: &Caller, agent: &AgentId, id: &str, prefix: &str) -> Option<ReplyId> {
    let id = id.strip_prefix(prefix)?;
    let id = id.split_once('.').map_or(id, |(id, _)| id);
    let (sealed, part) = id.split_at_checked(id.len().checked_sub(2)?)?;
    let is_hex = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
    if !part.bytes().all(is_hex) {
        return None;
    }
    let part = u8::from_str_radix(part, 16).ok()?;
    Some(ReplyId { turn: open(caller, agent, sealed)?, part })
}

fn key(caller: &Caller) -> [u8; 32] {
    match caller {
        // The admin of all reaches every conversation anyway; what a token may see is kept
        // by the token's own key.
        Caller::Local => *blake3::hash(PURPOSE.as_bytes()).as_bytes(),
        Caller::Token(token) => token.key(PURPOSE),
    }
}

fn mark(key: &[u8; 32], agent: &AgentId, turn: i64) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(agent.as_str().as_bytes()).update(&[0]).update(&turn.to_be_bytes());
    let mut mark = [0; 16];
    hasher.finalize_xof().fill(&mut mark);
    mark
}

fn mask(key: &[u8; 32], mark: &[u8; 16]) -> i64 {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(b"mask").update(mark);
    let mut mask = [0; 8];
    hasher.finalize_xof().fill(&mut mask);
    i64::from_be_bytes(mask)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<[u8; 24]> {
    let mut bytes = [0; 24];
    // Signs would be read as part of a number.
    if hex.len() != 48 || !hex.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it))
    {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn an_id_opens_for_its_caller_and_its_agent_only() {
        let (a, b) = (AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
        for turn in [1, 2, 77, i64::MAX] {
            let id = seal(&Caller::Local, &a, TurnId(turn));
            assert_eq!(id.len(), 48);
            assert_eq!(open(&Caller::Local, &a, &id), Some(TurnId(turn)));
            assert_eq!(open(&Caller::Local, &b, &id), None);
        }
    }

    #[test]
    fn a_part_of_a_reply_is_found_by_its_id() {
        let (a, b) = (AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
        let sealed = seal(&Caller::Local, &a, TurnId(7));
        for place in [0, 1, 200] {
            let id = part(CALL, &sealed, place);
            let found = open_part(&Caller::Local, &a, &id, CALL).unwrap();
            assert_eq!((found.turn, usize::from(found.part)), (TurnId(7), place));
            assert_eq!(open_part(&Caller::Local, &b, &id, CALL), None);
            assert_eq!(open_part(&Caller::Local, &a, &id, MESSAGE), None);
            let other = format!("{id}.1");
            assert_eq!(open_part(&Caller::Local, &a, &other, CALL), Some(found));
        }
        for id in [
            "call_",
            "call_x",
            "call_é",
            "call_+1",
            &format!("call_{sealed}"),
            &format!("call_{sealed}+1"),
        ] {
            assert_eq!(open_part(&Caller::Local, &a, id, CALL), None, "{id}");
        }
    }

    #[test]
    fn what_is_no_id_of_ours_opens_nothing() {
        let a = AgentId::new("a").unwrap();
        let id = seal(&Caller::Local, &a, TurnId(7));
        for at in 0..id.len() {
            let mut other = id.clone().into_bytes();
            other[at] = if other[at] == b'0' { b'1' } else { b'0' };
            assert_eq!(open(&Caller::Local, &a, &String::from_utf8(other).unwrap()), None);
        }
        for text in ["", "x", "é", &id[1..], &id.to_uppercase(), &format!("{id}0")] {
            assert_eq!(open(&Caller::Local, &a, text), None, "{text}");
        }
    }
}
