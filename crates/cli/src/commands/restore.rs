//! `insula restore`: a home made of a backup, or a backup examined and nothing written.

use super::backup::{ANCHOR, DAEMON_DB, KIND, whose};
use crate::arguments::Restore;
use crate::failure::{FAILED, Failure};
use crate::hints::home_flag;
use crate::moved;
use crate::output;
use crate::passphrase;
use crate::progress::{Progress, bytes};
use crate::setting::Setting;
use insula_archive::{
    ArchiveError, Entry, EntryKind, Manifest, Passphrase, Totals, Unpacker, Visitor, is_sealed,
    read,
};
use insula_domain::AgentId;
use insula_registry::Home;
use insula_registry::home::{AUDIT_KEY, FORMAT};
use insula_store::{AuditKey, AuditReport, CopyOf, Examiner, StoreError};
use insula_vault::Vault;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What is put into its place last: until then it is no home.
const LAST: [&str; 1] = ["config.yaml"];

/// Makes a home, or examines.
pub async fn run(setting: &Setting, wish: &Restore) -> Result<u8, Failure> {
    let file = wish.file.clone();
    if !is_sealed(&file)? {
        return Err(Failure::Failed(format!(
            "{} is no backup: backups are sealed",
            file.display()
        )));
    }
    let target = setting.home.clone();
    let unpacker = match wish.check {
        true => None,
        // Before anybody types a passphrase.
        false => Some(Unpacker::begin(target.root())?),
    };
    let passphrase = passphrase::to_open(&wish.passphrase, &file.display().to_string())?;
    let mut progress = Progress::new(setting);
    let storage = &setting.world.storage;
    let work = move || match unpacker {
        None => examine(&file, &passphrase, &mut progress).map(|found| (found, None)),
        Some(unpacker) => unpack(&file, &passphrase, unpacker, &mut progress),
    };
    let (found, unpacker) =
        storage.run(work).await.map_err(|error| Failure::Failed(error.to_string()))??;
    let broken = found.broken();
    let Some(unpacker) = unpacker else {
        show(setting, &found, None);
        return Ok(if found.is_whole() { 0 } else { FAILED });
    };
    if let Some(broken) = broken.filter(|_| !wish.accept_broken_audit) {
        return Err(Failure::Failed(format!(
            "{broken}; nothing was written. With --accept-broken-audit it is restored as it is"
        )));
    }
    check_vault(setting, unpacker.aside()).await?;
    unpacker.place(&LAST)?;
    target.prepare()?;
    if let Some(from) = found.manifest.about["home"].as_str() {
        moved::was_at(&target, from)?;
    }
    show(setting, &found, Some(&target));
    Ok(0)
}

/// What is in a backup.
struct Contents {
    manifest: Manifest,
    totals: Totals,
    /// The daemon's chain.
    daemon: AuditReport,
    agents: BTreeMap<AgentId, AuditReport>,
    /// Agents that have no database yet.
    unused: BTreeSet<AgentId>,
    /// Databases that can't be used, and why. They could not be in the home either.
    damaged: BTreeMap<PathBuf, String>,
}

impl Contents {
    /// Whether all of it can be used.
    fn is_whole(&self) -> bool {
        self.broken().is_none() && self.damaged.is_empty()
    }

    fn new(manifest: Manifest, totals: Totals, seen: Seen, databases: Databases) -> Self {
        let Databases { daemon: (_, daemon), known, agents, damaged } = databases;
        let is_unused = |id: &AgentId| {
            let name = Path::new("agents").join(id.as_str()).join("agent.db");
            !agents.contains_key(id) && !damaged.contains_key(&name)
        };
        let unused = seen.0.into_iter().chain(known).filter(is_unused).collect();
        Self { manifest, totals, daemon, agents, unused, damaged }
    }

    /// The first chain that does not hold.
    fn broken(&self) -> Option<String> {
        let agents = self.agents.iter().map(|(id, report)| (format!("agent `{id}`"), report));
        let mut chains = std::iter::once(("the daemon".to_owned(), &self.daemon)).chain(agents);
        chains.find(|(_, report)| !report.ok).map(|(whose, report)| {
            let reason = report.reason.as_deref().unwrap_or("it is broken");
            format!("the audit chain of {whose} does not hold: {reason}")
        })
    }
}

