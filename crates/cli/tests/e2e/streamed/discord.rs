//! On Discord, which recognises a key for minutes: one message for each answer.

use super::asked_for;
use super::fake::campaign_of;
use crate::places::discord::Discord;

#[test]
fn rule_11_kills_while_replies_stream_to_discord_leave_one_answer() {
    let verdict = campaign_of(&Discord::start(), 3, 11);
    assert!(verdict.said >= 5, "{verdict}");
    verdict.hold();
}

#[test]
#[ignore = "as many kills as INSULA_KILLS says: scripts/stream-campaign"]
fn campaign() {
    let (kills, seed) = asked_for();
    campaign_of(&Discord::start(), kills, seed).hold();
}
