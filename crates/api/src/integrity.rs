//! Whose words something was made of, as it is told.

use insula_domain::Integrity;
use serde::Serialize;
use utoipa::ToSchema;

/// Whose words something was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct IntegrityView {
    /// Whether nobody but the operator and the sender had a word in it.
    own: bool,
    /// Where words of others came from, such as `web:docs.rs`.
    sources: Vec<String>,
    /// Whether they came from more places than are told apart, or it is not known from where.
    many: bool,
}

impl From<&Integrity> for IntegrityView {
    fn from(integrity: &Integrity) -> Self {
        Self {
            own: integrity.is_own(),
            sources: integrity.sources().map(ToString::to_string).collect(),
            many: *integrity == Integrity::many(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_domain::{Source, SourceKind};
    use serde_json::json;

    #[test]
    fn what_is_told_has_one_shape() {
        let told = |it: &Integrity| serde_json::to_value(IntegrityView::from(it)).unwrap();
        assert_eq!(told(&Integrity::own()), json!({"own": true, "sources": [], "many": false}));
        let web = Integrity::of(Source::new(SourceKind::Web, "docs.rs"));
        let both = web.join(&Integrity::of(Source::new(SourceKind::Mcp, "mail/get_unread")));
        let sources = ["web:docs.rs", "mcp:mail%2Fget_unread"];
        assert_eq!(told(&both), json!({"own": false, "sources": sources, "many": false}));
        assert_eq!(told(&Integrity::many()), json!({"own": false, "sources": [], "many": true}));
    }
}
