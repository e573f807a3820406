//! What a call will take and what it took: tokens by rule of thumb, money by the price table.

use super::ledger::{Amounts, Estimate};
use insula_config::DaemonConfig;
use insula_config::images::ImagesConfig;
use insula_config::model::ModelRef;
use insula_models::price::{self, Price};
use insula_models::{Answer, Link, Message, Part, Request};
use insula_registry::providers::OwnProviders;
use insula_store::Usage;

/// Bytes in a token, by rule of thumb. Of plain English it is a little more than true.
const BYTES_PER_TOKEN: u64 = 4;
/// Tokens around every message that are not its text.
const MESSAGE_TOKENS: u64 = 4;
/// Tokens of a picture: what the large ones cost at the well-known providers.
const IMAGE_TOKENS: u64 = 1_600;
/// Tokens of a picture that is made: what a large one counts as where tokens are counted.
const PICTURE_TOKENS: u64 = 4_160;
/// Tokens of an answer where the request sets no limit. Longer answers are rare.
const ANSWER_TOKENS: u64 = 4_096;

/// Kinds of providers that cost nothing: they run here.
const FREE: [&str; 2] = ["ollama", "rehearsal"];

/// What a model costs an agent with these providers of its own: as the operator says, or by the
/// list. `None` when nobody knows.
pub fn price_of(
    daemon: &DaemonConfig,
    own: &OwnProviders,
    provider: &str,
    model: &str,
) -> Option<Price> {
    let configured = own.get(provider).or_else(|| daemon.providers.configured.get(provider));
    let kind = configured.map_or(provider, |provider| &*provider.kind);
    price_by(daemon, kind, provider, model)
}

/// The same by the kind of the provider.
pub fn price_by(daemon: &DaemonConfig, kind: &str, provider: &str, model: &str) -> Option<Price> {
    let name = format!("{provider}/{model}");
    if let Some(price) = daemon.prices.get(name.as_str()) {
        return Some(Price {
            input: price.input,
            output: price.output,
            cached_input: price.cached_input,
            cache_write: price.cache_write,
        });
    }
    if FREE.contains(&kind) {
        return Some(Price { input: 0, cached_input: 0, cache_write: 0, output: 0 });
    }
    price::default_price(&name)
}

fn price_of_link(daemon: &DaemonConfig, own: &OwnProviders, link: &Link) -> Option<Price> {
    price_of(daemon, own, link.provider.name(), &link.model)
}

/// Tokens of a request.
pub fn prompt_tokens(request: &Request) -> u64 {
    let system = request.system.iter().map(|block| block.text.len() as u64);
    let tools = request.tools.iter().map(|tool| {
        (tool.name.len() + tool.description.len() + tool.parameters.get().len()) as u64
    });
    let bytes: u64 = system.chain(tools).sum();
    let messages = request.messages.iter().map(|message| message_tokens(message));
    bytes.div_ceil(BYTES_PER_TOKEN) + messages.sum::<u64>()
}

fn message_tokens(message: &Message) -> u64 {
    MESSAGE_TOKENS + message.parts.iter().map(part_tokens).sum::<u64>()
}

fn part_tokens(part: &Part) -> u64 {
    let bytes = match part {
        Part::Image(_) => return IMAGE_TOKENS,
        Part::ToolResult { content, .. } => return content.iter().map(part_tokens).sum(),
        Part::Text(text) => text.len(),
        Part::Reasoning { text, .. } => text.len(),
        Part::ToolCall { name, arguments, .. } => name.len() + arguments.len(),
    };
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

/// What a call may come to, by the dearest of the models it may go to. The name of the first
/// that has no price, besides.
pub fn estimate<'l>(
    (daemon, own): (&DaemonConfig, &OwnProviders),
    links: impl Iterator<Item = &'l Link>,
    request: &Request,
) -> (Estimate, Option<String>) {
    let prompt = prompt_tokens(request);
    let usual = if request.has_more_room { ANSWER_TOKENS * 2 } else { ANSWER_TOKENS };
    let answer = request.max_tokens.map_or(usual, u64::from).max(1);
    let amounts = |output: u64| Amounts { tokens: prompt.saturating_add(output), micros: 0 };
    let mut estimate = Estimate { least: amounts(1), usual: amounts(answer) };
    let mut without_price = None;
    for link in links {
        let Some(price) = price_of_link(daemon, own, link) else {
            without_price.get_or_insert_with(|| link.to_string());
            continue;
        };
        let cost = |output| {
            let used = insula_models::Usage { input: prompt, output, ..Default::default() };
            price::cost(&used, &price)
        };
        estimate.least.micros = estimate.least.micros.max(cost(1));
        estimate.usual.micros = estimate.usual.micros.max(cost(answer));
    }
    (estimate, without_price)
}

