//! Cross-signing: our account's own keys vouch for our device, so that others see whose it is.
//!
//! A homeserver takes the first such keys of an account without asking for its password, newer
//! ones do; others than the first it takes from a person only, and then they stay as they are.

use super::{Crypto, Snag};
use crate::matrix::api::{Homeserver, Trouble};
use insula_wire::Method;
use serde_json::{Map, Value, json};

/// How our device stands to its account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::matrix) enum Signed {
    /// The account's keys vouch for it.
    Yes,
    /// The account's keys are elsewhere, or the server wants its password for new ones.
    No,
}

impl Crypto {
    /// Makes the account's keys if it has none, and has them vouch for our device.
    pub(in crate::matrix) async fn vouch(&self, server: &Homeserver) -> Result<Signed, Snag> {
        if self.is_vouched_for().await? {
            return Ok(Signed::Yes);
        }
        // Keys that somebody made with another client are not replaced.
        let us = self.machine.user_id().to_owned();
        let (id, query) = self.machine.query_keys_for_users([&*us]);
        self.query(server, &id, &query).await?;
        let has_theirs = self.machine.get_identity(&us, None).await?.is_some();
        if has_theirs && !self.machine.cross_signing_status().await.is_complete() {
            return Ok(Signed::No);
        }
        let requests = self.machine.bootstrap_cross_signing(false).await?;
        if let Some(upload) = requests.upload_keys_req
            && let matrix_sdk_crypto::types::requests::AnyOutgoingRequest::KeysUpload(keys) =
                upload.request()
        {
            self.upload(server, upload.request_id(), keys).await?;
        }
        let keys = &requests.upload_signing_keys_req;
        let mut body = Map::new();
        for (name, key) in [
            ("master_key", &keys.master_key),
            ("self_signing_key", &keys.self_signing_key),
            ("user_signing_key", &keys.user_signing_key),
        ] {
            body.insert(name.into(), json!(key));
        }
        let path = "/client/v3/keys/device_signing/upload";
        match server.send_much(Method::POST, path, &Value::Object(body)).await {
            // It asks for a password, by describing how.
            Err(Trouble::No { .. } | Trouble::Ill { .. }) => return Ok(Signed::No),
            uploaded => drop(uploaded?),
        }
        let body = json!(requests.upload_signatures_req.signed_keys);
        let path = "/client/v3/keys/signatures/upload";
        server.send_much(Method::POST, path, &body).await?;
        // What is there now is learned from the server, as others learn it.
        let (id, query) = self.machine.query_keys_for_users([&*us]);
        self.query(server, &id, &query).await?;
        Ok(if self.is_vouched_for().await? { Signed::Yes } else { Signed::No })
    }

    async fn is_vouched_for(&self) -> Result<bool, Snag> {
        let (us, device) = (self.machine.user_id(), self.machine.device_id());
        let device = self.machine.get_device(us, device, None).await?;
        Ok(device.is_some_and(|device| device.is_cross_signed_by_owner()))
    }
}
