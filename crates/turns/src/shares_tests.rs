//! Places as they are shared, whatever comes and goes.

use super::*;
use proptest::prelude::*;

fn who(name: &str) -> Actor {
    name.into()
}

/// Shares, and what is known of them from outside.
struct Agent {
    shares: Shares,
    waiting: Vec<(Actor, Ticket)>,
    running: Vec<(Actor, Ticket)>,
    /// Who waits, each once, in the order in which they came or last began something.
    line: Vec<Actor>,
}

impl Agent {
    fn new(places_max: usize) -> Self {
        Self { shares: Shares::new(places_max), waiting: vec![], running: vec![], line: vec![] }
    }

    fn ask(&mut self, name: &str, count: usize) {
        for _ in 0..count {
            let ticket = self.shares.ask(&who(name));
            self.waiting.push((who(name), ticket));
            if !self.line.contains(&who(name)) {
                self.line.push(who(name));
            }
        }
    }

    fn count(list: &[(Actor, Ticket)], name: &str) -> usize {
        list.iter().filter(|(of, _)| of.as_str() == name).count()
    }

    fn runs(&self, name: &str) -> usize {
        Self::count(&self.running, name)
    }

    /// Begins all that may, and checks each.
    fn begin(&mut self) {
        while let Some(ticket) = self.shares.begin() {
            let at = self.waiting.iter().position(|(_, known)| *known == ticket);
            let at = at.expect("only who waits begins");
            let name = self.waiting[at].0.clone();
            let runs = self.runs(name.as_str());
            let first = self.line.iter().min_by_key(|it| self.runs(it.as_str()));
            assert_eq!(first, Some(&name), "of those with the fewest the first: {:?}", self.line);
            let is_first_of_its_own = self.waiting[..at].iter().all(|(of, _)| *of != name);
            assert!(is_first_of_its_own, "{name} is in order");
            if self.line.len() > 1 && runs > 0 {
                let all: BTreeSet<_> =
                    self.waiting.iter().chain(&self.running).map(|(of, _)| of.clone()).collect();
                let share = (self.shares.places_max / all.len()).max(1);
                assert!(runs <= share, "{name} runs {runs}, and its share is {share}");
            }
            let began = self.waiting.remove(at);
            self.running.push(began);
            self.line.retain(|it| *it != name);
            if Self::count(&self.waiting, name.as_str()) > 0 {
                self.line.push(name);
            }
            let is_newcomer = runs == 0;
            let limit = self.shares.places_max - usize::from(!is_newcomer);
            assert!(self.running.len() <= limit, "{} run", self.running.len());
        }
        // A place is never empty while somebody waits of whom nothing runs.
        if self.running.len() < self.shares.places_max {
            assert!(self.waiting.iter().all(|(of, _)| self.runs(of.as_str()) > 0));
        }
    }

    fn end(&mut self, at: usize) {
        let (name, ticket) = self.running.remove(at);
        self.shares.leave(&name, ticket);
    }

    fn withdraw(&mut self, at: usize) {
        let (name, ticket) = self.waiting.remove(at);
        self.shares.leave(&name, ticket);
        if Self::count(&self.waiting, name.as_str()) == 0 {
            self.line.retain(|it| *it != name);
        }
    }
}

#[test]
fn one_alone_has_all_places_but_one_and_a_newcomer_that_one() {
    let mut agent = Agent::new(16);
    agent.ask("loud", 60);
    agent.begin();
    assert_eq!(agent.runs("loud"), 15);
    agent.ask("quiet", 1);
    agent.begin();
    assert_eq!((agent.runs("loud"), agent.runs("quiet")), (15, 1));
}

#[test]
fn places_that_become_free_go_to_whoever_has_fewest_until_all_have_their_share() {
    let mut agent = Agent::new(16);
    agent.ask("loud", 60);
    agent.begin();
    agent.ask("quiet", 60);
    for _ in 0..20 {
        agent.begin();
        let longest = agent.running.iter().position(|(of, _)| of.as_str() == "loud").unwrap_or(0);
        agent.end(longest);
    }
    agent.begin();
    let (loud, quiet) = (agent.runs("loud"), agent.runs("quiet"));
    assert_eq!(loud + quiet, 15);
    assert!(loud.abs_diff(quiet) <= 1, "{loud} and {quiet}");
}

#[test]
fn a_single_place_goes_round() {
    let mut agent = Agent::new(1);
    agent.ask("a", 3);
    agent.ask("b", 1);
    let mut order = vec![];
    while !agent.waiting.is_empty() {
        agent.begin();
        order.push(agent.running[0].0.to_string());
        agent.end(0);
    }
    assert_eq!(order, ["a", "b", "a", "a"]);
}

#[derive(Debug, Clone)]
enum Act {
    Ask(u8),
    End(usize),
    Withdraw(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => (0_u8..6).prop_map(Act::Ask),
        // One who asks far more than the others.
        2 => Just(Act::Ask(0)),
        3 => any::<usize>().prop_map(Act::End),
        1 => any::<usize>().prop_map(Act::Withdraw),
    ];
    proptest::collection::vec(act, 0..200)
}

proptest! {
    #[test]
    fn whatever_comes_and_goes_the_rules_hold_and_everybody_gets_there(
        places_max in 1_usize..20,
        acts in acts(),
    ) {
        let mut agent = Agent::new(places_max);
        for act in acts {
            match act {
                Act::Ask(name) => agent.ask(&name.to_string(), 1),
                Act::End(at) if !agent.running.is_empty() => agent.end(at % agent.running.len()),
                Act::Withdraw(at) if !agent.waiting.is_empty() => {
                    agent.withdraw(at % agent.waiting.len());
                }
                Act::End(_) | Act::Withdraw(_) => {}
            }
            agent.begin();
            prop_assert!(agent.running.len() <= places_max);
            prop_assert_eq!(agent.running.len(), agent.shares.running);
        }
        // What runs ends, and then all that waits has begun.
        let left = agent.waiting.len() + agent.running.len();
        for _ in 0..left {
            prop_assert!(!agent.running.is_empty());
            agent.end(0);
            agent.begin();
        }
        prop_assert!(agent.waiting.is_empty() && agent.running.is_empty());
        prop_assert!(agent.shares.askers.is_empty() && agent.shares.running == 0);
    }

    #[test]
    fn whoever_waits_begins_however_much_others_ask_for(
        places_max in 1_usize..20,
        others in 1_u8..30,
        ends in proptest::collection::vec(any::<usize>(), 40),
    ) {
        let mut agent = Agent::new(places_max);
        for other in 0..others {
            agent.ask(&other.to_string(), 10);
        }
        agent.begin();
        agent.ask("me", 1);
        agent.begin();
        let mut rounds = 0;
        for end in ends {
            if agent.runs("me") > 0 {
                break;
            }
            rounds += 1;
            let at = end % agent.running.len();
            let name = agent.running[at].0.clone();
            agent.end(at);
            // They never stop asking.
            agent.ask(name.as_str(), 1);
            agent.begin();
        }
        prop_assert_eq!(agent.runs("me"), 1);
        // However long their lists are, each of them comes before at most once, after one that
        // ran already.
        prop_assert!(rounds <= usize::from(others) + 1, "{} rounds", rounds);
    }
}
