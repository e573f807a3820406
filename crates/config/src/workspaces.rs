//! Workspaces that other agents can write to: what is read there may be words of others.

use crate::agent::AgentConfig;
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::source::Span;
use insula_domain::{AccessMode, AgentId, Integrity, Source, SourceKind, WorkspaceScope};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Most other agents that one warning points at.
const OTHERS_MAX: usize = 4;

/// An agent, and where the path of its workspace is written.
pub(crate) type Placed = (AgentConfig, Option<Span>);

/// Marks the agents whose workspace another one can write to, and says what follows from that.
pub(crate) fn mark(
    report: &mut LoadReport,
    agents: &mut BTreeMap<AgentId, Placed>,
    user_home: Option<&str>,
) {
    let writers: Vec<(AgentId, Option<Span>, PathBuf)> = agents
        .iter()
        .flat_map(|(id, (config, span))| {
            writes(config).map(|path| (id.clone(), *span, real(path, user_home)))
        })
        .collect();
    for (id, (config, span)) in agents {
        let Some(path) = config.workspace_path.as_deref() else { continue };
        let own = real(path, user_home);
        let mut others: Vec<(&AgentId, Option<Span>)> = writers
            .iter()
            .filter(|(other, _, it)| other != id && (it.starts_with(&own) || own.starts_with(it)))
            .map(|(other, span, _)| (other, *span))
            .collect();
        others.dedup_by_key(|(other, _)| *other);
        if others.is_empty() {
            continue;
        }
        let source = Source::new(SourceKind::File, &own.to_string_lossy());
        let is_trusted = config.boundary.integrity.untrusted(&Integrity::of(source)).is_own();
        if let Some(span) = span.filter(|_| !is_trusted) {
            report.push(warning(id, &own, span, &others));
        }
        config.share_workspace();
    }
}

/// The folders outside of the home that conversations of an agent can write to.
fn writes(config: &AgentConfig) -> impl Iterator<Item = &str> {
    let files = &config.boundary.files;
    // Once each conversation has a folder of its own, none writes to the common one.
    let is_own = files.workspace == WorkspaceScope::Agent;
    let own = config.workspace_path.as_deref().filter(|_| is_own);
    let shared = files.shared.iter().filter(|it| it.mode == AccessMode::Rw);
    own.into_iter().chain(shared.map(|it| &*it.path))
}

/// A path as it is opened, where no link may be on the way.
fn real(path: &str, user_home: Option<&str>) -> PathBuf {
    let full = match (path.strip_prefix('~'), user_home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    };
    let mut real = PathBuf::new();
    for part in full.components() {
        match part {
            Component::ParentDir => drop(real.pop()),
            Component::CurDir => {}
            part => real.push(part),
        }
    }
    real
}

fn warning(
    id: &AgentId,
    path: &Path,
    span: Span,
    others: &[(&AgentId, Option<Span>)],
) -> Diagnostic {
    let message = format!("agent `{id}` works in a folder that other agents can write to");
    let help = format!(
        "what it reads there counts as words of others, so it asks before it acts on them; give \
         it a folder of its own, or write `folder:{}` under its `integrity.trusted`",
        path.display()
    );
    let owner = FindingOwner::Agent(id.as_str().into());
    let found = Diagnostic::warning(&owner, span, message).help(help);
    others.iter().take(OTHERS_MAX).fold(found, |found, (other, place)| {
        found.related(place.unwrap_or(span), format!("agent `{other}` can write there"))
    })
}