/// The agents whose folders passed.
#[derive(Default)]
struct Seen(BTreeSet<AgentId>);

/// The databases of a backup, as far as they were examined.
struct Databases {
    daemon: (Examiner, AuditReport),
    /// The agents that the daemon knows.
    known: Vec<AgentId>,
    agents: BTreeMap<AgentId, AuditReport>,
    damaged: BTreeMap<PathBuf, String>,
}

impl Databases {
    /// Begins with the daemon's, without which no other can be examined.
    fn begin(daemon: (Examiner, AuditReport)) -> Result<Self, Failure> {
        let known = daemon.0.agents().map_err(of_store)?;
        Ok(Self { daemon, known, agents: BTreeMap::new(), damaged: BTreeMap::new() })
    }

    /// Examines that of an agent or a board. What is damaged is the trouble of one alone.
    fn examine(&mut self, name: &Path, copy: CopyOf<'_>) -> Result<(), Failure> {
        let examined = match agent_of(name) {
            Some(agent) => self.daemon.0.agent(&agent, copy).map(|report| Some((agent, report))),
            None => insula_store::examine_board(copy).map(|()| None),
        };
        match examined {
            Ok(report) => self.agents.extend(report),
            Err(why @ StoreError::Damaged { .. }) => {
                self.damaged.insert(name.to_owned(), why.to_string());
            }
            Err(error) => return Err(of_store(error)),
        }
        Ok(())
    }
}

/// What is read while a backup passes.
struct Passing<'a> {
    file: &'a Path,
    progress: &'a mut Progress,
    manifest: Option<Manifest>,
    key: Option<AuditKey>,
    anchor: Option<Vec<u8>>,
    bytes: u64,
    seen: Seen,
}

impl<'a> Passing<'a> {
    fn new(file: &'a Path, progress: &'a mut Progress) -> Self {
        Self {
            file,
            progress,
            manifest: None,
            key: None,
            anchor: None,
            bytes: 0,
            seen: Seen::default(),
        }
    }

    fn begin(&mut self, manifest: &Manifest) -> Result<(), Failure> {
        let file = self.file.display();
        if manifest.kind != KIND {
            let kind = output::clean(&manifest.kind);
            return Err(Failure::Failed(format!("{file} is no backup of a home but a {kind}")));
        }
        let format = manifest.about["home_format"].as_u64().unwrap_or(0);
        if format > u64::from(FORMAT) {
            let program = output::clean(&manifest.program);
            return Err(Failure::Failed(format!(
                "{file} is of a home of format {format}, made by insula {program}, and this version knows formats up to {FORMAT}: restore it with the newer version"
            )));
        }
        self.manifest = Some(manifest.clone());
        Ok(())
    }

    fn note(&mut self, entry: &Entry) {
        let parts: Vec<_> = entry.name.iter().filter_map(|part| part.to_str()).collect();
        let is_folder = matches!(entry.kind, EntryKind::Folder);
        if let ["agents", id, more @ ..] = &parts[..]
            && (is_folder || !more.is_empty())
        {
            self.seen.0.extend(AgentId::new(id));
        }
        if let EntryKind::File(more) = entry.kind {
            self.bytes += more;
            let now = self.bytes;
            self.progress.show(|| format!("reading: {}", bytes(now)));
        }
    }

    /// The content of an entry that is read whole.
    fn whole(&self, content: &mut dyn Read) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let read = content.read_to_end(&mut bytes);
        read.map_err(|error| {
            let (file, what) = (self.file.to_owned(), error.to_string());
            Failure::from(ArchiveError::Damaged { file, what })
        })?;
        Ok(bytes)
    }

    fn missing(&self, what: &str) -> Failure {
        Failure::Failed(format!("{} is incomplete: {what} is not in it", self.file.display()))
    }

    fn known_key(&self) -> Result<&AuditKey, Failure> {
        self.key.as_ref().ok_or_else(|| self.missing(AUDIT_KEY))
    }

    fn known_manifest(&self) -> Result<Manifest, Failure> {
        self.manifest.clone().ok_or_else(|| self.missing("its description"))
    }
}

fn agent_of(name: &Path) -> Option<AgentId> {
    let parts: Vec<_> = name.iter().filter_map(|part| part.to_str()).collect();
    match parts[..] {
        ["agents", id, "agent.db"] => AgentId::new(id).ok(),
        _ => None,
    }
}

