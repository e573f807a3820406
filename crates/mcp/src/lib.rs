//! The MCP servers of one agent: a connection to each, what is known of its tools, and what
//! becomes of its answers.
//!
//! A [`Server`] is bound to its agent by whoever makes it; nothing here names one. How a
//! server is started or reached comes in by an [`Opener`]. The protocol itself is the SDK's,
//! and stays behind this crate: wire types are not part of its surface.
//!
//! A server is somebody else's program. All it says is bounded, and none of it decides
//! anything: its descriptions are pinned and looked at before a model sees them, its requests
//! are refused but for questions to whoever its call is made for, and what goes wrong with it goes
//! wrong for its own agent alone.

mod breaker;
mod content;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handler;
mod http_way;
mod name;
mod offer;
mod pins;
mod question;
mod server;
mod stdio_lines;
mod task_form;
mod words;

pub use breaker::{Breaker, Pause};
pub use content::{CallOutcome, PICTURE_BYTES_MAX, PICTURES_MAX, Picture, RESULT_BYTES_MAX};
pub use handler::{Asked, Asking, Questions};
pub use name::{NAME_BYTES_MAX, full_name};
pub use offer::{DESCRIPTION_BYTES_MAX, Offer, PARAMETERS_BYTES_MAX, TOOLS_MAX};
pub use pins::{
    Pinned, PinnedArgument, PinnedPrompt, Pins, PinsError, ServerPins, Standing, ToolChange,
    ToolChangeKind, revise,
};
pub use question::{ANSWER_WITHIN, Question, Reply};
pub use server::{
    Beside, Facts, Link, Opener, PROMPTS_MAX, Patience, Prompt, PromptArgument, Server,
    ServerError, ServerFuture, ServerLimits, Way,
};
pub use stdio_lines::FRAME_BYTES_MAX;
