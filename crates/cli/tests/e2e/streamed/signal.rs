//! On Signal, by a signal-cli that numbers its events, as later ones do: what it hands to a daemon
//! that dies is asked for again. It recognises no repetition: what was in doubt says so.

use super::asked_for;
use super::fake::campaign_of;
use crate::places::signal::Signal;

#[test]
fn rule_11_kills_while_replies_stream_to_signal_leave_one_answer_or_say_so() {
    let verdict = campaign_of(&Signal::start(), 3, 19);
    assert!(verdict.said >= 5, "{verdict}");
    verdict.hold();
}

#[test]
#[ignore = "as many kills as INSULA_KILLS says: scripts/stream-campaign"]
fn campaign() {
    let (kills, seed) = asked_for();
    campaign_of(&Signal::start(), kills, seed).hold();
}
