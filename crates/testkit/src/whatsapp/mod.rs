//! A platform that speaks as Meta's Cloud API does, for as many numbers as wanted.
//!
//! What numbers send is kept, with the errors of the real one; files can be fetched; any request can
//! be made to go wrong. What people say is made here and brought to the webhook by the test, which
//! signs it. It runs on the network of the world it is given.

mod serve;
mod state;

pub use state::{Sent, Trouble};

use crate::world::locked;
use insula_world::World;
use serde_json::{Value, json};
use state::State;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

pub(crate) struct Shared {
    state: Mutex<State>,
    address: SocketAddr,
}

/// A running platform. It ends with the runtime it runs on.
#[derive(Clone)]
pub struct WhatsApp {
    shared: Arc<Shared>,
}

impl WhatsApp {
    /// Starts the platform on loopback of `world`.
    pub async fn start(world: &World) -> io::Result<Self> {
        let listener = world.network.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { state: Mutex::default(), address });
        tokio::spawn(serve::accept(listener, shared.clone()));
        Ok(Self { shared })
    }

    /// What to give as `base_url`.
    pub fn url(&self) -> String {
        format!("http://{}", self.shared.address)
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut locked(&self.shared.state))
    }

    /// There is a number of this id, and who has the token may use it.
    pub fn number(&self, id: &str, display: &str, token: &str) {
        self.with(|state| state.add_number(id, display, token));
    }

    /// The token is no longer good.
    pub fn revoke(&self, token: &str) {
        self.with(|state| state.revoked.insert(token.to_owned()));
    }

    /// Free text to somebody is refused from now on: at once, or a moment after it was taken.
    pub fn close_window(&self, to: &str, at_once: bool) {
        self.with(|state| state.closed.insert(to.to_owned(), at_once));
    }

    /// There is a file of this content; its id.
    pub fn file(&self, content: &[u8]) -> String {
        self.with(|state| state.add_file(content))
    }

    /// Files are at this address from now on, instead of here.
    pub fn files_are_at(&self, url: &str) {
        self.with(|state| state.file_url = Some(url.to_owned()));
    }

    /// The next request to `messages`, `phone` or `media` goes wrong. Several queue up.
    pub fn trouble(&self, what: &str, trouble: Trouble) {
        self.with(|state| state.troubles.push_back((what.to_owned(), trouble)));
    }

    /// What numbers have sent, in order: messages, without signs of reading.
    pub fn sent(&self) -> Vec<Sent> {
        locked(&self.shared.state).sent.clone()
    }

    /// Every body that was posted to `messages`.
    pub fn told(&self) -> Vec<Value> {
        locked(&self.shared.state).told.clone()
    }

    /// Where a number's events go, by its own setting.
    pub fn hook(&self, id: &str) -> Option<String> {
        locked(&self.shared.state).numbers.get(id)?.hook.clone()
    }

    /// The body of a request to the webhook with these messages, each with its fields beside
    /// `from`, `id` and `timestamp`.
    pub fn saying(&self, number: &str, messages: &[Value]) -> Value {
        self.change(
            number,
            json!({
                "contacts": [{"profile": {"name": "Ann Lee"}, "wa_id": "4915100000042"}],
                "messages": messages,
            }),
        )
    }

    /// The same with what became of messages of the number.
    pub fn statuses(&self, number: &str, statuses: &[Value]) -> Value {
        self.change(number, json!({ "statuses": statuses }))
    }

    fn change(&self, number: &str, fields: Value) -> Value {
        let display = self.with(|state| {
            state.numbers.get(number).map(|it| it.display.clone()).unwrap_or_default()
        });
        let mut value = json!({"messaging_product": "whatsapp",
            "metadata": {"display_phone_number": display, "phone_number_id": number}});
        if let (Some(value), Value::Object(fields)) = (value.as_object_mut(), fields) {
            value.extend(fields);
        }
        json!({"object": "whatsapp_business_account",
            "entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}]})
    }

    /// What became of a message that was sent.
    pub fn status_of(&self, sent: &Sent, status: &str) -> Value {
        let mut told = json!({"id": sent.id, "status": status, "timestamp": "1700000000",
            "recipient_id": sent.to, "biz_opaque_callback_data": sent.mark});
        if status == "failed" {
            told["errors"] = json!([{"code": 131_047, "title": "Re-engagement message",
                "message": "Re-engagement message", "error_data": {"details":
                    "Message failed to send because more than 24 hours have passed"}}]);
        }
        told
    }
}
