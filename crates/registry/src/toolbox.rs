//! The toolbox of a generation: the tools that only this agent has, and what its model is
//! shown of all it has. It decides nothing: the tool table does.
//!
//! Where the agent's own tools are too much for every prompt, the model is shown a search for
//! them instead, and those it found in this conversation.

use crate::clean_schema::clean_tool;
use insula_domain::argument::ArgumentRules;
use insula_domain::clean::Removed;
use insula_domain::{ToolTable, tool};
use insula_models::ToolSchema;
use insula_tools::{Quarantined, Tool, ToolRef, ToolSearch};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of names, descriptions and schemas from which on tools are held back: some four
/// thousand tokens before the first word.
pub const HELD_BACK_FROM: usize = 16 * 1024;
/// Found tools that a conversation is shown at once, the last ones.
const FOUND_MAX: usize = 32;

/// The tools of one generation.
#[derive(Default)]
pub struct Toolbox {
    /// By name.
    own: BTreeMap<Box<str>, (Arc<dyn Tool>, ToolSchema)>,
    /// The search for those that are held back.
    search: Option<(Arc<dyn Tool>, ToolSchema)>,
    /// The same in every turn of the generation, so put together once.
    shown: Mutex<Option<Arc<[ToolSchema]>>>,
}

impl Toolbox {
    /// The same with tools that `rules` have read in quarantine, the agent's own and built-in
    /// ones, which then stand in the place of what they stand before.
    pub fn under(
        rules: &ArgumentRules,
        table: &ToolTable,
        own: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Self {
        let quarantined = |tool: ToolRef| Some(Arc::new(Quarantined::new(tool)?) as Arc<dyn Tool>);
        let own = own.into_iter().filter_map(|tool| match rules.quarantines(tool.name()) {
            true => quarantined(ToolRef::Own(tool)),
            false => Some(tool),
        });
        let built_in = insula_tools::BUILT_IN.iter().copied();
        let built_in = built_in.filter(|tool| rules.quarantines(tool.name()));
        let built_in = built_in.filter_map(|tool| quarantined(ToolRef::BuiltIn(tool)));
        Self::new(table, own.chain(built_in))
    }

    /// A toolbox with those of these tools that `table` exposes. One whose schema is not JSON
    /// is left out: no model could be shown it.
    pub fn new(table: &ToolTable, own: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let own: BTreeMap<Box<str>, (Arc<dyn Tool>, ToolSchema)> = own
            .into_iter()
            .filter(|tool| table.verdict(tool.name()).is_in())
            .filter_map(|tool| Some((tool.name().into(), described(tool)?)))
            .collect();
        let sizes = own.iter().filter(|(name, _)| !is_built_in(name));
        let size: usize = sizes.map(|(_, (_, schema))| schema.size()).sum();
        let search = (size >= HELD_BACK_FROM && table.verdict("tool_search").is_in()).then(|| {
            let tools = own.values().map(|(tool, _)| (tool.name(), tool.description()));
            described(Arc::new(ToolSearch::new(tools)))
        });
        Self { own, search: search.flatten(), shown: Mutex::default() }
    }

    /// The same tools under a narrower `table`, with those that rules `more` have read in
    /// quarantine beside those that were `before`.
    pub fn through(
        &self,
        table: &ToolTable,
        (before, more): (&ArgumentRules, &ArgumentRules),
    ) -> Self {
        let is_new = |name: &str| more.quarantines(name) && !before.quarantines(name);
        let quarantined = |tool: ToolRef| Some(Arc::new(Quarantined::new(tool)?) as Arc<dyn Tool>);
        let own = self.own.values().filter_map(|(tool, _)| match is_new(tool.name()) {
            true => quarantined(ToolRef::Own(tool.clone())),
            false => Some(tool.clone()),
        });
        let built_in = insula_tools::BUILT_IN.iter().copied();
        let built_in =
            built_in.filter(|tool| is_new(tool.name()) && !self.own.contains_key(tool.name()));
        let built_in = built_in.filter_map(|tool| quarantined(ToolRef::BuiltIn(tool)));
        Self::new(table, own.chain(built_in))
    }

    /// The same tools, as far as a narrower `table` exposes them: for a child.
    #[must_use]
    pub fn narrowed(&self, table: &ToolTable) -> Self {
        Self::new(table, self.own.values().map(|(tool, _)| tool.clone()))
    }

    /// Finds one of the agent's own tools.
    pub fn find(&self, name: &str) -> Option<ToolRef> {
        let search = self.search.as_ref().filter(|(search, _)| search.name() == name);
        let tool = self.own.get(name).or(search);
        tool.map(|(tool, _)| ToolRef::Own(tool.clone()))
    }

    /// The names of the agent's own tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.own.keys().map(|name| &**name)
    }

    /// Whether the agent's own tools are held back behind a search.
    pub fn holds_back(&self) -> bool {
        self.search.is_some()
    }