/// Whether it is the database of a board.
fn is_board(name: &Path) -> bool {
    let parts: Vec<_> = name.iter().filter_map(|part| part.to_str()).collect();
    matches!(parts[..], ["boards", file] if insula_store::board_of(file).is_some())
}

fn key_of(bytes: &[u8]) -> Option<AuditKey> {
    bytes.try_into().ok().map(AuditKey::from_bytes)
}

/// A backup that is examined in memory: one database at a time, and nothing on the disk.
struct Examining<'a> {
    passing: Passing<'a>,
    databases: Option<Databases>,
}

impl Visitor for Examining<'_> {
    type Error = Failure;

    fn begin(&mut self, manifest: &Manifest) -> Result<(), Failure> {
        self.passing.begin(manifest)
    }

    fn entry(&mut self, entry: &Entry, content: &mut dyn Read) -> Result<(), Failure> {
        let Self { passing, databases } = self;
        passing.note(entry);
        let is = |name: &str| entry.name == Path::new(name);
        if is(AUDIT_KEY) {
            passing.key = key_of(&passing.whole(content)?);
        } else if is(ANCHOR) {
            passing.anchor = Some(passing.whole(content)?);
        } else if is(DAEMON_DB) {
            let copy = CopyOf::Bytes(&entry.name, passing.whole(content)?);
            let anchor = passing.anchor.as_deref();
            let opened = Examiner::open(passing.known_key()?, copy, anchor);
            *databases = Some(Databases::begin(opened.map_err(of_store)?)?);
        } else if agent_of(&entry.name).is_some() || is_board(&entry.name) {
            let databases = databases.as_mut().ok_or_else(|| passing.missing(DAEMON_DB))?;
            let copy = CopyOf::Bytes(&entry.name, passing.whole(content)?);
            databases.examine(&entry.name, copy)?;
        }
        Ok(())
    }
}

fn examine(
    file: &Path,
    passphrase: &Passphrase,
    progress: &mut Progress,
) -> Result<Contents, Failure> {
    let passing = Passing::new(file, progress);
    let mut examining = Examining { passing, databases: None };
    let totals = read(file, Some(passphrase), &mut examining)?;
    let Examining { passing, databases } = examining;
    let databases = databases.ok_or_else(|| passing.missing(DAEMON_DB))?;
    Ok(Contents::new(passing.known_manifest()?, totals, passing.seen, databases))
}

/// A backup that is unpacked aside.
struct Unpacking<'a> {
    passing: Passing<'a>,
    unpacker: Unpacker,
    /// Those of agents and boards, by their names.
    databases: Vec<PathBuf>,
}

impl Visitor for Unpacking<'_> {
    type Error = Failure;

    fn begin(&mut self, manifest: &Manifest) -> Result<(), Failure> {
        self.passing.begin(manifest)
    }

    fn entry(&mut self, entry: &Entry, content: &mut dyn Read) -> Result<(), Failure> {
        let Self { passing, unpacker, databases } = self;
        passing.note(entry);
        let is_one = agent_of(&entry.name).is_some() || is_board(&entry.name);
        databases.extend(is_one.then(|| entry.name.clone()));
        let (is_key, is_anchor) =
            (entry.name == Path::new(AUDIT_KEY), entry.name == Path::new(ANCHOR));
        if !is_key && !is_anchor {
            return Ok(unpacker.put(entry, content)?);
        }
        let bytes = passing.whole(content)?;
        unpacker.put(entry, &mut bytes.as_slice())?;
        match is_key {
            true => passing.key = key_of(&bytes),
            false => passing.anchor = Some(bytes),
        }
        Ok(())
    }
}

fn unpack(
    file: &Path,
    passphrase: &Passphrase,
    unpacker: Unpacker,
    progress: &mut Progress,
) -> Result<(Contents, Option<Unpacker>), Failure> {
    let passing = Passing::new(file, progress);
    let mut unpacking = Unpacking { passing, unpacker, databases: Vec::new() };
    let totals = read(file, Some(passphrase), &mut unpacking)?;
    let Unpacking { passing, unpacker, databases: names } = unpacking;
    let (copy, anchor) = (unpacker.aside().join(DAEMON_DB), passing.anchor.as_deref());
    let daemon = Examiner::open(passing.known_key()?, CopyOf::File(&copy), anchor);
    let mut databases = Databases::begin(daemon.map_err(of_store)?)?;
    for name in names {
        let copy = unpacker.aside().join(&name);
        databases.examine(&name, CopyOf::File(&copy))?;
    }
    let manifest = passing.known_manifest()?;
    Ok((Contents::new(manifest, totals, passing.seen, databases), Some(unpacker)))
}

