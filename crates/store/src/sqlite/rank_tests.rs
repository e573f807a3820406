//! Ranking against a plain reading of what it should be: every message of the scope looked at,
//! no index, no shortcuts.

use super::{Bm25, SEEDS_MORE};
use crate::message::Part;
use crate::parts;
use crate::query::Query;
use crate::search::HITS_MAX;
use crate::sqlite::index::{self, Document};
use crate::sqlite::{find, schema};
use proptest::prelude::*;
use rusqlite::Connection;

/// A message: the session it is in, the scope it is of, and its words, if it has any.
type Said = (u8, u8, Option<String>);

fn database() -> Connection {
    let sql = Connection::open_in_memory().unwrap();
    schema::AGENT.migrations.iter().for_each(|step| sql.execute_batch(step).unwrap());
    sql.execute_batch("INSERT INTO scope VALUES (1, 'custom:1', 0, 0), (2, 'custom:2', 0, 0)")
        .unwrap();
    sql
}

/// Says everything, and indexes what waits after each so many.
fn fill(sql: &Connection, said: &[Said], together: usize) -> Vec<(i64, Said)> {
    let mut places = [0_i64; 4];
    let mut all = Vec::new();
    for (n, (session, scope, text)) in said.iter().enumerate() {
        let place = &mut places[usize::from(*session)];
        *place += 1;
        let id = ((i64::from(*session) + 1) << 32) | *place;
        let part = match text {
            Some(text) => Part::Text(text.clone()),
            None => Part::Beside("river".to_owned()),
        };
        let parts = [part];
        let row = (id, i64::from(*scope), parts::encode(&parts));
        sql.execute("INSERT INTO message VALUES (?1, NULL, 0, ?2, 'p', 'l', 1, 1, ?3)", row)
            .unwrap();
        index::add(sql, id, i64::from(*scope), &parts).unwrap();
        all.push((id, (*session, *scope, text.clone())));
        if n % together == together - 1 {
            index::merge(sql, together / 2 + 1).unwrap();
        }
    }
    all
}

/// What should be found.
fn expected(said: &[(i64, Said)], query: &str, limit: usize) -> Vec<(i64, f64)> {
    let query = Query::read(query);
    let words = |text: &Option<String>| Document::of_text(text.as_deref().unwrap_or_default());
    let mut own: Vec<(i64, u8, Document)> = said
        .iter()
        .filter(|(_, (_, scope, text))| *scope == 1 && text.is_some())
        .map(|(id, (session, _, text))| (*id, *session, words(text)))
        .filter(|(_, _, document)| document.length > 0)
        .collect();
    own.sort_by_key(|(id, ..)| *id);
    if own.is_empty() {
        return Vec::new();
    }
    let lengths = own.iter().map(|(_, _, document)| i64::from(document.length)).sum();
    let bm25 = Bm25::new(i64::try_from(own.len()).unwrap(), lengths);
    let amount = |place: usize, term: usize| -> f64 {
        let (_, _, document) = &own[place];
        let wanted = &query.wanted[term];
        let of = |word: &str, count: u32| {
            query.likeness(wanted, word) * bm25.amount(count, document.length)
        };
        document.counts.iter().map(|(word, count)| of(word, *count)).fold(0.0, f64::max)
    };
    let terms = 0..query.wanted.len();
    let rarity: Vec<f64> = terms
        .clone()
        .map(|term| {
            let matches = (0..own.len()).filter(|place| amount(*place, term) > 0.0).count();
            query.wanted[term].weight * bm25.rarity(matches)
        })
        .collect();
    let silent_min =
        query.silent_words_min(|term| (0..own.len()).any(|place| amount(place, term) > 0.0));
    let score = |amounts: &[f64]| -> f64 {
        amounts.iter().zip(&rarity).map(|(amount, rarity)| rarity * Bm25::saturated(*amount)).sum()
    };
    let alone =
        |place: usize| -> Vec<f64> { terms.clone().map(|term| amount(place, term)).collect() };
    let mut seeds: Vec<usize> =
        (0..own.len()).filter(|place| alone(*place).iter().any(|amount| *amount > 0.0)).collect();
    let better = |(a, x): (usize, f64), (b, y): (usize, f64)| y.total_cmp(&x).then(b.cmp(&a));
    seeds.sort_by(|a, b| better((*a, score(&alone(*a))), (*b, score(&alone(*b)))));
    seeds.truncate(limit.min(HITS_MAX) + SEEDS_MORE);
    let near = |place: usize| {
        let from = place.saturating_sub(2)..own.len().min(place + 3);
        from.filter(|other| own[*other].1 == own[place].1).collect::<Vec<usize>>()
    };
    let mut found: Vec<(usize, f64)> = Vec::new();
    for place in seeds.iter().flat_map(|seed| near(*seed)) {
        if found.iter().any(|(known, _)| *known == place) {
            continue;
        }
        let mut amounts = vec![0.0; rarity.len()];
        for other in near(place) {
            let weight = [1.0, 0.5, 0.3][other.abs_diff(place)];
            amounts.iter_mut().zip(alone(other)).for_each(|(sum, amount)| *sum += weight * amount);
        }
        let shares = amounts.iter().zip(&query.wanted).filter(|(amount, _)| **amount > 0.0);
        let shares: f64 = shares.map(|(_, wanted)| wanted.share).sum();
        if alone(place).iter().any(|amount| *amount > 0.0) || shares >= silent_min {
            found.push((place, score(&amounts)));
        }
    }
    found.sort_by(|a, b| better(*a, *b));
    found.truncate(limit);
    found.into_iter().map(|(place, score)| (own[place].0, score)).collect()
}

fn text() -> impl Strategy<Value = Option<String>> {
    let word = proptest::sample::select(vec![
        "river",
        "rivers",
        "riverside",
        "bridge",
        "the",
        "walk",
        "walked",
        "東京都",
        "水",
        "x1",
    ]);
    let words = proptest::collection::vec(word, 0..5).prop_map(|words| words.join(" "));
    prop_oneof![1 => Just(None), 6 => words.prop_map(Some)]
}

const QUERIES: [&str; 6] =
    ["river", "walking over the bridge", "rivers x1", "東京の水", "the", "walk river bridge x1 水"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_found_is_what_should_be(
        said in proptest::collection::vec((0_u8..3, 1_u8..3, text()), 0..90),
        more in prop_oneof![Just(0_usize), Just(300)],
        together in 3_usize..60,
        limit in 1_usize..14,
    ) {
        let sql = database();
        // Enough of them that not all are read in one go.
        let more = (0..more).map(|_| (3, 1, Some("weather".to_owned())));
        let said: Vec<Said> = more.chain(said).collect();
        let all = fill(&sql, &said, together);
        for query in QUERIES {
            let hits = find::search(&sql, "custom:1", query, limit).unwrap();
            let found: Vec<(i64, f64)> = hits
                .iter()
                .map(|hit| (crate::sqlite::places::id_of(hit.session, hit.seq), hit.score))
                .collect();
            let expected = expected(&all, query, limit);
            prop_assert_eq!(
                found.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
                expected.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
                "{}", query
            );
            for ((_, found), (_, expected)) in found.iter().zip(&expected) {
                prop_assert!((found - expected).abs() < 1e-9, "{}", query);
            }
        }
    }
}
