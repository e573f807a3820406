//! On Mattermost, which recognises a key for half a minute: one message for each answer, or one
//! more that says so where the daemon was gone for longer.

use super::asked_for;
use super::fake::campaign_of;
use crate::places::mattermost::Mattermost;

#[test]
fn rule_11_kills_while_replies_stream_to_mattermost_leave_one_answer_or_say_so() {
    let verdict = campaign_of(&Mattermost::start(), 3, 13);
    assert!(verdict.said >= 5, "{verdict}");
    verdict.hold();
}

#[test]
#[ignore = "as many kills as INSULA_KILLS says: scripts/stream-campaign"]
fn campaign() {
    let (kills, seed) = asked_for();
    campaign_of(&Mattermost::start(), kills, seed).hold();
}
