//! Files: what came with a message, and what goes along with one of ours.

use super::Matrix;
use super::address::parts;
use super::api::{Trouble, segment};
use super::crypto::{self, SEALED, Snag};
use super::wire::Uploaded;
use bytes::Bytes;
use insula_channel::{FetchError, File, PostError, WaitScope};
use insula_domain::sound;
use serde_json::{Value, json};

/// Where files are on servers that ask who fetches them, and where they were before.
const PLACES: [&str; 2] = ["/client/v1/media/download", "/media/v3/download"];

impl Matrix {
    /// The content of a file, at most `limit` bytes.
    pub(super) async fn download(&self, handle: &str, limit: u64) -> Result<Bytes, FetchError> {
        if !handle.starts_with(SEALED) {
            return self.download_from(handle, limit).await;
        }
        let crypto = self.crypto.load_full();
        let crypto = crypto.ok_or_else(|| PostError::Later {
            why: "the keys of files are there when the account is connected".into(),
            wait: None,
            reach: WaitScope::Account,
        })?;
        let (url, key) = crypto.unseal_file(handle).await?;
        Ok(crypto::decrypt(&self.download_from(&url, limit).await?, key)?)
    }

    async fn download_from(&self, url: &str, limit: u64) -> Result<Bytes, FetchError> {
        let Some((server, name)) = parts(url) else {
            return Err(PostError::Never { why: "no address of a file".into() }.into());
        };
        let len_max = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut refused = None;
        for place in PLACES {
            let path = format!("{place}/{}/{}", segment(server), segment(name));
            match self.server.media(&path, len_max).await {
                Ok(reply) => return Ok(reply.body),
                Err(Trouble::Wire(insula_wire::WireFault::TooMuch { .. })) => {
                    return Err(FetchError::TooLarge);
                }
                // A server that does not know the place has the file at the other.
                Err(trouble @ Trouble::No { status: 404 | 405, .. }) => {
                    refused.get_or_insert(trouble);
                }
                Err(trouble) => return Err(fetching(trouble).into()),
            }
        }
        let why = "the homeserver has no such file";
        Err(refused.map_or(PostError::Never { why: why.into() }, fetching).into())
    }

    /// Gives the homeserver a file, and makes the content of a message that shows it. In an
    /// encrypted room the homeserver learns neither its content nor what it is called.
    pub(super) async fn upload(&self, room: &str, file: &File) -> Result<Value, PostError> {
        let is_encrypted = self.encryption_of(room).await.map_err(Snag::into_post_error)?.is_some();
        let (sealed, mut key) = match is_encrypted {
            true => crypto::encrypt(&file.content)?,
            false => (file.content.clone(), Value::Null),
        };
        let (path, media_type) = match is_encrypted {
            true => ("/media/v3/upload".to_owned(), "application/octet-stream"),
            false => {
                let path = format!("/media/v3/upload?filename={}", segment(&file.name));
                (path, &*file.media_type)
            }
        };
        let sent = self.server.upload(&path, media_type, sealed).await;
        let reply = sent.map_err(Trouble::into_post_error)?;
        let uploaded: Uploaded = serde_json::from_slice(&reply.body)
            .map_err(|error| Trouble::garbage(&error.to_string()).into_post_error())?;
        let kind = match file.media_type.split('/').next() {
            Some("image") => "m.image",
            Some("audio") => "m.audio",
            Some("video") => "m.video",
            _ => "m.file",
        };
        let mut content = json!({
            "msgtype": kind,
            "body": &*file.name,
            "filename": &*file.name,
            "info": { "mimetype": &*file.media_type, "size": file.content.len() },
            "m.mentions": {},
        });
        if is_encrypted {
            key["url"] = uploaded.content_uri.into();
            content["file"] = key;
        } else {
            content["url"] = uploaded.content_uri.into();
        }
        if file.speech().is_some() {
            content["org.matrix.msc3245.voice"] = json!({});
            let length = sound::length(&file.content);
            if let Some(millis) = length.and_then(|it| u64::try_from(it.as_millis()).ok()) {
                content["info"]["duration"] = json!(millis);
                content["org.matrix.msc1767.audio"] = json!({ "duration": millis });
            }
        }
        Ok(content)
    }
}

/// Fetching a file again does no harm, so what may have arrived is worth another try.
fn fetching(trouble: Trouble) -> PostError {
    match trouble.into_post_error() {
        PostError::Uncertain { why } => {
            PostError::Later { why, wait: None, reach: WaitScope::Account }
        }
        error => error,
    }
}
