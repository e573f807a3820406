//! What an account keeps between runs, in the daemon's store: sealed by the vault before it gets
//! there.

use crate::intake::not_taken;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use insula_channel::{Keep, KeepChange, NotTaken};
use insula_store::AccountLease;
use insula_vault::{AccountSeal, Plain};
use zeroize::Zeroizing;

/// What is sealed to be kept by others is sealed under this name, which nothing here has.
const ELSEWHERE: &str = "/elsewhere";

pub(super) struct AccountKeep {
    account: AccountLease,
    seal: AccountSeal,
}

impl AccountKeep {
    pub(super) fn new(account: AccountLease, seal: AccountSeal) -> Self {
        Self { account, seal }
    }

    async fn open(&self, kept: Vec<(String, String)>) -> Result<Vec<Plain>, NotTaken> {
        let sealed = kept.into_iter().map(|(name, text)| Ok((name.into(), decoded(&text)?)));
        let sealed = sealed.collect::<Result<_, NotTaken>>()?;
        self.seal.unseal(sealed).await.map_err(not_opened)
    }
}

#[async_trait]
impl Keep for AccountKeep {
    async fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, NotTaken> {
        let Some(text) = self.account.kept(name).await.map_err(not_taken)? else { return Ok(None) };
        let mut opened = self.open(vec![(name.to_owned(), text)]).await?;
        Ok(opened.pop().map(|(_, bytes)| bytes))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<(String, Zeroizing<Vec<u8>>)>, NotTaken> {
        let kept = self.account.kept_under(prefix).await.map_err(not_taken)?;
        let opened = self.open(kept).await?;
        Ok(opened.into_iter().map(|(name, bytes)| (name.into(), bytes)).collect())
    }

    async fn write(&self, changes: Vec<KeepChange>) -> Result<(), NotTaken> {
        let (mut puts, mut written) = (vec![], vec![]);
        for change in changes {
            match change {
                KeepChange::Put(name, bytes) => {
                    // What is named twice is what was said last.
                    puts.retain(|(known, _): &Plain| *known != name);
                    puts.push((name, bytes));
                }
                KeepChange::Drop(name) => {
                    puts.retain(|(known, _): &Plain| *known != name);
                    written.push((name, None));
                }
            }
        }
        let sealed = self.seal.seal(puts).await.map_err(not_opened)?;
        written.extend(sealed.into_iter().map(|(name, bytes)| (name, Some(BASE64.encode(bytes)))));
        self.account.keep(written).await.map_err(not_taken)
    }

    async fn seal(&self, what: &[u8]) -> Result<String, NotTaken> {
        let plain = vec![(ELSEWHERE.into(), Zeroizing::new(what.to_vec()))];
        let sealed = self.seal.seal(plain).await.map_err(not_opened)?;
        Ok(sealed.into_iter().map(|(_, bytes)| BASE64.encode(bytes)).collect())
    }

    async fn unseal(&self, sealed: &str) -> Result<Zeroizing<Vec<u8>>, NotTaken> {
        let sealed = vec![(ELSEWHERE.into(), decoded(sealed)?)];
        let opened = self.seal.unseal(sealed).await.map_err(not_opened)?;
        let opened = opened.into_iter().map(|(_, bytes)| bytes).next();
        opened.ok_or_else(|| NotTaken("nothing was sealed".into()))
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, NotTaken> {
    BASE64.decode(text).map_err(|_| NotTaken("what the account keeps is damaged".into()))
}

fn not_opened(error: insula_vault::VaultError) -> NotTaken {
    NotTaken(error.to_string().into())
}
