//! What terms take away, and that they come back from the journal as they were.

use super::*;
use proptest::prelude::*;

#[test]
fn a_call_is_allowed_by_its_tool_or_by_its_command_to_the_letter() {
    let allow = |texts: &[&str]| Terms {
        approvals: TermApprovals::Only(
            texts.iter().map(|text| AllowedCall::parse(text).unwrap()).collect(),
        ),
        ..Terms::by("run")
    };
    let terms = allow(&["terminal:make all", "patch"]);
    assert_eq!(terms.allows("terminal", Some(" make all ")), Some(true));
    assert_eq!(terms.allows("terminal", Some("make all; rm -rf /")), Some(false));
    assert_eq!(terms.allows("terminal", None), Some(false));
    assert_eq!(terms.allows("patch", None), Some(true));
    assert_eq!(terms.allows("patch", Some("anything")), Some(true));
    assert_eq!(terms.allows("patc", None), Some(false));
    assert_eq!(allow(&[]).allows("patch", None), Some(false));
    assert_eq!(Terms::by("acp").allows("patch", None), None);
    for wrong in ["", ":", "terminal:", "terminal: ", "a b", "*"] {
        assert_eq!(AllowedCall::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn a_path_with_a_detour_is_not_plain() {
    for (path, plain) in
        [("/src/app", true), ("/", true), ("src", false), ("/src/../etc", false), ("", false)]
    {
        assert_eq!(is_plain(Path::new(path)), plain, "{path}");
    }
}

proptest! {
    #[test]
    fn rule_11_terms_come_back_whole_from_the_journal_without_their_editor(
        model in proptest::option::of("[a-z]{1,8}/[a-z]{1,8}"),
        usd in proptest::option::of(0_u64..1_000_000),
        looks in any::<bool>(),
        allow in proptest::option::of(proptest::collection::vec("[a-z_]{1,8}(:[a-z][a-z ]{0,8}[a-z])?", 0..4)),
        desk in 0..3_u8,
        once in any::<bool>(),
    ) {
        let tools = looks.then(|| Terms::looks_only("acp"));
        let budget = BudgetLimits { usd_micros_per_day: usd, ..BudgetLimits::default() };
        let folder = |mode, by| Desk::Folder { path: PathBuf::from("/src/é"), mode, by };
        let terms = Terms {
            less: Arc::new(Narrowing { tools, budget, model: model.map(Into::into), ..Narrowing::by("acp") }),
            approvals: match allow {
                None => TermApprovals::Ask,
                Some(calls) => TermApprovals::Only(
                    calls.iter().map(|call| AllowedCall::parse(call).unwrap()).collect(),
                ),
            },
            desk: match desk {
                0 => Desk::Usual,
                1 => folder(AccessMode::Ro, GrantedBy::Operator),
                _ => folder(AccessMode::Rw, GrantedBy::Agent),
            },
            once,
            editor: None,
        };
        let kept = serde_json::to_string(&KeptTerms::of(&terms)).unwrap();
        let read: KeptTerms = serde_json::from_str(&kept).unwrap();
        prop_assert_eq!(read.restored(), Some(terms.clone()));
        let with_editor = Terms { editor: Some(Offers::default()), ..terms.clone() };
        prop_assert_eq!(KeptTerms::of(&with_editor).restored(), Some(terms));
    }
}
