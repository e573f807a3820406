//! What we ask a homeserver on the side: who we are, and what one event needs. A question that it
//! can't answer stops nobody for good.

use super::Matrix;
use super::api::{Trouble, segment};
use super::known::Us;
use super::listen::read;
use super::wire::WhoAmI;
use insula_channel::ConnectFault;
use insula_domain::{Address, ChatId, ChatType, UserId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// How often the same question may fail before we go on without its answer: else one message
/// that its server can't serve would stop the account for good.
const FAILURES_MAX: u8 = 3;

impl Matrix {
    /// Who we are, asked anew.
    pub(super) async fn learn_who_we_are(
        &self,
        cancel: &CancellationToken,
    ) -> Result<Us, ConnectFault> {
        let reply = self.server.get("/client/v3/account/whoami", cancel).await;
        let who: WhoAmI = read(&reply.map_err(Trouble::into_fault)?.body)?;
        if let Some(user) = &self.user
            && **user != *who.user_id
        {
            let why = format!("the token is that of `{}`, not of `{user}`", who.user_id);
            return Err(ConnectFault::Refused(why.into()));
        }
        let path = format!("/client/v3/profile/{}/displayname", segment(&who.user_id));
        let asked = self.server.get(&path, cancel);
        let profile: Value = match self.ask("profile", asked).await? {
            Some(reply) => read(&reply.body)?,
            None => Value::Null,
        };
        let name = profile.get("displayname").and_then(Value::as_str);
        let name = name.unwrap_or(super::known::local_part(&who.user_id)).into();
        let device = who.device_id.map(Into::into);
        let us = Us { id: who.user_id.into(), name, device };
        self.known().us = Some(us.clone());
        Ok(us)
    }

    /// Waits for the answer to a question on the side. Nothing when the server says no, or
    /// when the same question has failed too often in a row.
    pub(super) async fn ask(
        &self,
        question: &str,
        asked: impl Future<Output = Result<insula_wire::Reply, Trouble>>,
    ) -> Result<Option<insula_wire::Reply>, ConnectFault> {
        let trouble = match asked.await {
            Ok(reply) => {
                self.known().failures.remove(question);
                return Ok(Some(reply));
            }
            Err(trouble) => trouble,
        };
        if trouble.is_no() {
            return Ok(None);
        }
        // A server that is gone, or that wants us to wait, says nothing about the question.
        let counts = matches!(trouble, Trouble::Ill { .. })
            || matches!(&trouble, Trouble::Wire(fault) if fault.may_have_arrived());
        if counts {
            let mut known = self.known();
            let failures = known.failures.get(question).map_or(1, |count| count + 1);
            if failures >= FAILURES_MAX {
                known.failures.remove(question);
                tracing::error!(account = %self.account, question, ?trouble, "going on without an answer");
                return Ok(None);
            }
            known.failures.insert(question.to_owned(), failures);
        }
        Err(trouble.into_fault())
    }

    /// A place of ours.
    pub(super) fn address(
        &self,
        chat: ChatId,
        chat_type: ChatType,
        topic: Option<insula_domain::TopicId>,
        user: UserId,
    ) -> Address {
        Address {
            platform: self.platform,
            account: self.account.clone(),
            chat,
            chat_type,
            topic,
            parent: None,
            community: None,
            user: Some(user),
            roles: vec![],
        }
    }
}
