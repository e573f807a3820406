//! The hand by which a turn has pictures made: by the model that the operator named, paid from
//! the agent's budgets, and kept for whoever the reply goes to.

use crate::budget::{BudgetError, Payer};
use crate::turn::{Broken, Turn};
use async_trait::async_trait;
use insula_capabilities::pictures::fetch;
use insula_config::images::ImagesConfig;
use insula_models::{
    ExposeSecret as _, Link, ModelError, ModelFault, PictureRequest, PictureSource, RetryPolicy,
    SecretString, Timeouts, picture_with_retries,
};
use insula_registry::key_name::{KeyName, KeySource};
use insula_store::{NewStep, Part, Usage};
use insula_tools::pictures::{MadePicture, PictureKind, PictureWish};
use insula_tools::{HandError, Pictures, Piece, ToolError};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What providers say of what their rules do not let them make, in small letters.
const RULED_OUT: [&str; 6] =
    ["content policy", "content_policy", "safety", "moderation", "usage polic", "content filter"];

/// Pictures, for one call of a turn.
pub(super) struct TurnPictures<'r, 't> {
    turn: &'r Turn<'t>,
    done: Mutex<MadePictures>,
}

/// What one call has had made.
#[derive(Default)]
pub(super) struct MadePictures {
    /// What was paid.
    pub(super) spent: Usage,
    /// What goes along with the reply.
    pub(super) attachments: Vec<Part>,
}

impl<'r, 't> TurnPictures<'r, 't> {
    pub(super) fn new(turn: &'r Turn<'t>) -> Self {
        Self { turn, done: Mutex::default() }
    }

    /// What was made and paid so far.
    pub(super) fn done(self) -> MadePictures {
        self.done.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn made(&self) -> MutexGuard<'_, MadePictures> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent's own key, where it has one.
    async fn key(&self, images: &ImagesConfig) -> Result<Option<SecretString>, ToolError> {
        let Some(key) = &images.api_key else { return Ok(None) };
        let key = self.turn.cx.agent.secrets.resolve(key).await;
        let key = key.map_err(|error| failed(&format!("`images.api_key`: {error}")))?;
        Ok(Some(SecretString::from(key.reveal().trim().to_owned())))
    }

    /// Asks for a picture and pays for it.
    async fn ask(
        &self,
        images: &ImagesConfig,
        link: &Link,
        request: &PictureRequest,
    ) -> Result<PictureSource, ToolError> {
        let (turn, cx) = (self.turn, self.turn.cx);
        let (principal, budget, ways) = (&cx.principal, turn.budget(), turn.ways());
        let payer = Payer { agent: &cx.agent, principal, scope: &cx.scope, budget, ways: &ways };
        let reserved = turn.shop.budgets.reserve_picture(payer, images, &request.prompt).await;
        let reserved = reserved.map_err(unpaid)?;
        let limits = Timeouts::default();
        let (world, turn_id) = (&turn.shop.world, cx.turn.to_string());
        let mut random = world.random.stream(&["picture", cx.agent.id.as_str(), &turn_id]);
        let (policy, clock) = (RetryPolicy::default(), &*world.clock);
        let (maker, cancel) = (&*link.provider, &cx.live.cancel);
        let made =
            picture_with_retries(maker, request, &limits, cancel, &policy, clock, &mut random);
        let picture = made.await.map_err(|error| not_made(&error))?;
        // It is paid for, whatever it turns out to be.
        let usage = reserved.settle_picture(images, picture.usage);
        let own = request.key.as_ref().map(|key| {
            let (provider, value) = (&*images.model.provider, key.expose_secret());
            KeyName::new(provider, KeySource::Own, Some(value)).to_string().into()
        });
        turn.bills.note_paid(link, own.as_ref().or(link.provider.key_name()), usage);
        self.made().spent += usage;
        let at = turn.shop.world.clock.now();
        let spent = turn.step(NewStep::Spent { usage, at });
        if let Err(Broken::Store(error)) = turn.commit(vec![spent]).await {
            return Err(failed(&error.to_string()));
        }
        Ok(picture.source)
    }

    /// Keeps a copy for the reply; where it is, or why there is none.
    async fn keep(&self, bytes: &[u8], kind: PictureKind) -> Result<String, String> {
        let files = &self.turn.cx.files;
        let kept = files.keep_attachment(bytes.to_vec(), kind.ending()).await;
        let (path, hash) = kept.map_err(|error| error.to_string())?;
        let number = self.made().attachments.len() + 1;
        self.made().attachments.push(Part::Attachment {
            hash,
            name: format!("picture-{number}.{}", kind.ending()).into(),
            media_type: kind.media_type().into(),
            bytes: bytes.len() as u64,
        });
        Ok(path)
    }
}

#[async_trait]
impl Pictures for TurnPictures<'_, '_> {
    fn sizes(&self) -> Option<&[Box<str>]> {
        self.turn.cx.agent.images.as_ref().map(|images| &*images.sizes)
    }

