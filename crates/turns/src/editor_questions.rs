//! What turns have asked editors and not heard of yet.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::oneshot;

/// What an editor answered: the text it was asked for, nothing where it did as told, or why not.
pub type EditorAnswer = Result<Option<String>, String>;

/// What a turn has asked its editor and not heard of yet.
#[derive(Default)]
pub(crate) struct EditorQuestions {
    waiting: Mutex<(u64, BTreeMap<String, oneshot::Sender<EditorAnswer>>)>,
}

impl EditorQuestions {
    /// A question by name, and where its answer will be.
    pub(crate) fn ask(&self) -> (String, oneshot::Receiver<EditorAnswer>) {
        let (tell, told) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.0 += 1;
        let request = waiting.0.to_string();
        waiting.1.insert(request.clone(), tell);
        (request, told)
    }

    /// Takes a question, to answer it or to wait no longer.
    pub(crate) fn take(&self, request: &str) -> Option<oneshot::Sender<EditorAnswer>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).1.remove(request)
    }
}
