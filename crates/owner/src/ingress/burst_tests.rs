//! Joining, as a table and as properties over any order of arrival.

use super::*;
use proptest::prelude::*;
use proptest::sample::select;

fn sign(sender: &str, is_long: bool, album: Option<&str>, bytes: usize) -> Sign {
    let album = album.map(Into::into);
    Sign { session: "s".into(), sender: sender.into(), is_long, album, bytes }
}

/// What becomes of messages that come one after the other, all in time: groups of places.
fn groups(signs: &[Sign]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = vec![];
    let mut open: Option<Open> = None;
    for (at, sign) in signs.iter().enumerate() {
        if open.as_mut().is_some_and(|last| last.join(sign)) {
            groups.last_mut().unwrap().push(at);
        } else {
            groups.push(vec![at]);
            open = Some(Open::new(sign.clone()));
        }
        open = open.filter(Open::goes_on);
    }
    groups
}

#[test]
fn parts_of_one_text_are_one_and_the_short_one_ends_it() {
    let long = || sign("ann", true, None, 4_000);
    let short = || sign("ann", false, None, 10);
    assert_eq!(groups(&[long(), long(), short(), short()]), [vec![0, 1, 2], vec![3]]);
    assert_eq!(groups(&[short(), short()]), [vec![0], vec![1]]);
    assert_eq!(groups(&[long(), sign("bob", false, None, 1), short()]), [[0], [1], [2]]);
}

#[test]
fn an_album_is_one_and_nothing_else_is_in_it() {
    let of = |album| sign("ann", false, Some(album), 5);
    let plain = sign("ann", false, None, 5);
    assert_eq!(groups(&[of("x"), of("x"), of("y"), plain]), [vec![0, 1], vec![2], vec![3]]);
}

#[test]
fn a_text_looks_cut_near_the_limit_of_its_platform() {
    assert!(is_long(&"x".repeat(4_000), TextLimit::Utf16(4_096)));
    assert!(!is_long(&"x".repeat(3_000), TextLimit::Utf16(4_096)));
    assert!(is_long(&"😀".repeat(2_000), TextLimit::Utf16(4_096)), "units of UTF-16 count");
    assert!(
        !is_long(&"x".repeat(200), TextLimit::Utf16(200)),
        "short messages are short by nature"
    );
}

fn some_sign() -> impl Strategy<Value = Sign> {
    let sender = select(vec!["ann", "bob"]);
    let session = select(vec!["s", "t"]);
    let album = prop::option::of(select(vec!["x", "y"]));
    (session, sender, any::<bool>(), album, 0..BYTES_MAX).prop_map(
        |(session, sender, is_long, album, bytes)| Sign {
            session: session.into(),
            sender: sender.into(),
            is_long,
            album: album.map(Into::into),
            bytes,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn nothing_is_lost_doubled_or_put_out_of_order(signs in prop::collection::vec(some_sign(), 0..40)) {
        let all: Vec<usize> = groups(&signs).into_iter().flatten().collect();
        prop_assert_eq!(all, (0..signs.len()).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_joined_is_of_one_person_in_one_conversation(signs in prop::collection::vec(some_sign(), 0..40)) {
        for group in groups(&signs) {
            prop_assert!(group.len() <= PARTS_MAX);
            let first = &signs[group[0]];
            for at in &group {
                prop_assert_eq!(&signs[*at].sender, &first.sender);
                prop_assert_eq!(&signs[*at].session, &first.session);
                prop_assert_eq!(&signs[*at].album, &first.album);
            }
            let bytes: usize = group.iter().map(|at| signs[*at].bytes).sum();
            prop_assert!(group.len() == 1 || bytes <= BYTES_MAX);
        }
    }

    #[test]
    fn messages_that_do_not_go_on_are_never_joined(signs in prop::collection::vec(some_sign(), 0..40)) {
        let plain: Vec<Sign> =
            signs.into_iter().map(|it| Sign { is_long: false, album: None, ..it }).collect();
        prop_assert!(groups(&plain).iter().all(|group| group.len() == 1));
    }
}
