//! What comes with messages: fetched within limits, kept by content under names of ours, shown
//! to the model where it can look at pictures, and named by path otherwise.

use super::Ingress;
use super::stored::{StoredHeard, StoredMessage};
use super::words::{self, name, note, size};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use insula_channel::FetchError;
use insula_channel::Outbound;
use insula_channel::{Attachment, AttachmentKind};
use insula_domain::SessionKey;
use insula_domain::media_type::ending;
use insula_registry::AgentContext;
use insula_store::{Part, StoreError};
use insula_turns::Inbound;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for the content of one attachment.
const FETCH_MAX: Duration = Duration::from_secs(60);
/// How often it is looked whether an account is there.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Pictures of one message that the model is shown.
const PICTURES_MAX: usize = 8;
/// Bytes of pictures that one message shows: a message as a whole has a limit, and base64
/// takes a third more.
const PICTURE_BYTES_MAX: usize = 600 * 1024;

/// What a picture is, by its first bytes: what is shown to a model is what it says it is.
fn picture(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn kind(kind: AttachmentKind) -> &'static str {
    match kind {
        AttachmentKind::Image => "a picture",
        AttachmentKind::Voice => "a voice memo",
        AttachmentKind::Audio => "a sound",
        AttachmentKind::Video => "a video",
        AttachmentKind::File => "a file",
    }
}

/// The parts that tell the model of something said by voice.
fn heard(heard: &StoredHeard) -> impl Iterator<Item = Part> {
    let file = words::recording(heard).map(|it| note(&it));
    std::iter::once(words::heard(heard)).chain(file).map(Part::Beside)
}

impl Ingress {
    /// Fetches and keeps what came with messages; the parts that tell the model of it.
    pub(super) async fn attached(
        &self,
        agent: &AgentContext,
        inbound: &Inbound,
        messages: &[StoredMessage],
    ) -> Result<Vec<Part>, StoreError> {
        let all = || messages.iter().flat_map(|it| &it.attachments);
        let mut parts: Vec<Part> =
            all().filter_map(|it| it.heard.as_ref()).flat_map(heard).collect();
        let all: Vec<Attachment> =
            all().filter(|it| it.heard.is_none()).map(|it| it.attachment()).collect();
        if all.is_empty() {
            return Ok(parts);
        }
        let key = &inbound.session;
        let session = self.engine.open_session(inbound).await?;
        let files = agent.workspace.files(key, session, &agent.store.seals(), &self.world);
        let sees = agent.models.see_pictures();
        let mut shown = (0, 0);
        for attachment in all {
            let what = format!("{} named \"{}\"", kind(attachment.kind), name(&attachment.name));
            let fetched = self.fetch(agent, key, &attachment).await;
            let content = match fetched {
                Ok(content) => content,
                Err(why) => {
                    parts.push(Part::Beside(note(&format!("sent along: {what}; {why}"))));
                    continue;
                }
            };
            let is = picture(&content).filter(|_| attachment.kind != AttachmentKind::Video);
            let media_type = is.unwrap_or(&attachment.media_type);
            let kept = files.keep_attachment(content.to_vec(), ending(media_type)).await;
            let bytes = content.len() as u64;
            let told = match &kept {
                Ok((path, _)) => {
                    let (media_type, size) = (name(media_type), size(bytes));
                    format!("sent along: {what}, {media_type}, {size}; it is in {path}")
                }
                Err(error) => {
                    tracing::warn!(agent = %agent.id, %error, "an attachment could not be kept");
                    format!("sent along: {what}; it could not be kept")
                }
            };
            parts.push(Part::Beside(note(&told)));
            let fits = shown.0 < PICTURES_MAX && shown.1 + content.len() <= PICTURE_BYTES_MAX;
            if let Some(media_type) = is.filter(|_| sees && fits) {
                shown = (shown.0 + 1, shown.1 + content.len());
                let source = format!("data:{media_type};base64,{}", STANDARD.encode(&content));
                let (source, media_type) = (source.into(), media_type.into());
                parts.push(Part::Image { source, media_type });
            } else if let Ok((_, hash)) = kept {
                // For people, who may want to have it back.
                let (name, media_type) = (name(&attachment.name).into(), name(media_type).into());
                parts.push(Part::Attachment { hash, name, media_type, bytes });
            }
        }
        Ok(parts)
    }

    /// The adapter by which a conversation takes place, as soon as there is one: just after
    /// the start none is there yet.
    async fn line(&self, at: &SessionKey) -> Arc<dyn Outbound> {
        loop {
            if let Some(adapter) = self.accounts.outbound(at.platform, &at.account) {
                return adapter;
            }
            self.world.clock.sleep(LOOK_EVERY).await;
        }
    }

    pub(super) async fn fetch(
        &self,
        agent: &AgentContext,
        at: &SessionKey,
        attachment: &Attachment,
    ) -> Result<Bytes, String> {
        let limit = agent.access.attachment_bytes;
        let too_large = || format!("it was not taken in, since it is larger than {}", size(limit));
        if attachment.size.is_some_and(|size| size > limit) {
            return Err(too_large());
        }
        let fetching = async {
            let adapter = self.line(at).await;
            adapter.fetch(attachment, limit).await
        };
        let fetched = tokio::select! {
            fetched = fetching => fetched.map_err(Some),
            () = self.world.clock.sleep(FETCH_MAX) => Err(None),
        };
        match fetched {
            Ok(content) if content.len() as u64 > limit => Err(too_large()),
            Ok(content) => Ok(content),
            Err(Some(FetchError::TooLarge)) => Err(too_large()),
            Err(failed) => {
                let late = || "it took too long".to_owned();
                let why = failed.map_or_else(late, |error| error.to_string());
                // What a platform says may quote a token.
                let known = self.secrets.known();
                let why = known.records().redact(&why).into_owned();
                tracing::warn!(agent = %agent.id, why, "an attachment could not be fetched");
                Err("it could not be fetched".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_told_by_its_bytes() {
        assert_eq!(picture(b"\x89PNG\r\n"), Some("image/png"));
        assert_eq!(picture(b"RIFF\0\0\0\0WEBPVP8"), Some("image/webp"));
        assert_eq!(picture(b"<svg onload=alert(1)>"), None);
        assert_eq!(picture(b""), None);
    }
}
