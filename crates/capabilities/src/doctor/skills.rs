//! Whether programs of agents find what their skills say they need.

use super::{DoctorFinding, Status, finding};
use crate::Capabilities;
use crate::programs::{PATH, outfit, starts_programs};
use insula_config::skills::Requires;
use insula_config::skills::document::PackageKind;
use insula_domain::{AgentId, Switch};
use insula_registry::context::AgentContext;
use insula_sandbox::{ExitOutcome, Finished, HostUser, Network, Spec, shell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long one look may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Looks that one examination makes. Agents with the same skills and no environment of their own
/// have one in common.
const LOOKS_MAX: usize = 64;

/// Prints what of its arguments is not there: programs, packages of Python, packages of Node.
const LOOK: &str = r#"
for it in $1; do command -v "$it" >/dev/null 2>&1 || echo "program $it"; done
if [ -n "$2" ]; then
  python3 -c '
import sys
from importlib import metadata, util
for name in sys.argv[1].split():
    try:
        metadata.version(name)
    except Exception:
        try:
            found = util.find_spec(name.replace("-", "_"))
        except Exception:
            found = None
        if found is None:
            print("python", name)
' "$2" 2>/dev/null || for it in $2; do echo "python $it"; done
fi
for it in $3; do
  found=
  for root in $(echo "$NODE_PATH" | tr : " ") /usr/local/lib/node_modules /usr/lib/node_modules /usr/share/nodejs; do
    [ -d "$root/$it" ] && found=1
  done
  [ -n "$found" ] || echo "node $it"
done
"#;

/// Something that a skill needs, as a look prints it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Need(String);

/// What makes two looks the same: what is looked for, with which walls, in which environment.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LookKey {
    needs: BTreeSet<Need>,
    sandbox: bool,
    /// Whose environment it is, where it is not the usual one.
    own: Option<AgentId>,
}

/// What skills of agents need and their programs do not find.
pub(super) async fn examine(caps: &Capabilities) -> Vec<DoctorFinding> {
    let snapshot = caps.registry.snapshot();
    let (mut findings, mut looked, mut count, mut left) =
        (Vec::new(), BTreeMap::new(), 0_usize, 0_usize);
    for (id, entry) in &snapshot.agents {
        let Some(agent) = entry.state.context() else { continue };
        let unread = agent.skills.skills.iter().filter_map(|skill| {
            let what = skill.unread.first()?;
            let detail = format!("skill `{}`: {what}", skill.name);
            Some(finding(&format!("skills of agent `{id}`"), Status::Notice, detail))
        });
        findings.extend(unread);
        let skills = agent.skills.skills.iter().filter(|skill| !skill.requires.is_empty());
        let skills: Vec<_> = skills.collect();
        if skills.is_empty() || !starts_programs(agent.tools()) {
            continue;
        }
        count += skills.len();
        let key = LookKey {
            needs: skills.iter().flat_map(|skill| needs(&skill.requires)).collect(),
            sandbox: agent.programs.sandbox == Switch::On,
            own: (!agent.programs.env.is_empty()).then(|| id.clone()),
        };
        if !looked.contains_key(&key) && looked.len() >= LOOKS_MAX {
            left += 1;
            continue;
        }
        let missing = match looked.entry(key) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let missing = look(caps, agent, &place.key().needs).await;
                place.insert(missing)
            }
        };
        let name = format!("skills of agent `{id}`");
        match missing {
            Err(why) => {
                let detail = format!("what they need can't be looked for: {why}");
                findings.push(finding(&name, Status::Notice, detail));
            }
            Ok(missing) => {
                for skill in skills {
                    let lacks: Vec<Need> =
                        needs(&skill.requires).filter(|need| missing.contains(need)).collect();
                    if let Some(detail) = told(&skill.name, &lacks) {
                        findings.push(finding(&name, Status::Notice, detail));
                    }
                }
            }
        }
    }
    if left > 0 {
        let detail = format!("those of {left} more agents were not looked at");
        findings.push(finding("skills", Status::Notice, detail));
    }
    if findings.is_empty() && count > 0 {
        let detail = format!("{count} need programs or packages, and their agents find them");
        findings.push(finding("skills", Status::Good, detail));
    }
    findings
}

