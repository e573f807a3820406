//! The little of JSON schema that mending looks at: types, fields, items, values to choose from.

use serde_json::{Map, Value};

/// How many references in a row are followed.
const REFERENCES_MAX: usize = 8;

/// A schema, and the one it stands in.
#[derive(Clone, Copy)]
pub struct Schema<'s> {
    root: &'s Value,
    own: &'s Value,
}

/// A type of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Null,
    Bool,
    Integer,
    Number,
    Text,
    List,
    Object,
}

impl Type {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Bool,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::Text,
            "array" => Self::List,
            "object" => Self::Object,
            _ => return None,
        })
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::Text,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }
}

impl<'s> Schema<'s> {
    pub fn root(root: &'s Value) -> Self {
        Self { root, own: root }.followed()
    }

    fn at(self, own: &'s Value) -> Self {
        Self { root: self.root, own }.followed()
    }

    /// What a reference leads to.
    fn followed(mut self) -> Self {
        for _ in 0..REFERENCES_MAX {
            let Some(path) = self.own.get("$ref").and_then(Value::as_str) else { break };
            let target = path.strip_prefix('#').and_then(|path| self.root.pointer(path));
            match target {
                Some(target) => self.own = target,
                None => break,
            }
        }
        self
    }

    fn fields(self) -> Option<&'s Map<String, Value>> {
        self.own.get("properties")?.as_object()
    }

    pub fn property(&self, name: &str) -> Option<Self> {
        self.fields()?.get(name).map(|own| self.at(own))
    }

    pub fn items(&self) -> Option<Self> {
        self.own.get("items").filter(|it| it.is_object()).map(|own| self.at(own))
    }

    pub fn required(&self) -> impl Iterator<Item = &'s str> {
        let names = self.own.get("required").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether it takes no fields but those it names.
    pub fn is_closed(&self) -> bool {
        self.own.get("additionalProperties") == Some(&Value::Bool(false)) && self.fields().is_some()
    }

    pub fn default(&self) -> Option<&'s Value> {
        self.own.get("default").filter(|it| !it.is_null())
    }

    /// The values there are to choose from.
    pub fn choices(&self) -> &'s [Value] {
        self.own.get("enum").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Each of several schemas of which one has to hold.
    fn kinds(&self) -> impl Iterator<Item = Self> {
        let lists = ["anyOf", "oneOf"].into_iter().filter_map(|key| self.own.get(key)?.as_array());
        let schema = *self;
        lists.flatten().map(move |own| schema.at(own))
    }

    /// The types it takes; none where it does not say.
    pub fn types(&self) -> Vec<Type> {
        let mut types = match self.own.get("type") {
            Some(Value::String(name)) => Type::parse(name).into_iter().collect(),
            Some(Value::Array(names)) => {
                names.iter().filter_map(|name| Type::parse(name.as_str()?)).collect()
            }
            _ => Vec::new(),
        };
        if types.is_empty() {
            types.extend(self.choices().iter().map(Type::of));
        }
        if types.is_empty() && self.fields().is_some() {
            types.push(Type::Object);
        }
        if types.is_empty() {
            types.extend(self.kinds().flat_map(|kind| kind.types()));
        }
        types.dedup();
        types
    }

    /// The one among several schemas that a value of this type would belong to.
    pub fn for_type(&self, wanted: Type) -> Option<Self> {
        let mut kinds = self.kinds().filter(|kind| kind.takes(wanted)).peekable();
        if kinds.peek().is_none() {
            return self.takes(wanted).then_some(*self);
        }
        let first = kinds.next();
        // Of two that it could be nobody knows which.
        if kinds.next().is_some() { None } else { first }
    }

    pub fn takes(&self, wanted: Type) -> bool {
        let types = self.types();
        types.is_empty()
            || types.contains(&wanted)
            || wanted == Type::Integer && types.contains(&Type::Number)
    }

    /// Whether it takes a value as it is, by its type.
    pub fn takes_value(&self, value: &Value) -> bool {
        self.takes(Type::of(value))
    }

    /// The one field that is needed, where it is a text.
    pub fn only_text(&self) -> Option<&'s str> {
        let mut required = self.required();
        let (Some(name), None) = (required.next(), required.next()) else { return None };
        let schema = self.property(name)?;
        (schema.types() == [Type::Text] && schema.choices().is_empty()).then_some(name)
    }
}
