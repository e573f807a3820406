//! What becomes of commands that nobody can look through.

use super::*;

#[test]
fn what_cant_be_looked_through_runs_by_the_setting_or_by_an_admins_word_behind_all_walls() {
    use {By::*, OpaqueRule::*, Walls::*};
    for (rule, by, walls, expected) in [
        (ByTurn, Admins, Full, Allow),
        (ByTurn, Admins, Partial, Ask),
        (ByTurn, Others, Full, Ask),
        (ByTurn, Others, Partial, Ask),
        (Allow, Others, Partial, Allow),
        (Ask, Admins, Full, Ask),
        (Deny, Admins, Full, Deny),
        (Deny, Others, Partial, Deny),
    ] {
        assert_eq!(opaque(rule, by, walls), expected, "{rule:?} {by:?} {walls:?}");
    }
}

#[test]
fn a_refusal_says_what_was_not_looked_at_and_what_to_do() {
    use insula_domain::command::Unseen;
    let finding = Finding::unseen(Unseen::Code, "python3 x.py");
    let denial = Denial::Opaque { name: "terminal".to_owned(), finding };
    assert_eq!(denial.rule(), "opaque");
    assert_eq!(
        denial.to_string(),
        "refused: `python3 x.py` in this call of `terminal` does something that its words do not say (rule `opaque`; not looked at: the script or code that it runs); `approvals.opaque` of this agent is `deny`, so nobody in this conversation can allow it; instead, write the commands out in full, with every quote closed"
    );
}
