//! Who makes pictures for an agent, out of its settings.

use super::Reader;
use crate::budget::micros;
use crate::images::{ImagesConfig, is_size, speaks};
use crate::web::is_in_the_clear;

impl Reader<'_> {
    /// Who was named. What can't be asked is an error.
    pub(super) fn images(&mut self) -> Option<ImagesConfig> {
        let node = self.at("images.model")?;
        let model = self.model(node)?;
        if let Err(why) = speaks(&self.providers, &model) {
            let message = format!(
                "agent `{}` can't have pictures from provider `{}`: {why}",
                self.id, model.provider
            );
            let help = "name a model of a provider of kind `openai`".to_owned();
            self.error(node.span, message, Some(help));
            return None;
        }
        let base_url = self.providers.configured.get(&model.provider);
        let base_url = base_url.and_then(|it| it.base_url.as_deref()).unwrap_or_default();
        if let Some(key) = self.at("images.api_key").filter(|_| is_in_the_clear(base_url)) {
            let message =
                format!("the key for pictures of agent `{}` would go over plain http", self.id);
            self.conceal_error(key.span, message, "use https, or a server on this machine");
        }
        for size in self.nodes("images.sizes") {
            let text = size.text().unwrap_or_default();
            if !is_size(text) {
                let message = format!("`{text}` is no size of a picture");
                let help = "write width and height, such as `1024x1024`, or `auto`".to_owned();
                self.error(size.span, message, Some(help));
            }
        }
        Some(ImagesConfig {
            model,
            api_key: self.text("images.api_key").map(Into::into),
            sizes: self.texts("images.sizes"),
            quality: self.text("images.quality").map(Into::into),
            price_micros: self.at("images.price").and_then(micros),
        })
    }
}