fn of_store(error: insula_store::StoreError) -> Failure {
    Failure::Failed(format!("a database of the backup can't be used: {error}"))
}

/// Every secret opens with the key that came along.
async fn check_vault(setting: &Setting, aside: &Path) -> Result<(), Failure> {
    let failed = |error: insula_vault::VaultError| {
        Failure::Failed(format!("the vault of the backup can't be used: {error}"))
    };
    let vault = Vault::open(aside, &setting.world).await.map_err(failed)?;
    let contents = vault.contents().await.map_err(failed)?;
    let closed = contents.held.into_iter().filter_map(|it| it.value.err()).chain(contents.unlisted);
    for error in closed {
        // It did not open in the home either: the rest is worth having.
        output::notice(&format!("warning: a secret does not open: {error}"));
    }
    Ok(())
}

fn show(setting: &Setting, found: &Contents, home: Option<&Home>) {
    let Contents { manifest, totals, daemon, agents, unused, damaged } = found;
    let broken = found.broken();
    let chain = |report: &AuditReport| json!({ "ok": report.ok, "records": report.records, "broken_at": report.broken_at, "reason": report.reason });
    let chains = agents.iter().map(|(id, report)| (id.to_string(), chain(report)));
    let nothing = json!({ "ok": true, "records": 0, "broken_at": null, "reason": null });
    let chains = chains.chain(unused.iter().map(|id| (id.to_string(), nothing.clone())));
    let unread =
        |why: &String| json!({ "ok": false, "records": 0, "broken_at": null, "reason": why });
    let lost =
        damaged.iter().filter_map(|(name, why)| Some((agent_of(name)?.to_string(), unread(why))));
    let chains: serde_json::Map<String, Value> = chains.chain(lost).collect();
    let about = json!({
        "ok": found.is_whole(),
        "restored": home.is_some(),
        "home": home.map(|home| home.root().display().to_string()),
        "made": manifest.made,
        "program": manifest.program,
        "files": totals.files,
        "bytes": totals.bytes,
        "daemon": chain(daemon),
        "agents": chains,
        "damaged": damaged.iter().map(|(name, why)| json!({
            "database": name.display().to_string(), "whose": whose(name), "reason": why,
        })).collect::<Vec<_>>(),
    });
    let agents_in_all = chains_count(agents.len(), unused.len(), damaged);
    setting.answer.give(&about, |_| {
        let records: u64 = agents.values().map(|report| report.records).sum();
        let mut facts = vec![
            ("made", format!("{} by insula {}", manifest.made, manifest.program)),
            (
                "holds",
                format!(
                    "{}, {}, {}",
                    output::count(agents_in_all, "agent"),
                    output::count(usize::try_from(totals.files).unwrap_or(usize::MAX), "file"),
                    bytes(totals.bytes)
                ),
            ),
            (
                "audit",
                match &broken {
                    None => format!(
                        "all chains hold: {} records of the daemon, {records} of agents",
                        daemon.records
                    ),
                    Some(broken) => broken.clone(),
                },
            ),
        ];
        match home {
            Some(home) => facts.push(("home", home.root().display().to_string())),
            None => facts.push(("written", "nothing".to_owned())),
        }
        output::facts(&facts);
        for (name, why) in damaged {
            let (whose, what) = (whose(name), if home.is_some() { "is restored as it is" } else { "is so in the backup" });
            output::notice(&format!("warning: the database of {whose} is damaged and {what}, so nothing else of the home is kept from working: {why}"));
        }
        if let Some(home) = home {
            let home = home_flag(home.root(), &setting.environment.variables);
            output::line(&format!(
                "Start it with `insula{home} up`, where no other daemon has the same accounts."
            ));
        }
    });
}

/// How many agents there are, with a database or without one, whole or not.
fn chains_count(whole: usize, unused: usize, damaged: &BTreeMap<PathBuf, String>) -> usize {
    whole + unused + damaged.keys().filter(|name| agent_of(name).is_some()).count()
}