/// What a picture may come to: what it costs, or by its tokens. The name of its model besides,
/// where nobody knows its price.
pub fn of_picture(
    (daemon, own): (&DaemonConfig, &OwnProviders),
    images: &ImagesConfig,
    prompt: &str,
) -> (Estimate, Option<String>) {
    let sent = MESSAGE_TOKENS + (prompt.len() as u64).div_ceil(BYTES_PER_TOKEN);
    let (cost, is_known) = picture_cost((daemon, own), images, sent, PICTURE_TOKENS);
    let at = |output: u64| Amounts { tokens: sent.saturating_add(output), micros: cost };
    // Nobody knows how much of a picture half the money would be.
    let estimate = Estimate { least: at(1), usual: at(PICTURE_TOKENS) };
    (estimate, (!is_known).then(|| images.model.to_string()))
}

fn picture_cost(
    (daemon, own): (&DaemonConfig, &OwnProviders),
    images: &ImagesConfig,
    input: u64,
    output: u64,
) -> (u64, bool) {
    let by_tokens = || {
        let price = price_of(daemon, own, &images.model.provider, &images.model.name)?;
        let used = insula_models::Usage { input, output, ..Default::default() };
        Some(price::cost(&used, &price))
    };
    let cost = images.price_micros.or_else(by_tokens);
    (cost.unwrap_or_default(), cost.is_some())
}

/// What making vectors of so many bytes may come to. The name of the model besides, where nobody
/// knows its price.
pub fn of_texts(
    (daemon, own): (&DaemonConfig, &OwnProviders),
    model: &ModelRef,
    bytes: usize,
) -> (Estimate, Option<String>) {
    let tokens = (bytes as u64).div_ceil(BYTES_PER_TOKEN).max(1);
    let price = price_of(daemon, own, &model.provider, &model.name);
    let used = insula_models::Usage { input: tokens, ..Default::default() };
    let micros = price.as_ref().map_or(0, |price| price::cost(&used, price));
    let all = Amounts { tokens, micros };
    let without_price = price.is_none().then(|| model.to_string());
    // One more, as for an answer: what was sent is told from that.
    let least = Amounts { tokens: tokens.saturating_add(1), ..all };
    (Estimate { least, usual: least }, without_price)
}

/// What that took.
pub fn texts_usage(
    (daemon, own): (&DaemonConfig, &OwnProviders),
    model: &ModelRef,
    estimated: u64,
    told: Option<insula_models::Usage>,
) -> Usage {
    let input = told.map_or(estimated, |it| it.input);
    let used = insula_models::Usage { input, ..Default::default() };
    let price = price_of(daemon, own, &model.provider, &model.name);
    let cost_micros = price.map_or(0, |price| price::cost(&used, &price));
    Usage { input, cost_micros, ..Usage::default() }
}

/// What hearing or saying something takes: what it costs, where its operator said that, and tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoundCost {
    pub micros: Option<u64>,
    pub input: u64,
    pub output: u64,
}

/// What sound may come to. The name of the model besides, where nobody knows its price.
pub fn of_sound(
    of: (&DaemonConfig, &OwnProviders),
    model: &ModelRef,
    cost: SoundCost,
) -> (Estimate, Option<String>) {
    let priced = sound_price(of, model, cost);
    let tokens = cost.input.saturating_add(cost.output).max(1);
    let all = Amounts { tokens, micros: priced.unwrap_or_default() };
    (Estimate { least: all, usual: all }, priced.is_none().then(|| model.to_string()))
}

/// What it took.
pub fn sound_usage(of: (&DaemonConfig, &OwnProviders), model: &ModelRef, cost: SoundCost) -> Usage {
    let cost_micros = sound_price(of, model, cost).unwrap_or_default();
    Usage { input: cost.input, output: cost.output, cost_micros, ..Usage::default() }
}

fn sound_price(
    (daemon, own): (&DaemonConfig, &OwnProviders),
    model: &ModelRef,
    SoundCost { micros, input, output }: SoundCost,
) -> Option<u64> {
    let by_tokens = || {
        let price = price_of(daemon, own, &model.provider, &model.name)?;
        Some(price::cost(&insula_models::Usage { input, output, ..Default::default() }, &price))
    };
    micros.or_else(by_tokens)
}

/// What a picture took.
pub fn picture_usage(
    (daemon, own): (&DaemonConfig, &OwnProviders),
    images: &ImagesConfig,
    prompt: u64,
    told: Option<insula_models::Usage>,
) -> Usage {
    let (input, output) = told.map_or((prompt, PICTURE_TOKENS), |it| (it.input, it.output));
    let (cost_micros, _) = picture_cost((daemon, own), images, input, output);
    Usage { input, output, cost_micros, ..Usage::default() }
}

/// What a call took. A provider that does not say is taken to have used what was estimated:
/// nothing would be a budget that never ends.
pub fn usage(
    (daemon, own): (&DaemonConfig, &OwnProviders),
    link: &Link,
    prompt: u64,
    answer: &Answer,
) -> Usage {
    let mut used = answer.usage;
    if used.input == 0 && used.output == 0 {
        used.input = prompt;
        used.output = answer.message.parts.iter().map(part_tokens).sum::<u64>().max(1);
    }
    let price = price_of_link(daemon, own, link);
    Usage {
        input: used.input,
        output: used.output,
        cached: used.cached_input,
        reasoning: used.reasoning,
        cost_micros: price.map_or(0, |price| price::cost(&used, &price)),
    }
}
