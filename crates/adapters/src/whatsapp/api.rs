//! Requests to the Graph API: where to, what comes back, and what never shows.

use super::failure::Failure;
use super::types::{MediaPlace, Named, Phone, Taken};
use bytes::Bytes;
use insula_channel::ConnectFault;
use insula_wire::{Form, HttpCall, Reply, Timeouts, Transport, Uri, WireFault};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where the API is unless the settings say otherwise.
const BASE_URL: &str = "https://graph.facebook.com";
/// The version that is spoken.
const VERSION: &str = "v25.0";
/// The most of an answer that is read.
const ANSWER_LEN_MAX: usize = 1024 * 1024;
/// How long a file may take, either way.
const FILE_WITHIN: Duration = Duration::from_secs(300);
/// The hosts that files are on; our token goes to no other.
const FILE_HOSTS: [&str; 3] = ["fbsbx.com", "facebook.com", "whatsapp.net"];
/// What is asked of our number.
const PHONE_FIELDS: &str =
    "id,display_phone_number,verified_name,quality_rating,webhook_configuration";

/// One number's way to the API.
pub(super) struct Graph {
    transport: Transport,
    base: String,
    phone: Box<str>,
    token: SecretString,
}

impl Graph {
    /// For the number with this id.
    pub(super) fn new(
        transport: &Transport,
        base: Option<&str>,
        phone: &str,
        token: SecretString,
    ) -> Result<Self, ConnectFault> {
        let refused = |why: &str| ConnectFault::Refused(why.into());
        if phone.is_empty() || phone.len() > 32 || !phone.bytes().all(|it| it.is_ascii_digit()) {
            return Err(refused(
                "`phone_number_id` is a number that Meta's dashboard shows below the phone number",
            ));
        }
        let base = base.unwrap_or(BASE_URL).trim_end_matches('/').to_owned();
        let uri: Option<Uri> = base.parse().ok();
        let is_usable = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
                && uri.query().is_none()
        });
        if !is_usable {
            return Err(refused("`base_url` must be like https://host, without user or query"));
        }
        Ok(Self { transport: transport.clone(), base, phone: phone.into(), token })
    }

    /// Our number, as the platform has it.
    pub(super) async fn phone(&self, cancel: &CancellationToken) -> Result<Phone, Failure> {
        let uri = self.uri(&format!("{}?fields={PHONE_FIELDS}", self.phone))?;
        self.answer(HttpCall::get(uri), cancel).await
    }

    /// Changes a setting of our number.
    pub(super) async fn configure(
        &self,
        settings: &Value,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let call = HttpCall::post(self.uri(&self.phone)?).json(settings).map_err(Failure::Wire)?;
        self.answer::<Value>(call, cancel).await.map(|_| ())
    }

    /// Sends a message; its id.
    pub(super) async fn send(&self, message: &Value) -> Result<Box<str>, Failure> {
        let taken: Taken = self.tell(message).await?;
        match taken.messages.into_iter().next() {
            Some(Named { id }) if !id.is_empty() => Ok(id.into()),
            _ => Err(Failure::Wire(WireFault::Garbage { what: "no id of the message".into() })),
        }
    }

    /// Posts to our number's messages.
    pub(super) async fn tell<T: DeserializeOwned>(&self, message: &Value) -> Result<T, Failure> {
        let uri = self.uri(&format!("{}/messages", self.phone))?;
        let call = HttpCall::post(uri).json(message).map_err(Failure::Wire)?;
        self.answer(call, &CancellationToken::new()).await
    }

    /// Gives the platform a file; its id there.
    pub(super) async fn upload(
        &self,
        name: &str,
        media_type: &str,
        content: Bytes,
    ) -> Result<String, Failure> {
        let form = Form::new()
            .text("messaging_product", "whatsapp")
            .text("type", media_type)
            .file("file", name, media_type, content);
        let limits = Timeouts {
            connect: Duration::from_secs(10),
            // The answer begins after the whole file has gone out.
            first_byte: FILE_WITHIN,
            idle: Duration::from_secs(20),
        };
        let call = HttpCall::post(self.uri(&format!("{}/media", self.phone))?).form(form);
        let call = call.limits(limits).within(FILE_WITHIN);
        let named: Named = self.answer(call, &CancellationToken::new()).await?;
        Ok(named.id)
    }

    /// The content of a file; `None` where there is more than `limit`.
    pub(super) async fn file(&self, id: &str, limit: usize) -> Result<Option<Bytes>, Failure> {
        let cancel = CancellationToken::new();
        let uri = self.uri(&format!("{id}?phone_number_id={}", self.phone))?;
        let place: MediaPlace = self.answer(HttpCall::get(uri), &cancel).await?;
        let uri: Option<Uri> = place.url.parse().ok().filter(|uri| self.may_have_token(uri));
        let Some(uri) = uri else {
            let what = "the file is at an address that is not WhatsApp's".into();
            return Err(Failure::Wire(WireFault::Garbage { what }));
        };
        let call = HttpCall::get(uri).bearer(self.token.expose_secret());
        let call = call.len_max(limit).within(FILE_WITHIN);
        match self.transport.call(call, &cancel).await {
            Ok(reply) if reply.is_success() => Ok(Some(reply.body)),
            Ok(reply) => Err(Failure::of(&reply)),
            Err(WireFault::TooMuch { .. }) => Ok(None),
            Err(fault) => Err(Failure::Wire(fault)),
        }
    }

    /// Whether our token may go to an address: the platform's own, or the API's host.
    fn may_have_token(&self, uri: &Uri) -> bool {
        let base: Option<Uri> = self.base.parse().ok();
        let is_base = base.is_some_and(|base| {
            base.authority() == uri.authority() && base.scheme() == uri.scheme()
        });
        let host = uri.host().unwrap_or_default().to_ascii_lowercase();
        let is_of = |known: &str| {
            host == known || host.strip_suffix(known).is_some_and(|rest| rest.ends_with('.'))
        };
        let has_user = uri.authority().is_some_and(|it| it.as_str().contains('@'));
        let is_own = uri.scheme_str() == Some("https") && FILE_HOSTS.iter().any(|it| is_of(it));
        !has_user && (is_base || is_own)
    }

    async fn answer<T: DeserializeOwned>(
        &self,
        call: HttpCall,
        cancel: &CancellationToken,
    ) -> Result<T, Failure> {
        let call = call.bearer(self.token.expose_secret()).len_max(ANSWER_LEN_MAX);
        let reply: Reply = self.transport.call(call, cancel).await.map_err(Failure::Wire)?;
        if !reply.is_success() {
            return Err(Failure::of(&reply));
        }
        reply.json().map_err(Failure::Wire)
    }

    fn uri(&self, path: &str) -> Result<Uri, Failure> {
        format!("{}/{VERSION}/{path}", self.base).parse().map_err(|_| {
            Failure::Wire(WireFault::Unreachable { why: "an address that can't be one".into() })
        })
    }
}

