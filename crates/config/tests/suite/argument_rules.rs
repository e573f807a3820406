//! `tools.rules`: what it comes to, what is wrong with it, and that layers add up.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may say what it knows")]

use crate::common::load_text;
use insula_config::AgentOutcome;

/// The rules of agent `a`, as people read them.
fn rules(config: &str) -> Vec<String> {
    let (report, loaded) = load_text(config);
    let errors: Vec<String> = report.errors().map(|found| found.message.clone()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let loaded = loaded.unwrap();
    let (_, outcome) = loaded.agents.iter().find(|(id, _)| id.as_str() == "a").unwrap();
    match outcome {
        AgentOutcome::Ready(config) => {
            let rules = config.boundary.rules.iter();
            rules.map(|rule| format!("{}: {rule}", rule.name)).collect()
        }
        AgentOutcome::Failed(reason) => panic!("{reason}"),
    }
}

#[test]
fn every_form_of_a_rule_is_read() {
    let config = "
agents:
  a:
    tools:
      rules:
        web_extract: {urls: {host: [docs.rs, '*.rust-lang.org']}}
        terminal: {command: {prefix: ['cargo ', 'git ']}}
        write_file: [{path: {path: 'src/**'}}, {path: {prefix: src/}}]
        mcp__bank__*:
          amount: {min: -5, max: 100}
          currency: {one_of: EUR, optional: true}
          to.name: {recipient: '*@example.org'}
          expr: args.to in turn.mentioned_addresses
          max_calls: 3
          once: [to.name, amount]
        mcp__mail__send:
          - {to: {said: true, or: [ann, bob]}, cc: {said: true, optional: true}, once: true}
          - {body: {links: docs.rs}, subject: {links: []}, max_calls: 1}
";
    assert_eq!(
        rules(config),
        [
            "web_extract.urls.host: `urls` is at `docs.rs`, `*.rust-lang.org`",
            "terminal.command.prefix: `command` runs only commands that begin with `cargo`, `git`",
            "write_file.path.path: `path` is below `src/**`",
            "write_file.path.prefix: `path` begins with `src/`",
            "mcp__bank__*.amount.max: `amount` is -5 to 100",
            "mcp__bank__*.currency.one_of: `currency` is `EUR`, or is left out",
            "mcp__bank__*.to.name.recipient: `to.name` is `*@example.org`",
            "mcp__bank__*.expr: `args.to in turn.mentioned_addresses` holds",
            "mcp__bank__*.max_calls: is called at most 3 times in a turn",
            "mcp__bank__*.once: no two calls in a turn have the same `to.name` and `amount`",
            "mcp__mail__send.to.said: `to` is said in the message of this turn, or is `ann`, `bob`",
            "mcp__mail__send.cc.said: `cc` is said in the message of this turn, or is left out",
            "mcp__mail__send.once: no call is made twice in a turn",
            "mcp__mail__send.body.links: `body` has only web addresses at `docs.rs`",
            "mcp__mail__send.subject.links: `subject` has no web address in it",
            "mcp__mail__send.max_calls: is called once in a turn",
        ]
    );
}

#[test]
fn rules_of_every_layer_hold() {
    let config = "
defaults: {tools: {rules: {terminal: {command: {prefix: git}}}}}
agents:
  a: {tools: {profile: coding, rules: {terminal: {command: {prefix: git status}}}}}
";
    assert_eq!(rules(config).len(), 2);
}

#[test]
fn a_mistake_in_a_rule_fails_its_agent_and_says_where() {
    for (rule, at, message) in [
        ("{termnal: {command: {prefix: git}}}", "termnal", "unknown tool `termnal`"),
        ("{terminal: {command: {prefx: git}}}", "prefx", "unknown key `prefx`"),
        ("{terminal: {command: {}}}", "{}", "bounds nothing"),
        ("{terminal: {command: git}}", "git", "is no map"),
        ("{terminal: {}}", "{}", "says nothing"),
        ("{terminal: {command: {prefix: 'git; rm'}}}", "'git;", "not the beginning of a command"),
        ("{web_extract: {urls: {host: 'https://x'}}}", "'https", "`https://x` is not a host"),
        ("{web_extract: {urls: {max: much}}}", "much", "`much` is not a number"),
        ("{read_file: {path: {path: '../x'}}}", "'..", "not a pattern of paths"),
        ("{web_extract: {urls: {host: []}}}", "[]", "lists nothing"),
        ("{terminal: {command: {one_of: []}}}", "[]", "lists nothing"),
        ("{read_file: {limit: {min: 9, max: 2}}}", "9", "is above `max: 2`"),
        ("{web_extract: {url: {host: x.org}}}", "{host", "has no argument `url`"),
        ("{read_file: {pth: {path: a, optional: true}}}", "{path", "has no argument `pth`"),
        ("{group:web: {path: {path: a}}}", "{path", "`group:web` has no argument `path`"),
        ("{terminal: {expr: 'args.x == trn.text'}}", "'args", "did you mean `turn`?"),
        ("{terminal: {expr: 'turn.mentioned == 1'}}", "'turn", "`turn` has no `mentioned`"),
        ("{terminal: {max_calls: 0}}", "0", "is no count of calls"),
        ("{terminal: {max_calls: some}}", "some", "is no count of calls"),
        ("{terminal: {once: false}}", "false", "says nothing"),
        ("{terminal: {once: []}}", "[]", "says nothing"),
        ("{terminal: {once: [comand]}}", "comand", "has no argument `comand`"),
        ("{terminal: {once: [.a]}}", ".a", "names no argument"),
        ("{terminal: {command: [git]}}", "[git]", "is no map"),
        ("{terminal: {command: {or: [git]}}}", "[git]", "stands alone"),
        ("{terminal: {command: {said: false}}}", "{said", "bounds nothing"),
    ] {
        let config = format!("agents: {{b: {{}}, a: {{tools: {{rules: {rule}}}}}}}");
        let column = config.rfind(at).unwrap() + 1;
        let (report, loaded) = load_text(&config);
        let found = report.errors().next().unwrap_or_else(|| panic!("{rule}"));
        assert!(found.message.contains(message), "{rule}: {}", found.message);
        let place = (found.span.line as usize, found.span.column as usize);
        assert_eq!(place, (1, column), "{rule}: {}", found.message);
        for (id, outcome) in &loaded.unwrap().agents {
            assert_eq!(matches!(outcome, AgentOutcome::Failed(_)), id.as_str() == "a", "{rule}");
        }
    }
}

#[test]
fn an_argument_that_some_tools_of_a_group_lack_is_a_warning_unless_it_is_optional() {
    let warnings = |rule: &str| -> Vec<String> {
        let config = format!("agents: {{a: {{tools: {{rules: {{{rule}}}}}}}}}");
        let (report, _) = load_text(&config);
        assert_eq!(report.errors().count(), 0, "{rule}");
        let warnings = report.warnings().filter(|found| found.message.contains("no argument"));
        warnings.map(|found| found.message.clone()).collect()
    };
    let [said] = &warnings("group:web: {urls: {host: x.org}}")[..] else { panic!() };
    assert!(said.contains("no argument of `web_search`"), "{said}");
    assert_eq!(warnings("group:web: {urls: {host: x.org, optional: true}}"), [""; 0]);
    assert_eq!(warnings("mcp__bank__*: {anything: {max: 3}}"), [""; 0]);
    assert_eq!(warnings("send_message: {to: {recipient: '*@x.org'}}"), [""; 0]);
}

#[test]
fn an_expression_that_is_neither_true_nor_false_is_an_error() {
    let errors = |expr: &str| -> Vec<String> {
        let config =
            format!("agents:\n  a: {{tools: {{rules: {{patch: {{expr: \"{expr}\"}}}}}}}}\n");
        load_text(&config).0.errors().map(|found| found.message.clone()).collect()
    };
    let told = errors("1 + 1");
    assert!(told[0].contains("answers a sum, and must answer true or false"), "{told:?}");
    assert!(errors("args.path != 'a'").is_empty());
}
