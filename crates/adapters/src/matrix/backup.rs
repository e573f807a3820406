//! The homeserver's backup of keys, beside listening: what is put into it and asked of it, how long
//! is waited in between, and what the operator is told.

use super::Matrix;
use super::api::Trouble;
use super::crypto::{Crypto, Found, Snag, Standing, Step, find};
use super::known::Us;
use super::listen::Listener;
use insula_channel::ConnectFault;
use std::future::pending;
use std::time::Duration;

/// The pause after something was done: the backup is no hurry, and whoever makes up missing keys
/// has the server asked so often at most.
const PAUSE: Duration = Duration::from_secs(1);
/// How long is waited after a failure, doubled with each further one.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// The longest that is waited, whatever the server says.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(1800);

/// How long the operator waits for what there is to say of the backup. An account that is asked who
/// it is must not fail for it.
const LOOK_MAX: Duration = Duration::from_secs(8);

/// What goes on at its own pace: none waits for another's failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lane {
    /// Looking for the backup.
    Opening,
    /// Putting keys into it.
    Saving,
    /// Asking for keys that something waits for.
    Asking,
}

impl Listener<'_> {
    /// Minds the backup as long as we listen. Ends when keys can't be kept or read here.
    pub(super) async fn mind_backup(&self, us: &Us) -> Result<(), ConnectFault> {
        let (Some(_), Some(crypto)) = (&self.matrix.recovery_key, self.matrix.crypto.load_full())
        else {
            return pending().await;
        };
        let mut losses = 0;
        loop {
            crypto.set_backup_standing(Standing::Sought { why: None });
            self.go_on(us, &crypto, Lane::Opening).await?;
            if let Standing::Refused { why } = crypto.backup_standing() {
                tracing::error!(account = %self.matrix.account, %why, "keys are not backed up");
                return pending().await;
            }
            // Only saving notices that the backup is another now.
            tokio::select! {
                lost = self.go_on(us, &crypto, Lane::Saving) => lost?,
                asked = self.go_on(us, &crypto, Lane::Asking) => asked?,
            }
            // A key may have come whose messages were not handed on yet.
            self.read_what_waited(us).await?;
            losses += 1;
            self.matrix.world.clock.sleep(pause_after_all(losses)).await;
        }
    }

    /// Goes on until there is no more to do in this lane, which may be never.
    async fn go_on(&self, us: &Us, crypto: &Crypto, lane: Lane) -> Result<(), ConnectFault> {
        let mut failures = 0;
        loop {
            let step = match self.step(us, crypto, lane).await {
                Err(Stopped::Snag(Snag::Server(trouble))) => {
                    failures += 1;
                    self.fail(crypto, lane, &trouble, failures).await;
                    continue;
                }
                Err(Stopped::Snag(snag)) => return Err(snag.into_fault()),
                Err(Stopped::Fault(fault)) => return Err(fault),
                Ok(step) => step,
            };
            failures = 0;
            if lane == Lane::Saving {
                crypto.set_backup_trouble(None);
            }
            match (lane, step) {
                (Lane::Opening, _) | (_, Step::Lost) => return Ok(()),
                (_, Step::Did) => self.matrix.world.clock.sleep(PAUSE).await,
                (Lane::Saving, Step::Idle) => crypto.keys_came().await,
                (Lane::Asking, Step::Idle) => crypto.something_waits().await,
            }
        }
    }

    async fn step(&self, us: &Us, crypto: &Crypto, lane: Lane) -> Result<Step, Stopped> {
        let server = &self.matrix.server;
        match lane {
            Lane::Opening => match &self.matrix.recovery_key {
                Some(recovery_key) => Ok(crypto.open_backup(server, recovery_key).await?),
                None => Ok(Step::Idle),
            },
            Lane::Saving => Ok(crypto.back_up(server).await?),
            Lane::Asking => {
                let Some(name) = crypto.next_to_ask() else { return Ok(Step::Idle) };
                if crypto.ask_backup(server, &name).await? == Step::Did {
                    self.hand_on(us, crypto, &name).await.map_err(Stopped::Fault)?;
                }
                Ok(Step::Did)
            }
        }
    }

    /// Hands on what waited for a key that is there now.
    async fn hand_on(
        &self,
        us: &Us,
        crypto: &Crypto,
        (room, key): &(Box<str>, Box<str>),
    ) -> Result<(), ConnectFault> {
        let mut waited = vec![];
        let envelopes = self.waited_for(us, (room, key), &mut waited).await?;
        self.take(envelopes, None).await?;
        crypto.wait_no_longer(&waited).await.map_err(Snag::into_fault)
    }

    /// Waits after a failure, longer each time, and at least as long as the server says.
    async fn fail(&self, crypto: &Crypto, lane: Lane, trouble: &Trouble, failures: u32) {
        let account = &self.matrix.account;
        tracing::warn!(%account, ?lane, ?trouble, failures, "the backup of keys is tried again later");
        let why = Some(words_of(trouble).into());
        match lane {
            Lane::Opening => crypto.set_backup_standing(Standing::Sought { why }),
            Lane::Saving => crypto.set_backup_trouble(why),
            Lane::Asking => {}
        }
        self.matrix.world.clock.sleep(pause_after(trouble, failures)).await;
    }
}