    /// What the model is shown: what `table` exposes, of the `built_in` tools first and then
    /// of the agent's own, each by name.
    pub fn shown(
        &self,
        table: &ToolTable,
        built_in: &BTreeMap<Box<str>, ToolSchema>,
    ) -> Arc<[ToolSchema]> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let quarantined = |name: &str| {
                self.own.get(name).filter(|_| is_built_in(name)).map(|(_, schema)| schema)
            };
            let known = table.exposed().filter(|name| built_in.contains_key(*name));
            let known = known.filter_map(|name| quarantined(name).or(built_in.get(name)));
            let own = self.own.iter().filter(|(name, _)| !is_built_in(name));
            let own: Box<dyn Iterator<Item = &ToolSchema>> = match &self.search {
                Some((_, search)) => Box::new(std::iter::once(search)),
                None => Box::new(own.map(|(_, (_, schema))| schema)),
            };
            known.chain(own).cloned().collect()
        };

        shown.get_or_insert_with(make).clone()
    }

    /// The same with the tools that were found in a conversation, in the order in which they
    /// were: the beginning of a prompt stays what it was.
    pub fn shown_with<'f>(
        &self,
        base: Arc<[ToolSchema]>,
        found: impl Iterator<Item = &'f str>,
    ) -> Arc<[ToolSchema]> {
        let mut names: Vec<&str> = Vec::new();
        for name in found {
            if self.own.contains_key(name) && !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            return base;
        }
        let last = &names[names.len().saturating_sub(FOUND_MAX)..];
        let found = last.iter().filter_map(|name| self.own.get(*name)).map(|(_, schema)| schema);
        base.iter().chain(found).cloned().collect()
    }
}

fn is_built_in(name: &str) -> bool {
    tool::find(name).is_some()
}

fn described(tool: Arc<dyn Tool>) -> Option<(Arc<dyn Tool>, ToolSchema)> {
    let mut schema = ToolSchema::new(tool.name(), tool.description(), tool.parameters()).ok()?;
    // Most of these are described by a server, in whatever words it likes.
    clean_tool(&mut schema, &mut Removed::default());
    Some((tool, schema))
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use insula_domain::{Possible, Selector, Switch, ToolPolicy};
    use insula_tools::{Cleared, Hands, Output, ToolError};

    struct Made(String, &'static str);

    #[async_trait]
    impl Tool for Made {
        fn name(&self) -> &str {
            &self.0
        }

        fn description(&self) -> &str {
            "made for one agent"
        }

        fn parameters(&self) -> &str {
            self.1
        }

        async fn run(&self, _: &Hands<'_>, _: &Cleared) -> Result<Output, ToolError> {
            Ok(Output::Text(self.0.clone()))
        }
    }

    fn made(name: impl Into<String>, schema: &'static str) -> Arc<dyn Tool> {
        Arc::new(Made(name.into(), schema))
    }

    fn table() -> ToolTable {
        let policy = ToolPolicy {
            deny: vec![Selector::parse("mcp__a__drop").unwrap()],
            ..ToolPolicy::default()
        };
        ToolTable::build(&policy, &Possible { mcp: Switch::On, ..Possible::default() })
    }

    fn built_in() -> BTreeMap<Box<str>, ToolSchema> {
        let todo = ToolSchema::new("todo", "keeps a list", "{}").unwrap();
        BTreeMap::from([(Box::from("todo"), todo)])
    }

    fn names(shown: &[ToolSchema]) -> Vec<&str> {
        shown.iter().map(|tool| &*tool.name).collect()
    }

    #[test]
    fn the_model_is_shown_what_the_table_exposes_and_it_is_put_together_once() {
        let own =
            [made("mcp__a__list", "{}"), made("mcp__a__drop", "{}"), made("mcp__a__garbled", "{")];
        let toolbox = Toolbox::new(&table(), own);
        let shown = toolbox.shown(&table(), &built_in());
        assert_eq!(names(&shown), ["todo", "mcp__a__list"]);
        assert!(Arc::ptr_eq(&shown, &toolbox.shown(&table(), &built_in())));
        assert_eq!(toolbox.find("mcp__a__list").unwrap().name(), "mcp__a__list");
        for name in ["mcp__a__garbled", "mcp__a__drop", "todo", "tool_search"] {
            assert!(toolbox.find(name).is_none(), "{name}");
        }
        assert_eq!(toolbox.names().collect::<Vec<_>>(), ["mcp__a__list"]);
        let none = ToolTable::build(&ToolPolicy::default(), &Possible::default());
        assert_eq!(toolbox.narrowed(&none).names().count(), 0);
    }

    #[test]
    fn too_much_is_held_back_behind_a_search_and_what_was_found_comes_at_the_end() {
        let many = (0..600).map(|n| made(format!("mcp__a__tool{n:03}"), r#"{"type":"object"}"#));
        let toolbox = Toolbox::new(&table(), many);
        assert!(toolbox.holds_back());
        let base = toolbox.shown(&table(), &built_in());
        assert_eq!(names(&base), ["todo", "tool_search"]);
        assert!(toolbox.find("tool_search").is_some());
        assert!(toolbox.find("mcp__a__tool007").is_some());
        let found = ["mcp__a__tool009", "mcp__a__gone", "mcp__a__tool001", "mcp__a__tool009"];
        let shown = toolbox.shown_with(base.clone(), found.into_iter());
        assert_eq!(names(&shown), ["todo", "tool_search", "mcp__a__tool009", "mcp__a__tool001"]);
        assert!(Arc::ptr_eq(&base, &toolbox.shown_with(base.clone(), std::iter::empty())));
    }
}