/// Whether a text is the id of a file: it stands in an address.
pub(super) fn is_file_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !id.is_empty() && id.len() <= 200 && id.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_token_goes_to_the_platform_alone() {
        let world = insula_testkit::world(1).0;
        let transport = Transport::new(&world, &[]).unwrap();
        let graph = Graph::new(&transport, None, "123", "t".into()).unwrap();
        let may = |url: &str| graph.may_have_token(&url.parse().unwrap());
        for good in [
            "https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1",
            "https://graph.facebook.com/x",
            "https://mmg.whatsapp.net/x",
        ] {
            assert!(may(good), "{good}");
        }
        for bad in [
            "http://lookaside.fbsbx.com/x",
            "https://fbsbx.com.evil.example/x",
            "https://evilfbsbx.com/x",
            "https://a@lookaside.fbsbx.com/x",
            "https://127.0.0.1/x",
        ] {
            assert!(!may(bad), "{bad}");
        }
    }

    #[test]
    fn a_number_is_named_by_its_id() {
        let world = insula_testkit::world(1).0;
        let transport = Transport::new(&world, &[]).unwrap();
        for bad in ["", "+4915112345678", "12/34", "1?x"] {
            assert!(Graph::new(&transport, None, bad, "t".into()).is_err(), "{bad}");
        }
        assert!(is_file_id("1234567890-a_b"));
        for bad in ["", "../x", "1?a=b", "a/b", "a b"] {
            assert!(!is_file_id(bad), "{bad}");
        }
    }
}
