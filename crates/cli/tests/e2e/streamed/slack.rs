//! On Slack, which recognises no repetition: what was in doubt says so.

use super::asked_for;
use super::fake::campaign_of;
use crate::places::slack::Slack;

#[test]
fn rule_11_kills_while_replies_stream_to_slack_leave_one_answer_or_say_so() {
    let verdict = campaign_of(&Slack::start(), 3, 17);
    assert!(verdict.said >= 5, "{verdict}");
    verdict.hold();
}

#[test]
#[ignore = "as many kills as INSULA_KILLS says: scripts/stream-campaign"]
fn campaign() {
    let (kills, seed) = asked_for();
    campaign_of(&Slack::start(), kills, seed).hold();
}
