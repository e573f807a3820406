//! A profile's `.env`: keys, tokens of bots, and who may talk.

use super::{Profile, is_on};
use crate::env::Variable;
use crate::models::provider_key;
use crate::names::{self, is_secret, secret_name};
use crate::place::Place;
use crate::plan::{AccountPlan, AgentPlan, BindingPlan, Fate, Note, Plan, SecretPlan};
use serde_json::{Map, Value, json};

/// What an account of a platform is made of: the setting, the variable, and whether it is secret.
type AccountOf = (&'static str, &'static [(&'static str, &'static str, bool)]);

/// Accounts, by the variables that make one. The first variable makes it.
const ACCOUNTS: &[AccountOf] = &[
    ("telegram", &[("token", "TELEGRAM_BOT_TOKEN", true)]),
    ("discord", &[("token", "DISCORD_BOT_TOKEN", true)]),
    ("slack", &[("token", "SLACK_BOT_TOKEN", true), ("app_token", "SLACK_APP_TOKEN", true)]),
    (
        "matrix",
        &[
            ("token", "MATRIX_ACCESS_TOKEN", true),
            ("homeserver", "MATRIX_HOMESERVER", false),
            ("user", "MATRIX_USER_ID", false),
        ],
    ),
    ("mattermost", &[("token", "MATTERMOST_TOKEN", true), ("base_url", "MATTERMOST_URL", false)]),
    ("signal", &[("base_url", "SIGNAL_HTTP_URL", false), ("user", "SIGNAL_ACCOUNT", false)]),
];

/// Takes over what the variables say.
pub(super) fn take(
    plan: &mut Plan,
    agent: &mut AgentPlan,
    profile: &Profile<'_>,
    variables: &[Variable],
) {
    let mut used: Vec<&str> = Vec::new();
    for (platform, parts) in ACCOUNTS {
        used.extend(account(plan, profile, (platform, parts), variables));
    }
    for variable in variables.iter().filter(|it| !used.contains(&&*it.name)) {
        if !variable.value.is_empty() {
            one(plan, agent, profile, variable);
        }
    }
    paired(plan, agent, profile);
}

/// An account, if the variables make one; the variables that went into it.
fn account<'v>(
    plan: &mut Plan,
    profile: &Profile<'_>,
    (platform, parts): AccountOf,
    variables: &'v [Variable],
) -> Vec<&'v str> {
    let find = |name: &str| variables.iter().find(|it| it.name == name && !it.value.is_empty());
    let Some(first) = parts.first().and_then(|(_, name, _)| find(name)) else { return Vec::new() };
    let mut settings = Map::new();
    let mut used = Vec::new();
    for (key, name, secret) in parts {
        let Some(variable) = find(name) else { continue };
        used.push(&*variable.name);
        let value = match secret {
            false => variable.value.clone(),
            true => {
                let kind = if *key == "token" { "" } else { key };
                let names = [platform, &profile.account, kind];
                let name =
                    secret_name(&names.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>());
                plan.secrets.push(SecretPlan {
                    agent: None,
                    name: name.clone(),
                    value: variable.value.clone(),
                    from: variable.from.clone(),
                });
                format!("${{secret:{name}}}")
            }
        };
        settings.insert((*key).to_owned(), value.into());
    }
    let note = format!("account `{}`; its token goes to the vault", profile.account);
    let what = format!("{platform} account");
    plan.row(
        Fate::Comes,
        Some(&profile.id),
        Note { what: &what, from: first.from.clone(), note: &note },
    );
    plan.accounts.push(AccountPlan {
        platform: platform.to_owned(),
        name: profile.account.clone(),
        settings,
        from: first.from.clone(),
    });
    let fields = json!({ platform: { "account": profile.account } });
    if let Value::Object(fields) = fields {
        plan.bindings.push(BindingPlan {
            agent: profile.id.clone(),
            fields,
            from: first.from.clone(),
        });
    }
    used
}

