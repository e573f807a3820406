//! Accounts on platforms: what is wrong in one fails that one, and says where.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may say what it knows")]

use crate::common::load_text;
use insula_config::render::{self, Colour};
use insula_config::{Account, AccountValue, FindingOwner, LoadReport, Severity, Uncertain};

fn accounts(channels: &str) -> (LoadReport, Vec<Account>) {
    let (report, loaded) = load_text(&format!("agents: {{main: {{}}}}\nchannels:\n{channels}"));
    let loaded = loaded.expect("no account keeps the rest from loading");
    (report, loaded.daemon.accounts)
}

#[test]
fn an_account_has_its_settings_as_written() {
    let (report, accounts) = accounts(
        "  telegram: {accounts: {main: {token: \"${secret:T}\", uncertain: hold, metadata: {org: acme}}}}\n  web: {accounts: {site: {origins: [\"https://a.example\"], enabled: false}}}\n",
    );
    assert_eq!(report.errors().count(), 0, "{:?}", report.diagnostics);
    let [main, site] = accounts.as_slice() else { panic!("{accounts:?}") };
    assert_eq!((main.platform.as_str(), main.name.as_str()), ("telegram", "main"));
    assert_eq!((main.enabled, main.uncertain, &main.problem), (true, Uncertain::Hold, &None));
    assert_eq!(main.values["token"], AccountValue::Text("${secret:T}".into()));
    assert_eq!(main.values.len(), 1);
    assert_eq!(&*main.metadata["org"], "acme");
    assert_eq!((site.enabled, site.uncertain), (false, Uncertain::Resend));
    assert_eq!(site.values["origins"], AccountValue::List(vec!["https://a.example".into()]));
}

#[test]
fn what_is_wrong_in_one_account_is_its_own_and_says_where() {
    for (account, word) in [
        ("telegram: {accounts: {x: {}}}", "needs `token`"),
        ("telegram: {accounts: {x: {token: a, tokn: b}}}", "unknown key `tokn`"),
        (
            "telegram: {accounts: {x: {token: a, homeserver: \"https://m\"}}}",
            "takes no `homeserver`",
        ),
        ("telegram: {accounts: {x: {token: a, mode: carrier-pigeon}}}", "mode"),
        ("telegram: {accounts: {x: {token: [a]}}}", "token"),
        ("telegram: {accounts: {x: nonsense}}", "expected"),
        ("telegram: {accounts: {x: {token: \"${file:/etc/passwd}\"}}}", "${file"),
        ("webhook: {accounts: {x: {secret: a, deliver: nowhere}}}", "destination"),
        ("web: {accounts: {x: {origins: [\"https://a/b\"]}}}", "origin"),
        ("matrix: {accounts: {x: {token: a}}}", "needs `homeserver`"),
    ] {
        let (report, accounts) =
            accounts(&format!("  {account}\n  slack: {{accounts: {{y: {{token: b}}}}}}\n"));
        let problem = accounts[0].problem.as_deref().unwrap_or_else(|| panic!("{account}"));
        assert!(
            problem.contains(word) && problem.starts_with("config.yaml:3:"),
            "{account}: {problem}"
        );
        assert!(accounts[1].problem.is_none());
        for error in report.errors() {
            assert!(
                matches!(&error.owner, FindingOwner::Account(name) if name.ends_with(".x")),
                "{error:?}"
            );
        }
    }
}

#[test]
fn what_is_missing_or_not_built_is_a_warning() {
    let (report, accounts) = accounts(
        "  irc: {accounts: {main: {token: \"${secret:D}\"}}}\n  webhook: {accounts: {ci: {secret: \"${env:NOT_SET}\", deliver: \"telegram:main:1\"}}}\n",
    );
    assert!(accounts.iter().all(|account| account.problem.is_none()));
    assert!(report.diagnostics.iter().all(|found| found.severity == Severity::Warning));
    for word in [
        "does not connect to irc",
        "secret `D` of the daemon is not set",
        "`NOT_SET` is not in the environment",
        "`telegram.main`, which does not exist",
    ] {
        let found = report.warnings().any(|found| found.message.contains(word));
        assert!(found, "{word}: {:?}", report.diagnostics);
    }
}

