//! What is done on the side of a platform before an account of it can be connected.

use super::channel::AccountKeys;

/// The app of Slack as its page *From a manifest* takes it, with every scope and event.
const SLACK_MANIFEST: &str = include_str!("slack_manifest.yaml");

/// What stands in steps for the address of the daemon, where nobody said it.
const HOST: &str = "https://YOUR_HOST";

impl AccountKeys {
    /// What is done on the platform's side, in order. `NAME` is the account's, and
    /// `https://YOUR_HOST` leads to the daemon's listener.
    pub fn steps(&self) -> &'static [&'static str] {
        match self.platform {
            "discord" => &[
                "At discord.com/developers/applications make an application; on its page Bot, Reset Token, and copy the token it shows once.",
                "On the same page turn on Message Content Intent, or the bot hears only what mentions it.",
                "On the page OAuth2, URL Generator, choose `bot` and `applications.commands`, and of permissions View Channels, Send Messages, Send Messages in Threads, Read Message History, Attach Files and Add Reactions; open the address it makes and add the bot to your server.",
            ],
            "telegram" => &[
                "Talk to @BotFather in Telegram, send /newbot, and copy the token it gives you.",
                "For groups also send /setprivacy and turn it off, if the agent should hear more than commands.",
                "With `--set mode=webhook` and `--set public_url=https://…` Telegram is told to call https://YOUR_HOST/hooks/telegram/NAME: let your proxy pass that on to the daemon.",
            ],
            "matrix" => &[
                "Make an account for the agent on your homeserver, sign in once, and copy its access token (in Element: Settings, Help & About, Advanced).",
                "Rooms may be encrypted: the bot keeps its keys in the home, so use the token of a session that nothing else runs on.",
            ],
            "mattermost" => &[
                "Once, as the server's admin: System Console, Integrations, Bot Accounts: Enable Bot Account Creation.",
                "Integrations, Bot Accounts, Add Bot Account (role Member), and copy the access token it shows once.",
                "Add the bot to the team, and say `/invite @its-name` in each channel it is to hear.",
                "For buttons: `--set public_url=https://…`, let your proxy pass https://YOUR_HOST/hooks/mattermost/NAME on to the daemon (POST), and where that address is not public name it in System Console, Environment, Developer, Allow untrusted internal connections.",
            ],
            "signal" => &[
                "Install signal-cli 0.14.5 or newer (it needs Java 25).",
                "Link it to your phone with `signal-cli link -n insula` (Signal on the phone: Settings, Linked devices), or give it a number of its own: `signal-cli -a +NUMBER register`, then `signal-cli -a +NUMBER verify CODE`.",
                "Let its daemon run on this machine: `signal-cli daemon --http 127.0.0.1:8080 --receive-mode on-connection --no-receive-stdout`.",
            ],
            "slack" => &[
                "At api.slack.com/apps: Create New App, From a manifest, and paste the one of docs/platforms/slack.md, which `insula channels add slack` prints too: it has every scope and event. With the `:history` and `:read` ones the bot also reads what was said while it was away.",
                "Basic Information, App-Level Tokens: make one with connections:write. That is `app_token` (xapp-…).",
                "Install App: install it to the workspace, and copy the Bot User OAuth Token. That is `token` (xoxb-…).",
                "Say `/invite @its-name` in each channel it is to hear.",
                "Without Socket Mode: `--set mode=webhook`, the Signing Secret of Basic Information as `secret`, and https://YOUR_HOST/hooks/slack/NAME as request URL of Event Subscriptions, Interactivity and the slash command.",
            ],
            "whatsapp" => &[
                "At developers.facebook.com make an app of type Business and add WhatsApp to it.",
                "WhatsApp, API Setup: copy the `phone number ID` below your number (not the number).",
                "Business settings, System users: make a token that does not expire, with whatsapp_business_messaging and whatsapp_business_management. App settings, Basic: copy the app secret.",
                "`verify_token` is a word you choose. WhatsApp, Configuration: the callback URL is https://YOUR_HOST/hooks/whatsapp/NAME, the verify token that word; then subscribe to `messages`.",
            ],
            "webhook" => &[
                "Choose a long random secret and give it to whoever posts here: requests are signed with it.",
                "They post to https://YOUR_HOST/hooks/webhook/NAME.",
            ],
            _ => &[],
        }
    }

    /// The same for an account of this name, which is called at this address.
    pub fn steps_of(&self, account: &str, public_url: Option<&str>) -> Vec<String> {
        let hook = format!("/hooks/{}/NAME", self.platform);
        let own = format!("/hooks/{}/{account}", self.platform);
        let host = public_url.map_or(HOST, |url| url.trim_end_matches('/'));
        let mut steps: Vec<String> = self.steps().iter().map(|&it| it.to_owned()).collect();
        if self.platform == "slack" {
            let named = |list: &str| items(SLACK_MANIFEST, list).join(", ");
            let all = format!(
                "The manifest asks for these scopes of the bot: {}. And for these events: {}.",
                named("bot:"),
                named("bot_events:")
            );
            steps.insert(1, all);
        }
        steps.iter().map(|it| it.replace(&hook, &own).replace(HOST, host)).collect()
    }

    /// What is pasted on the platform's side, where it takes such a thing: the app by its
    /// manifest. `calls` is where the platform calls, in place of a socket.
    pub fn manifest(&self, calls: Option<&str>) -> Option<String> {
        if self.platform != "slack" {
            return None;
        }
        let Some(url) = calls else { return Some(SLACK_MANIFEST.to_owned()) };
        let lines = SLACK_MANIFEST.lines().map(|line| match line.trim_start() {
            "socket_mode_enabled: true" => line.replace("true", "false"),
            "event_subscriptions:" | "is_enabled: true" => {
                format!("{line}\n    request_url: {url}")
            }
            start if start.starts_with("- command:") => format!("{line}\n      url: {url}"),
            _ => line.to_owned(),
        });
        Some(lines.map(|line| line + "\n").collect())
    }

    /// Where an account of this name is called, at this address.
    pub fn hook(&self, account: &str, public_url: Option<&str>) -> String {
        let host = public_url.map_or(HOST, |url| url.trim_end_matches('/'));
        format!("{host}/hooks/{}/{account}", self.platform)
    }
}