/// What one variable says that makes no account.
fn one(plan: &mut Plan, agent: &mut AgentPlan, profile: &Profile<'_>, variable: &Variable) {
    let Variable { name, value, from } = variable;
    let id = Some(&profile.id);
    let mut say = |fate: Fate, note: &str| {
        plan.row(fate, id, Note { what: name, from: from.clone(), note });
    };
    if let Some((provider, key)) = provider_key(name) {
        say(Fate::Comes, &format!("its own key for {provider}, in its part of the vault"));
        plan.secrets.push(secret(profile, key, variable));
        if agent.get(&["providers", provider]).is_none() {
            agent.set(&["providers", provider], json!({}));
        }
        return;
    }
    let of = |suffix: &str| name.strip_suffix(suffix).map(str::to_ascii_lowercase);
    if of("_ALLOW_ALL_USERS").is_some() {
        if is_on(value) {
            let note = "everybody could talk to it; here nobody can who is not named. Add them to access.allow";
            say(Fate::Closed, note);
        }
    } else if let Some(platform) = of("_GROUP_ALLOWED_CHATS") {
        allowed(plan, agent, variable, (&platform, "chat:"));
    } else if of("_GROUP_ALLOWED_USERS").is_some() {
        say(
            Fate::Closed,
            "these could talk in groups alone, which can't be said here; add them to access.allow if they may talk to it anywhere",
        );
    } else if let Some(platform) = of("_ALLOWED_USERS") {
        allowed(plan, agent, variable, (&platform, ""));
    } else if of("_ALLOWED_CHATS").or_else(|| of("_ALLOWED_CHANNELS")).is_some() {
        say(
            Fate::Changes,
            "here people decide and not chats: whoever may talk to it is answered in every chat; bind chats to say it more closely",
        );
    } else if of("_HOME_CHANNEL").or_else(|| of("_HOME_ROOM")).is_some() {
        let platform = name.split('_').next().unwrap_or_default().to_ascii_lowercase();
        say(
            Fate::Changes,
            &format!(
                "tell it here by `insula agents home {} --platform {platform} --chat {value}`",
                profile.id
            ),
        );
    } else if is_secret(name, value) {
        say(Fate::Changes, "in its part of the vault; its programs see it once `secrets` names it");
        plan.secrets.push(secret(profile, name, variable));
    } else {
        say(Fate::NoPlace, "a switch that is not known here");
    }
}

fn secret(profile: &Profile<'_>, name: &str, variable: &Variable) -> SecretPlan {
    SecretPlan {
        agent: Some(profile.id.clone()),
        name: name.to_owned(),
        value: variable.value.clone(),
        from: variable.from.clone(),
    }
}

/// Lets those in who are named.
fn allowed(
    plan: &mut Plan,
    agent: &mut AgentPlan,
    variable: &Variable,
    (platform, kind): (&str, &str),
) {
    let Variable { name, value, from } = variable;
    let id = agent.id.clone();
    let mut platforms = vec![platform.to_owned()];
    if platform == "gateway" {
        // It holds for whatever platforms the profile has.
        platforms = plan.accounts.iter().map(|it| it.platform.clone()).collect();
        platforms.dedup();
    }
    let (mut people, mut everybody) = (0, false);
    for platform in &platforms {
        let Some(ours) = names::platform(platform) else {
            let note = format!("`{platform}` is no platform here");
            plan.row(
                Fate::NoPlace,
                Some(&id),
                Note { what: name, from: from.clone(), note: &note },
            );
            continue;
        };
        for who in value.split(',').map(str::trim).filter(|who| !who.is_empty()) {
            if who == "*" {
                everybody = true;
            } else {
                people += 1;
                agent.add(&["access", "allow"], format!("{ours}:{kind}{who}"));
            }
        }
    }
    if everybody {
        let note = "everybody could talk to it; here nobody can who is not named. Add them to access.allow";
        plan.row(Fate::Closed, Some(&id), Note { what: name, from: from.clone(), note });
    }
    if people > 0 {
        let note = format!(
            "{people} in access.allow; what is dangerous is approved by access.admins, which names nobody yet"
        );
        plan.row(Fate::Comes, Some(&id), Note { what: name, from: from.clone(), note: &note });
    }
}

/// Those who were let in by a code.
fn paired(plan: &mut Plan, agent: &mut AgentPlan, profile: &Profile<'_>) {
    for folder in ["pairing", "platforms/pairing"] {
        let folder = profile.path(folder);
        let Ok((found, _)) = profile.home.list(&folder) else { continue };
        for file in found {
            let Some(theirs) = file.name.strip_suffix("-approved.json") else { continue };
            let path = format!("{folder}/{}", file.name);
            let from = Place::file(&path);
            let people = match profile.home.text(&path) {
                Ok(text) => serde_json::from_str::<Map<String, Value>>(&text.unwrap_or_default())
                    .map_err(|error| error.to_string()),
                Err(why) => Err(why),
            };
            let note = match (people, names::platform(theirs)) {
                (Err(why), _) => {
                    plan.row(
                        Fate::Trouble,
                        Some(&profile.id),
                        Note { what: "paired people", from, note: &why },
                    );
                    continue;
                }
                (Ok(_), None) => format!("`{theirs}` is no platform here"),
                (Ok(people), Some(platform)) => {
                    for who in people.keys() {
                        agent.add(&["access", "allow"], format!("{platform}:{who}"));
                    }
                    format!("{} in access.allow", people.len())
                }
            };
            plan.row(
                Fate::Comes,
                Some(&profile.id),
                Note { what: "paired people", from, note: &note },
            );
        }
    }
}
