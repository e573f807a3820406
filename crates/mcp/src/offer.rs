//! One tool as a server describes it, brought into bounds.

use serde::Serialize;
use serde_json::Value;

/// Most tools that are taken from one server.
pub const TOOLS_MAX: usize = 512;
/// Longest description, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 16 * 1024;
/// Longest schema of arguments, in bytes.
pub const PARAMETERS_BYTES_MAX: usize = 64 * 1024;

/// A tool as its server describes it now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// What the server calls it.
    pub name: String,
    /// What it says that it is for.
    pub description: String,
    /// The JSON schema of its arguments, as JSON text.
    pub parameters: String,
    /// Whether it says that it changes nothing (`readOnlyHint`).
    pub only_reads: bool,
    /// Why it can't be used, whatever it says.
    pub unfit: Option<String>,
}

impl Offer {
    pub(crate) fn of(tool: rmcp::model::Tool) -> Self {
        let said = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        let mut offer = Self::new(&tool.name, said, &Value::Object((*tool.input_schema).clone()));
        let hint = tool.annotations.and_then(|it| it.read_only_hint);
        offer.only_reads = offer.unfit.is_none() && hint == Some(true);
        Self::known(offer)
    }

    /// A tool out of an entry of a list, by what of it is used here; nothing where it has no
    /// name. Whatever else is wrong with it makes it unfit.
    pub(crate) fn read(entry: &Value) -> Option<Self> {
        let name = entry.get("name")?.as_str()?;
        let text = |member: &str| entry.get(member).filter(|it| !it.is_null());
        let description = text("description").or_else(|| text("title"));
        let said = description.map_or(Some(""), Value::as_str);
        let schema = entry.get("inputSchema").unwrap_or(&Value::Null);
        let mut offer = Self::new(name, said.unwrap_or_default(), schema);
        if said.is_none() {
            offer.unfit.get_or_insert_with(|| "its description is not text".to_owned());
        }
        // What is no claim claims nothing: then it counts as one that acts.
        let hint = entry.pointer("/annotations/readOnlyHint");
        offer.only_reads = offer.unfit.is_none() && hint == Some(&Value::Bool(true));
        Some(Self::known(offer))
    }

    fn known(offer: Self) -> Self {
        offer
    }

    /// A tool in bounds, or with the reason why it is not.
    pub fn new(name: &str, description: &str, schema: &Value) -> Self {
        let keep = |it: &char| !it.is_control() || matches!(it, '\n' | '\t');
        let name: String = name.chars().filter(keep).take(256).collect();
        let description: String = description.chars().filter(keep).collect();
        let parameters = schema.to_string();
        let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
        let unfit = if description.len() > DESCRIPTION_BYTES_MAX {
            Some(format!("its description is longer than {DESCRIPTION_BYTES_MAX} bytes"))
        } else if parameters.len() > PARAMETERS_BYTES_MAX {
            Some(format!("its schema is longer than {PARAMETERS_BYTES_MAX} bytes"))
        } else if !is_object {
            Some("its schema is not that of an object".to_owned())
        } else {
            None
        };
        if unfit.is_some() {
            // Nobody is shown it, so nothing of it is kept.
            let empty = r#"{"type":"object"}"#.to_owned();
            let description = String::new();
            return Self { name, description, parameters: empty, only_reads: false, unfit };
        }
        Self { name, description, parameters, only_reads: false, unfit }
    }

    /// Tells two descriptions apart, whatever order the members of the schema stand in.
    pub fn mark(&self) -> blake3::Hash {
        mark(&self.description, &self.parameters, self.only_reads)
    }
}

