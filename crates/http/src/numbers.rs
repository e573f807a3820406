//! Numbers of an agent's store as a caller sees them. The admin of the daemon sees them as they
//! are; everybody else by a name that does not tell how many there were before.

use crate::auth::Caller;
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
    /// As they are.
    Plain,
    /// By name.
    Sealed(Seals),
}

impl Numbers {
    /// How this caller sees the numbers of this agent.
    pub fn of(caller: &Caller, store: &AgentStore) -> Self {
        match caller {
            Caller::Local => Self::Plain,
            Caller::Token(_) => Self::Sealed(store.seals()),
        }
    }

    fn shown(&self, counted: Counted, number: i64) -> Number {
        match self {
            Self::Plain => Number::Plain(number),
            Self::Sealed(seals) => Number::Sealed(seals.seal(counted, number)),
        }
    }

    fn read(&self, counted: Counted, text: &str) -> Option<i64> {
        match self {
            Self::Plain => text.parse().ok(),
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
        if matches!(self, Self::Plain) {
            return;
        }
        let counted = [
            ("session", Counted::Session),
            ("turn", Counted::Turn),
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
