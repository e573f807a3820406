//! Integrity: whether words of others may be why a call is made, and what becomes of it then.

use super::excerpt::{TextKind, excerpts, stand_in, texts};
use super::given::{Given, Step, What, are_given, pieces};
use super::{Call, Denial, NotPassed, around, generations};
use crate::acts::{When, asks_for_hands, possible};
use crate::current::runs_programs;
use crate::facts::Surroundings as _;
use crate::provenance::Provenance;
use crate::turn::{Turn, TurnContext};
use insula_domain::question::{named, on_a_line};
use insula_domain::{
    Act, Audience, Integrity, IntegrityProfile, MemoryOperation, Ruling, Scope, Source, SourceKind,
    TaintedRule,
};
use insula_registry::context::AgentContext;
use insula_tools::workspace::Within;
use insula_tools::{Risk, ToolRef};
use serde_json::Value;

/// Arguments whose origin a question tells.
const ARGUMENTS_MAX: usize = 12;

/// A call that words of others may have brought about, and that somebody has to agree to.
pub(super) struct Steered {
    acts: Vec<Act>,
    /// Whose words may be behind it.
    integrity: Integrity,
    /// Those of them that the turn has read.
    read: Integrity,
    /// Those that a program would find.
    found: Integrity,
    ruling: Ruling,
}

/// Whether a call may be made in a turn that has read what this one has, with programs that see
/// what theirs do: it may, or somebody has to agree, or it is refused. By the stricter of the
/// generations.
pub(super) async fn examine(
    turn: &Turn<'_>,
    tool: &ToolRef,
    arguments: &Value,
    call: Call<'_>,
) -> Result<Option<Steered>, NotPassed> {
    let files = Provenance::new(turn.shop, turn.cx, tool, arguments);
    let sight = files.in_sight(generations(turn).map(|agent| &**agent)).await?;
    let seen = turn.cx.seen.label().with(&sight.integrity);
    if seen.integrity().is_own() {
        return Ok(None);
    }
    let mut steered = None;
    for agent in generations(turn) {
        let policy = &agent.boundary.integrity;
        let integrity = policy.untrusted(seen.integrity());
        if integrity.is_own() {
            continue;
        }
        let mut acts = acts(turn, agent, tool, arguments).await;
        acts.extend(sight.act.filter(|act| !acts.contains(act)));
        let Some(ruling) = policy.ruling(tool.name(), acts.iter().copied()) else { continue };
        // What a program does is not told by the words of its command alone.
        let by_sender = policy.profile != IntegrityProfile::Strict
            && !runs_programs(tool)
            && !acts.contains(&Act::Program)
            && are_given(
                &pieces(arguments, tool.parameters()),
                &around(turn, call.history).said(),
                |argument| agent.boundary.rules.lists(tool.name(), argument),
            );
        match ruling.rule {
            TaintedRule::Allow => {}
            TaintedRule::Deny => {
                return Err(NotPassed::from(Denial::Tainted {
                    name: call.name.to_owned(),
                    sources: integrity.for_models(),
                    by: ruling.to_string(),
                    why: None,
                }));
            }
            TaintedRule::Ask if by_sender => {}
            TaintedRule::Ask => {
                let read = policy.untrusted(turn.cx.seen.label().integrity());
                let found = policy.untrusted(&sight.integrity);
                let found = found.without(|it| read.sources().any(|read| read == it));
                steered = Some(Steered { acts, integrity, read, found, ruling });
            }
        }
    }
    Ok(steered)
}

/// Whether it depends on what a turn has read whether a call may be made.
pub(in super::super) async fn depends_on_words(
    turn: &Turn<'_>,
    tool: &ToolRef,
    arguments: &Value,
) -> bool {
    for agent in generations(turn) {
        let acts = acts(turn, agent, tool, arguments).await;
        if agent.boundary.integrity.rule(tool.name(), acts) != TaintedRule::Allow {
            return true;
        }
    }
    false
}

/// What a call does that words of others should not bring about.
async fn acts(
    turn: &Turn<'_>,
    agent: &AgentContext,
    tool: &ToolRef,
    arguments: &Value,
) -> Vec<Act> {
    let mut acts = Vec::new();
    for it in possible(agent, &agent.boundary, tool.name()) {
        let is_done = match it.when {
            When::Always => true,
            When::Elsewhere => !is_here(turn, arguments),
            When::Runs | When::Input => tool.risk(arguments) != Risk::None,
            When::SharedFolder => is_shared(turn, tool, arguments).await,
            When::Removal => tool.takes_away(arguments),
            When::Hands => asks_for_hands(arguments),
            When::Beyond => !answers_card(turn, tool),
            When::Everywhere => {
                tool.reaches_everywhere(arguments) || remembers_everywhere(turn, agent).await
            }
        };
        if is_done {
            acts.push(it.act);
        }
    }
    acts
}

/// Whether it is said where the sender hears it anyway, or nothing is said at all.
fn is_here(turn: &Turn<'_>, arguments: &Value) -> bool {
    let named = |key| arguments.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
    // Another agent is somebody else, whoever hears it.
    let Some(target) = named("target").or_else(|| named("agent")) else { return true };
    target.parse().is_ok_and(|to: Audience| to == Audience::of(&turn.cx.from.address))
}

