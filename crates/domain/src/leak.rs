//! Leaks that tests plant: each is a bug of a kind that was seen in the field, at the place where
//! it would really be made, and asleep until a test wakes one by name. They are here to test the
//! testers, and only with the feature `seeded-leaks`, which no release can have.
//!
//! What the bugs share between agents is kept here, since no other file may have such state.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(not(debug_assertions))]
compile_error!("the feature `seeded-leaks` plants bugs for tests and must never be in a release");

/// Declares the leaks.
macro_rules! leaks {
    ($($variant:ident $name:literal $room:literal $class:ident $doc:literal,)*) => {
        /// A bug that shows something of one agent to another.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Leak {
            $(#[doc = $doc] $variant,)*
        }

        impl Leak {
            /// Every leak.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// What it is called.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The crate it is in.
            pub fn room(self) -> &'static str {
                match self { $(Self::$variant => $room,)* }
            }

            /// What kind of bug it is.
            pub fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }

            /// What is wrong, for people.
            pub fn what(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

/// Kinds of leak bugs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A cache whose key leaves out whose it is.
    SharedCache,
    /// A variable of the whole process.
    Static,
    /// Something of the process is read where an argument should be.
    Ambient,
    /// A scope or an owner that may be left out, and then means everybody.
    OptionalScope,
    /// What is missing is taken from elsewhere.
    Fallback,
    /// One sequence of numbers for all.
    SharedSequence,
    /// Something a cancelled request left behind.
    DirtyPool,
    /// What is foreign is taken out after the best were chosen.
    FilterAfterRanking,
    /// A limit of one that counts all.
    SharedQuota,
    /// A fault of one that stops all.
    UncontainedFault,
    /// An answer that tells a foreign thing from a missing one.
    TellingAnswer,
}

impl Class {
    /// What it is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SharedCache => "shared cache",
            Self::Static => "static",
            Self::Ambient => "ambient read",
            Self::OptionalScope => "optional scope",
            Self::Fallback => "fallback",
            Self::SharedSequence => "shared sequence",
            Self::DirtyPool => "dirty pool",
            Self::FilterAfterRanking => "filter after ranking",
            Self::SharedQuota => "shared quota",
            Self::UncontainedFault => "uncontained fault",
            Self::TellingAnswer => "telling answer",
        }
    }
}

