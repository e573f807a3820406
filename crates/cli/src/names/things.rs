//! Things that have an id and may be called something: conversations, jobs, cards, boards, skills,
//! servers, secrets, tokens, approvals, grants, deliveries, and who was let in. Where a path says
//! what one is called, it is understood where one alone is called so; where it says what nothing is
//! called, it is told what was probably meant.

use super::known::plain;
use super::same;
use insula_config::suggest::nearest;
use insula_domain::percent;
use serde_json::Value;

/// Most conversations that are looked through: as many as one answer has.
const LOOKED_THROUGH: usize = 200;

/// One kind of thing.
struct Kind {
    /// The part of a path before one of them.
    part: &'static str,
    /// What a row of their list has for the id.
    id: &'static str,
    /// What a row has that people call it by. What strangers chose for themselves opens no door.
    names: &'static [&'static str],
    /// The command that lists them, of an agent or a board where it has `{}`.
    listed_by: &'static str,
}

const fn kind(
    part: &'static str,
    id: &'static str,
    names: &'static [&'static str],
    listed_by: &'static str,
) -> Kind {
    Kind { part, id, names, listed_by }
}

const OF_AN_AGENT: [Kind; 9] = [
    kind("sessions", "id", &["title", "begins"], "sessions list {}"),
    kind("jobs", "name", &[], "cron list {}"),
    kind("skills", "name", &[], "skills list {}"),
    kind("mcp", "name", &[], "mcp list {}"),
    kind("secrets", "name", &[], "secret list {}"),
    kind("approvals", "id", &["tool"], "approvals list {}"),
    kind("grants", "id", &["tool"], "approvals grants {}"),
    kind("deliveries", "id", &["chat"], "deliveries list {}"),
    kind("pairing", "who", &["name"], "pairing list {}"),
];
const CARDS: Kind = kind("cards", "id", &["title"], "board list {}");
const BOARDS: Kind = kind("boards", "name", &[], "board list");
const TOKENS: Kind = kind("tokens", "id", &["note"], "token list");

/// What a path names.
pub struct Thing<'p> {
    kind: &'static Kind,
    /// Where their list is.
    pub list: String,
    /// Whose they are.
    of: String,
    /// What it is called in the path.
    said: String,
    /// What stands before and after that.
    around: (&'p str, &'p str),
}

/// What a path names, the outermost first.
pub fn in_path(path: &str) -> Vec<Thing<'_>> {
    let end = path.find('?').unwrap_or(path.len());
    let Some(bare) = path[..end].strip_prefix("/api/") else { return Vec::new() };
    let parts: Vec<&str> = bare.split('/').collect();
    let thing = |kind: &'static Kind, parts_before: usize| {
        let before: usize = parts[..=parts_before].iter().map(|it| it.len() + 1).sum();
        let before = "/api/".len() + before;
        let said = parts[parts_before + 1];
        let whole = path[..before - 1].to_owned();
        let of = if parts_before == 2 { parts[1] } else { "" };
        let list = match kind.part {
            // With how each of them begins.
            "sessions" => format!("/api/sessions?agent={of}&limit={LOOKED_THROUGH}"),
            _ => whole,
        };
        Some(Thing {
            kind,
            list,
            of: percent::decode(of)?,
            said: percent::decode(said)?,
            around: (&path[..before], &path[before + said.len()..]),
        })
    };
    let found = match parts.as_slice() {
        ["agents", _, part, _, ..] => {
            let kind = OF_AN_AGENT.iter().find(|it| it.part == *part);
            vec![kind.and_then(|kind| thing(kind, 2))]
        }
        ["boards", _, "cards", _, ..] => vec![thing(&BOARDS, 0), thing(&CARDS, 2)],
        ["boards", _, ..] => vec![thing(&BOARDS, 0)],
        ["tokens", _] => vec![thing(&TOKENS, 0)],
        _ => Vec::new(),
    };
    found.into_iter().flatten().collect()
}

/// What a word means in a list.
#[derive(Debug, PartialEq, Eq)]
pub enum Meant {
    /// An id as it stands there.
    Id,
    /// The only one that is called so.
    Called(String),
    /// Several are called so.
    Several(Vec<String>),
    /// Nothing; and what was probably meant.
    Nothing(Option<String>),
}

/// Shortest word that is taken for a slip: with a letter less, it could be anything.
const GUESSED_CHARS_MIN: usize = 3;

