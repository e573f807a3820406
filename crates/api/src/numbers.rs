//! Numbers of an agent's store as a caller sees them. The admin of the daemon sees them as they
//! are; everybody else by a name that does not tell how many there were before. The admin may
//! say such a name where a number is asked for: it is what people in a chat can tell them.

use crate::caller::Caller;
use insula_store::{AgentStore, Counted, DeliveryId, FragmentId, Seals, SessionId, TurnId};
use serde::Serialize;
use serde_json::Value;

/// A number, as its reader sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// As it is.
    Plain(i64),
    /// By its name.
    Sealed(String),
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        match number {
            Number::Plain(number) => number.into(),
            Number::Sealed(name) => name.into(),
        }
    }
}

/// How the numbers of one agent are shown to one caller.
#[derive(Clone)]
pub enum Numbers {
    /// As they are; with an agent's seals also read, and turns shown, by name.
    Plain(Option<Seals>),
    /// By name.
    Sealed(Seals),
}

impl Numbers {
    /// How this caller sees the numbers of this agent.
    pub fn of(caller: &Caller, store: &AgentStore) -> Self {
        match caller {
            Caller::Local => Self::Plain(Some(store.seals())),
            Caller::Token(_) => Self::Sealed(store.seals()),
        }
    }

    fn shown(&self, counted: Counted, number: i64) -> Number {
        match self {
            Self::Plain(_) => Number::Plain(number),
            Self::Sealed(seals) => Number::Sealed(seals.seal(counted, number)),
        }
    }

    fn read(&self, counted: Counted, text: &str) -> Option<i64> {
        match self {
            Self::Plain(seals) => {
                // No number that is sealed is as long as a name.
                let named = seals.as_ref().and_then(|seals| seals.open(counted, text));
                named.or_else(|| text.parse().ok())
            }
            Self::Sealed(seals) => seals.open(counted, text),
        }
    }

    /// A session.
    pub fn session(&self, id: SessionId) -> Number {
        self.shown(Counted::Session, id.0)
    }

    /// A turn.
    pub fn turn(&self, id: TurnId) -> Number {
        self.shown(Counted::Turn, id.0)
    }

    /// The name that others know a turn by, for who sees its number.
    pub fn turn_name(&self, id: TurnId) -> Option<String> {
        match self {
            Self::Plain(Some(seals)) => Some(seals.seal(Counted::Turn, id.0)),
            Self::Plain(None) | Self::Sealed(_) => None,
        }
    }

    /// The turn that the admin names as somebody told them; `None` for whoever is no admin.
    pub fn named_turn(&self, text: &str) -> Option<TurnId> {
        match self {
            Self::Plain(Some(seals)) => seals.open(Counted::Turn, text).map(TurnId),
            Self::Plain(None) | Self::Sealed(_) => None,
        }
    }

    /// Something to be sent.
    pub fn delivery(&self, id: DeliveryId) -> Number {
        self.shown(Counted::Delivery, id.0)
    }

    /// Something remembered.
    pub fn fragment(&self, id: FragmentId) -> Number {
        self.shown(Counted::Fragment, id.0)
    }

    /// The session that a caller names.
    pub fn read_session(&self, text: &str) -> Option<SessionId> {
        self.read(Counted::Session, text).map(SessionId)
    }

    /// The turn that a caller names.
    pub fn read_turn(&self, text: &str) -> Option<TurnId> {
        self.read(Counted::Turn, text).map(TurnId)
    }

    /// The delivery that a caller names.
    pub fn read_delivery(&self, text: &str) -> Option<DeliveryId> {
        self.read(Counted::Delivery, text).map(DeliveryId)
    }

    /// The fragment that a caller names.
    pub fn read_fragment(&self, text: &str) -> Option<FragmentId> {
        self.read(Counted::Fragment, text).map(FragmentId)
    }

    /// The details of a record, with the numbers in it as they are shown elsewhere.
    pub fn details(&self, content: &mut Value) {
        if let Self::Plain(_) = self {
            let turn = content.get("turn").and_then(Value::as_i64).map(TurnId);
            if let Some(name) = turn.and_then(|turn| self.turn_name(turn)) {
                content["turn_name"] = name.into();
            }
            return;
        }
        let counted = [
            ("session", Counted::Session),
            ("turn", Counted::Turn),
            ("parent", Counted::Turn),
            ("delivery", Counted::Delivery),
            ("fragment", Counted::Fragment),
        ];
        for (name, counted) in counted {
            if let Some(number) = content.get(name).and_then(Value::as_i64) {
                content[name] = self.shown(counted, number).into();
            }
        }
    }
}