leaks! {
    KeysByChat "keys-by-chat" "domain" SharedCache "session keys are kept by chat, and the first agent's is used for all",
    AnswersByExpression "answers-by-expression" "domain" SharedCache "answers of expressions are kept by their text, whoever asks",
    TablesByProfile "tables-by-profile" "domain" SharedCache "tool tables are kept by profile, whatever else a policy says",
    MetadataLeftOver "metadata-left-over" "config" Static "the metadata of agents that were read before is not cleared",
    SoulOfWhoeverWasFirst "soul-of-whoever-was-first" "config" Ambient "who an agent is comes from a value of the process, set by the first",
    ModelOfWhoeverWasLast "model-of-whoever-was-last" "config" Fallback "children whose model nobody names get that of the agent read before",
    DigestOfTheHouse "digest-of-the-house" "config" Ambient "the digest of one agent counts how many there are",
    OneFailsAll "one-fails-all" "config" UncontainedFault "a fault in one agent's settings fails the others",
    SkillsByName "skills-by-name" "config" SharedCache "skills are parsed once for each name",
    TurnsInOneSequence "turns-in-one-sequence" "store" SharedSequence "turns of all agents are numbered together",
    ScopeNumbersByName "scope-numbers-by-name" "store" SharedCache "numbers of scopes are kept by name, across databases",
    FoundBefore "found-before" "store" SharedCache "what a search of the history found is kept by its words",
    HitsCrowdedOut "hits-crowded-out" "store" FilterAfterRanking "hits of all agents are ranked together, and foreign ones taken out afterwards",
    EventsByName "events-by-name" "store" OptionalScope "an event is known by its name, whichever account it came by",
    UsageLeftOver "usage-left-over" "store" Static "what a call took is added to the next one's account",
    BlocksByScope "blocks-by-scope" "memory" SharedCache "what a session is shown of memory is kept by scope, without the agent",
    EntriesCrowdedOut "entries-crowded-out" "memory" FilterAfterRanking "entries of all agents are ranked together, and foreign ones taken out afterwards",
    EntriesOfEverybody "entries-of-everybody" "memory" OptionalScope "a search without a scope is one of everything that was found before",
    LimitsOfWhoeverWasLast "limits-of-whoever-was-last" "memory" Static "how much a list may hold is what the agent made before may have",
    ToolsByCount "tools-by-count" "models" SharedCache "encoded tools are kept by how many there are",
    AnswerLeftOver "answer-left-over" "models" DirtyPool "what a cancelled answer left on the wire is read as the beginning of the next",
    OneRestsAllRest "one-rests-all-rest" "models" SharedQuota "after a provider said wait to one agent, all wait",
    ErrorsLeftOver "errors-left-over" "models" Static "an error tells what went wrong before it, at whoever's request",
    HeadersOfTheFirstProvider "headers-of-the-first-provider" "models" SharedCache "the headers of one provider are used for all",
    WindowsBySession "windows-by-session" "runtime" SharedCache "windows of conversations are kept by the number of the session, without the agent",
    ConnectionsByName "connections-by-name" "runtime" SharedCache "connections to MCP servers are kept by the server's name",
    SomebodyElseAnswers "somebody-else-answers" "runtime" Fallback "what is for an agent that does not serve goes to one that does",
    GrantsByCall "grants-by-call" "runtime" OptionalScope "what was always allowed to one agent is allowed to all",
    QuestionsOfEverybody "questions-of-everybody" "runtime" OptionalScope "the list of questions is that of the house",
    QuestionsInOneSequence "questions-in-one-sequence" "runtime" SharedSequence "questions of all agents are numbered together",
    MarksInOneSequence "marks-in-one-sequence" "runtime" SharedSequence "marks around foreign text are numbered together",
    EverybodysSecretsInWords "everybodys-secrets-in-words" "runtime" OptionalScope "an agent's words are cleared of everybody's secrets, short ones too",
    OneBudgetForAll "one-budget-for-all" "runtime" SharedQuota "turns of all agents count for each one's budget",
    OneBudgetForEachPerson "one-budget-for-each-person" "runtime" SharedQuota "what somebody does at one agent counts at all",
    HooksByEvent "hooks-by-event" "runtime" SharedCache "answers of hooks are kept by event",
    EventsForEverybody "events-for-everybody" "runtime" OptionalScope "whoever follows one agent hears of all",
    OnePlaceForAll "one-place-for-all" "runtime" SharedQuota "turns of all agents run one after the other",
    SecretsElsewhere "secrets-elsewhere" "runtime" Fallback "a secret that an agent does not have is taken from another",
    PromptsByGeneration "prompts-by-generation" "runtime" SharedCache "the fixed part of a prompt is kept by generation, without the agent",
    ToolboxesOfOneSize "toolboxes-of-one-size" "runtime" SharedCache "what a model is shown of tools is kept by how many of its own an agent has",
    ChildrenOfEverybody "children-of-everybody" "runtime" SharedQuota "children of all agents count for each turn's limit",
    ListOfWhoeverWasLast "list-of-whoever-was-last" "tools" Fallback "where a conversation has no list of steps it is the last one there was",
    PagesByName "pages-by-name" "tools" SharedCache "pages of the web are kept by the last part of their address",
    FilesElsewhere "files-elsewhere" "tools" Fallback "a file that is not in the workspace is taken from another",
    SkillTextsByName "skill-texts-by-name" "tools" SharedCache "texts of skills are kept by name",
    SearchedBefore "searched-before" "tools" SharedCache "what a search of files found is kept by its pattern",
    OffersByName "offers-by-name" "mcp" SharedCache "descriptions of tools are kept by name, whichever server gave them",
    HeadersOfTheLastServer "headers-of-the-last-server" "mcp" DirtyPool "a request has the headers, and the key, of the one before it",
    ResultsByTool "results-by-tool" "mcp" DirtyPool "a call gets the answer of the one before it",
    AccountOfWhoeverWasLast "account-of-whoever-was-last" "gateway" Ambient "a message leaves by the account that was used before",
    AgentsToldToAnybody "agents-told-to-anybody" "gateway" OptionalScope "/agents lists all there are",
    InboxInOneSequence "inbox-in-one-sequence" "gateway" SharedSequence "events of all accounts are numbered together",
    ForbiddenIsNotMissing "forbidden-is-not-missing" "http" TellingAnswer "another's agent answers 403 and a missing one 404",
    NamesInErrors "names-in-errors" "http" TellingAnswer "an error tells which agents there are",
    ModelsOfEverybody "models-of-everybody" "http" OptionalScope "the list of models is that of the house",
}

impl Leak {
    /// Finds a leak by name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|leak| leak.name() == name)
    }
}

/// Which one is awake: its place in [`Leak::ALL`], from 1; 0 for none.
static AWAKE: AtomicUsize = AtomicUsize::new(0);

/// What the bugs share, by name.
static SHARED: Mutex<BTreeMap<String, Box<dyn Any + Send>>> = Mutex::new(BTreeMap::new());

/// Wakes one leak, or puts all to sleep.
pub fn wake(leak: Option<Leak>) {
    let place = leak.and_then(|leak| Leak::ALL.iter().position(|it| *it == leak));
    AWAKE.store(place.map_or(0, |place| place + 1), Ordering::Relaxed);
    forget_all();
}

/// Whether this one is awake.
pub fn is(leak: Leak) -> bool {
    let awake = AWAKE.load(Ordering::Relaxed);
    awake != 0 && Leak::ALL.get(awake - 1) == Some(&leak)
}

fn shared() -> MutexGuard<'static, BTreeMap<String, Box<dyn Any + Send>>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets what the bugs shared, as the end of a process does.
pub fn forget_all() {
    shared().clear();
}

/// What is shared under a name.
pub fn get<T: Any + Send + Clone>(name: &str) -> Option<T> {
    shared().get(name)?.downcast_ref::<T>().cloned()
}

/// Shares something under a name, in place of what was there.
pub fn set<T: Any + Send>(name: &str, value: T) {
    shared().insert(name.to_owned(), Box::new(value));
}

/// What is shared under a name; `value`, which is shared from now on, where nothing is.
pub fn first<T: Any + Send + Clone>(name: &str, value: T) -> T {
    if let Some(known) = get(name) {
        return known;
    }
    set(name, value.clone());
    value
}

/// What was shared under a name before; `value` is from now on.
pub fn swap<T: Any + Send + Clone>(name: &str, value: T) -> Option<T> {
    let before = get(name);
    set(name, value);
    before
}

/// The next number of a sequence, from 1.
pub fn next(name: &str) -> u64 {
    let number = get::<u64>(name).unwrap_or_default() + 1;
    set(name, number);
    number
}
