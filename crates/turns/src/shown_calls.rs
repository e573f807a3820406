//! What a turn's models are shown, taken apart as it is kept (`showings/`).

use crate::history::Fitting;
use crate::showings::recipe::{Said, TakenApart, common, take_apart};
use crate::showings::{LastShown, SETTINGS, hash};
use crate::turn::Turn;
use insula_models::{Link, Request};
use insula_registry::context::AgentContext;
use insula_store::session::NAME_BYTES_MAX;
use insula_store::shown::{
    SHOWN_HOPS_MAX, SHOWN_PART_BYTES_MAX, SHOWN_PARTS_MAX, SHOWN_RECIPE_BYTES_MAX,
};
use insula_store::{AgentCommand, Message, ShownCall, ShownFrame, ShownPart, ShownRecipe};
use serde_json::{Map, Value};
use std::ops::Range;
use std::sync::Arc;

/// What is kept of one turn, in bytes, besides parts. A turn that shows more than that in words
/// that are in no journal has the hashes of the rest.
const TURN_BYTES_MAX: usize = 2 * 1024 * 1024;

/// What the parts are called.
pub(crate) const PLACE: &str = "place";
pub(crate) const MEMORY: &str = "memory";
const ASIDE: &str = "aside";
const TOOLS: &str = "tools";

/// What a model is told in a conversation: which blocks its system prompt has, by their names, and
/// which messages it is shown.
#[derive(Clone, Copy)]
pub(crate) struct Told<'t> {
    pub(crate) blocks: &'t [&'static str],
    pub(crate) window: Fitting<'t>,
    /// The scopes that its memory was read from.
    pub(crate) chain: Option<&'t str>,
}

impl Turn<'_> {
    /// Notes what a model was shown that begins to answer.
    pub(crate) fn note_shown(
        &self,
        body: &[u8],
        request: &Request,
        link: &Link,
        told: Option<Told<'_>>,
    ) {
        let model = link.to_string();
        if model.len() > NAME_BYTES_MAX {
            return;
        }
        let agent = &self.cx.agent;
        let system: Vec<&str> = request.system.iter().map(|block| &*block.text).collect();
        let last_tool = request.tools.last().map(|tool| tool.parameters.get());
        let apart = take_apart(body, (1, &system), window(told), last_tool);
        let frame = Frame { agent, body, told, system: &system, tools: apart.tools.clone() };
        let tag = frame.tag();
        let erasures = agent.store.erasures();
        let mut state = self.showings.state();
        state.calls = state.calls.saturating_add(1);
        let number = state.calls;
        let last = state.last.take_if(|_| told.is_some());
        // What the store knows is not told again, unless it may have erased it.
        let is_known = last.as_ref().is_some_and(|it| it.tag == tag && it.erasures == erasures);
        let (parts, is_all) = match is_known {
            true => (None, true),
            false => {
                let redaction = self.redaction();
                let (parts, is_all) = frame.parts(|text| redaction.kept(text.to_owned()) == text);
                (Some(parts), is_all)
            }
        };
        // Memory that stands there otherwise than in its own words would not be found to be
        // forgotten.
        let is_apart = frame.blocks().zip(&apart.found).all(|(name, is)| name != MEMORY || *is);
        let recipe = match is_all && is_apart {
            true => kept(&apart, last.as_ref(), TURN_BYTES_MAX.saturating_sub(state.bytes)),
            false => None,
        };
        state.bytes += recipe.as_ref().map_or(0, |(recipe, _)| recipe.tail.len());
        let hops = recipe.as_ref().map(|(_, hops)| *hops);
        let turn = self.cx.turn;
        let call = ShownCall {
            turn,
            number,
            model: model.into(),
            hash: hash(body),
            bytes: body.len() as u64,
            frame: Arc::new(ShownFrame { tag, parts }),
            recipe: recipe.map(|(recipe, _)| recipe),
        };
        state.due.push(AgentCommand::NoteShown(Box::new(call)));
        if told.is_some() {
            let recipe = apart.recipe;
            state.last = hops.map(|hops| LastShown { turn, number, recipe, hops, tag, erasures });
        }
    }
}

