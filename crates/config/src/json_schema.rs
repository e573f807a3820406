//! The JSON schema of `config.yaml`, for editors, out of the same tables the check uses.

use crate::rules;
use crate::schema::{AGENT, BINDING, HOOK_EVENT, HOOK_EVENTS, MOVED, TOP};
use crate::shape::{Field, Object, Shape, TextRule};
use insula_domain::platform::PLATFORMS;
use serde_json::{Map, Value as Json, json};

/// The schema, in JSON Schema draft 2020-12.
pub fn schema() -> Json {
    let mut top = object(&TOP, Part::Top);
    let properties = &mut top["properties"];
    properties["agents"] = described(
        json!({
            "type": ["object", "null"],
            "propertyNames": text(&rules::AGENT),
            "additionalProperties": {"$ref": "#/$defs/agent"},
        }),
        "The agents, by id.",
    );
    properties["defaults"] = described(
        json!({"$ref": "#/$defs/agent"}),
        "Any key of an agent, for every agent that does not set it.",
    );
    for name in ["bindings", "profile_routes"] {
        let list = json!({"type": ["array", "null"], "items": {"$ref": "#/$defs/binding"}});
        properties[name] = described(list, "Which messages go to which agent.");
    }
    properties["profile_routes"]["deprecated"] = true.into();
    let all = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "config.yaml of Insula",
    });
    let Json::Object(mut all) = all else { return all };
    if let Json::Object(top) = top {
        all.extend(top);
    }
    // Room for anchors and notes.
    all.insert("patternProperties".into(), json!({"^x-": true}));
    all.insert(
        "$defs".into(),
        json!({"agent": object(&AGENT, Part::Agent), "binding": object(&BINDING, Part::Other)}),
    );
    Json::Object(all)
}

/// Where an object stands, which decides which keys of other runtimes it takes.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Top,
    Agent,
    Other,
}

fn object(object: &Object, part: Part) -> Json {
    let mut properties = Map::new();
    for field in object.fields {
        properties.insert(field.name.into(), property(field));
        for alias in field.aliases {
            properties.insert((*alias).into(), other_spelling(property(field), field.name));
        }
    }
    if part != Part::Other {
        for moved in MOVED {
            let to = format!("{}.{}", moved.to.0, moved.to.1);
            properties.insert(moved.name.into(), other_spelling(json!({}), &to));
        }
    }
    if let Some(tools) = AGENT.fields.iter().find(|field| field.name == "tools")
        && part != Part::Other
    {
        // Sets of tools have names of their own, so their list is not checked here.
        for alias in tools.aliases {
            properties.insert((*alias).into(), other_spelling(json!({}), tools.name));
        }
    }
    let mut schema = json!({
        "type": if object.required.is_empty() { json!(["object", "null"]) } else { json!("object") },
        "properties": properties,
        "additionalProperties": false,
    });
    let required: Vec<Json> =
        object.required.iter().map(|name| one_spelling_of(object, name)).collect();
    if !required.is_empty() {
        schema["allOf"] = required.into();
    }
    schema
}

fn one_spelling_of(object: &Object, name: &str) -> Json {
    let field = object.fields.iter().find(|field| field.name == name);
    let aliases = field.map(|field| field.aliases).unwrap_or_default();
    let spellings = std::iter::once(&name).chain(aliases);
    json!({"anyOf": spellings.map(|it| json!({"required": [it]})).collect::<Vec<_>>()})
}

fn other_spelling(mut schema: Json, name: &str) -> Json {
    schema["deprecated"] = true.into();
    described(schema, &format!("Another spelling of `{name}`."))
}

fn described(mut schema: Json, text: &str) -> Json {
    schema["description"] = text.into();
    schema
}

fn property(field: &Field) -> Json {
    let mut schema = described(value(&field.shape), field.doc);
    match default_value(field.default) {
        Some(default) => schema["default"] = default,
        None if field.default.is_empty() => {}
        None => {
            let text = format!("{} Default: {}.", field.doc, field.default);
            schema["description"] = text.into();
        }
    }
    schema
}

/// A default that is a value; others are words about one.
fn default_value(text: &str) -> Option<Json> {
    let word = text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    match word {
        Some(word) => (!word.contains('`')).then(|| word.into()),
        None => serde_json::from_str(text).ok(),
    }
}

fn value(shape: &Shape) -> Json {
    match shape {
        Shape::Text(rule) => text(rule),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Amount => json!({"type": "number", "minimum": 0}),
        Shape::Choice(words) => {
            let mut words: Vec<Json> = words.iter().map(|word| (*word).into()).collect();
            // Written without quotes it is a boolean to an editor.
            if words.contains(&"false".into()) {
                words.push(false.into());
            }
            json!({"enum": words})
        }
        Shape::List(item) => json!({"type": ["array", "null"], "items": value(item)}),
        Shape::Map { keys, values } => {
            let name = text(keys);
            json!({
                "type": ["object", "null"],
                "propertyNames": name,
                "additionalProperties": value(values),
            })
        }
        Shape::Object(it) | Shape::Part(it) => object(it, Part::Other),
        Shape::Forms(forms) => {
            let forms: Vec<Json> = forms.iter().map(|form| without_null(value(form))).collect();
            json!({"anyOf": forms})
        }
        Shape::Parts => json!({"type": ["object", "null"]}),
        Shape::Anything => json!({}),
    }
}

/// A key that takes several forms takes no missing value.
fn without_null(mut schema: Json) -> Json {
    if let Some(types) = schema["type"].as_array() {
        let types: Vec<Json> = types.iter().filter(|name| *name != "null").cloned().collect();
        schema["type"] = types.into();
    }
    if schema["type"].is_null()
        && let Some(all) = schema.as_object_mut()
    {
        all.remove("type");
    }
    schema
}

/// A text, or a number or boolean where that is as good a text as any other.
fn text(rule: &TextRule) -> Json {
    let is = |other: &TextRule| std::ptr::eq(rule, other);
    if is(&rules::PLATFORM) {
        return json!({"enum": PLATFORMS});
    }
    if is(&HOOK_EVENT) {
        return json!({"enum": HOOK_EVENTS});
    }
    if is(&rules::TOOL) {
        let names: Vec<&str> = insula_domain::known_names().collect();
        let others = "^(mcp__.+|group:(fs|runtime|kanban))$";
        return json!({"anyOf": [{"enum": names}, {"type": "string", "pattern": others}]});
    }
    let mut types = vec!["string"];
    for (kind, example) in [("number", "1"), ("boolean", "true")] {
        if (rule.check)(example).is_ok() {
            types.push(kind);
        }
    }
    let mut schema = json!({"type": types});
    if !rule.pattern.is_empty() {
        schema["pattern"] = rule.pattern.into();
    }
    schema
}
