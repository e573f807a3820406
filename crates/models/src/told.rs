//! What a server tells of its models: how much they can be shown at once, and whether pictures.
//! Asked once, kept as long as the provider is, and never waited for long: a server that does
//! not tell is like one that has not been asked.

use insula_world::Clock;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Models that are remembered. A configuration names a few.
const MODELS_MAX: usize = 256;
/// How long to wait before a server is asked again that did not tell.
const AGAIN_AFTER: Duration = Duration::from_secs(5 * 60);
/// The longest wait for all that a server tells: it has it at hand, or not at all.
const WAIT: Duration = Duration::from_secs(3);
/// The windows that are believed, in tokens.
pub(crate) const WINDOWS: std::ops::RangeInclusive<u64> = 512..=16_000_000;

/// What a server tells of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Told {
    /// Tokens that it can be shown and say at once.
    pub(crate) window: Option<u32>,
    /// Whether it can be shown pictures.
    pub(crate) sees_images: Option<bool>,
}

/// What was told, by model.
#[derive(Default)]
pub(crate) struct Teller {
    /// What was told, or when nothing was.
    known: Mutex<BTreeMap<Arc<str>, Result<Told, Duration>>>,
}

impl Teller {
    /// What is known of a model, or else what `ask` finds out.
    pub(crate) async fn of(
        &self,
        model: &str,
        clock: &dyn Clock,
        ask: impl Future<Output = Option<Told>> + Send,
    ) -> Told {
        match self.known().get(model) {
            Some(Ok(told)) => return *told,
            Some(Err(asked)) if clock.elapsed().saturating_sub(*asked) < AGAIN_AFTER => {
                return Told::default();
            }
            _ => {}
        }
        let told = tokio::select! {
            biased;
            told = ask => told,
            () = clock.sleep(WAIT) => None,
        };
        let mut known = self.known();
        if known.len() < MODELS_MAX || known.contains_key(model) {
            known.insert(model.into(), told.ok_or_else(|| clock.elapsed()));
        }
        told.unwrap_or_default()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<Arc<str>, Result<Told, Duration>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a server of chat completions tells more than in its list of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Further {
    /// llama.cpp, in `/props`.
    Props,
    /// LM Studio, in `/api/v0/models`.
    Listed,
}

/// What a list of models says of one, and where to look further. llama.cpp answers to any name.
pub(crate) fn from_models(body: &[u8], model: &str) -> Option<(Told, Option<Further>)> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let entry = entry(&body, model)?;
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let further = match text("owned_by") {
        "llamacpp" => Some(Further::Props),
        "organization_owner" | "organization-owner" => Some(Further::Listed),
        _ => None,
    };
    let own = ["max_model_len", "context_length", "context_window", "max_context_length"];
    let trained = entry.get("meta").and_then(|meta| meta.get("n_ctx_train"));
    let window = own.iter().find_map(|key| entry.get(*key)).or(trained).and_then(window);
    Some((Told { window, sees_images: None }, further))
}

/// What `/props` of llama.cpp says: the window it was started with, which is not the model's.
pub(crate) fn from_props(body: &[u8]) -> Option<Told> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let settings = body.get("default_generation_settings");
    let window = settings.and_then(|it| it.get("n_ctx")).and_then(window);
    let sees_images = body.get("modalities").and_then(|it| it.get("vision")?.as_bool());
    (window.is_some() || sees_images.is_some()).then_some(Told { window, sees_images })
}

/// What LM Studio's own list says.
pub(crate) fn from_lm_studio(body: &[u8], model: &str) -> Option<Told> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let entry = entry(&body, model)?;
    let loaded = entry.get("loaded_context_length").or_else(|| entry.get("max_context_length"));
    let kind = entry.get("type").and_then(Value::as_str);
    Some(Told { window: loaded.and_then(window), sees_images: kind.map(|kind| kind == "vlm") })
}

/// What Ollama says in `/api/show`: the window of the model, or the one it is set to.
pub(crate) fn from_show(body: &[u8]) -> Option<Told> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let info = body.get("model_info").and_then(Value::as_object);
    let is_window = |key: &str| key.ends_with(".context_length");
    let own = info.and_then(|info| info.iter().find(|(key, _)| is_window(key)));
    let set = body.get("parameters").and_then(Value::as_str).and_then(|parameters| {
        let lines = parameters.lines().filter_map(|line| line.trim().split_once(' '));
        let mut set = lines.filter(|(key, _)| *key == "num_ctx");
        set.next().and_then(|(_, value)| value.trim().parse::<u64>().ok())
    });
    let set = set.map(Value::from);
    let window = set.as_ref().or(own.map(|(_, value)| value)).and_then(window);
    let abilities = body.get("capabilities").and_then(Value::as_array);
    let sees_images = abilities.map(|list| list.iter().any(|ability| ability == "vision"));
    (window.is_some() || sees_images.is_some()).then_some(Told { window, sees_images })
}

