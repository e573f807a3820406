//! What the state machine asks of the server, and what it answers.

use super::{Crypto, Snag};
use crate::matrix::api::{Homeserver, Trouble, segment};
use insula_wire::{Method, Reply};
use matrix_sdk_crypto::types::requests::{
    AnyIncomingResponse, AnyOutgoingRequest, KeysQueryRequest, ToDeviceRequest,
};
use ruma::TransactionId;
use ruma::api::IncomingResponse;
use ruma::api::client::keys::claim_keys::v3::Request as KeysClaimRequest;
use ruma::api::client::keys::upload_keys::v3::Request as KeysUploadRequest;
use ruma::api::client::keys::{claim_keys, get_keys, upload_keys, upload_signatures};
use ruma::api::client::to_device::send_event_to_device;
use ruma::serde::Raw;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// How often one answer may make another question, before what is left waits for the next time.
const ROUNDS_MAX: usize = 8;

impl Crypto {
    /// The same, while nobody encrypts: each question is asked once.
    pub(in crate::matrix) async fn settle_in_turn(&self, server: &Homeserver) -> Result<(), Snag> {
        let _turn = self.handing_out.lock().await;
        self.settle(server).await
    }

    /// Asks and tells the server what there is to ask and to tell.
    pub(super) async fn settle(&self, server: &Homeserver) -> Result<(), Snag> {
        for _ in 0..ROUNDS_MAX {
            let requests = self.machine.outgoing_requests().await?;
            let mut is_any_done = false;
            for request in requests {
                let (id, what) = (request.request_id(), request.request());
                is_any_done |= self.did(self.request(server, id, what).await, "keys")?;
            }
            if !is_any_done {
                break;
            }
        }
        // Sessions that broke are made anew.
        if let Some((id, claim)) = self.machine.get_missing_sessions(std::iter::empty()).await? {
            self.did(self.claim(server, &id, &claim).await, "one-time keys")?;
        }
        Ok(())
    }

    /// Whether something was done. What the server refuses is logged and asked again another
    /// time: the others' part must not wait for it.
    fn did(&self, done: Result<bool, Snag>, what: &str) -> Result<bool, Snag> {
        match done {
            Err(Snag::Server(trouble @ Trouble::No { .. })) => {
                let device = self.device();
                tracing::warn!(
                    device,
                    what,
                    ?trouble,
                    "the homeserver refuses a part of encryption"
                );
                Ok(false)
            }
            done => done,
        }
    }

    async fn request(
        &self,
        server: &Homeserver,
        id: &TransactionId,
        request: &AnyOutgoingRequest,
    ) -> Result<bool, Snag> {
        match request {
            AnyOutgoingRequest::KeysUpload(upload) => self.upload(server, id, upload).await,
            AnyOutgoingRequest::KeysQuery(query) => self.query(server, id, query).await,
            AnyOutgoingRequest::KeysClaim(claim) => self.claim(server, id, claim).await,
            AnyOutgoingRequest::ToDeviceRequest(request) => self.tell(server, request).await,
            AnyOutgoingRequest::SignatureUpload(upload) => {
                let body = json!(upload.signed_keys);
                let path = "/client/v3/keys/signatures/upload";
                let reply = server.send_much(Method::POST, path, &body).await?;
                let answer: upload_signatures::v3::Response = answer(&reply)?;
                self.done(id, &answer).await
            }
            // Part of verifying in a room, which we begin with nobody.
            AnyOutgoingRequest::RoomMessage(_) => Ok(false),
        }
    }

    async fn done<'a>(
        &self,
        id: &TransactionId,
        answer: impl Into<AnyIncomingResponse<'a>>,
    ) -> Result<bool, Snag> {
        self.machine.mark_request_as_sent(id, answer).await?;
        Ok(true)
    }

    /// Tells the server our keys.
    pub(super) async fn upload(
        &self,
        server: &Homeserver,
        id: &TransactionId,
        upload: &KeysUploadRequest,
    ) -> Result<bool, Snag> {
        let mut body = Map::new();
        if let Some(keys) = &upload.device_keys {
            body.insert("device_keys".into(), json!(keys));
        }
        if !upload.one_time_keys.is_empty() {
            body.insert("one_time_keys".into(), json!(upload.one_time_keys));
        }
        if !upload.fallback_keys.is_empty() {
            body.insert("fallback_keys".into(), json!(upload.fallback_keys));
        }
        let path = "/client/v3/keys/upload";
        let reply = server.send_much(Method::POST, path, &Value::Object(body)).await?;
        let answer: upload_keys::v3::Response = answer(&reply)?;
        self.done(id, &answer).await
    }

    /// Asks for the devices of others.
    pub(super) async fn query(
        &self,
        server: &Homeserver,
        id: &TransactionId,
        query: &KeysQueryRequest,
    ) -> Result<bool, Snag> {
        let body = json!({ "device_keys": query.device_keys });
        let reply = server.send_much(Method::POST, "/client/v3/keys/query", &body).await?;
        let answer: get_keys::v3::Response = answer(&reply)?;
        self.done(id, &answer).await
    }

    /// Asks for keys to begin sessions with.
    pub(super) async fn claim(
        &self,
        server: &Homeserver,
        id: &TransactionId,
        claim: &KeysClaimRequest,
    ) -> Result<bool, Snag> {
        let body = json!({ "one_time_keys": claim.one_time_keys });
        let reply = server.send_much(Method::POST, "/client/v3/keys/claim", &body).await?;
        let answer: claim_keys::v3::Response = answer(&reply)?;
        self.done(id, &answer).await
    }

    /// Tells devices something.
    pub(super) async fn tell(
        &self,
        server: &Homeserver,
        request: &ToDeviceRequest,
    ) -> Result<bool, Snag> {
        let (kind, id) = (request.event_type.to_string(), &request.txn_id);
        let path = format!("/client/v3/sendToDevice/{}/{}", segment(&kind), segment(id.as_str()));
        let body = json!({ "messages": request.messages });
        server.send_much(Method::PUT, &path, &body).await?;
        self.done(id, &send_event_to_device::v3::Response::new()).await
    }
}

/// The key by which the server knows a device of ours, where it knows one.
pub(in crate::matrix) async fn fingerprint_of(
    server: &Homeserver,
    user: &str,
    device: &str,
) -> Result<Option<String>, Trouble> {
    let body = json!({ "device_keys": { user: [device] } });
    let reply = server.send_much(Method::POST, "/client/v3/keys/query", &body).await?;
    let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let key = &answer["device_keys"][user][device]["keys"][format!("ed25519:{device}")];
    Ok(key.as_str().map(str::to_owned))
}

/// An answer of the server's, in the machine's words.
pub(super) fn answer<R: IncomingResponse>(reply: &Reply) -> Result<R, Trouble> {
    let whole = http::Response::builder().status(reply.status).body(&*reply.body);
    let whole = whole.map_err(|_| Trouble::garbage("an answer without a status"))?;
    // Why it can't be read may quote it.
    R::try_from_http_response(whole)
        .map_err(|_| Trouble::garbage("an answer about keys that can't be read"))
}

/// JSON as the machine takes it.
pub(super) fn raw_of<T>(raw: Box<RawValue>) -> Raw<T> {
    Raw::from_json(raw)
}