/// The messages that a model is shown, as the journal has them.
fn window(told: Option<Told<'_>>) -> impl Iterator<Item = Said<'_>> {
    told.into_iter().flat_map(move |told| {
        let Fitting { preface, end, .. } = told.window;
        preface.iter().chain(told.window.asked()).chain(end).map(said)
    })
}

fn said(message: &Message) -> Said<'_> {
    (message.seq.0, &message.parts)
}

/// What of a recipe is its own, and how many others it goes on from; nothing, where it is too long.
fn kept(
    apart: &TakenApart,
    last: Option<&LastShown>,
    bytes_max: usize,
) -> Option<(ShownRecipe, u32)> {
    let last = last.filter(|last| last.hops < SHOWN_HOPS_MAX - 1);
    let common = last.map_or(0, |last| common(&last.recipe, &apart.recipe));
    let base = last
        .filter(|_| common > 1)
        .and_then(|last| Some((last.turn, last.number, u32::try_from(common).ok()?)));
    let from = if base.is_some() { common } else { 0 };
    let tail: Box<[u8]> = apart.recipe[from..].into();
    let fits = tail.len() <= SHOWN_RECIPE_BYTES_MAX.min(bytes_max);
    let hops = base.and(last).map_or(0, |last| last.hops + 1);
    fits.then_some((ShownRecipe { base, tail }, hops))
}

/// What a request has in common with others.
struct Frame<'f> {
    agent: &'f AgentContext,
    body: &'f [u8],
    told: Option<Told<'f>>,
    system: &'f [&'f str],
    tools: Option<Range<usize>>,
}

impl<'f> Frame<'f> {
    /// What the blocks of the system prompt are called.
    fn blocks(&self) -> impl Iterator<Item = &'static str> + use<'f> {
        let names = self.told.map_or(&[][..], |told| told.blocks);
        let count = self.system.len();
        names.iter().copied().chain(std::iter::repeat(ASIDE)).take(count)
    }

    fn tools(&self) -> Option<&'f [u8]> {
        self.tools.clone().map(|place| &self.body[place])
    }

    /// Tells it apart from others.
    fn tag(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("insula shown frame 1");
        hasher.update(&self.agent.config.digest);
        let mut add = |name: &str, bytes: &[u8]| {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        self.blocks().zip(self.system).for_each(|(name, text)| add(name, text.as_bytes()));
        if let Some(tools) = self.tools() {
            add(TOOLS, tools);
        }
        add("chain", self.told.and_then(|told| told.chain).unwrap_or_default().as_bytes());
        hasher.finalize().into()
    }

    /// Its parts, and whether all of them are to be kept as they are: none that is too large or has
    /// a secret in it is.
    fn parts(&self, is_clean: impl Fn(&str) -> bool) -> (Vec<ShownPart>, bool) {
        let settings = settings(self.agent);
        let system = self.blocks().zip(self.system).map(|(name, text)| (name, text.as_bytes()));
        let named = [(SETTINGS, settings.as_bytes())].into_iter().chain(system);
        let mut is_all = true;
        let mut parts = Vec::new();
        for (name, bytes) in named.chain(self.tools().map(|tools| (TOOLS, tools))) {
            if parts.len() == SHOWN_PARTS_MAX {
                return (parts, false);
            }
            let is_kept =
                bytes.len() <= SHOWN_PART_BYTES_MAX && is_clean(&String::from_utf8_lossy(bytes));
            is_all &= is_kept;
            let chain = self.told.and_then(|told| told.chain).filter(|_| name == MEMORY);
            let bytes = if is_kept { bytes } else { &[] };
            parts.push(ShownPart {
                name: name.into(),
                bytes: bytes.into(),
                chain: chain.map(Into::into),
            });
        }
        (parts, is_all)
    }
}

/// The settings a generation was built from, what might be a credential left out.
fn settings(agent: &AgentContext) -> String {
    let settings = agent.config.settings.iter();
    let settings = settings.map(|setting| (setting.path.to_string(), setting.shown()));
    Value::Object(settings.collect::<Map<String, Value>>()).to_string()
}
