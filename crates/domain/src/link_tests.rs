//! Which links lead where, and what may go along.

use super::*;
use crate::arbitrary::small_address;
use proptest::prelude::*;

fn id(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

fn link(to: &str, kind: LinkKind) -> Link {
    Link {
        to: id(to),
        kind,
        timeout_ms: LINK_TIMEOUT_MS,
        max_depth: LINK_DEPTH,
        budget: BudgetLimits::default(),
        carry: Vec::new(),
    }
}

fn place(text: &str) -> Audience {
    text.parse().unwrap()
}

fn audience() -> impl Strategy<Value = Audience> {
    small_address().prop_map(|it| Audience::of(&it))
}

fn heard_at(places: &[&str]) -> Hearers {
    let mut hearers = Hearers::default();
    places.iter().for_each(|it| hearers.add(place(it)));
    hearers
}

#[test]
fn a_link_leads_one_way_and_for_its_own_purpose() {
    let links = Links::new([link("b", LinkKind::Ask)]);
    let seen = (&Label::anyone(), &Hearers::default());
    let decide = |own: &str, to: &str, kind| links.decide((&id(own), &id(to)), kind, None, seen);
    assert!(matches!(decide("a", "b", LinkKind::Ask), Linking::Allowed(_)));
    assert_eq!(decide("a", "b", LinkKind::Notify), Linking::NoLink);
    assert_eq!(decide("a", "b", LinkKind::Handoff), Linking::NoLink);
    assert_eq!(decide("a", "c", LinkKind::Ask), Linking::NoLink);
    assert_eq!(Links::default().find(&id("a"), LinkKind::Ask), None);
}

#[test]
fn a_question_comes_back_to_nobody_who_waits_for_its_answer() {
    let links = Links::new([link("a", LinkKind::Ask), link("c", LinkKind::Ask)]);
    let seen = (&Label::anyone(), &Hearers::default());
    let hops = link("b", LinkKind::Ask).hops(&id("a"), None);
    assert_eq!(hops, Hops { through: vec![id("a")], left: LINK_DEPTH - 1 });
    let decide = |to: &str| links.decide((&id("b"), &id(to)), LinkKind::Ask, Some(&hops), seen);
    assert_eq!(decide("a"), Linking::Cycle);
    assert!(matches!(decide("c"), Linking::Allowed(_)));
    let own = Links::new([link("b", LinkKind::Ask)]);
    assert_eq!(own.decide((&id("b"), &id("b")), LinkKind::Ask, None, seen), Linking::Cycle);
}

#[test]
fn a_question_passes_as_many_links_as_the_strictest_of_them_allows() {
    let one = Link { max_depth: 1, ..link("b", LinkKind::Ask) };
    let seen = (&Label::anyone(), &Hearers::default());
    let hops = one.hops(&id("a"), None);
    assert_eq!(hops.left, 0);
    let links = Links::new([link("c", LinkKind::Ask)]);
    let decided = links.decide((&id("b"), &id("c")), LinkKind::Ask, Some(&hops), seen);
    assert_eq!(decided, Linking::TooDeep { most: LINK_DEPTH });
    // A link further on gives back nothing that one before took.
    let wide = Link { max_depth: LINK_DEPTH_MAX, ..link("c", LinkKind::Ask) };
    assert_eq!(wide.hops(&id("b"), Some(&Hops { through: vec![id("a")], left: 2 })).left, 1);
}

#[test]
fn what_was_said_here_goes_where_everybody_heard_it_or_where_the_link_says_so() {
    let private = Label::of(place("telegram:main:5"));
    let both = private.join(&Label::of(place("telegram:main:-100")));
    let check = |carry: &[&str], label: &Label, hearers: &Hearers| {
        let carry = carry.iter().map(|it| it.parse().unwrap()).collect();
        let links = Links::new([Link { carry, ..link("b", LinkKind::Ask) }]);
        let decided = links.decide((&id("a"), &id("b")), LinkKind::Ask, None, (label, hearers));
        decided.as_str()
    };
    let group = heard_at(&["telegram:main:-100"]);
    assert_eq!(check(&[], &private, &Hearers::default()), "allowed");
    assert_eq!(check(&[], &Label::unknown(), &Hearers::default()), "allowed");
    assert_eq!(check(&[], &private, &group), "wider audience");
    assert_eq!(check(&[], &Label::anyone(), &group), "allowed");
    assert_eq!(check(&[], &Label::of(place("telegram:main:-100")), &group), "allowed");
    // A topic has no more readers than its chat; a chat may have more than a topic.
    assert_eq!(check(&[], &Label::of(place("telegram:main:-100:7")), &group), "wider audience");
    let topic = heard_at(&["telegram:main:-100:7"]);
    assert_eq!(check(&[], &Label::of(place("telegram:main:-100")), &topic), "allowed");
    assert_eq!(check(&["telegram:main:5"], &private, &group), "allowed");
    assert_eq!(check(&["telegram:main:5"], &both, &group), "allowed");
    assert_eq!(check(&["telegram:main:6"], &private, &group), "wider audience");
    assert_eq!(check(&["telegram:main:*"], &Label::unknown(), &group), "unknown audience");
    assert_eq!(check(&["*"], &Label::unknown(), &group), "allowed");
    let mut anywhere = heard_at(&[]);
    anywhere.add_anywhere();
    assert_eq!(check(&[], &private, &anywhere), "wider audience");
    assert_eq!(check(&[], &Label::anyone(), &anywhere), "allowed");
}

#[test]
fn fewer_links_are_less_and_other_bounds_are_not() {
    let two = Links::new([link("b", LinkKind::Ask), link("c", LinkKind::Notify)]);
    let one = Links::new([link("b", LinkKind::Ask)]);
    assert!(!one.exceeds(&two) && two.exceeds(&one) && !two.exceeds(&two));
    let longer = Links::new([Link { timeout_ms: 1, ..link("b", LinkKind::Ask) }]);
    assert!(longer.exceeds(&two));
    assert_eq!(LinkKind::ALL.map(|it| LinkKind::parse(it.as_str())), LinkKind::ALL.map(Some));
    assert_eq!(LinkKind::ALL.map(|it| LinkKind::of_tool(it.tool())), LinkKind::ALL.map(Some));
}

proptest! {
    /// Whatever is allowed to go along, every hearer could read every source, or the link names it.
    #[test]
    fn nothing_goes_along_that_a_hearer_could_not_read(
        sources in prop::collection::vec(audience(), 0..4),
        hearers in prop::collection::vec(audience(), 0..3),
    ) {
        let label = sources.iter().fold(Label::anyone(), |all, it| all.join(&Label::of(it.clone())));
        let mut heard = Hearers::default();
        hearers.iter().for_each(|it| heard.add(it.clone()));
        let links = Links::new([link("b", LinkKind::Ask)]);
        let decided = links.decide((&id("a"), &id("b")), LinkKind::Ask, None, (&label, &heard));
        let all_read = sources.iter().all(|source| hearers.iter().all(|it| source.includes(it)));
        prop_assert_eq!(matches!(decided, Linking::Allowed(_)), all_read);
    }
}