/// Why a step was not done.
enum Stopped {
    Snag(Snag),
    Fault(ConnectFault),
}

impl From<Snag> for Stopped {
    fn from(snag: Snag) -> Self {
        Self::Snag(snag)
    }
}

fn pause_after(trouble: &Trouble, failures: u32) -> Duration {
    let theirs = match trouble {
        Trouble::Limited { wait } | Trouble::Ill { wait, .. } => wait.unwrap_or_default(),
        Trouble::Token { .. } | Trouble::No { .. } | Trouble::Wire(_) => Duration::ZERO,
    };
    pause_after_all(failures).max(theirs).min(RETRY_AFTER_MAX)
}

/// The pause that is ours to choose.
fn pause_after_all(failures: u32) -> Duration {
    let times = 2_u32.saturating_pow(failures.saturating_sub(1));
    RETRY_AFTER.saturating_mul(times).min(RETRY_AFTER_MAX)
}

fn words_of(trouble: &Trouble) -> String {
    trouble.clone().into_fault().to_string()
}

impl Matrix {
    /// What there is to know of the backup, for the operator. That it can't be asked is no reason
    /// not to connect.
    pub(super) async fn tell_of_backup(
        &self,
        us: &Us,
        about: &mut Vec<String>,
        missing: &mut Vec<String>,
    ) {
        let Some(recovery_key) = &self.recovery_key else { return };
        if us.device.is_none() || self.known().no_encryption.is_some() {
            return;
        }
        if let Some(crypto) = self.crypto.load_full() {
            match crypto.backup_standing() {
                Standing::Unused | Standing::Sought { why: None } => {
                    about.push("the homeserver's backup of keys is being looked for".to_owned());
                }
                Standing::Sought { why: Some(why) } => {
                    missing.push(format!("keys are not backed up yet: {why}"));
                }
                Standing::Used(backup) => {
                    let (version, (left, trouble)) = (&backup.version, crypto.unsaved());
                    about.push(format!(
                        "keys are in the homeserver's backup, version {version}; {left} are yet to go there"
                    ));
                    missing
                        .extend(trouble.map(|why| format!("keys can't be backed up now: {why}")));
                }
                Standing::Refused { why } => missing.push(format!("keys are not backed up: {why}")),
            }
            return;
        }
        let found = tokio::select! {
            found = find(&self.server, &us.id, recovery_key) => found,
            () = self.world.clock.sleep(LOOK_MAX) => {
                missing.push("the homeserver's backup of keys does not answer".to_owned());
                return;
            }
        };
        match found {
            Ok(Found::Ours(backup)) => {
                let count = backup.count.map(|count| format!(" with {count} keys"));
                about.push(format!(
                    "`recovery_key` opens the homeserver's backup of keys, version {}{}",
                    backup.version,
                    count.unwrap_or_default()
                ));
            }
            Ok(Found::None(_)) => about.push(
                "the homeserver has no backup of keys; it gets one when the account connects"
                    .to_owned(),
            ),
            Ok(Found::Unusable { why }) => missing.push(format!("keys are not backed up: {why}")),
            Err(trouble) => {
                missing.push(format!(
                    "the homeserver's backup of keys can't be asked: {}",
                    words_of(&trouble)
                ));
            }
        }
    }
}
