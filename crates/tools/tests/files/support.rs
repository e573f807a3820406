//! A workspace in a temporary folder, and the tools over it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use async_trait::async_trait;
use insula_domain::{AccessMode, StaleWrites};
use insula_testkit::Home;
use insula_tools::hands::{HandError, History, Hit, Search};
use insula_tools::workspace::states::{FileReader, FileStates};
use insula_tools::workspace::{Absent, AgentFolders, Granted, Site};
use insula_tools::{Cleared, Files, Hands, Output, ToolError, ToolRef, find};
use insula_world::World;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The agent's own folder, below the home.
pub const OWN: &str = "agents/a/workspace";

/// Nothing was ever said.
pub struct Silence;

#[async_trait]
impl History for Silence {
    async fn search(&self, _: Search<'_>) -> Result<Vec<Hit>, HandError> {
        Ok(Vec::new())
    }

    async fn around(&self, _: &str, _: i64, _: usize) -> Result<Vec<Hit>, HandError> {
        Ok(Vec::new())
    }
}

/// A home with one agent's folder in it.
pub struct FileFixture {
    pub home: Home,
    pub world: World,
    pub states: Arc<FileStates>,
    pub shared: Vec<Granted>,
    pub stale_writes: StaleWrites,
    pub place: std::sync::Mutex<Option<Arc<AgentFolders>>>,
}

pub fn shared(path: &Path, mode: AccessMode) -> Granted {
    Granted { site: Site::Path(path.to_owned()), mode, absent: Absent::Leave }
}

impl FileFixture {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let home = Home::empty().unwrap();
        let fixture = Self {
            world: insula_testkit::world(1).0,
            home,
            states: Arc::default(),
            shared: Vec::new(),
            stale_writes: StaleWrites::Refuse,
            place: Default::default(),
        };
        std::fs::create_dir_all(fixture.path("")).unwrap();
        for (path, content) in files {
            fixture.put(path, content);
        }
        fixture
    }

    /// The home of the daemon: in a folder of the test, which it has to itself.
    pub fn root(&self) -> PathBuf {
        self.home.path().join("home")
    }

    /// A path in the agent's folder.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(OWN).join(path)
    }

    /// Writes a file behind the agent's back.
    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// The hand of one reader.
    pub fn files(&self, reader: &str) -> Files {
        let mut place = self.place.lock().unwrap();
        let place = place.get_or_insert_with(|| {
            let own = Granted {
                site: Site::Home(OWN.into()),
                mode: AccessMode::Rw,
                absent: Absent::Make,
            };
            let common = std::iter::once(own).chain(self.shared.iter().cloned()).collect();
            Arc::new(AgentFolders::new(self.root(), None, common).of("agents/a".into()))
        });
        let (states, reader) = (self.states.clone(), FileReader::new(reader));
        Files::new(place.clone(), None, states, reader, self.stale_writes, None, self.world.clone())
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> Result<String, ToolError> {
        call(&self.files("ann"), tool, arguments).await
    }

    /// What the tool says to a call that has to be refused or fail.
    pub async fn error(&self, tool: &str, arguments: Value) -> String {
        match self.call(tool, arguments.clone()).await {
            Err(error) => error.to_string(),
            Ok(text) => panic!("{tool} {arguments}: {text}"),
        }
    }
}

pub async fn call(files: &Files, tool: &str, arguments: Value) -> Result<String, ToolError> {
    let hands = Hands { files: Some(files), ..Hands::bare(&Silence) };
    let call = Cleared::by_the_gate(ToolRef::BuiltIn(find(tool).unwrap()), arguments);
    match call.run(&hands).await? {
        Output::Text(text) => Ok(text),
        other => panic!("{other:?}"),
    }
}
