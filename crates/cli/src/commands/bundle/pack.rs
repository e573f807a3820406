//! Packing an agent: what it is made of, from the files of its home.

use super::memory::{Packed, packed};
use super::{FOREIGN, KIND, MARKED, Piece, SECRETS, SESSIONS, foreign, sessions};
use crate::arguments::Along;
use crate::failure::Failure;
use crate::setting::Setting;
use insula_archive::{
    ArchiveWriter, Entry, Found, Manifest, Passphrase, Totals, empty_folder, walk,
};
use insula_config::files::{FileState, FilesSnapshot};
use insula_config::settings::Setting as OneSetting;
use insula_config::yaml::Layer;
use insula_config::{AgentConfig, AgentOutcome, Loaded, load, looks_like_credential};
use insula_domain::AgentId;
use insula_vault::Vault;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An agent as it is about to be packed.
pub(super) struct Taken {
    id: AgentId,
    folder: PathBuf,
    /// Its `agent.yaml`, wherever its settings stand here.
    configuration: String,
    secrets: Option<Map<String, Value>>,
    /// Its conversations, a line each and one a message.
    sessions: Option<String>,
    /// What it remembers of others' words.
    marked: Packed,
    /// Which of its files hold words of others.
    foreign: String,
    along: Along,
}

/// Looks at an agent.
pub(super) async fn look(setting: &Setting, id: &AgentId, along: Along) -> Result<Taken, Failure> {
    let home = &setting.home;
    let snapshot = FilesSnapshot::read(home.root())?;
    let variables = &setting.environment.variables;
    let loaded = load(&snapshot, variables).1.ok_or_else(|| {
        Failure::WrongUse("the configuration has an error; `insula check` shows it".to_owned())
    })?;
    let config = ready(&loaded, id)?;
    let own = own_settings(config);
    refuse_credentials(id, config, along)?;
    let written = snapshot.folders.get(id.as_str()).map(|folder| &folder.config);
    let elsewhere = config
        .settings
        .iter()
        .any(|it| it.origin.layer == Layer::Own && !it.origin.file.ends_with("agent.yaml"));
    let configuration = match written {
        // As it was written, comments included.
        Some(FileState::Text(text)) if !elsewhere && !own.contains_key("default") => {
            text.to_string()
        }
        _ => {
            let mut own = own;
            // Who answers where nobody else does is a matter of the home.
            own.remove("default");
            let text = insula_import::yaml(&own);
            require_same(&snapshot, variables, id, config, &text)?;
            text
        }
    };
    let secrets = match along.secrets {
        true => Some(secrets_of(setting, id).await?),
        false => None,
    };
    let sessions = match along.sessions {
        true => Some(sessions::packed(setting, id).await?),
        false => None,
    };
    let marked = match along.memory {
        true => packed(setting, id).await?,
        false => Packed::default(),
    };
    let foreign = match along.files {
        true => foreign::packed(setting, id).await?,
        false => String::new(),
    };
    let folder = home.agent(id);
    let id = id.clone();
    Ok(Taken { id, folder, configuration, secrets, sessions, marked, foreign, along })
}

fn ready<'a>(loaded: &'a Loaded, id: &AgentId) -> Result<&'a AgentConfig, Failure> {
    match loaded.agents.get(id) {
        Some(AgentOutcome::Ready(config)) => Ok(config),
        Some(_) => Err(Failure::Failed(format!(
            "agent `{id}` does not work as it is configured; `insula check` says why"
        ))),
        None => Err(Failure::Failed(format!("there is no agent `{id}`"))),
    }
}

/// The settings that stand in an agent's own part, as a tree.
fn own_settings(config: &AgentConfig) -> Map<String, Value> {
    let mut own = Map::new();
    for setting in config.settings.iter().filter(|it| it.origin.layer == Layer::Own) {
        let mut parts = setting.path.split('.').peekable();
        let mut place = &mut own;
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                place.insert(part.to_owned(), setting.value.clone());
                break;
            }
            let inner = place.entry(part).or_insert_with(|| json!({}));
            let Value::Object(inner) = inner else { break };
            place = inner;
        }
    }
    own
}

/// A credential in the configuration is a secret like any other.
fn refuse_credentials(id: &AgentId, config: &AgentConfig, along: Along) -> Result<(), Failure> {
    let own = || config.settings.iter().filter(|it| it.origin.layer == Layer::Own);
    match own().find(|it| may_be_credential(it)) {
        Some(found) if !along.secrets => Err(Failure::Failed(format!(
            "`{}` of agent `{id}`, at {}, may be a credential; move it into the vault with `insula secret set`, or say --secrets to pack it",
            found.path, found.origin
        ))),
        _ => Ok(()),
    }
}

