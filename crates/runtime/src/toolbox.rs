//! The toolbox of a generation: the tools that only this agent has, and what its model is
//! shown of all it has. It decides nothing: the tool table does.

use insula_domain::ToolTable;
use insula_models::ToolSchema;
use insula_tools::{Tool, ToolRef};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The tools of one generation.
#[derive(Default)]
pub struct Toolbox {
    /// By name.
    own: BTreeMap<Box<str>, (Arc<dyn Tool>, ToolSchema)>,
    /// The same in every turn of the generation, so put together once.
    shown: OnceLock<Arc<[ToolSchema]>>,
}

impl Toolbox {
    /// A toolbox with tools of the agent's own. One whose schema is not JSON is left out: no
    /// model could be shown it.
    pub fn new(own: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let own = own.into_iter().filter_map(|tool| {
            let schema =
                ToolSchema::new(tool.name(), tool.description(), tool.parameters()).ok()?;
            Some((tool.name().into(), (tool, schema)))
        });
        Self { own: own.collect(), shown: OnceLock::new() }
    }

    /// Finds one of the agent's own tools.
    pub fn find(&self, name: &str) -> Option<ToolRef> {
        self.own.get(name).map(|(tool, _)| ToolRef::Own(tool.clone()))
    }

    /// The names of the agent's own tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.own.keys().map(|name| &**name)
    }

    /// What the model is shown: what `table` exposes, of the `built_in` tools first and then
    /// of the agent's own, each by name.
    pub(crate) fn shown(
        &self,
        table: &ToolTable,
        built_in: &BTreeMap<Box<str>, ToolSchema>,
    ) -> Arc<[ToolSchema]> {
        let shown = self.shown.get_or_init(|| {
            let known = table.exposed().filter_map(|name| built_in.get(name));
            let exposed = |name: &str| table.verdict(name).is_in();
            let own = self.own.iter().filter(|(name, _)| exposed(name)).map(|(_, (_, it))| it);
            known.chain(own).cloned().collect()
        });
        shown.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use insula_domain::{Possible, Selector, Switch, ToolPolicy};
    use insula_tools::{Hands, Output, ToolError};

    struct Made(&'static str, &'static str);

    #[async_trait]
    impl Tool for Made {
        fn name(&self) -> &str {
            self.0
        }

        fn description(&self) -> &str {
            "made for one agent"
        }

        fn parameters(&self) -> &str {
            self.1
        }

        async fn run(&self, _: &Hands<'_>, _: &serde_json::Value) -> Result<Output, ToolError> {
            Ok(Output::Text(self.0.to_owned()))
        }
    }

    #[test]
    fn the_model_is_shown_what_the_table_exposes_and_it_is_put_together_once() {
        let made = |name, schema| Arc::new(Made(name, schema)) as Arc<dyn Tool>;
        let toolbox = Toolbox::new([
            made("mcp__a__list", "{}"),
            made("mcp__a__drop", "{}"),
            made("mcp__a__garbled", "{"),
        ]);
        let policy = ToolPolicy {
            deny: vec![Selector::parse("mcp__a__drop").unwrap()],
            ..ToolPolicy::default()
        };
        let possible = Possible { mcp: Switch::On, ..Possible::default() };
        let table = ToolTable::build(&policy, &possible);
        let built_in = BTreeMap::from([(
            Box::from("todo"),
            ToolSchema::new("todo", "keeps a list", "{}").unwrap(),
        )]);
        let shown = toolbox.shown(&table, &built_in);
        let names: Vec<&str> = shown.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["todo", "mcp__a__list"]);
        assert!(Arc::ptr_eq(&shown, &toolbox.shown(&table, &built_in)));
        assert_eq!(toolbox.find("mcp__a__list").unwrap().name(), "mcp__a__list");
        assert!(toolbox.find("mcp__a__garbled").is_none() && toolbox.find("todo").is_none());
        assert_eq!(toolbox.names().collect::<Vec<_>>(), ["mcp__a__drop", "mcp__a__list"]);
    }
}
