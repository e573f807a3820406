//! The messages of a session of a plan, read when they are needed.

use crate::plan::{MessagePlan, Plan, SessionPlan, SessionReader};
use crate::{hermes, openclaw};

impl Plan {
    /// The messages of a session, in order.
    pub fn messages(&self, session: &SessionPlan) -> Result<Vec<MessagePlan>, String> {
        let copy = |copy: usize| self.copies.get(copy).ok_or("its database is gone");
        match &session.reader {
            SessionReader::Hermes { copy: at } => hermes::messages(copy(*at)?, session),
            SessionReader::OpenClaw { copy: at } => openclaw::messages(copy(*at)?, session),
            SessionReader::Lines { file } => openclaw::messages_of_lines(file),
        }
    }
}
