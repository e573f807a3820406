//! What is said of a turn that ended because its agent was begun anew.

/// Why a turn ended that an operator's restart cut off.
pub(crate) const RESTARTED: &str = "the agent was restarted by its operator, which ended this turn";

/// What a chat hears of such a turn.
pub(crate) const TOLD: &str = "Stopped before I had an answer: I was restarted by whoever runs me. Ask again if you still want it.";

/// Whether a turn ended for that reason.
pub(crate) fn was_restarted(error: &str) -> bool {
    error == RESTARTED
}
