//! A hundred thousand events of any shape through an adapter: one generator and one set of claims
//! for every platform.
//!
//! [`platforms`] has events of each platform as they come, [`event`] makes noise of them, [`run`]
//! tells them to a [`Subject`] and [`judge`] holds what comes out against the claims: nothing
//! panics, nothing is named that was not said, nothing outgrows what came, nobody speaks as
//! somebody else, who may not talk is not answered, no two places share a conversation, and memory
//! does not grow with what was heard.

pub mod dice;
pub mod event;
pub mod judge;
mod memory;
pub mod platforms;

pub use dice::Dice;
pub use event::{Cast, Noise, Speaker, Template, Told};
pub use judge::{Heard, Judge, MARK};
pub use memory::memory;

use async_trait::async_trait;
use insula_world::World;
use std::fmt;

/// How much may be kept of all the noise.
const GROWTH_MAX: usize = 24 << 20;
/// Of so many events at least one has to make sense, or the noise hides everything.
const SENSELESS_MAX: usize = 20;

/// An adapter under test, and the platform it is told events by.
#[async_trait]
pub trait Subject: Send {
    /// Tells the adapter this.
    async fn tell(&mut self, told: Told);

    /// Waits until all that was told was taken or thrown away; the platform may forget it then.
    async fn settle(&mut self) {}

    /// How many messages of ours the platform has.
    fn answers(&self) -> usize {
        0
    }
}

/// How much is told.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub platform: &'static str,
    pub count: usize,
    /// Events between two looks.
    pub batch: usize,
}

impl Plan {
    /// What an ordinary run does of it.
    pub fn some(platform: &'static str, batch: usize) -> Self {
        Self { platform, count: 4_000, batch }
    }

    /// The whole of it.
    pub fn all(platform: &'static str, batch: usize) -> Self {
        Self { platform, count: 100_000, batch }
    }
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Report {
    pub platform: &'static str,
    pub told: usize,
    /// Events that made sense.
    pub heard: usize,
    /// Of these, those that an agent would have heard.
    pub admitted: usize,
    /// Since a tenth was told, in bytes.
    pub grown: usize,
    /// What the process holds in the end, in bytes.
    pub resident: usize,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { platform, told, heard, admitted, grown, resident } = self;
        let mb = |bytes: usize| bytes.div_ceil(1 << 20);
        write!(
            f,
            "{platform}: {told} told, {heard} made sense, {admitted} admitted; grown by {} MB to {} MB",
            mb(*grown),
            mb(*resident),
        )
    }
}

/// Tells it all. `templates` are the events that somebody who may talk says, and those of somebody
/// who may not: of the first everything is changed, of the second all but who says them.
///
/// # Panics
/// Where a claim does not hold.
pub async fn run(
    plan: Plan,
    world: &World,
    subject: &mut dyn Subject,
    judge: &Judge,
    templates: impl Fn(&str) -> Vec<Template>,
    cast: &Cast,
) -> Report {
    let (friends, strangers) = (templates(&cast.friend), templates(&cast.stranger));
    // Where the platform knows by other means who says something, all of it is theirs.
    let is_signed = strangers.iter().any(|it| !matches!(it.speaker, Speaker::Unnamed));
    let mut dice = Dice::new(world, &format!("{} {}", plan.platform, plan.count));
    let (mut told, mut early) = (0, None);
    for number in 0.. {
        if told >= plan.count {
            break;
        }
        if early.is_none() && told * 10 >= plan.count {
            early = Some(memory());
        }
        let (templates, noise) = match number % 2 {
            1 if is_signed => (&strangers, Noise::ButTheSpeaker),
            _ => (&friends, Noise::Anywhere),
        };
        let batch = (0..plan.batch.min(plan.count - told))
            .map(|_| event::noisy(&mut dice, templates, noise))
            .collect::<Vec<_>>();
        judge.begin(noise);
        batch.iter().for_each(|event| judge.tell(event));
        told += batch.len();
        for event in batch {
            subject.tell(event).await;
        }
        subject.settle().await;
        assert_eq!(judge.fault(), None, "{}", plan.platform);
        assert_eq!(subject.answers(), 0, "{}: something was answered", plan.platform);
    }
    let (heard, admitted) = judge.counts();
    let resident = memory();
    let grown = resident.saturating_sub(early.unwrap_or(resident));
    let report = Report { platform: plan.platform, told, heard, admitted, grown, resident };
    println!("{report}");
    assert!(heard > told / SENSELESS_MAX, "the noise hides everything: {report}");
    assert!(admitted > 0, "nothing of the friend's was heard: {report}");
    assert!(grown < GROWTH_MAX, "{report}");
    report
}