    async fn make(&self, wish: PictureWish) -> Result<MadePicture, ToolError> {
        let (turn, cx) = (self.turn, self.turn.cx);
        let images = cx.agent.images.as_ref();
        let images = images.ok_or_else(|| failed("nobody is configured who makes pictures"))?;
        let now = turn.holds_now().await.map_err(|why| failed(&why))?;
        let holds = now.as_deref().unwrap_or(&cx.agent);
        let (link, provider) = turn.shop.maker(holds, &images.model).map_err(|why| failed(&why))?;
        let request = PictureRequest {
            model: images.model.name.clone(),
            prompt: turn.redaction().told(wish.prompt),
            size: wish.size.map(Into::into).or_else(|| images.sizes.first().cloned()),
            quality: images.quality.clone(),
            key: self.key(images).await?,
        };
        let bytes = match self.ask(images, &link, &request).await? {
            PictureSource::Bytes(bytes) => bytes,
            PictureSource::Url(url) => {
                let whose = (cx.session, &cx.principal);
                fetch(&turn.shop.caps, &cx.agent, whose, provider.as_deref(), &url).await?
            }
        };
        let kind = PictureKind::of(&bytes).map_err(|why| failed(&why.to_string()))?;
        let kept = self.keep(&bytes, kind).await;
        Ok(MadePicture { bytes, kind, kept })
    }
}

fn failed(why: &str) -> ToolError {
    ToolError::Hand(HandError(why.to_owned()))
}

fn unpaid(error: BudgetError) -> ToolError {
    match error {
        BudgetError::Refused(refusal) => ToolError::Refused(refusal.to_string()),
        BudgetError::NoPrice { model } => ToolError::Refused(format!(
            "`usd_per_day` limits what is spent here, and nobody knows what a picture of `{model}` costs; the operator sets `images.price`"
        )),
        BudgetError::Store(error) => failed(&error.to_string()),
    }
}

/// Why there is no picture: what that means in our words, and what the provider said in its own.
fn not_made(error: &ModelError) -> ToolError {
    let words = match &error.fault {
        ModelFault::Unauthorized { message, .. }
        | ModelFault::Unpaid { message, .. }
        | ModelFault::RateLimited { message, .. }
        | ModelFault::Overloaded { message, .. }
        | ModelFault::TooLong { message, .. }
        | ModelFault::Missing { message, .. }
        | ModelFault::Refused { message, .. } => message.as_str(),
        ModelFault::Unreachable { .. }
        | ModelFault::TimedOut { .. }
        | ModelFault::Garbage { .. }
        | ModelFault::CutOff
        | ModelFault::Cancelled => "",
    };
    let said = words.to_lowercase();
    let is_ruled_out = matches!(error.fault, ModelFault::Refused { .. })
        && RULED_OUT.iter().any(|sign| said.contains(sign));
    let ours = match &error.fault {
        _ if is_ruled_out => {
            "no picture was made: the rules of its provider on content do not allow this one; ask for something else, or tell the person".to_owned()
        }
        ModelFault::Garbage { .. } => format!("no picture came: {error}"),
        _ => format!("no picture was made: {}", error.without_words()),
    };
    if words.is_empty() {
        return failed(&ours);
    }
    let source = format!("provider {}", error.provider);
    let text = words.to_owned();
    ToolError::Pieces(vec![Piece::Own(ours), Piece::Foreign { source, text }])
}
