//! Pure types and decisions: who is talking, which agent answers, which conversation
//! and memory scope that is, and what the agent may do.
//!
//! Nothing here does I/O, waits, reads a clock or knows how anything is stored or
//! spelled in a file. A function that decides returns a value that says why.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may say what it knows")
)]

#[cfg(test)]
mod arbitrary;

pub mod access;
pub mod actor;
pub mod address;
pub mod argument;
pub mod audit_scope;
pub mod binding;
pub mod board;
pub mod boundary;
pub mod child;
pub mod clean;
pub mod command;
pub mod day;
pub mod disk;
pub mod explain;
pub mod expr;
pub mod failure;
pub mod hook;
pub mod host;
pub mod id;
pub mod integrity;
pub mod label;
mod limits;
pub mod link;
mod lookup;
pub mod marks;
pub mod media_type;
pub mod narrowing;
pub mod network;
pub mod opaque;
pub mod percent;
pub mod place;
pub mod platform;
pub mod policy;
pub mod principal;
pub mod question;
pub mod reset;
pub mod router;
pub mod ruling;
pub mod scan;
pub mod scope;
pub mod scope_rule;
pub mod selector;
pub mod send;
pub mod session_key;
pub mod sound;
pub mod tainted;
pub mod tool;
pub mod tool_table;
pub mod words;
pub mod zone;

pub use access::{
    AccessRules, Admission, AllowList, Asker, GroupRule, Handling, Respond, Roster, Unknown,
};
pub use actor::{Actor, Bearer, PlatformIdentity};
pub use address::{Address, ChatType, Community};
pub use argument::{ArgumentRule, ArgumentRules};
pub use audit_scope::AuditScope;
pub use binding::{Binding, Field, Match, Metadata, Tier};
pub use board::{
    BlockKind, BoardName, BoardRight, BoardRights, CardId, CardStatus, CardStep,
    Facts as CardFacts, WrongStep,
};
pub use boundary::{
    AccessMode, ApprovalMode, ApprovalRule, Axis, Boundary, Budget, BudgetLimits, ChildApprovals,
    FileGrants, Isolation, SharedPath, SpawnLimits, StaleWrites, WorkspaceScope,
};
pub use child::{ChildRefused, ChildRequest, Role, SpawnCaps};
pub use day::Day;
pub use explain::{Considered, Explanation, Reason, Why};
pub use failure::FailureCause;
pub use host::{Host, HostError, HostPattern, PUBLIC_WEB, Scheme, parse_authority};
pub use id::{AccountId, AgentId, ChatId, GuildId, IdError, PersonId, RoleId, TopicId, UserId};
pub use integrity::{Integrity, IntegrityError, Source, SourceKind};
pub use label::{Audience, Flow, Label, LabelError};
pub use link::{Hearers, Hops, Link, LinkKind, Linking, Links};
pub use narrowing::{GroupNarrowing, Narrowing};
pub use network::{HostCredential, NetworkGrants};
pub use opaque::OpaqueRule;
pub use place::{PLACE_FACTS, PLACE_VARIABLES, Place, PlaceFact};
pub use platform::Platform;
pub use policy::{Possible, Profile, Switch, ToolNarrowing, ToolPolicy};
pub use principal::{Admins, Principal, Standing};
pub use reset::Reset;
pub use router::{Conflict, ConflictKind, Defaults, Route, Router};
pub use ruling::{Ruling, RulingSubject};
pub use scope::{ContextId, CustomId, MemoryScope, Scope, ScopeError, ScopeName};
pub use scope_rule::{MemoryOperation, SCOPE_VARIABLES, ScopeDenied, ScopePayload, ScopeRule};
pub use selector::{McpName, McpPattern, Selector, UnknownTool};
pub use send::{ChatSelector, FlowGrant, FlowSource, SendGrants, Sending};
pub use session_key::{
    DmSessions, GroupSessions, SearchReach, SessionKey, SessionKeyError, SessionRule,
};
pub use tainted::{Act, IntegrityProfile, IntegrityRule, RuledTools, TaintedRule, TrustedSource};
pub use tool::{Backend, Effect, Grant, Group, ToolSpec, known_names};
pub use tool_table::{Rule, ToolTable, ToolVerdict};
pub use words::{WordSource, Words};
pub use zone::{Zone, Zones};
