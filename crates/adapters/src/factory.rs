//! Makes the adapter of an account from its settings: the one place that knows which platforms
//! there are.

use crate::discord::{self, Discord};
use crate::matrix::{self, Matrix};
use crate::mattermost::{self, Mattermost};
use crate::others::{OtherAccounts, needed, wrong};
use crate::signal::{Signal, SignalSettings};
use crate::slack::{Apps, Slack, SlackSettings};
use crate::telegram::{Telegram, TelegramSettings};
use crate::webchat::WebChats;
use crate::webhook::Webhook;
use crate::whatsapp::{WhatsApp, WhatsAppSettings};
use insula_channel::{AccountSettings, Accounts, Adapter, AdapterFactory, ConnectFault};
use insula_wire::Transport;
use insula_world::World;
use std::sync::Arc;

/// Makes adapters over one world.
pub struct Makers {
    world: World,
    transport: Transport,
    webchats: Arc<WebChats>,
    accounts: OtherAccounts,
    slack_apps: Apps,
}

impl Makers {
    /// A workshop whose adapters reach platforms by `transport`.
    pub fn new(world: World, transport: Transport) -> Self {
        let webchats = Arc::new(WebChats::new(&world));
        let (accounts, slack_apps) = (OtherAccounts::default(), Apps::default());
        Self { world, transport, webchats, accounts, slack_apps }
    }

    /// Says where adapters find each other, for those that deliver by another account.
    pub fn connect(&self, accounts: &Arc<dyn Accounts>) {
        self.accounts.connect(accounts);
    }

    /// The web chats, for the listener that people reach them by.
    pub fn webchats(&self) -> &Arc<WebChats> {
        &self.webchats
    }
}

