//! What Slack tells our webhook.
//!
//! A request is believed by `X-Slack-Signature`, an HMAC of its moment and its raw body with the app's
//! signing secret, within five minutes of that moment. What was not answered with 200 within three
//! seconds comes again, three times within five minutes; the ledger of events knows it then.

use super::failure::Failure;
use super::gap::next;
use super::handling::Told;
use super::types::Callback;
use super::{Mode, Slack};
use crate::hex::unhexed;
use insula_channel::{ConnectFault, Inbox, WebAnswer, WebMethod, WebRequest};
use ring::hmac;
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often Slack is asked who we are: that it could call us is seen by that.
const CHECKED_EVERY: Duration = Duration::from_secs(300);
/// How far the moment of a request may be from ours, in seconds.
const SKEW_S: u64 = 300;
/// What a command's form is read for.
const COMMAND_FIELDS: [&str; 6] =
    ["command", "text", "user_id", "channel_id", "team_id", "trigger_id"];

impl Slack {
    /// Slack calls; that it could is seen by asking it.
    pub(super) async fn be_called(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        self.take_up(inbox).await?;
        self.learn_us(stop).await.map_err(Failure::into_fault)?;
        inbox.alive();
        let reach = self.listened().reach(self.clock.elapsed());
        let mut missing = self.catch_up(reach, inbox).await;
        let mut check_at = self.clock.elapsed() + CHECKED_EVERY;
        loop {
            let wait = check_at.saturating_sub(self.clock.elapsed());
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                found = next(&mut missing) => self.take_missed(found, &mut missing, inbox).await?,
                () = self.clock.sleep(wait) => {
                    self.learn_us(stop).await.map_err(Failure::into_fault)?;
                    inbox.alive();
                    check_at = self.clock.elapsed() + CHECKED_EVERY;
                }
            }
        }
    }

    pub(super) async fn called(&self, request: &WebRequest, inbox: &dyn Inbox) -> WebAnswer {
        let Mode::Webhook(secret) = &self.mode else { return WebAnswer::refused() };
        let is_signed = self.is_signed(secret.expose_secret().as_bytes(), request);
        if request.method != WebMethod::Post || !is_signed {
            return WebAnswer::refused();
        }
        let Some((told, payload)) = read(request) else {
            tracing::warn!(account = %self.account, "a request that can't be read was left out");
            return WebAnswer::empty(200);
        };
        if told == Told::Event
            && let Ok(Callback { kind, challenge, .. }) = serde::Deserialize::deserialize(&payload)
            && kind == "url_verification"
        {
            return WebAnswer::text(200, challenge);
        }
        inbox.alive();
        // Who we are is known from the first time that we listened.
        if self.known().us.is_none() {
            return WebAnswer::later();
        }
        self.listened().heard(self.clock.elapsed());
        let envelopes = self.envelopes(told, &payload).await;
        match self.hand_over_new(envelopes, inbox).await {
            Ok(()) => WebAnswer::empty(200),
            Err(_) => WebAnswer::later(),
        }
    }

    fn is_signed(&self, secret: &[u8], request: &WebRequest) -> bool {
        let moment = request.header("x-slack-request-timestamp").unwrap_or_default();
        let signature = request.header("x-slack-signature").unwrap_or_default();
        let Some(tag) = signature.strip_prefix("v0=").and_then(unhexed) else { return false };
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let signed = [b"v0:", moment.as_bytes(), b":", &request.body].concat();
        // Compared in constant time.
        if hmac::verify(&key, &signed, &tag).is_err() {
            return false;
        }
        // Ten digits: nothing below overflows.
        let at: Option<i64> = moment.parse().ok().filter(|_| moment.len() == 10);
        let now = self.clock.now().as_millis() / 1000;
        at.is_some_and(|at| now.abs_diff(at) <= SKEW_S)
    }
}

/// What a request tells: an event is JSON, everything else a form.
fn read(request: &WebRequest) -> Option<(Told, Value)> {
    let media_type = request.header("content-type").unwrap_or_default();
    if !media_type.starts_with("application/x-www-form-urlencoded") {
        return Some((Told::Event, serde_json::from_slice(&request.body).ok()?));
    }
    if let Some(payload) = request.form("payload") {
        return Some((Told::Interaction, serde_json::from_str(&payload).ok()?));
    }
    let field = |name: &&str| Some(((*name).to_owned(), Value::String(request.form(name)?)));
    let fields: Map<String, Value> = COMMAND_FIELDS.iter().filter_map(field).collect();
    fields.contains_key("command").then_some((Told::Command, Value::Object(fields)))
}