/// What a word means in a list whose rows have this for their id, and these for their names.
pub fn meant(rows: &Value, (id, names): (&str, &[&str]), said: &str) -> Meant {
    let rows = rows.as_array().map_or(&[][..], Vec::as_slice);
    if rows.iter().any(|row| plain(&row[id]) == said) {
        return Meant::Id;
    }
    // A title counts, and how it begins where there is none.
    let name = |row: &Value| names.iter().find_map(|it| row[*it].as_str()).map(str::to_owned);
    let called =
        rows.iter().filter(|row| name(row).is_some_and(|it| same(&flat(&it), &flat(said))));
    let mut called: Vec<String> = called.map(|row| plain(&row[id])).collect();
    match called.len() {
        0 => {
            let known: Vec<(String, String)> = rows
                .iter()
                .flat_map(|row| [name(row), Some(plain(&row[id]))].map(|it| (it, plain(&row[id]))))
                .filter_map(|(it, id)| Some((it?, id)))
                .collect();
            let near = Some(said).filter(|said| said.chars().count() >= GUESSED_CHARS_MIN);
            let near = near.and_then(|it| nearest(it, known.iter().map(|(it, _)| it.as_str())));
            let near = near.and_then(|near| known.iter().find(|(it, _)| it == near));
            Meant::Nothing(near.map(|(it, id)| match it == id {
                true => format!("`{id}`"),
                false => format!("`{id}` ({})", super::known::short(it, 40)),
            }))
        }
        1 => Meant::Called(called.remove(0)),
        _ => Meant::Several(called),
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Thing<'_> {
    /// What the path means by it.
    pub fn meant(&self, rows: &Value) -> Meant {
        meant(rows, (self.kind.id, self.kind.names), &self.said)
    }

    /// The path with this id in its place.
    pub fn with(&self, id: &str) -> String {
        let mut path = self.around.0.to_owned();
        percent::encode_into(&mut path, id);
        path + self.around.1
    }

    /// An answer that says that there is none, with what was probably meant.
    pub fn suggested(&self, answer: Vec<u8>, near: Option<&str>) -> Vec<u8> {
        let Ok(mut told) = serde_json::from_slice::<Value>(&answer) else { return answer };
        let message = told["error"]["message"].as_str().unwrap_or_default();
        // Where to look is said once.
        let message = message.split("; `insula ").next().unwrap_or_default();
        let more = match near {
            Some(near) => format!("did you mean {near}?"),
            None => {
                format!("`insula {}` has them all", self.kind.listed_by.replace("{}", &self.of))
            }
        };
        told["error"]["message"] = format!("{message}; {more}").into();
        told.to_string().into_bytes()
    }
}

/// What is said where several are called so.
pub fn several(said: &str, ids: &[String]) -> String {
    format!("several are called `{}`; say the id: {}", crate::output::clean(said), ids.join(", "))
}

impl Thing<'_> {
    /// What is said where several are called so.
    pub fn several(&self, ids: &[String]) -> String {
        several(&self.said, ids)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_names_things_of_agents_and_boards_and_tokens() {
        let lists = |path: &str| -> Vec<(String, String)> {
            in_path(path).into_iter().map(|it| (it.said, it.list)).collect()
        };
        let one = |said: &str, list: &str| vec![(said.to_owned(), list.to_owned())];
        let sessions = "/api/sessions?agent=coder&limit=200";
        let shown = "/api/agents/coder/sessions/Garden%20plans?limit=5";
        assert_eq!(lists(shown), one("Garden plans", sessions));
        assert_eq!(in_path(shown)[0].with("3"), "/api/agents/coder/sessions/3?limit=5");
        assert_eq!(lists("/api/agents/a/jobs/tidy/run"), one("tidy", "/api/agents/a/jobs"));
        assert_eq!(
            in_path("/api/agents/a/jobs/tydi/run")[0].with("tidy"),
            "/api/agents/a/jobs/tidy/run"
        );
        assert_eq!(
            lists("/api/boards/house/cards/mow"),
            [one("house", "/api/boards"), one("mow", "/api/boards/house/cards")].concat()
        );
        assert_eq!(lists("/api/tokens/ci"), one("ci", "/api/tokens"));
        for path in [
            "/api/agents/coder",
            "/api/agents/coder/jobs",
            "/api/agents/a/turns/5",
            "/api/boards",
            "/x",
        ] {
            assert!(in_path(path).is_empty(), "{path}");
        }
    }

    #[test]
    fn an_id_counts_before_what_things_are_called() {
        let rows = json!([
            { "id": 3, "title": "Garden  plans" }, { "id": 4, "title": "3" },
            { "id": 5, "title": null, "begins": "Twin" }, { "id": 6, "title": "twin", "begins": "x" },
        ]);
        let meant = |said: &str| meant(&rows, ("id", &["title", "begins"]), said);
        assert_eq!(meant("3"), Meant::Id);
        assert_eq!(meant("garden plans"), Meant::Called("3".into()));
        assert_eq!(meant("twin"), Meant::Several(vec!["5".into(), "6".into()]));
        assert_eq!(meant("x"), Meant::Nothing(None), "it has a title");
        assert_eq!(meant("gardn plans"), Meant::Nothing(Some("`3` (Garden plans)".into())));
    }
}