impl AdapterFactory for Makers {
    fn make(&self, account: &AccountSettings) -> Result<Arc<dyn Adapter>, ConnectFault> {
        let Self { world, transport, webchats, accounts, slack_apps } = self;
        match account.platform.as_str() {
            "discord" => {
                let settings = discord::Settings {
                    account: account.name.clone(),
                    token: needed(account, "token")?.into(),
                    base_url: account.get("base_url").map(str::to_owned),
                };
                Ok(Arc::new(Discord::new(settings, transport, world)?))
            }
            "matrix" => {
                let settings = matrix::Settings {
                    account: account.name.clone(),
                    homeserver: needed(account, "homeserver")?.to_owned(),
                    user: account.get("user").map(str::to_owned),
                    token: needed(account, "token")?.into(),
                    recovery_key: account.get("recovery_key").map(Into::into),
                };
                Ok(Arc::new(Matrix::new(settings, transport.clone(), world)?))
            }
            "mattermost" => {
                let settings = mattermost::Settings {
                    account: account.name.clone(),
                    base_url: needed(account, "base_url")?.to_owned(),
                    token: needed(account, "token")?.into(),
                    public_url: account.get("public_url").map(str::to_owned),
                    secret: account.get("secret").map(Into::into),
                };
                Ok(Arc::new(Mattermost::new(settings, transport, world)?))
            }
            "signal" => {
                let settings = SignalSettings {
                    account: account.name.clone(),
                    number: needed(account, "number")?.to_owned(),
                    base_url: account.get("base_url").map(str::to_owned),
                    profile_name: account.get("profile_name").map(str::to_owned),
                };
                Ok(Arc::new(Signal::new(settings, transport)?))
            }
            "slack" => {
                let settings = SlackSettings::read(account.name.clone(), |key| account.get(key))?;
                Ok(Arc::new(Slack::new(settings, transport, &world.clock)?.sharing(slack_apps)))
            }
            "telegram" => {
                let settings =
                    TelegramSettings::read(account.name.clone(), |key| account.get(key))?;
                Ok(Arc::new(Telegram::new(settings, transport, &world.clock)?))
            }
            "web" => Ok(webchats.make(account)),
            "whatsapp" => {
                let settings =
                    WhatsAppSettings::read(account.name.clone(), |key| account.get(key))?;
                Ok(Arc::new(WhatsApp::new(settings, transport, &world.clock)?))
            }
            "webhook" => Ok(Arc::new(Webhook::new(world, transport, accounts, account)?)),
            platform => Err(wrong(&format!("this version does not connect to {platform}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_config::{Account, AccountValue};
    use insula_domain::{AccountId, Platform};
    use insula_gateway::misfits;

    type Values = &'static [(&'static str, &'static str)];

    const LONG: &str = "0123456789abcdef";

    fn account(platform: &str, values: &[(&str, &str)]) -> Account {
        let values =
            values.iter().map(|(key, text)| ((*key).into(), AccountValue::Text((*text).into())));
        Account {
            narrowing: None,
            platform: Platform::new(platform).unwrap(),
            name: AccountId::new("x").unwrap(),
            enabled: true,
            uncertain: insula_config::Uncertain::default(),
            working: None,
            values: values.collect(),
            metadata: insula_domain::Metadata::default(),
            problem: None,
        }
    }

    #[tokio::test]
    async fn what_would_be_refused_is_found_without_asking_anybody() {
        let (world, _handles) = insula_testkit::world(7);
        let makers = Makers::new(world.clone(), Transport::new(&world, &[]).unwrap());
        let cases: [(&str, Values, Option<&str>, &str); 18] = [
            ("discord", &[("token", "Bot a.b")], Some("token"), "no bot token"),
            ("discord", &[("token", "a.b"), ("base_url", "x")], Some("base_url"), "https"),
            ("telegram", &[("token", "1:a"), ("mode", "webhook")], None, "`public_url`"),
            ("telegram", &[("token", "a b")], Some("token"), "no bot token"),
            ("telegram", &[("token", "1:a"), ("base_url", "x")], Some("base_url"), "https"),
            ("webhook", &[("secret", "short")], Some("secret"), "shorter"),
            ("webhook", &[("secret", LONG), ("window", "2h")], Some("window"), "an hour"),
            ("webhook", &[("secret", LONG), ("template", "{{ a")], Some("template"), ""),
            (
                "webhook",
                &[("secret", LONG), ("deliver", "telegram:a:1"), ("callback", "https://x")],
                Some("deliver"),
                "`callback`",
            ),
            ("matrix", &[("token", "a"), ("homeserver", "x")], Some("homeserver"), "no address"),
            ("mattermost", &[("token", "a b"), ("base_url", "https://x")], Some("token"), "bot"),
            ("mattermost", &[("token", "a"), ("base_url", "x")], Some("base_url"), "https"),
            ("signal", &[("number", "0151 1234")], Some("number"), "country"),
            ("slack", &[("token", "xapp-1")], Some("token"), "xoxb"),
            ("slack", &[("token", "xoxb-1")], None, "`app_token`"),
            ("slack", &[("token", "xoxb-1"), ("mode", "webhook")], None, "`secret`"),
            (
                "whatsapp",
                &[
                    ("token", "a"),
                    ("secret", "b"),
                    ("verify_token", "c"),
                    ("phone_number_id", "+49"),
                ],
                Some("phone_number_id"),
                "dashboard",
            ),
            ("signal", &[("number", "+4915112345"), ("base_url", "x")], Some("base_url"), "http"),
        ];
        for (platform, values, key, word) in cases {
            let accounts = [account(platform, values)];
            let found = misfits(&accounts, &makers);
            let [found] = found.as_slice() else { panic!("{platform} {values:?}: {found:?}") };
            assert_eq!(found.key, key, "{}", found.why);
            assert!(found.why.contains(word), "{}", found.why);
        }
        let fit: [(&str, Values); 7] = [
            ("discord", &[("token", "${secret:T}"), ("base_url", "${env:U}")]),
            ("telegram", &[("token", "${secret:T}"), ("base_url", "${env:U}")]),
            ("webhook", &[("secret", "${secret:S}"), ("template", "{{ a }}")]),
            ("matrix", &[("token", "${secret:T}"), ("homeserver", "${env:H}")]),
            ("mattermost", &[("token", "${secret:T}"), ("base_url", "${env:U}")]),
            ("signal", &[("number", "${env:N}"), ("profile_name", "Ada")]),
            ("slack", &[("token", "${secret:T}"), ("app_token", "${secret:A}")]),
        ];
        for (platform, values) in fit {
            let accounts = [account(platform, values)];
            assert!(misfits(&accounts, &makers).is_empty(), "{platform} {values:?}");
        }
    }
}
