//! Accounts on platforms: what is wrong in one fails that one, and says where.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may say what it knows")]

mod common;

use common::load_text;
use insula_config::{Account, AccountValue, Owner, Report, Severity, Uncertain};

fn accounts(channels: &str) -> (Report, Vec<Account>) {
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
                matches!(&error.owner, Owner::Account(name) if name.ends_with(".x")),
                "{error:?}"
            );
        }
    }
}

#[test]
fn what_is_missing_or_not_built_is_a_warning() {
    let (report, accounts) = accounts(
        "  discord: {accounts: {main: {token: \"${secret:D}\"}}}\n  webhook: {accounts: {ci: {secret: \"${env:NOT_SET}\", deliver: \"telegram:main:1\"}}}\n",
    );
    assert!(accounts.iter().all(|account| account.problem.is_none()));
    assert!(report.diagnostics.iter().all(|found| found.severity == Severity::Warning));
    for word in [
        "does not connect to discord",
        "secret `D` of the daemon is not set",
        "`NOT_SET` is not in the environment",
        "`telegram.main`, which does not exist",
    ] {
        let found = report.warnings().any(|found| found.message.contains(word));
        assert!(found, "{word}: {:?}", report.diagnostics);
    }
}
