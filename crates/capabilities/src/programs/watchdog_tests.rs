//! Who is ended for what, and who is not.
#![allow(clippy::disallowed_methods, reason = "a test makes the files it looks at")]

use super::*;

const GB: u64 = 1_000_000_000;
const MB: u64 = 1_000_000;

fn disk(free_bytes: u64, free_files: u64) -> Space {
    Space { free_bytes, total_bytes: 100 * GB, free_files, total_files: 10_000_000 }
}

fn bytes(bytes: u64) -> Taken {
    Taken { bytes, files: 0 }
}

#[test]
fn a_disk_is_scarce_when_it_lost_what_is_kept_free() {
    let limits = DiskLimits { free_space: Some(GB), growth: None, new_files: None };
    for (start, now, expected) in [
        (disk(10 * GB, 5_000_000), disk(9 * GB, 5_000_000), None),
        (disk(2 * GB, 5_000_000), disk(GB - 1, 5_000_000), Some((Scarce::Bytes, GB))),
        // Space that comes back is no sign of anything, though there is too little.
        (disk(GB / 2, 5_000_000), disk(GB - 1, 5_000_000), None),
    ] {
        assert_eq!(scarce(&gone(&start, &now), &now, &limits), expected, "{start:?} {now:?}");
    }
}

#[test]
fn what_a_program_took_is_what_it_wrote_and_what_it_holds_without_a_name() {
    for (named, nameless, gone, expected) in [
        (3 * GB, 0, 4 * GB, 3 * GB),
        (0, 3 * GB, 4 * GB, 3 * GB),
        (GB, 3 * GB, 4 * GB, 4 * GB),
        // What is large and was only touched did not take anything.
        (30 * GB, 0, GB, GB),
        (30 * GB, GB, GB, GB),
        // What others gave back meanwhile does not make it less.
        (0, 3 * GB, 0, 3 * GB),
    ] {
        let own = own(bytes(named), bytes(nameless), bytes(gone));
        assert_eq!(own.bytes, expected, "{named} {nameless} {gone}");
    }
}

#[test]
fn more_than_one_program_may_is_too_much_whatever_the_disk_has_left() {
    let limits = DiskLimits { free_space: None, growth: Some(GB), new_files: Some(10) };
    assert_eq!(too_much(bytes(GB), &limits), None);
    assert_eq!(too_much(bytes(GB + 1), &limits), Some(Over::Growth(GB)));
    assert_eq!(too_much(Taken { bytes: 0, files: 11 }, &limits), Some(Over::Files(10)));
    assert_eq!(too_much(bytes(GROWTH_BYTES), &DiskLimits::default()), None);
}

#[test]
fn who_took_most_is_ended_and_nobody_for_what_others_took() {
    let usual =
        Situation { own: 0, others: 0, gone: 10 * GB, slack: SLACK_BYTES, looks: 1, hides: false };
    // It took half of it, and at the first look that is enough.
    assert!(Situation { own: 5 * GB, ..usual }.ends());
    assert!(!Situation { own: 4 * GB, ..usual }.ends());
    // It took less than half, but most.
    assert!(Situation { own: 4 * GB, looks: LOOKS, ..usual }.ends());
    // Another filled the disk up to its floor, and this one wrote a little since: all that
    // went since it began. It is not the one.
    let newcomer = Situation { own: 20 * MB, others: 9 * GB, gone: 20 * MB, ..usual };
    assert!(!newcomer.ends());
    assert!(!Situation { looks: 1_000, ..newcomer }.ends());
    // Somebody outside fills the disk: no program is ended for it.
    assert!(!Situation { own: 10 * MB, looks: 1_000, ..usual }.ends());
    // What can't be measured is its holder's.
    assert!(Situation { hides: true, ..usual }.ends());
}

#[test]
fn what_ended_programs_took_is_not_held_against_those_that_run() {
    let takers = Takers::default();
    let (one, other) = (takers.begin(), takers.begin());
    takers.post(one, 7, bytes(GB));
    takers.post(other, 7, bytes(3 * GB));
    takers.post(other, 8, bytes(9 * GB));
    assert_eq!(takers.most_of_others(one, 7, Scarce::Bytes), 3 * GB);
    assert_eq!(takers.most_of_others(other, 7, Scarce::Bytes), GB);
    takers.end(other);
    assert_eq!(takers.most_of_others(one, 7, Scarce::Bytes), 0);
}

#[test]
fn what_was_written_counts_however_deep_and_from_before_nothing_does() {
    let home = tempfile::tempdir().unwrap();
    let mut deep = home.path().to_owned();
    deep.extend((0..300).map(|_| "d"));
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("large"), vec![1; 3 << 20]).unwrap();
    let mut disk = Disk::new(7, space(home.path()).unwrap());
    disk.folders.push(home.path().to_owned());
    let whose = |since| Whose { since: Timestamp::from_millis(since), owner: None };
    let (named, unseen) = disk.search(whose(0));
    assert_eq!((named.files, unseen), (301, None));
    assert!(named.bytes >= 3 << 20, "{named:?}");
    assert_eq!(disk.search(whose(i64::MAX)), (Taken::default(), None));
}

#[test]
fn who_keeps_folders_from_being_looked_into_is_told_so() {
    for (unseen, limit) in [(Unseen::Closed, "closed_folders"), (Unseen::Deep, "deep_folders")] {
        let over = Over::Hides(unseen);
        assert!(over.words().contains("can't be counted"), "{}", over.words());
        assert_eq!(over.record()["limit"], limit);
    }
}