/// Whether a value may be a credential. All that stands under `env` is hidden from view; here it is
/// judged by its own name.
fn may_be_credential(setting: &OneSetting) -> bool {
    let named: Vec<&str> = setting.path.split('.').filter(|part| *part != "env").collect();
    let named = OneSetting { path: named.join(".").into(), ..setting.clone() };
    let looks = setting.value.as_str().is_some_and(looks_like_credential);
    looks || named.shown() != named.value
}

/// What was put together must mean the same: names with dots in them can't be told from paths.
fn require_same(
    snapshot: &FilesSnapshot,
    variables: &BTreeMap<String, String>,
    id: &AgentId,
    config: &AgentConfig,
    text: &str,
) -> Result<(), Failure> {
    let probe = id_for_probe(snapshot)?;
    let mut rehearsed = snapshot.clone();
    let folder = rehearsed.folders.get(id.as_str()).cloned().unwrap_or_default();
    let folder =
        insula_config::files::FolderFiles { config: FileState::Text(text.into()), ..folder };
    rehearsed.folders.insert(probe.to_string(), folder);
    let same = load(&rehearsed, variables).1.is_some_and(|loaded| {
        ready(&loaded, &probe).is_ok_and(|made| {
            let mut wanted = own_settings(config);
            wanted.remove("default");
            own_settings(made) == wanted
        })
    });
    if same {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "the settings of agent `{id}` can't be taken out of config.yaml one by one; move them into agents/{id}/agent.yaml and try again"
    )))
}

fn id_for_probe(snapshot: &FilesSnapshot) -> Result<AgentId, Failure> {
    let free = (0..1_000_u32)
        .map(|number| format!("packing-{number}"))
        .find(|name| !snapshot.folders.contains_key(name));
    free.and_then(|name| AgentId::new(&name).ok())
        .ok_or_else(|| Failure::Failed("there is no room for one more agent".to_owned()))
}

async fn secrets_of(setting: &Setting, id: &AgentId) -> Result<Map<String, Value>, Failure> {
    let failed = |error: insula_vault::VaultError| Failure::Failed(error.to_string());
    let vault = Vault::open(setting.home.root(), &setting.world).await.map_err(failed)?;
    let own = vault.agent(id);
    let mut secrets = Map::new();
    for entry in own.names().await.map_err(failed)? {
        if let Some(value) = own.get(&entry.name).await.map_err(failed)? {
            secrets.insert(entry.name.to_string(), value.reveal().into());
        }
    }
    Ok(secrets)
}

/// Packs it.
pub(super) async fn pack(
    setting: &Setting,
    taken: Taken,
    target: &Path,
    passphrase: Option<Passphrase>,
) -> Result<(Totals, u64), Failure> {
    setting.home.prepare()?;
    let now = setting.world.clock.now();
    let about = json!({ "agent": taken.id.as_str() });
    let manifest = Manifest::new(KIND, env!("CARGO_PKG_VERSION"), now.to_string(), about);
    let scratch = setting.home.run().join("packing");
    let changed = u64::try_from(now.as_millis() / 1000).unwrap_or(0);
    let target = target.to_owned();
    let work = move || -> Result<(Totals, u64), Failure> {
        empty_folder(&scratch)?;
        let mut archive = ArchiveWriter::create(&target, passphrase.as_ref(), &manifest, &scratch)?;
        let own = |name: &str| Entry::private(name, 0, (0, 0), changed);
        archive.add_bytes(&own("agent.yaml"), taken.configuration.as_bytes())?;
        if let Some(secrets) = &taken.secrets {
            let text = Value::Object(secrets.clone()).to_string();
            archive.add_bytes(&own(SECRETS), text.as_bytes())?;
        }
        if let Some(sessions) = &taken.sessions {
            archive.add_bytes(&own(SESSIONS), sessions.as_bytes())?;
        }
        for (name, lines) in [(MARKED, &taken.marked.lines), (FOREIGN, &taken.foreign)] {
            if !lines.is_empty() {
                archive.add_bytes(&own(name), lines.as_bytes())?;
            }
        }
        let skips = |name: &Path| match Piece::of(name) {
            Some(
                Piece::Configuration
                | Piece::Sessions
                | Piece::Secrets
                | Piece::Marked
                | Piece::Foreign,
            )
            | None => true,
            Some(Piece::Memory) if taken.marked.files.contains(name) => true,
            Some(piece) => !piece.is_wanted(taken.along),
        };
        walk::<Failure>(&taken.folder, &skips, &mut |found| match found {
            Found::Entry(entry, file) => Ok(archive.add_found(entry, file)?),
            Found::Left(_) => Ok(()),
        })?;
        Ok(archive.finish()?)
    };
    let done = setting.world.storage.run(work).await;
    done.map_err(|error| Failure::Failed(error.to_string()))?
}
