//! The hand of the tools that reach the web, and how what they bring becomes readable text.
//!
//! Which hosts are reached is decided where the hand is made; nothing here can ask for more.
//! All that comes from there is somebody else's text: it is measured before it is unpacked,
//! read without a tree that could grow, and never trusted.

mod charset;
mod elements;
mod html;
mod packed;
pub(crate) mod pdf;
pub mod readable;
pub(crate) mod search;
mod style;
mod text;

use crate::output::{HandError, ToolError};
use async_trait::async_trait;
use readable::PageContent;

pub(crate) use text::beginning;

/// An answer, as it came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Where it came from, after all redirects.
    pub url: String,
    /// The hosts that were asked on the way there, that one last.
    pub hosts: Vec<String>,
    /// What the host says of it.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Content-Encoding`.
    pub content_encoding: Option<String>,
    /// The bytes.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfetched {
    /// Nobody was asked. What is said of it is ours, and about the address that was given.
    Unsent(ToolError),
    /// These hosts were, and chose what became of it: what is said of that has words of theirs.
    Sent {
        /// In the order in which they were asked.
        hosts: Vec<String>,
        why: String,
    },
}

impl From<ToolError> for Unfetched {
    fn from(error: ToolError) -> Self {
        Self::Unsent(error)
    }
}

/// Which search an operator named, and so whose words are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchKind {
    /// SearXNG.
    Searxng,
    /// Brave.
    Brave,
}

/// Work that takes a processor a while.
pub type Work = Box<dyn FnOnce() -> PageContent + Send>;

/// What a program made of what it was given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Converted {
    /// How it ended; `None` where it was ended.
    pub status: Option<i32>,
    /// What it printed, from the beginning.
    pub output: Vec<u8>,
    /// Whether it printed more.
    pub is_cut: bool,
    /// What it complained about.
    pub complaint: String,
}

/// The web, for one conversation of one agent. Bound when it is made.
#[async_trait]
pub trait Web: Send + Sync {
    /// Fetches an address, as far as the agent's network goes.
    async fn fetch(&self, url: &str) -> Result<Page, Unfetched>;

    /// The search that was named; `None` where none was.
    fn search(&self) -> Option<SearchKind>;

    /// Asks that search. The path and query go behind its address, its key goes along unseen.
    async fn ask(&self, path_and_query: &str) -> Result<Page, Unfetched>;

    /// Does work away from the threads that serve. A panic comes back as an error.
    async fn apart(&self, work: Work) -> Result<PageContent, HandError>;

    /// Runs a command of ours over bytes of others, in the agent's sandbox: with neither its
    /// files nor its network, nor anything of its environment.
    async fn convert(&self, command: &'static str, input: Vec<u8>) -> Result<Converted, ToolError>;
}
