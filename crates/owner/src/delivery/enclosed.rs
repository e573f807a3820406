//! What goes along with a reply: files, each a message of its own after the words.

use super::Relay;
use insula_channel::{Body, File};
use insula_registry::AgentContext;
use insula_store::{Delivery, SentPart};
use insula_turns::DeliveryFile;

/// What a part counts from that is a file: further than any words reach.
const FILES_FROM: u64 = 1 << 40;

/// A file on its way, and how far its delivery is with it.
pub(super) struct Enclosed {
    pub(super) body: Body,
    pub(super) upto: u64,
}

/// How many files of a delivery were sent.
fn files_sent(sent: &[SentPart]) -> usize {
    let upto = sent.last().map_or(0, |part| part.upto);
    usize::try_from(upto.saturating_sub(FILES_FROM)).unwrap_or(usize::MAX)
}

impl Relay {
    /// The next file of a delivery whose words were sent. One that can't be had is left out.
    pub(super) async fn next_file(
        &self,
        agent: &AgentContext,
        delivery: &Delivery,
        files: &[DeliveryFile],
    ) -> Option<Enclosed> {
        for (index, file) in files.iter().enumerate().skip(files_sent(&delivery.sent)) {
            let content = match self.engine.content_of(agent, delivery, file).await {
                Ok(content) => content,
                Err(why) => {
                    tracing::warn!(agent = %agent.id, delivery = %delivery.id, why, "a file does not go along with its reply");
                    continue;
                }
            };
            let DeliveryFile { name, media_type, .. } = file.clone();
            let files = vec![File { name, media_type, content: content.into() }];
            let body = Body { files, ..Body::default() };
            return Some(Enclosed { body, upto: FILES_FROM + index as u64 + 1 });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_after_all_words() {
        let part = |upto| SentPart { message: "1".into(), upto };
        assert_eq!(files_sent(&[]), 0);
        assert_eq!(files_sent(&[part(0), part(4_000)]), 0);
        assert_eq!(files_sent(&[part(4_000), part(FILES_FROM + 1)]), 1);
        assert_eq!(files_sent(&[part(FILES_FROM + 1), part(FILES_FROM + 3)]), 3);
    }
}