#[test]
fn a_credential_is_shown_by_no_finding_about_its_line() {
    for config in [
        "channels: {telegrm: {accounts: {main: {token: \"1:hushhush\"}}}}",
        "channels: {telegram: {accounts: {\"not a name\": {token: \"1:hushhush\"}}}}",
        "chanels: {telegram: {accounts: {main: {token: \"1:hushhush\"}}}}",
        "channels: {webhook: {acounts: {main: {secret: hushhush}}}}",
        "providrs: {a: {api_key: hushhush}}",
    ] {
        let (report, _) = load_text(&format!("agents: {{main: {{}}}}\n{config}\n"));
        let shown = render::text(&report, Colour::Plain);
        assert!(shown.contains("error") && !shown.contains("hushhush"), "{shown}");
    }
    // What only names a secret helps to find the place.
    let (report, _) =
        load_text("agents: {main: {}}\nchanels: {telegram: {token: \"${secret:NAMED}\"}}\n");
    assert!(render::text(&report, Colour::Plain).contains("NAMED"));
}

#[test]
fn a_star_is_everybody_or_nothing() {
    let with = |who: &str| {
        let (report, _) =
            load_text(&format!("agents: {{main: {{access: {{allow: ['{who}']}}}}}}\n"));
        report.errors().map(|error| error.message.clone()).collect::<Vec<_>>()
    };
    assert_eq!(with("telegram:*"), Vec::<String>::new());
    for who in ["telegram:*x", "telegram:4*", "telegram:chat:*", "discord:role:*"] {
        assert!(with(who).iter().any(|it| it.contains("names nobody")), "{who}: {:?}", with(who));
    }
}

#[test]
fn one_token_makes_one_account() {
    for token in ["1:a", "${secret:T}"] {
        let one = format!("{{token: \"{token}\"}}");
        let off = format!("{{token: \"{token}\", enabled: false}}");
        let (report, found) =
            accounts(&format!("  telegram: {{accounts: {{a: {one}, b: {one}, c: {off}}}}}\n"));
        let problems: Vec<_> = found.iter().map(|it| it.problem.is_some()).collect();
        assert_eq!(problems, [false, true, false], "{:?}", report.diagnostics);
        let problem = found[1].problem.as_deref().unwrap();
        assert!(problem.contains("`telegram.b` has the token of `telegram.a`"), "{problem}");
        // Another platform has other tokens.
        let (_, found) = accounts(&format!(
            "  telegram: {{accounts: {{a: {one}}}}}\n  slack: {{accounts: {{b: {one}}}}}\n"
        ));
        assert!(found.iter().all(|it| it.problem.is_none()));
    }
    // An address with a slash at its end is the same server.
    for (other, has_problem) in [("https://a.example/", true), ("https://b.example", false)] {
        let of = |url: &str| format!("{{token: \"${{secret:T}}\", base_url: \"{url}\"}}");
        let (one, other) = (of("https://a.example"), of(other));
        let (_, found) =
            accounts(&format!("  mattermost: {{accounts: {{a: {one}, b: {other}}}}}\n"));
        assert_eq!(found[1].problem.is_some(), has_problem, "{found:?}");
    }
    // A Slack app may be in several workspaces; each gives it a token.
    let of = |token: &str| format!("{{token: \"{token}\", app_token: \"${{secret:A}}\"}}");
    for (other, has_problem) in [("${secret:U}", false), ("${secret:T}", true)] {
        let (one, other) = (of("${secret:T}"), of(other));
        let (_, found) = accounts(&format!("  slack: {{accounts: {{a: {one}, b: {other}}}}}\n"));
        assert_eq!((found[0].problem.is_some(), found[1].problem.is_some()), (false, has_problem));
    }
}