fn needs(requires: &Requires) -> impl Iterator<Item = Need> {
    let programs = requires.programs.iter().map(|name| Need(format!("program {name}")));
    let packages = requires.packages.iter().map(|package| {
        Need(match package.kind {
            PackageKind::Python => format!("python {}", package.name),
            PackageKind::Node => format!("node {}", package.name),
        })
    });
    programs.chain(packages)
}

/// What a skill lacks, and what to do about it; nothing where it lacks nothing.
fn told(skill: &str, lacks: &[Need]) -> Option<String> {
    let of = |kind: &str| -> Vec<&str> {
        lacks.iter().filter_map(|need| need.0.strip_prefix(kind)).collect()
    };
    let (programs, python, node) = (of("program "), of("python "), of("node "));
    let mut parts = Vec::new();
    if !programs.is_empty() {
        let names = programs.join("`, `");
        parts.push(format!(
            "program `{names}`: install it on this machine, or add its folder to `env.PATH` of the agent"
        ));
    }
    if !python.is_empty() {
        let (names, packages) = (python.join("`, `"), python.join(" "));
        parts.push(format!(
            "Python package `{names}`: `pip install {packages}` for this machine's python3, or name its folder by `env.PYTHONPATH` of the agent"
        ));
    }
    if !node.is_empty() {
        let (names, packages) = (node.join("`, `"), node.join(" "));
        parts.push(format!("Node package `{names}`: `npm install -g {packages}`"));
    }
    let lacks = parts.join("; ");
    (!parts.is_empty())
        .then(|| format!("skill `{skill}` needs what its programs don't find: {lacks}"))
}

/// Somebody to look as who owns nothing.
const NOBODY: HostUser = HostUser { uid: 65_534, gid: 65_534 };

/// What a look runs under. Where no daemon runs, an agent may have no user for its programs yet,
/// and none is made up for a look: it is somebody's who sees what all programs see.
async fn spec(caps: &Capabilities, agent: &AgentContext) -> Result<Spec, String> {
    let files = agent.workspace.common_files(&caps.world);
    match outfit(caps, agent, &files).await {
        Ok(outfit) => return Ok(outfit.spec),
        Err(error) if agent.programs.sandbox == Switch::Off => return Err(error.to_string()),
        Err(_) => {}
    }
    let mut spec = Spec::new(shell().ok_or("there is no shell on this machine")?);
    spec.owner = Some(NOBODY);
    spec.env.insert("PATH".into(), PATH.into());
    for (name, value) in agent.programs.env.iter().filter(|(_, value)| !value.contains("${")) {
        spec.env.insert(name.to_string().into(), value.to_string().into());
    }
    Ok(spec)
}

/// Looks as a program of the agent would, and says what is not there.
async fn look(
    caps: &Capabilities,
    agent: &AgentContext,
    needs: &BTreeSet<Need>,
) -> Result<BTreeSet<Need>, String> {
    let of = |kind: &str| -> String {
        let names = needs.iter().filter_map(|need| need.0.strip_prefix(kind));
        names.collect::<Vec<_>>().join(" ")
    };
    let lists = [of("program "), of("python "), of("node ")];
    let mut spec = spec(caps, agent).await?;
    spec.network = Network::None;
    spec.args = ["-c", LOOK, "sh"].into_iter().map(Into::into).collect();
    spec.args.extend(lists.into_iter().map(Into::into));
    spec.limits.wall_clock = Some(TIMEOUT);
    let sandbox = caps.programs.sandbox().map_err(|error| error.to_string())?;
    let child = sandbox.spawn(spec).await.map_err(|error| error.to_string())?;
    let Finished { exit, stdout, .. } = child.finish().await.map_err(|error| error.to_string())?;
    if !matches!(exit.outcome, ExitOutcome::Exited(0 | 1)) {
        return Err(format!("the look ended early, as {:?}", exit.outcome));
    }
    let said = String::from_utf8_lossy(&stdout.bytes()).into_owned();
    Ok(said.lines().map(|line| Need(line.trim().to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_skill_lacks_is_told_with_what_to_do() {
        let need = |text: &str| Need(text.to_owned());
        let said = told("pdf", &[need("program jq"), need("python pypdf"), need("python PIL")]);
        let said = said.unwrap();
        for words in ["skill `pdf`", "program `jq`", "`pypdf`, `PIL`", "pip install pypdf PIL"] {
            assert!(said.contains(words), "{said}");
        }
        assert!(told("pdf", &[need("node @a/b")]).unwrap().contains("npm install -g @a/b"));
        assert_eq!(told("pdf", &[]), None);
    }
}