/// A model in a list, or the only one there is.
fn entry<'b>(body: &'b Value, model: &str) -> Option<&'b Value> {
    let list = body.get("data").and_then(Value::as_array).or_else(|| body.as_array())?;
    let named = list.iter().find(|entry| entry.get("id").is_some_and(|id| id == model));
    match list.as_slice() {
        [only] => Some(only),
        _ => named,
    }
}

fn window(value: &Value) -> Option<u32> {
    let window = value.as_u64().filter(|window| WINDOWS.contains(window))?;
    u32::try_from(window).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bytes(value: Value) -> Vec<u8> {
        value.to_string().into_bytes()
    }

    #[test]
    fn each_server_tells_in_its_own_way() {
        let llama = bytes(json!({"object": "list", "data": [{"id": "/models/q.gguf",
            "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}}]}));
        let told = |window| Told { window: Some(window), sees_images: None };
        assert_eq!(from_models(&llama, "any"), Some((told(32_768), Some(Further::Props))));
        let props = bytes(json!({"default_generation_settings": {"n_ctx": 8192},
            "modalities": {"vision": true, "audio": false}}));
        let seeing = Told { window: Some(8_192), sees_images: Some(true) };
        assert_eq!(from_props(&props), Some(seeing));
        let vllm = bytes(json!({"data": [{"id": "a", "owned_by": "vllm", "max_model_len": 4096},
            {"id": "b", "owned_by": "vllm", "max_model_len": 16384}]}));
        assert_eq!(from_models(&vllm, "b"), Some((told(16_384), None)));
        assert_eq!(from_models(&vllm, "c"), None);
        let studio = bytes(json!({"data": [{"id": "a", "type": "vlm",
            "max_context_length": 131072, "loaded_context_length": 4096}]}));
        let loaded = Told { window: Some(4_096), sees_images: Some(true) };
        assert_eq!(from_lm_studio(&studio, "a"), Some(loaded));
        let show = |parameters: &str| {
            bytes(json!({"model_info": {"general.architecture": "llama",
                "llama.context_length": 131072}, "parameters": parameters,
                "capabilities": ["completion", "tools"]}))
        };
        let blind = |window| Told { window: Some(window), sees_images: Some(false) };
        assert_eq!(from_show(&show("stop \"x\"")), Some(blind(131_072)));
        assert_eq!(from_show(&show("stop \"x\"\nnum_ctx    16384")), Some(blind(16_384)));
    }

    #[test]
    fn what_makes_no_sense_is_as_if_nothing_was_told() {
        for odd in ["", "[]", "<html>", "{\"data\":[{\"id\":\"a\",\"max_model_len\":-1}]}", "null"]
        {
            let told = from_models(odd.as_bytes(), "a").map(|(told, _)| told).unwrap_or_default();
            assert_eq!(told, Told::default(), "{odd}");
            assert_eq!(from_props(odd.as_bytes()), None, "{odd}");
            assert_eq!(from_show(odd.as_bytes()), None, "{odd}");
        }
        let huge = br#"{"default_generation_settings":{"n_ctx":99999999999}}"#;
        assert_eq!(from_props(huge), None);
    }

    #[tokio::test]
    async fn a_server_is_asked_once_and_one_that_did_not_tell_again_later() {
        let (world, handles) = insula_testkit::world(1);
        let teller = Teller::default();
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let ask = |told: Option<Told>| {
            let asked = &asked;
            async move {
                asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                told
            }
        };
        let count = || asked.load(std::sync::atomic::Ordering::SeqCst);
        let told = Told { window: Some(9_000), sees_images: None };
        assert_eq!(teller.of("a", &*world.clock, ask(Some(told))).await, told);
        assert_eq!(teller.of("a", &*world.clock, ask(None)).await, told);
        assert_eq!(count(), 1);
        assert_eq!(teller.of("b", &*world.clock, ask(None)).await, Told::default());
        assert_eq!(teller.of("b", &*world.clock, ask(Some(told))).await, Told::default());
        assert_eq!(count(), 2);
        handles.clock.advance(AGAIN_AFTER).await;
        assert_eq!(teller.of("b", &*world.clock, ask(Some(told))).await, told);
        assert_eq!(count(), 3);
    }
}
