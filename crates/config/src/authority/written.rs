//! Authority as text: written down when it is applied, and read back to compare.

use super::{Applied, Authority, Level};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};

impl Applied {
    /// A compact text that [`Self::from_json`] reads back.
    pub fn to_json(&self) -> String {
        let agents = self.agents.iter().map(|(id, it)| (id.clone(), it.json())).collect();
        let mut all = Map::new();
        all.insert("agents".into(), Json::Object(agents));
        all.insert("failed".into(), self.failed.iter().cloned().collect());
        all.insert("routes".into(), sets_json(&self.routes));
        all.insert("daemon".into(), texts_json(&self.daemon));
        Json::Object(all).to_string()
    }

    /// Reads what [`Self::to_json`] wrote. What it does not know, it leaves out.
    pub fn from_json(text: &str) -> Option<Self> {
        let json: Json = serde_json::from_str(text).ok()?;
        let agents = json.get("agents").and_then(Json::as_object);
        Some(Self {
            agents: agents
                .into_iter()
                .flatten()
                .map(|(id, it)| (id.clone(), Authority::read(it)))
                .collect(),
            failed: strings(json.get("failed")),
            routes: read_sets(json.get("routes")),
            daemon: read_texts(json.get("daemon")),
        })
    }
}

impl Authority {
    /// A compact text that [`Self::from_json`] reads back.
    pub fn to_json(&self) -> String {
        self.json().to_string()
    }

    /// Reads what [`Self::to_json`] wrote. What it does not know, it leaves out.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(|json: Json| Self::read(&json))
    }

    fn json(&self) -> Json {
        let levels = self.levels.iter().map(|(name, level)| {
            (name.clone(), Json::from(vec![Json::from(level.rank), Json::from(&*level.name)]))
        });
        let limits = self.limits.iter().map(|(name, most)| (name.clone(), Json::from(*most)));
        let mut all = Map::new();
        all.insert("grants".into(), sets_json(&self.grants));
        all.insert("guards".into(), sets_json(&self.guards));
        all.insert("limits".into(), Json::Object(limits.collect()));
        all.insert("levels".into(), Json::Object(levels.collect()));
        all.insert("settings".into(), texts_json(&self.settings));
        Json::Object(all)
    }

    fn read(json: &Json) -> Self {
        let object = |key: &str| json.get(key).and_then(Json::as_object).into_iter().flatten();
        Self {
            grants: read_sets(json.get("grants")),
            guards: read_sets(json.get("guards")),
            limits: object("limits")
                .filter_map(|(name, most)| Some((name.clone(), most.as_u64()?)))
                .collect(),
            levels: object("levels")
                .filter_map(|(name, level)| {
                    let (rank, called) = (level.get(0)?.as_u64()?, level.get(1)?.as_str()?);
                    Some((name.clone(), Level { rank, name: called.to_owned() }))
                })
                .collect(),
            settings: read_texts(json.get("settings")),
        }
    }
}

fn sets_json(sets: &BTreeMap<String, BTreeSet<String>>) -> Json {
    Json::Object(
        sets.iter().map(|(key, set)| (key.clone(), set.iter().cloned().collect())).collect(),
    )
}

fn texts_json(texts: &BTreeMap<String, String>) -> Json {
    Json::Object(texts.iter().map(|(key, text)| (key.clone(), text.clone().into())).collect())
}

fn strings(json: Option<&Json>) -> BTreeSet<String> {
    let items = json.and_then(Json::as_array).into_iter().flatten();
    items.filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}

fn read_sets(json: Option<&Json>) -> BTreeMap<String, BTreeSet<String>> {
    let entries = json.and_then(Json::as_object).into_iter().flatten();
    entries.map(|(key, set)| (key.clone(), strings(Some(set)))).collect()
}

fn read_texts(json: Option<&Json>) -> BTreeMap<String, String> {
    let entries = json.and_then(Json::as_object).into_iter().flatten();
    entries.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned()))).collect()
}