/// The items of a list of a YAML text that is written in lines.
fn items<'t>(text: &'t str, list: &str) -> Vec<&'t str> {
    let below = text.lines().map(str::trim).skip_while(|line| *line != list).skip(1);
    below.map_while(|line| line.strip_prefix("- ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slack() -> &'static AccountKeys {
        AccountKeys::of("slack").unwrap()
    }

    #[test]
    fn the_guide_shows_the_manifest_that_is_printed() {
        let guide = include_str!("../../../../docs/platforms/slack.md");
        let indented: String = SLACK_MANIFEST.lines().map(|line| format!("   {line}\n")).collect();
        assert!(guide.contains(&indented), "docs/platforms/slack.md has another manifest");
    }

    #[test]
    fn scopes_and_events_are_named_and_addresses_are_those_of_the_account() {
        let steps = slack().steps_of("shop", Some("https://bots.example.org/")).join("\n");
        for said in [
            "app_mentions:read, channels:history,",
            "users:read. And",
            "app_mention, channel_left,",
            "https://bots.example.org/hooks/slack/shop as request URL",
        ] {
            assert!(steps.contains(said), "{said}: {steps}");
        }
        let steps = AccountKeys::of("whatsapp").unwrap().steps_of("shop", None).join("\n");
        assert!(steps.contains("https://YOUR_HOST/hooks/whatsapp/shop,"), "{steps}");
    }

    #[test]
    fn a_manifest_without_a_socket_says_where_slack_calls() {
        let url = slack().hook("main", Some("https://x.example"));
        let manifest = slack().manifest(Some(&url)).unwrap();
        assert_eq!(manifest.matches("url: https://x.example/hooks/slack/main\n").count(), 3);
        assert!(manifest.contains("socket_mode_enabled: false"), "{manifest}");
        assert_eq!(slack().manifest(None).unwrap(), SLACK_MANIFEST);
        assert_eq!(AccountKeys::of("discord").unwrap().manifest(None), None);
    }
}
