//! How long to wait before an account is tried again.

use insula_channel::ConnectFault;
use insula_world::RandomStream;
use std::time::Duration;

/// The longest first pause.
const FIRST: Duration = Duration::from_secs(1);

/// The longest pause after many failures: an outage of an hour ends for us within minutes.
const CAP: Duration = Duration::from_secs(300);

/// How often credentials that were refused are tried again without having changed. Now and
/// then a platform is wrong about that.
const REFUSED: Duration = Duration::from_secs(5 * 60);

/// The longest wait that a platform can ask for.
const ASKED_MAX: Duration = Duration::from_secs(60 * 60);

/// The pause after the `failures`th failure in a row. Between half of it and all of it is
/// chance, so that accounts which failed together do not come back together.
pub(super) fn pause(fault: &ConnectFault, failures: u32, random: &mut RandomStream) -> Duration {
    let (most, asked) = match fault {
        ConnectFault::Refused(_) => (REFUSED, Duration::ZERO),
        ConnectFault::Broken { wait, .. } => {
            let doubled = FIRST.saturating_mul(1 << failures.saturating_sub(1).min(16));
            (doubled.min(CAP), wait.unwrap_or_default().min(ASKED_MAX))
        }
    };
    let chance = f64::from(u32::from_le_bytes(random.bytes())) / f64::from(u32::MAX);
    let chosen = most.mul_f64(0.5 + chance / 2.0);
    // What the platform asks for comes on top of chance: to all that it asked at once.
    if asked.is_zero() { chosen } else { asked + chosen.min(FIRST) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_world::Random;

    fn broken(wait: Option<Duration>) -> ConnectFault {
        ConnectFault::Broken { why: "gone".into(), wait }
    }

    #[test]
    fn pauses_grow_to_a_cap_and_differ_by_chance() {
        let mut random = Random::from_seed([3; 32]).stream(&["test"]);
        let mut draw = |failures| pause(&broken(None), failures, &mut random);
        for (failures, most_s) in
            [(1, 1), (2, 2), (3, 4), (8, 128), (9, 256), (10, 300), (400, 300)]
        {
            let most = Duration::from_secs(most_s);
            for _ in 0..50 {
                let chosen = draw(failures);
                assert!(chosen >= most / 2 && chosen <= most, "{failures}: {chosen:?}");
            }
        }
        assert_ne!(draw(10), draw(10));
    }

    #[test]
    fn what_was_refused_is_tried_rarely_and_what_was_asked_for_is_kept() {
        let mut random = Random::from_seed([3; 32]).stream(&["test"]);
        let refused = pause(&ConnectFault::Refused("no".into()), 1, &mut random);
        assert!(refused >= REFUSED / 2);
        let asked = Duration::from_secs(40);
        let chosen = pause(&broken(Some(asked)), 1, &mut random);
        assert!(chosen >= asked && chosen <= asked + FIRST);
        let endless = pause(&broken(Some(Duration::MAX)), 1, &mut random);
        assert!(endless <= ASKED_MAX + FIRST);
    }
}
