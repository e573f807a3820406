//! Events as a platform sends them, to begin from, and what noise makes of them.

use super::dice::Dice;
use serde_json::Value;

/// What is told that is deeper than anything reads.
fn too_deep() -> Vec<u8> {
    format!("{}{}", "[".repeat(5000), "{\"a\":".repeat(5000)).into_bytes()
}

/// The ids that events of a platform are made of.
#[derive(Debug, Clone, Default)]
pub struct Cast {
    /// Our own.
    pub ours: String,
    /// Somebody who may talk.
    pub friend: String,
    /// Somebody who may not.
    pub stranger: String,
    pub chat: String,
    /// What the chat belongs to, where there is such a thing.
    pub guild: String,
    /// A message that is there.
    pub message: String,
}

/// Who says an event, as far as the platform vouches for it.
#[derive(Debug, Clone)]
pub enum Speaker {
    /// The event does not say.
    Unnamed,
    /// It stands in these places.
    At(Vec<(&'static str, Value)>),
    /// It stands under this name, wherever that is.
    Under(&'static str, Value),
}

/// An event to begin from.
#[derive(Debug, Clone)]
pub struct Template {
    /// What the platform calls it, where it does so outside of the event.
    pub kind: &'static str,
    pub value: Value,
    /// Where in it most of the changes are made.
    pub focus: &'static str,
    /// Fields that hold a JSON text.
    pub texts: &'static [&'static str],
    pub speaker: Speaker,
}

impl Template {
    pub fn new(kind: &'static str, value: Value, speaker: Speaker) -> Self {
        Self { kind, value, focus: "", texts: &[], speaker }
    }
}

/// An event as it is told.
#[derive(Debug, Clone)]
pub struct Told {
    pub kind: &'static str,
    pub bytes: Vec<u8>,
}

impl Told {
    /// Its text; what is none in UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// What it holds; `None` where it is no JSON.
    pub fn value(&self) -> Option<Value> {
        serde_json::from_slice(&self.bytes).ok()
    }
}

/// What may be changed of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// All of it.
    Anywhere,
    /// All but who says it: that the platform vouches for.
    ButTheSpeaker,
}

/// One of these, changed.
pub fn noisy(dice: &mut Dice, templates: &[Template], noise: Noise) -> Told {
    let template = dice.one_of(templates);
    let mut value = template.value.clone();
    for _ in 0..dice.below(5) {
        let focus = if dice.below(8) == 0 { "" } else { template.focus };
        if let Some(part) = value.pointer_mut(focus) {
            dice.mutate(part);
        }
    }
    if noise == Noise::ButTheSpeaker {
        restore(&mut value, &template.speaker);
    }
    for name in template.texts {
        let Some(part) = value.get_mut(*name) else { continue };
        let mut bytes = part.to_string().into_bytes();
        if dice.below(6) == 0 {
            dice.garble(&mut bytes);
        }
        *part = String::from_utf8_lossy(&bytes).into_owned().into();
    }
    let mut bytes = match dice.below(14) {
        0 => dice.value(4).to_string().into_bytes(),
        1 => too_deep(),
        _ => value.to_string().into_bytes(),
    };
    if dice.below(6) == 0 {
        dice.garble(&mut bytes);
    }
    Told { kind: template.kind, bytes }
}

/// Writes who says it where that stands.
fn restore(value: &mut Value, speaker: &Speaker) {
    match speaker {
        Speaker::Unnamed => {}
        Speaker::At(places) => {
            for (place, who) in places {
                put(value, place, who);
            }
        }
        Speaker::Under(name, who) => everywhere(value, name, who),
    }
}

/// Puts something where it belongs, whatever stands in the way.
fn put(value: &mut Value, place: &str, who: &Value) {
    let Some((name, rest)) =
        place.strip_prefix('/').map(|it| it.split_once('/').unwrap_or((it, "")))
    else {
        who.clone_into(value);
        return;
    };
    let rest = if rest.is_empty() { String::new() } else { format!("/{rest}") };
    match (&mut *value, name.parse::<usize>()) {
        // An entry that is gone needs nobody who says it.
        (Value::Array(items), Ok(at)) => {
            if let Some(item) = items.get_mut(at) {
                put(item, &rest, who);
            }
            return;
        }
        (Value::Object(_), _) => {}
        _ => *value = Value::Object(serde_json::Map::new()),
    }
    put(&mut value[name], &rest, who);
}

fn everywhere(value: &mut Value, name: &str, who: &Value) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                if key == name {
                    who.clone_into(inner);
                } else {
                    everywhere(inner, name, who);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| everywhere(item, name, who)),
        _ => {}
    }
}
