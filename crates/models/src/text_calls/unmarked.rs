//! Which models were seen to begin in the middle of a thought: the mark that opens it stands in
//! their prompt, and only its end is in their words. Kept as long as the provider is.

use crate::per_asker::PerAsker;
use crate::request::Request;
use std::sync::Arc;

/// Models of one provider that were seen to do so, by who asked. It decides when words are passed
/// on and never which: what one conversation made a model print is no reason to read another's
/// differently.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenThinking(Arc<PerAsker<bool>>);

impl SeenThinking {
    /// Whether the model of a request was seen to.
    pub(crate) fn has(&self, request: &Request) -> bool {
        self.0.get(&request.asker, &request.model).unwrap_or_default()
    }

    /// A model did, asked by somebody.
    pub(super) fn note(&self, asker: &Arc<str>, model: &Arc<str>) {
        self.0.change(asker, model, |seen| *seen = true);
    }
}
