//! The models that an agent's settings name.

use super::Reader;
use crate::model::{BUILT_IN_MODEL, ModelRef};
use crate::yaml::Node;
use std::collections::BTreeSet;

impl Reader<'_> {
    /// What it runs on, tried in order.
    pub(super) fn models(&mut self) -> Vec<ModelRef> {
        let written = self.nodes("model");
        if let (true, Some(empty)) = (written.is_empty(), self.at("model"))
            && !self.has_error_within(empty.span)
        {
            self.error(
                empty.span,
                format!("agent `{}` has an empty list of models", self.id),
                None,
            );
        }
        let mut models = Vec::new();
        let children = self.at("subagents.model").into_iter().chain(self.nodes("subagents.models"));
        for node in written {
            models.extend(self.model(node));
        }
        for node in children {
            self.model(node);
        }
        if written.is_empty()
            && let Ok(model) = self.providers.resolve(BUILT_IN_MODEL)
        {
            models.push(model);
        }
        models
    }

    /// The models that people may choose, without those that it asks anyway.
    pub(super) fn model_choices(&mut self, models: &[ModelRef]) -> Vec<ModelRef> {
        let mut choices: Vec<ModelRef> = Vec::new();
        for node in self.nodes("model_choices") {
            let chosen = self.model(node);
            choices.extend(chosen.filter(|it| !models.contains(it)));
        }
        let mut seen = BTreeSet::new();
        choices.retain(|it| seen.insert(it.to_string()));
        choices
    }

    /// The models at a path that children may run on; what is wrong with one was told.
    pub(super) fn child_models(&self, path: &str) -> Vec<ModelRef> {
        let texts = self.text(path).map(Into::into).into_iter().chain(self.texts(path));
        texts.filter_map(|text: Box<str>| self.providers.resolve(&text).ok()).collect()
    }

    /// The model that a node names; one that is not known is an error.
    pub(super) fn model(&mut self, node: &Node) -> Option<ModelRef> {
        match self.providers.resolve(node.text()?) {
            Ok(model) => {
                self.asks(&model.provider, node.span);
                Some(model)
            }
            Err((problem, help)) => {
                self.error(node.span, problem, Some(help));
                None
            }
        }
    }
}
