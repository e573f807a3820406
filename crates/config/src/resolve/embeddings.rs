//! What makes vectors of what an agent remembers, out of its settings.

use super::Reader;
use crate::agent::EmbeddingsConfig;
use crate::model::KnownProvider;

/// Kinds of providers that speak a protocol for it.
const SPEAKING: [&str; 2] = ["openai", "ollama"];

impl Reader<'_> {
    /// What was named: a model or a folder. Both, neither, and what can't be asked are errors.
    pub(super) fn embeddings(&mut self) -> Option<EmbeddingsConfig> {
        let node = self.at("memory.embeddings")?;
        let (model, path) = (node.get("model"), node.get("path"));
        let ((Some(named), None) | (None, Some(named))) = (model, path) else {
            if !self.has_error_within(node.span) {
                let message = format!(
                    "`memory.embeddings` of agent `{}` needs `model` or `path`, and not both",
                    self.id
                );
                let help = "write `{model: provider/name}`, or `{path: FOLDER}` for a static model";
                self.error(node.span, message, Some(help.to_owned()));
            }
            return None;
        };
        if path.is_some() {
            return Some(EmbeddingsConfig::Folder(named.text()?.into()));
        }
        let model = self.model(named)?;
        let written = self.providers.configured.get(&model.provider).map(|it| &*it.kind);
        let kind = written.or_else(|| KnownProvider::find(&model.provider).map(|it| it.kind));
        let kind = kind.unwrap_or_default();
        if !SPEAKING.contains(&kind) {
            let message = format!(
                "agent `{}` can't have embeddings from provider `{}`: it is of kind `{kind}`",
                self.id, model.provider
            );
            let help = "name a model of a provider of kind `openai` or `ollama`".to_owned();
            self.error(named.span, message, Some(help));
            return None;
        }
        Some(EmbeddingsConfig::Model(model))
    }
}
