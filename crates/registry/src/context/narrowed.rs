//! The context of an agent as it serves those who come by ways in that take something away.
//!
//! What is taken away is worked out once for a generation and a set of ways, and kept with the
//! generation; a turn then costs a handful of pointers.

use super::{AgentContext, ModelChain, Parts};
use crate::toolbox::Toolbox;
use crate::whole::Whole;
use insula_config::agent::AccessPolicy;
use insula_config::model::ModelRef;
use insula_domain::{ArgumentRules, Boundary, Narrowing};
use std::sync::{Arc, Mutex, PoisonError};

/// Sets of ways that a generation keeps; one more makes room. Tokens can be many.
const KEPT_MAX: usize = 256;

/// What differs from the generation's own.
#[derive(Clone)]
pub(super) struct Less {
    boundary: Arc<Boundary>,
    toolbox: Arc<Toolbox>,
    models: ModelChain,
    access: Arc<AccessPolicy>,
}

/// Ways in, and what they leave.
type Made = (Arc<[Arc<Narrowing>]>, Less);

/// What was worked out, by the ways it was worked out for.
#[derive(Default)]
pub(super) struct Narrowed(Mutex<Vec<Made>>);

impl Narrowed {
    fn get_or_make(
        &self,
        ways: &[Arc<Narrowing>],
        make: impl FnOnce() -> Result<Less, String>,
    ) -> Result<Made, String> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, less)) = kept.iter().find(|(of, _)| **of == *ways) {
            return Ok((of.clone(), less.clone()));
        }
        let made: Made = (ways.into(), make()?);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.push(made.clone());
        Ok(made)
    }
}

impl AgentContext {
    /// The ways in that this context was narrowed by; none for a generation's own.
    pub fn ways(&self) -> &[Arc<Narrowing>] {
        &self.ways
    }

    /// The context that serves whoever comes by these ways, or why there is none. It is made of
    /// the generation's own, so that no way is counted twice.
    pub fn through(self: &Arc<Self>, ways: &[Arc<Narrowing>]) -> Result<Arc<Self>, String> {
        if ways.is_empty() {
            return Ok(self.clone());
        }
        let (ways, less) = self.narrowed.get_or_make(ways, || self.less(ways))?;
        let Less { boundary, toolbox, models, access } = less;
        let own = &***self;
        Ok(Arc::new(Self(Whole::new(Parts {
            id: own.id.clone(),
            generation: own.generation,
            identity: own.identity.clone(),
            config: own.config.clone(),
            boundary,
            toolbox,
            mcp: own.mcp.clone(),
            programs: own.programs.clone(),
            search: own.search.clone(),
            images: own.images.clone(),
            voice: own.voice.clone(),
            memory: own.memory.clone(),
            remembered: own.remembered.clone(),
            workspace: own.workspace.clone(),
            skills: own.skills.clone(),
            providers: own.providers.clone(),
            models,
            hooks: own.hooks.clone(),
            conversations: own.conversations.clone(),
            secrets: own.secrets.clone(),
            store: own.store.clone(),
            audit: own.audit.clone(),
            admins: own.admins.clone(),
            access,
            jobs: own.jobs.clone(),
            logs_keep: own.logs_keep,
            sessions_keep: own.sessions_keep,
            audit_keep: own.audit_keep,
            attachments_kept: own.attachments_kept,
            quiet_hours: own.quiet_hours,
            origin: Some(self.clone()),
            is_child: false,
            ways,
            narrowed: Narrowed::default(),
            one_off: own.one_off.clone(),
        }))))
    }

    fn less(&self, ways: &[Arc<Narrowing>]) -> Result<Less, String> {
        let boundary = Arc::new(self.boundary.through(ways));
        let rules = ways.iter().fold(ArgumentRules::default(), |all, way| all.and(&way.rules));
        let toolbox = self.toolbox.through(&boundary.tools, (&self.boundary.rules, &rules));
        let mut models = self.models.clone();
        let mut access = (*self.access).clone();
        for way in ways {
            let is_left = |model: &ModelRef| way.leaves_model(&model.to_string(), &model.name);
            models.models.retain(is_left);
            models.choices.retain(is_left);
            models.children = models.children.filter(is_left);
            if models.models.is_empty() {
                let model = way.model.as_deref().unwrap_or_default();
                return Err(format!(
                    "{} leaves only model `{model}`, which agent `{}` does not have",
                    way.name, self.id
                ));
            }
            access.group = access.group.narrowed(way.group);
        }
        let (toolbox, access) = (Arc::new(toolbox), Arc::new(access));
        Ok(Less { boundary, toolbox, models, access })
    }

    /// The context that its agent serves with, of which this one may be a child's: a
    /// generation's own, or one that ways in narrowed.
    pub fn served(&self) -> &Self {
        let mut served = self;
        while let Some(origin) = served.origin.as_ref().filter(|_| served.is_child) {
            served = origin;
        }
        served
    }
}