/// Whether a call says to a card that the turn is about what came of it, which its sender asked
/// for. New cards and what waits for what is for others.
fn answers_card(turn: &Turn<'_>, tool: &ToolRef) -> bool {
    const ANSWERS: [&str; 5] =
        ["kanban_attach", "kanban_block", "kanban_comment", "kanban_complete", "kanban_heartbeat"];
    let has_card = turn.cx.from.job.as_ref().is_some_and(|job| job.card.is_some());
    has_card && ANSWERS.contains(&tool.name())
}

/// Whether a file that is written may be one that others have too: by where each of its paths
/// leads. Which files a call writes that names none, nobody knows.
async fn is_shared(turn: &Turn<'_>, tool: &ToolRef, arguments: &Value) -> bool {
    let paths = tool.writes(arguments);
    if paths.is_empty() {
        return true;
    }
    let places = turn.cx.files.places_of(paths).await;
    !places.is_ok_and(|places| places.iter().all(|place| place.within != Within::Shared))
}

/// Whether every conversation reads what is remembered in this one. Where nothing may be, nothing
/// is.
pub(super) async fn remembers_everywhere(turn: &Turn<'_>, agent: &AgentContext) -> bool {
    let TurnContext { from, key, .. } = turn.cx;
    let here = turn.shop.caps.memory_scope(agent, from, key, MemoryOperation::Write).await;
    here.is_ok_and(|resolved| resolved.writes == Scope::Global)
}

impl Steered {
    pub(super) fn sources(&self) -> String {
        self.integrity.in_words()
    }

    /// Whose words may be behind it, and how.
    fn whose_words(&self) -> String {
        let found = format!(
            "A program would find words of others in files here, and may do what they say: {}.",
            on_a_line(&self.found.in_words())
        );
        let read = format!(
            "This turn has read words of others, who may be steering it: {}.",
            on_a_line(&self.read.in_words())
        );
        match (self.found.is_own(), self.read.is_own()) {
            (true, _) => read,
            (false, true) => found,
            (false, false) => format!("{read}\n{found}"),
        }
    }

    /// What says that somebody has to agree.
    pub(super) fn by(&self) -> String {
        self.ruling.to_string()
    }

    /// Why somebody is asked: whose words may be steering the turn, what they say, what the call
    /// would do, and where each of its arguments came from.
    pub(super) fn told(
        &self,
        turn: &Turn<'_>,
        tool: &ToolRef,
        arguments: &Value,
        call: Call<'_>,
    ) -> String {
        let acts: Vec<&str> = self.acts.iter().map(|act| act.in_words()).collect();
        let described = self.integrity.sources().filter(|it| it.kind == SourceKind::Description);
        let described = described.map(Source::name);
        let mut told = format!(
            "{}\nIt would {}.",
            self.whose_words(),
            if acts.is_empty() { "do this".to_owned() } else { acts.join(" and ") },
        );
        for server in described {
            told.push_str(&format!(
                "\nNobody has looked at how the tools of {server} describe themselves yet; `insula mcp approve {} {server}` says that somebody has.",
                turn.cx.agent.id
            ));
        }
        let said = around(turn, call.history).said();
        let lists = |argument: &[&str]| turn.cx.agent.boundary.rules.lists(tool.name(), argument);
        let is_known = |it: &Given<'_>| it.is_listed(lists) || it.is_in(&said);
        let pieces = pieces(arguments, tool.parameters());
        let (known, unknown): (Vec<_>, Vec<_>) = pieces.iter().partition(|it| is_known(it));
        let texts = texts(turn, call.history);
        let words: Vec<&str> = unknown.iter().filter_map(|it| it.words()).collect();
        let excerpts = excerpts(&texts, &words);
        if !excerpts.is_empty() {
            told.push_str(&format!("\n{excerpts}"));
        }
        // First what nobody said, so that no number of others hides it.
        for it in unknown.iter().chain(&known).take(ARGUMENTS_MAX) {
            let stands_in = |kind| it.words().is_some_and(|words| stand_in(words, &texts, kind));
            let from = if it.is_in(&said) {
                "the sender said it"
            } else if it.is_listed(lists) {
                "the operator listed it"
            } else if stands_in(TextKind::Foreign) {
                "it stands in those words"
            } else if stands_in(TextKind::After) {
                "it stands in what a tool brought"
            } else {
                "the model wrote it"
            };
            told.push_str(&format!("\n{}: {from}", place_of(it)));
        }
        if pieces.len() > ARGUMENTS_MAX {
            let more = pieces.len() - ARGUMENTS_MAX;
            let unsaid = unknown.len().saturating_sub(ARGUMENTS_MAX);
            told.push_str(&format!(
                "\nand {more} more, {unsaid} of which neither the sender said nor the operator listed"
            ));
        }
        told
    }
}

/// Where a piece of the arguments stands, in words.
fn place_of(given: &Given<'_>) -> String {
    let mut place = String::new();
    for step in &given.at {
        match step {
            Step::Element => place.push_str("[]"),
            Step::Field(name) => {
                place.push_str(if place.is_empty() { "" } else { "." });
                place.push_str(&named(name));
            }
        }
    }
    let as_name = if matches!(given.what, What::Name(_)) { ", by this name" } else { "" };
    format!("`{place}`{as_name}")
}
