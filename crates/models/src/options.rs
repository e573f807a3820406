//! How an operator wants a model to be asked: limits of time and length, sampling, what it can
//! do, and what its server needs besides.

use crate::request::{Effort, Request};
use crate::text_calls::ToolCalls;
use crate::told::Told;
use crate::window::Abilities;
use insula_wire::Timeouts;
use secrecy::SecretString;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What is set for all models of a provider, or for one of them. What is not set is left to what
/// stands above it, and in the end to us or to the provider.
#[derive(Clone, Default)]
pub struct ModelOptions {
    pub timeouts: TimeoutOptions,
    /// The most tokens of an answer, where the request does not say.
    pub max_tokens: Option<u32>,
    pub sampling: Sampling,
    /// How hard to think, where the request does not say.
    pub effort: Option<Effort>,
    /// Tokens that the model can be shown and say at once.
    pub context_window: Option<u32>,
    /// Whether it can be shown pictures.
    pub sees_images: Option<bool>,
    /// Whether one answer may ask for several calls.
    pub parallel_calls: Option<bool>,
    /// How it calls tools.
    pub tool_calls: Option<ToolCalls>,
    /// Whether its answers are held to a schema of calls and replies.
    pub constrained: Option<bool>,
    /// Headers of its requests, beside those of its provider or in their place.
    pub headers: Vec<(String, SecretString)>,
    /// Members of the body, beside ours or in their place.
    pub extra_body: Map<String, Value>,
}

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeoutOptions {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub idle: Option<Duration>,
}

/// How the next word is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sampling {
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    pub top_k: Option<u32>,
    pub min_p: Option<f32>,
    pub presence_penalty: Option<f32>,
    pub frequency_penalty: Option<f32>,
    pub repeat_penalty: Option<f32>,
    pub seed: Option<u32>,
}

impl ModelOptions {
    /// What holds where this is set for a model and `below` for its provider.
    pub fn over(self, below: &Self) -> Self {
        let (mine, its) = (self.sampling, below.sampling);
        let mut extra_body = below.extra_body.clone();
        merge(&mut extra_body, self.extra_body);
        Self {
            timeouts: TimeoutOptions {
                connect: self.timeouts.connect.or(below.timeouts.connect),
                first_byte: self.timeouts.first_byte.or(below.timeouts.first_byte),
                idle: self.timeouts.idle.or(below.timeouts.idle),
            },
            max_tokens: self.max_tokens.or(below.max_tokens),
            sampling: Sampling {
                temperature: mine.temperature.or(its.temperature),
                top_p: mine.top_p.or(its.top_p),
                top_k: mine.top_k.or(its.top_k),
                min_p: mine.min_p.or(its.min_p),
                presence_penalty: mine.presence_penalty.or(its.presence_penalty),
                frequency_penalty: mine.frequency_penalty.or(its.frequency_penalty),
                repeat_penalty: mine.repeat_penalty.or(its.repeat_penalty),
                seed: mine.seed.or(its.seed),
            },
            effort: self.effort.or(below.effort),
            context_window: self.context_window.or(below.context_window),
            sees_images: self.sees_images.or(below.sees_images),
            parallel_calls: self.parallel_calls.or(below.parallel_calls),
            tool_calls: self.tool_calls.or(below.tool_calls),
            constrained: self.constrained.or(below.constrained),
            headers: below.headers.iter().cloned().chain(self.headers).collect(),
            extra_body,
        }
    }

    /// What a model can be shown: what its operator says comes first, then what its server tells,
    /// then what its name says.
    pub(crate) fn abilities(&self, model: &str, told: Told) -> Abilities {
        let window = self.context_window.or(told.window);
        Abilities::of(model, window, self.sees_images.or(told.sees_images))
    }

    /// The request with what the operator wants where whoever asks did not say.
    pub(crate) fn applied<'r>(
        &self,
        request: &'r Request,
        max_tokens_default: Option<u32>,
    ) -> Cow<'r, Request> {
        let max_tokens = request.max_tokens.or(self.max_tokens).or(max_tokens_default);
        let temperature = request.temperature.or(self.sampling.temperature);
        let effort = request.effort.or(self.effort);
        let parallel_calls = request.parallel_calls.or(self.parallel_calls);
        let is_same = max_tokens == request.max_tokens
            && temperature == request.temperature
            && effort == request.effort
            && parallel_calls == request.parallel_calls;
        if is_same {
            return Cow::Borrowed(request);
        }
        let mut changed = request.clone();
        changed.max_tokens = max_tokens;
        changed.temperature = temperature;
        changed.effort = effort;
        changed.parallel_calls = parallel_calls;
        Cow::Owned(changed)
    }
}

