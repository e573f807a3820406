//! Searching by what texts mean: the question of a search as a vector, and vectors of what its
//! scopes have and no model has seen yet. All of it inside the turn that searches, which pays.
//!
//! What can't be had leaves search by words as it is. Texts go to a provider cleared of secrets,
//! by the same right and the same key as every other question.

use crate::budget::Payer;
use crate::turn::Turn;
use insula_domain::ScopeName;
use insula_models::{EmbedRequest, Link, StaticModel, TEXTS_MAX, Timeouts};
use insula_registry::context::{AgentContext, EmbeddingSource, Embeddings};
use insula_store::{
    AgentCommand, Backlog, Near, NewStep, PutVectors, Unembedded, Vector, VectorKind, VectorModel,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Texts that one search has embedded by a provider, beside its question: what is left is for the
/// next one.
const BACKLOG_FAR: usize = 3 * TEXTS_MAX - 1;
/// The same by a model that runs here.
const BACKLOG_HERE: usize = 4_000;
/// How long a provider is waited for. Whoever searches waits too.
const PATIENCE: Timeouts = Timeouts {
    connect: Duration::from_secs(3),
    first_byte: Duration::from_secs(10),
    idle: Duration::from_secs(5),
};
/// How long one that failed is left alone, in milliseconds.
const REST_MS: i64 = 60_000;

/// What makes vectors, ready to be asked.
enum Embedder {
    Here(Arc<StaticModel>),
    Far(insula_config::model::ModelRef, Link),
}

/// Texts of one scope, with what makes the store find them again.
struct Waiting {
    scope: ScopeName,
    texts: Vec<Unembedded>,
    looked_through: Vec<(i64, i64)>,
}

impl Turn<'_> {
    /// The question as a vector, after what these scopes have was looked through; `None` where the
    /// agent finds things by their words alone, and where nothing better can be had now.
    pub(super) async fn near(
        &self,
        scopes: &[ScopeName],
        kind: VectorKind,
        query: &str,
    ) -> Option<Near> {
        // Most agents have none, and nothing is looked up for them.
        self.cx.agent.memory.as_ref()?.embeddings.as_ref()?;
        let now = self.holds_now().await.ok()?;
        let holds = now.as_deref().unwrap_or(&self.cx.agent);
        let Embeddings { source, rest } = holds.memory.as_ref()?.embeddings.as_ref()?;
        let now = self.shop.world.clock.now();
        if rest.holds(now) {
            return None;
        }
        let agent = &self.cx.agent.id;
        match self.asked_of(holds, source, scopes, kind, query).await {
            Ok(near) => {
                if rest.end() {
                    tracing::info!(%agent, "search by meaning works again");
                }
                near
            }
            Err(why) => {
                if rest.begin(now, REST_MS) {
                    tracing::warn!(%agent, %why, "nothing is found by its meaning, only by words");
                }
                None
            }
        }
    }

    async fn asked_of(
        &self,
        holds: &AgentContext,
        source: &EmbeddingSource,
        scopes: &[ScopeName],
        kind: VectorKind,
        query: &str,
    ) -> Result<Option<Near>, String> {
        let (embedder, name) = match source {
            EmbeddingSource::Folder(folder) => self.here(folder).await?,
            EmbeddingSource::Model(model) => {
                let (link, address) = self.shop.maker(holds, model)?;
                // The same name at another server is another model.
                let name = format!("{model} {}", address.as_deref().unwrap_or_default());
                (Embedder::Far(model.clone(), link), name)
            }
        };
        let model = VectorModel::new(&name);
        let mut room = match &embedder {
            Embedder::Here(_) => BACKLOG_HERE,
            Embedder::Far(..) => BACKLOG_FAR,
        };
        let mut waiting = Vec::new();
        for scope in scopes {
            let found = self.cx.agent.store.unembedded(scope, kind, model, room).await;
            let Backlog { texts, looked_through } = found.map_err(|error| error.to_string())?;
            room = room.saturating_sub(texts.len());
            waiting.push(Waiting { scope: scope.clone(), texts, looked_through });
        }
        let redaction = self.redaction();
        let texts = waiting.iter().flat_map(|it| &it.texts).map(|it| it.text.clone());
        let texts = std::iter::once(query.to_owned()).chain(texts);
        let texts: Vec<String> = texts.map(|text| redaction.told(text)).collect();
        let mut vectors = self.vectors(&embedder, texts).await?.into_iter();
        let question = vectors.next().flatten();
        for Waiting { scope, texts, looked_through } in waiting {
            // A text without a direction has no vector, and is looked at again for another model.
            let rows: Vec<(i64, Vector)> =
                texts.iter().filter_map(|it| Some((it.item, vectors.next().flatten()?))).collect();
            if rows.is_empty() && looked_through.is_empty() {
                continue;
            }
            let put = PutVectors { scope, kind, model, rows, looked_through };
            let kept = self.cx.agent.store.commit(vec![AgentCommand::PutVectors(Box::new(put))]);
            kept.await.map_err(|error| error.to_string())?;
        }
        Ok(question.map(|vector| Near { model, vector }))
    }

    async fn here(&self, folder: &Path) -> Result<(Embedder, String), String> {
        let model = self.shop.static_models.get(&self.shop.world, folder).await?;
        let name = format!("static {}", model.name());
        Ok((Embedder::Here(model), name))
    }

    /// A vector for each text, in order; none for one without a direction.
    async fn vectors(
        &self,
        embedder: &Embedder,
        texts: Vec<String>,
    ) -> Result<Vec<Option<Vector>>, String> {
        match embedder {
            Embedder::Here(model) => {
                let model = model.clone();
                let work = move || texts.iter().map(|it| Vector::new(&model.embed(it))).collect();
                self.shop.world.storage.run(work).await.map_err(|error| error.to_string())
            }
            Embedder::Far(model, link) => {
                let mut vectors = Vec::with_capacity(texts.len());
                for some in texts.chunks(TEXTS_MAX) {
                    vectors.extend(self.far(model, link, some).await?);
                }
                Ok(vectors)
            }
        }
    }

    /// Asks a provider, and pays.
    async fn far(
        &self,
        model: &insula_config::model::ModelRef,
        link: &Link,
        texts: &[String],
    ) -> Result<Vec<Option<Vector>>, String> {
        let cx = self.cx;
        let (principal, budget, ways) = (&cx.principal, self.budget(), self.ways());
        let payer = Payer { agent: &cx.agent, principal, scope: &cx.scope, budget, ways: &ways };
        let bytes = texts.iter().map(String::len).sum();
        let reserved = self.shop.budgets.reserve_texts(payer, model, bytes).await;
        let reserved = reserved.map_err(|error| error.to_string())?;
        let request = EmbedRequest { model: model.name.clone(), texts: texts.to_vec() };
        let made = link.provider.embed(&request, &PATIENCE, &cx.live.cancel).await;
        let made = made.map_err(|error| error.without_words().to_string())?;
        let usage = reserved.settle_texts(model, made.usage);
        self.bills.note(link, usage);
        let at = self.shop.world.clock.now();
        let spent = self.commit(vec![self.step(NewStep::Spent { usage, at })]).await;
        if spent.is_err() {
            return Err("what it took could not be written down".to_owned());
        }
        Ok(made.vectors.iter().map(|numbers| Vector::new(numbers)).collect())
    }
}
