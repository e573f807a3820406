//! What an agent asks the web by, out of its settings.

use super::Reader;
use crate::web::{SearchConfig, SearchProblem, SearchProvider, search};

impl Reader<'_> {
    /// The search that was named. One that lacks something is a warning: the agent runs
    /// without it. One that can't be used is an error.
    pub(super) fn search(&mut self) -> Option<SearchConfig> {
        let node = self.at("web.search")?;
        let provider = self.text("web.search.provider").and_then(SearchProvider::parse)?;
        let (url, key) = (self.text("web.search.base_url"), self.text("web.search.api_key"));
        let span = self.at("web.search.base_url").map_or(node.span, |url| url.span);
        match search(provider, url, key) {
            Ok(found) => return Some(found),
            Err(SearchProblem::Missing(what)) => {
                let message = format!("the search of agent `{}` has no `{what}`", self.id);
                let help =
                    format!("add `{what}` under `web.search`; until then there is no `web_search`");
                self.warn(node.span, message, Some(help));
            }
            Err(SearchProblem::Address(why)) => {
                let message = format!("the search of agent `{}` can't be reached: {why}", self.id);
                self.error(span, message, None);
            }
            Err(SearchProblem::InTheClear) => {
                let message =
                    format!("the key of agent `{}`'s search would go over plain http", self.id);
                self.error(
                    span,
                    message,
                    Some("use https, or a server on this machine".to_owned()),
                );
            }
        }
        None
    }
}