impl fmt::Debug for ModelOptions {
    /// Without values that may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let extra: Vec<&str> = self.extra_body.keys().map(String::as_str).collect();
        f.debug_struct("ModelOptions")
            .field("timeouts", &self.timeouts)
            .field("max_tokens", &self.max_tokens)
            .field("sampling", &self.sampling)
            .field("effort", &self.effort)
            .field("context_window", &self.context_window)
            .field("sees_images", &self.sees_images)
            .field("parallel_calls", &self.parallel_calls)
            .field("tool_calls", &self.tool_calls)
            .field("constrained", &self.constrained)
            .field("headers", &headers)
            .field("extra_body", &extra)
            .finish()
    }
}

impl TimeoutOptions {
    /// These where they are set, else those.
    pub(crate) fn over(&self, limits: &Timeouts) -> Timeouts {
        Timeouts {
            connect: self.connect.unwrap_or(limits.connect),
            first_byte: self.first_byte.unwrap_or(limits.first_byte),
            idle: self.idle.unwrap_or(limits.idle),
        }
    }
}

/// Puts members into an object, objects into objects.
pub(crate) fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

/// The body of a request with what the operator adds to it.
pub(crate) fn with_extra(
    body: Vec<u8>,
    extra: &Map<String, Value>,
) -> Result<Vec<u8>, serde_json::Error> {
    if extra.is_empty() {
        return Ok(body);
    }
    let mut all: Map<String, Value> = serde_json::from_slice(&body)?;
    merge(&mut all, extra.clone());
    serde_json::to_vec(&all)
}

/// Something for each model of a provider: for those that are named, and for all others.
#[derive(Debug, Clone)]
pub(crate) struct PerModel<T> {
    others: T,
    named: BTreeMap<Arc<str>, T>,
}

impl<T> PerModel<T> {
    /// Makes it of what is set for the provider and for its models.
    pub(crate) fn try_new<E>(
        all: &ModelOptions,
        models: &BTreeMap<Arc<str>, ModelOptions>,
        mut make: impl FnMut(ModelOptions) -> Result<T, E>,
    ) -> Result<Self, E> {
        let mut named = BTreeMap::new();
        for (model, options) in models {
            named.insert(model.clone(), make(options.clone().over(all))?);
        }
        Ok(Self { others: make(all.clone())?, named })
    }

    /// What holds for a model.
    pub(crate) fn of(&self, model: &str) -> &T {
        self.named.get(model).unwrap_or(&self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Message;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn what_a_model_sets_comes_before_what_its_provider_sets() {
        let provider = ModelOptions {
            max_tokens: Some(10),
            sees_images: Some(true),
            sampling: Sampling { temperature: Some(0.5), seed: Some(7), ..Sampling::default() },
            extra_body: object(json!({"a": {"x": 1, "y": 1}, "b": 1})),
            ..ModelOptions::default()
        };
        let model = ModelOptions {
            max_tokens: Some(20),
            sampling: Sampling { temperature: Some(0.0), ..Sampling::default() },
            extra_body: object(json!({"a": {"y": 2}, "c": 3})),
            ..ModelOptions::default()
        };
        let both = model.over(&provider);
        assert_eq!(both.max_tokens, Some(20));
        assert_eq!(both.sees_images, Some(true));
        assert_eq!((both.sampling.temperature, both.sampling.seed), (Some(0.0), Some(7)));
        let expected = json!({"a": {"x": 1, "y": 2}, "b": 1, "c": 3});
        assert_eq!(Value::Object(both.extra_body), expected);
    }

    #[test]
    fn who_asks_comes_before_what_the_operator_sets() {
        let options = ModelOptions {
            max_tokens: Some(10),
            effort: Some(Effort::Low),
            ..ModelOptions::default()
        };
        let mut request = Request::new("m", vec![Message::user("hi")]);
        request.max_tokens = Some(5);
        let applied = options.applied(&request, Some(99));
        assert_eq!((applied.max_tokens, applied.effort), (Some(5), Some(Effort::Low)));
        request.max_tokens = None;
        assert_eq!(options.applied(&request, Some(99)).max_tokens, Some(10));
        let none = ModelOptions::default();
        assert_eq!(none.applied(&request, Some(99)).max_tokens, Some(99));
        assert!(matches!(none.applied(&request, None), Cow::Borrowed(_)));
    }
}
