//! Where an agent's files are, and the hand by which one conversation reaches them.

use crate::home::OUTPUT;
use insula_domain::disk::Floor;
use insula_domain::{AccessMode, FileGrants, SessionKey, StaleWrites, WorkspaceScope};
use insula_store::{Counted, Seals, SessionId};
use insula_tools::Files;
use insula_tools::workspace::states::{FileReader, FileStates};
use insula_tools::workspace::{Absent, AgentFolders, Granted, Site, Users};
use insula_world::World;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longest part of a folder's name, in bytes: what every file system takes, and room to spare.
const NAME_BYTES_MAX: usize = 200;

/// Where an agent's files are, under one generation.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// The folder its conversations have in common.
    pub path: PathBuf,
    scope: WorkspaceScope,
    mode: AccessMode,
    stale_writes: StaleWrites,
    floor: Floor,
    /// The agent's folder, in the home.
    folder: PathBuf,
    place: Arc<AgentFolders>,
    states: Arc<FileStates>,
    users: Users,
}

/// A path of the configuration, with `~` replaced.
pub fn full(path: &str, user_home: Option<&str>) -> PathBuf {
    match (path.strip_prefix('~'), user_home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

impl Workspace {
    /// What `~` stands for in paths of the configuration.
    pub fn user_home(&self) -> Option<&str> {
        self.place.user_home.as_deref().and_then(Path::to_str)
    }

    /// The workspace of the agent with this folder in `home`; `path` is given where the
    /// operator chose another one than its own, with who works there.
    pub fn new(
        home: &Path,
        user_home: Option<&str>,
        folder: PathBuf,
        (path, users): (Option<PathBuf>, Users),
        grants: &FileGrants,
    ) -> Self {
        let own = folder.join("workspace");
        let (site, path) = match path {
            Some(path) => (Site::Path(path.clone()), path),
            None => (Site::Home(own.clone()), home.join(own)),
        };
        // What all conversations have in common none of them may change, once each has a
        // folder of its own.
        let mode = match grants.workspace {
            WorkspaceScope::Agent => grants.workspace_mode,
            WorkspaceScope::Chat | WorkspaceScope::Topic => AccessMode::Ro,
        };
        let common = Granted { site, mode, absent: Absent::Make };
        let shared = grants.shared.iter().map(|shared| Granted {
            site: Site::Path(PathBuf::from(&*shared.path)),
            mode: shared.mode,
            absent: Absent::Leave,
        });
        let common = std::iter::once(common).chain(shared).collect();
        let place = AgentFolders::new(home.to_owned(), user_home.map(PathBuf::from), common)
            .of(folder.clone())
            .used_by(users);
        Self {
            path,
            scope: grants.workspace,
            mode: grants.workspace_mode,
            stale_writes: grants.stale_writes,
            floor: Floor::default(),
            folder,
            place: Arc::new(place),
            states: Arc::default(),
            users,
        }
    }

    /// Whether conversations write to a folder that others write to as well.
    pub fn is_shared(&self) -> bool {
        let writes = self.scope == WorkspaceScope::Agent && self.mode == AccessMode::Rw;
        self.users == Users::Others && writes
    }

    /// Whether a folder is the agent's own, in common or of one conversation, in this home.
    pub fn holds(&self, home: &Path, folder: &Path) -> bool {
        folder.starts_with(&self.path) || folder.starts_with(home.join(&self.folder))
    }

    /// The place behind it, for whoever only looks.
    pub fn place(&self) -> Arc<AgentFolders> {
        self.place.clone()
    }

    /// The same workspace, with this much of its disk left alone.
    #[must_use]
    pub(crate) fn leaving(self, floor: Floor) -> Self {
        Self { floor, ..self }
    }

    /// Goes on with what the generation before it knew about files.
    pub(crate) fn succeed(&mut self, before: &Self) {
        self.states = before.states.clone();
    }

    /// The same place for a child that has these grants: the folders that its parent was given
    /// too, each with the narrower mode.
    pub(crate) fn for_child(&self, grants: &FileGrants) -> Self {
        let shared = |path: &Path| grants.shared.iter().find(|it| Path::new(&*it.path) == path);
        let mut common = self.place.common.clone();
        let mut first = true;
        common.retain_mut(|granted| {
            // The first one is the workspace; see `new`.
            let mode = if std::mem::take(&mut first) {
                Some(grants.workspace_mode)
            } else if let Site::Path(path) = &granted.site {
                shared(path).map(|it| it.mode)
            } else {
                None
            };
            granted.mode = mode.map_or(granted.mode, |mode| mode.min(granted.mode));
            mode.is_some()
        });
        let place = match common == self.place.common {
            true => self.place.clone(),
            false => {
                let AgentFolders { home, user_home, .. } = &*self.place;
                let place = AgentFolders::new(home.clone(), user_home.clone(), common);
                Arc::new(place.of(self.folder.clone()).used_by(self.users))
            }
        };
        Self {
            path: self.path.clone(),
            scope: self.scope,
            mode: self.mode.min(grants.workspace_mode),
            stale_writes: self.stale_writes.min(grants.stale_writes),
            floor: self.floor,
            folder: self.folder.clone(),
            place,
            states: self.states.clone(),
            users: self.users,
        }
    }

    /// The hand of a child that works on the files of `parent`, as far as this place reaches;
    /// `name` is one that no other reader of the agent has.
    pub fn child_files(&self, parent: &Files, name: &str) -> Files {
        parent.for_child(self.place.clone(), self.mode, FileReader::new(name))
    }

    /// The hand for one session of one conversation. Nothing is opened until a tool needs it,
    /// and all is closed when nobody holds a hand any more.
    pub fn files(
        &self,
        conversation: &SessionKey,
        session: SessionId,
        seals: &Seals,
        world: &World,
    ) -> Files {
        let own = self.conversation(conversation).map(|folder| Granted {
            site: Site::Home(folder.join("workspace")),
            mode: self.mode,
            absent: Absent::Make,
        });
        // A conversation that begins anew has seen nothing yet.
        let reader = FileReader::new(&session.0.to_string());
        let states = self.states.clone();
        let output = self.folder.join(OUTPUT).join(output_name(seals, session));
        let stale_writes = self.stale_writes;
        let place = self.place.clone();
        Files::new(place, own, states, reader, stale_writes, Some(output), world.clone())
            .leaving(self.floor)
    }

    /// The hand for what all conversations have in common, and no one of them: the folder
    /// that they share, as each may use it, and granted paths.
    pub fn common_files(&self, world: &World) -> Files {
        let (place, states) = (self.place.clone(), self.states.clone());
        let reader = FileReader::new("all");
        Files::new(place, None, states, reader, self.stale_writes, None, world.clone())
    }

    /// The folder below the home that a conversation of one turn works in: in that of its output,
    /// so that it goes with the conversation.
    pub(crate) fn one_off(&self, seals: &Seals, session: SessionId) -> PathBuf {
        self.folder.join(OUTPUT).join(output_name(seals, session)).join("workspace")
    }

    /// The folder of a conversation below the home, where conversations have their own.
    fn conversation(&self, key: &SessionKey) -> Option<PathBuf> {
        let key = match self.scope {
            WorkspaceScope::Agent => return None,
            WorkspaceScope::Chat => SessionKey { topic: None, ..key.clone() },
            WorkspaceScope::Topic => key.clone(),
        };
        Some(self.folder.join("conversations").join(folder_name(&key)))
    }
}

/// What the folder of what a session's programs printed is called. Models are shown it, so it
/// does not tell how many sessions there are.
pub fn output_name(seals: &Seals, session: SessionId) -> String {
    seals.seal(Counted::Output, session.0)
}

/// The path of a conversation's folder, by a name that no other conversation of the agent has.
///
/// It is the text of its key without the agent, with `+` for `:`, which some programs can't
/// have in a path; neither stands for anything else in a key. What is too long for one name
/// is several, each but the last with a comma at its end, which no other name has.
fn folder_name(key: &SessionKey) -> PathBuf {
    let text = key.to_string();
    let text = text.splitn(3, ':').last().unwrap_or_default().replace(':', "+");
    let mut path = PathBuf::new();
    let mut rest = text.as_str();
    // The text is plain ASCII, so any place is one between two characters.
    while rest.len() > NAME_BYTES_MAX {
        let (name, more) = rest.split_at(NAME_BYTES_MAX);
        path.push(format!("{name},"));
        rest = more;
    }
    path.push(rest);
    path
}

#[cfg(test)]
#[path = "workspace_tests.rs"]
mod workspace_tests;
