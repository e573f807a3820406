//! On WhatsApp, which calls the daemon until it is heard, and tells what became of each message:
//! that settles what was in doubt, or the repetition says so.

use super::asked_for;
use super::fake::campaign_of;
use crate::places::whatsapp::WhatsApp;

#[test]
fn rule_11_kills_while_replies_are_sent_by_whatsapp_leave_one_answer_or_say_so() {
    let verdict = campaign_of(&WhatsApp::start(), 3, 23);
    assert!(verdict.said >= 5, "{verdict}");
    verdict.hold();
}

#[test]
#[ignore = "as many kills as INSULA_KILLS says: scripts/stream-campaign"]
fn campaign() {
    let (kills, seed) = asked_for();
    campaign_of(&WhatsApp::start(), kills, seed).hold();
}