/// Tells two descriptions of a tool apart.
pub(crate) fn mark(description: &str, parameters: &str, only_reads: bool) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(description.len() as u64).to_le_bytes());
    hasher.update(description.as_bytes());
    match serde_json::from_str::<Value>(parameters) {
        Ok(mut schema) => {
            schema.sort_all_objects();
            hasher.update(schema.to_string().as_bytes());
        }
        Err(_) => {
            hasher.update(parameters.as_bytes());
        }
    }
    if only_reads {
        // No text of JSON ends so.
        hasher.update(b"\0only reads");
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_too_much_is_unfit_and_not_kept() {
        let schema = json!({"type": "object"});
        assert_eq!(Offer::new("a", "fine", &schema).unfit, None);
        let long = Offer::new("a", &"x".repeat(DESCRIPTION_BYTES_MAX + 1), &schema);
        assert!(long.unfit.is_some() && long.description.is_empty());
        let large = json!({"type": "object", "x": "y".repeat(PARAMETERS_BYTES_MAX)});
        assert!(Offer::new("a", "", &large).unfit.is_some());
        assert!(Offer::new("a", "", &json!({"type": "string"})).unfit.is_some());
        assert_eq!(Offer::new("a\u{7}b", "c\u{1b}[0m\n", &schema).description, "c[0m\n");
    }

    #[test]
    fn an_entry_is_read_by_what_of_it_is_used() {
        let read = |entry: Value| Offer::read(&entry).map(|it| (it.description, it.unfit));
        let schema = json!({"type": "object"});
        let fine = json!({"name": "a", "title": "T", "inputSchema": schema, "annotations": 7});
        assert_eq!(read(fine), Some(("T".to_owned(), None)));
        for nameless in [json!(null), json!("a"), json!({}), json!({"name": 7})] {
            assert_eq!(read(nameless.clone()), None, "{nameless}");
        }
        for (unfit, why) in [
            (json!({"name": "a"}), "its schema is not that of an object"),
            (json!({"name": "a", "inputSchema": []}), "its schema is not that of an object"),
            (
                json!({"name": "a", "description": 1, "inputSchema": schema}),
                "its description is not text",
            ),
        ] {
            assert_eq!(read(unfit).unwrap(), (String::new(), Some(why.to_owned())));
        }
    }

    #[test]
    fn it_only_reads_where_its_server_says_so_in_so_many_words() {
        let both = |tool: Value| {
            let read = Offer::read(&tool).unwrap();
            if let Ok(tool) = serde_json::from_value(tool) {
                assert_eq!(Offer::of(tool), read);
            }
            read.only_reads
        };
        let tool = |annotations: Value| {
            both(
                json!({"name": "a", "inputSchema": {"type": "object"}, "annotations": annotations}),
            )
        };
        assert!(tool(json!({"readOnlyHint": true})));
        assert!(tool(json!({"readOnlyHint": true, "title": 7, "destructiveHint": "no"})));
        assert!(!both(json!({"name": "a", "inputSchema": {"type": "object"}})));
        for other in [
            json!(null),
            json!(true),
            json!("readOnlyHint"),
            json!([true]),
            json!([{"readOnlyHint": true}]),
            json!({}),
            json!({"readOnlyHint": false}),
            json!({"readOnlyHint": null}),
            json!({"readOnlyHint": 1}),
            json!({"readOnlyHint": "true"}),
            json!({"readOnlyHint": [true]}),
            json!({"readonlyhint": true}),
            json!({"destructiveHint": false}),
        ] {
            assert!(!tool(other.clone()), "{other}");
        }
        let annotations = json!({"readOnlyHint": true});
        for unfit in [
            json!({"name": "a", "inputSchema": {"type": "array"}, "annotations": annotations}),
            json!({"name": "a", "description": 7, "inputSchema": {"type": "object"}, "annotations": annotations}),
        ] {
            assert!(!both(unfit.clone()), "{unfit}");
        }
    }

    #[test]
    fn the_order_of_members_makes_no_difference() {
        let one = Offer::new("a", "d", &json!({"type": "object", "properties": {"x": 1, "y": 2}}));
        let other =
            Offer::new("a", "d", &json!({"properties": {"y": 2, "x": 1}, "type": "object"}));
        assert_ne!(one.parameters, other.parameters);
        assert_eq!(one.mark(), other.mark());
        assert_ne!(one.mark(), Offer { description: "e".to_owned(), ..one.clone() }.mark());
        assert_ne!(one.mark(), Offer { only_reads: true, ..one.clone() }.mark());
    }
}
