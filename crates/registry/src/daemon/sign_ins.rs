//! Begins and ends sign-ins of browsers.

use super::{Actor, Daemon};
use crate::error::RuntimeError;
use crate::sign_ins::{HELD_MAX, Holder, KEPT, SignIn, SignIns, kept};
use insula_store::DaemonCommand;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// The two halves of a sign-in, which are shown once.
pub struct NewSignIn {
    /// What the browser keeps where no page reads it.
    pub cookie: String,
    /// What the page keeps.
    pub page: String,
}

impl Daemon {
    /// Signs somebody in. What is over, or stood for a token that is gone, goes with it.
    pub async fn begin_sign_in(
        &self,
        holder: Holder,
        actor: &Actor,
    ) -> Result<NewSignIn, RuntimeError> {
        let _changes = self.change().await;
        let now = self.parts.world.clock.now();
        let count = self.sign_ins_made.fetch_add(1, Ordering::SeqCst).to_string();
        let at = now.as_millis().to_string();
        let mut random = self.parts.world.random.stream(&["sign-in", &at, &count]);
        let mut secret = || format!("{}{}", random.id(), random.id());
        let (id, cookie, page) = (secret()[..12].to_owned(), secret(), secret());
        let mut known = self.parts.sign_ins.all();
        known.retain(|_, it| {
            !it.is_over(now)
                && match &it.holder {
                    Holder::Local => true,
                    Holder::Token(token) => self.parts.tokens.get(token).is_some(),
                }
        });
        let mut own: Vec<_> = known
            .iter()
            .filter(|(_, it)| it.holder == holder)
            .map(|(id, it)| (it.begun, id.clone()))
            .collect();
        own.sort();
        for (_, oldest) in own.iter().rev().skip(HELD_MAX - 1) {
            known.remove(oldest);
        }
        known.insert(id.as_str().into(), SignIn::new(holder, now, &cookie, &page));
        self.keep_sign_ins(&known, "sign_in.begun", &id, actor).await?;
        Ok(NewSignIn { cookie: format!("{id}.{cookie}"), page })
    }

    /// Ends a sign-in at once, for whoever has its halves.
    pub async fn end_sign_in(&self, id: &str, actor: &Actor) -> Result<(), RuntimeError> {
        let _changes = self.change().await;
        let mut known = self.parts.sign_ins.all();
        if known.remove(id).is_none() {
            return Ok(());
        }
        self.keep_sign_ins(&known, "sign_in.ended", id, actor).await
    }

    async fn keep_sign_ins(
        &self,
        known: &BTreeMap<Box<str>, SignIn>,
        kind: &str,
        id: &str,
        actor: &Actor,
    ) -> Result<(), RuntimeError> {
        let content = json!({ "sign_in": id });
        let batch = vec![
            DaemonCommand::PutValue { key: KEPT.into(), value: kept(known) },
            DaemonCommand::Audit(self.parts.trail.entry(actor, kind, 0, content)),
        ];
        self.parts.owner.daemon().commit(batch).await?;
        Ok(())
    }

    pub(crate) async fn kept_sign_ins(
        store: &insula_store::Store,
    ) -> Result<SignIns, RuntimeError> {
        Ok(SignIns::load(store.daemon().value(KEPT).await?.as_deref()))
    }
}
