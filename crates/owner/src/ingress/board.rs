//! `/board`: cards of the boards that somebody in a chat may see themselves, or that the agent may
//! and they are its admin. What stands on cards is shown where nobody else reads along.

use super::typed::{Clerk, Typing};
use insula_config::board::Board;
use insula_domain::{Actor, Audience, BlockKind, BoardRight, CardId, CardStatus, ChatType, Label};
use insula_registry::boards::{AgentSeat, BoardError, Desk, NewCard, Seat};
use insula_registry::context::keep_place;
use insula_store::{CardFilter, CardRow, CardWhole};
use std::sync::Arc;

const HOW: &str = "/board [BOARD] list [STATUS], show CARD, add [@WHO] TITLE [| TEXT], claim CARD, keep CARD, comment CARD TEXT, done CARD [RESULT], block CARD WHY; BOARD may be left out where you see one";

/// What stands on cards is shown where nobody else reads along.
const READ_HERE: &str = "others read here; say it to me in a direct chat";

/// Cards that one answer lists.
const CARDS_SHOWN: usize = 30;
/// Characters of one text of a card that an answer shows.
const TEXT_CHARS_MAX: usize = 1_500;
/// Comments of a card that an answer shows, the latest.
const COMMENTS_SHOWN: usize = 5;

/// What somebody wants of a board.
#[derive(Debug, PartialEq, Eq)]
enum Wish<'t> {
    /// Which boards there are.
    Boards,
    List(Option<&'t str>),
    Show(&'t str),
    Add(&'t str),
    Claim(&'t str),
    Keep(&'t str),
    Comment(&'t str, &'t str),
    Done(&'t str, &'t str),
    Block(&'t str, &'t str),
}

/// Says what was typed: of which board, where it is named, and what is wanted. Nothing where it
/// makes no sense.
fn read(text: &str) -> Option<(Option<&str>, Wish<'_>)> {
    let (first, rest) = word(text);
    if first.is_empty() {
        return Some((None, Wish::Boards));
    }
    // A verb is never taken for the name of a board.
    if VERBS.contains(&first) {
        return Some((None, wish(first, rest)?));
    }
    let (verb, rest) = word(rest);
    match verb {
        "" => Some((Some(first), Wish::List(None))),
        verb => Some((Some(first), wish(verb, rest)?)),
    }
}

/// What [`wish`] knows.
const VERBS: [&str; 8] = ["list", "show", "add", "claim", "keep", "comment", "done", "block"];

fn wish<'t>(verb: &str, rest: &'t str) -> Option<Wish<'t>> {
    let (card, more) = word(rest);
    let has = |wish: Wish<'t>| (!card.is_empty()).then_some(wish);
    let says = |wish: Wish<'t>| (!card.is_empty() && !more.is_empty()).then_some(wish);
    match verb {
        "list" => Some(Wish::List((!card.is_empty()).then_some(card))),
        "show" => has(Wish::Show(card)),
        "add" => has(Wish::Add(rest)),
        "claim" => has(Wish::Claim(card)),
        "keep" => has(Wish::Keep(card)),
        "comment" => says(Wish::Comment(card, more)),
        "done" => has(Wish::Done(card, more)),
        "block" => says(Wish::Block(card, more)),
        _ => None,
    }
}

fn word(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim()))
}

fn number(text: &str) -> Result<CardId, String> {
    CardId::parse(text).ok_or_else(|| format!("`{text}` is not the number of a card"))
}

/// Whether nobody else reads what is answered.
fn is_alone(cx: &Typing<'_>) -> bool {
    cx.address.chat_type == ChatType::Dm
}

fn in_words(error: &BoardError) -> String {
    error.to_string()
}

impl Clerk<'_> {
    /// Carries it out; what is said to whoever typed it.
    pub async fn board(&self, cx: &Typing<'_>, argument: &str) -> String {
        let Some((name, wish)) = read(argument) else { return HOW.to_owned() };
        let done = match wish {
            Wish::Boards if !is_alone(cx) => Err(READ_HERE.to_owned()),
            Wish::Boards => self.boards_told(cx).await,
            wish => match self.board_meant(cx, name) {
                Ok(board) => self.with_board(cx, &board, wish).await,
                Err(why) => Err(why),
            },
        };
        done.unwrap_or_else(|why| why)
    }

    /// Whether somebody may do this with a board here: by their own right, or as an admin of the
    /// agent by its right. The agent has to see it in any case.
    fn may(cx: &Typing<'_>, board: &Board, right: BoardRight) -> bool {
        let agents = board.rights_of(&cx.agent.id);
        agents.has(BoardRight::See)
            && (board.rights_of_person(&cx.who).has(right) || (cx.is_admin && agents.has(right)))
    }

    fn boards_here(&self, cx: &Typing<'_>) -> Vec<Arc<Board>> {
        let snapshot = self.registry.snapshot();
        let all = snapshot.daemon.boards.values();
        all.filter(|board| Self::may(cx, board, BoardRight::See)).cloned().collect()
    }

    /// The board that is meant: by its name, or the only one. What somebody may not see is not
    /// there.
    fn board_meant(&self, cx: &Typing<'_>, name: Option<&str>) -> Result<Arc<Board>, String> {
        let all = self.boards_here(cx);
        let names = || all.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        match (name, all.as_slice()) {
            (Some(name), _) => all
                .iter()
                .find(|board| board.name.as_str() == name)
                .cloned()
                .ok_or_else(|| format!("there is no board `{name}`\n{HOW}")),
            (None, [one]) => Ok(one.clone()),
            (None, []) => Err("there are no boards".to_owned()),
            (None, _) if is_alone(cx) => Err(format!("say which board: {}", names())),
            (None, _) => Err("say which board".to_owned()),
        }
    }

    /// The board in the hands of whoever speaks, or of the agent where they are its admin.
    fn desk_here(&self, cx: &Typing<'_>, board: &Board, right: BoardRight) -> Result<Desk, String> {
        let who = cx.who.clone();
        let seat = match board.rights_of_person(&who).has(right) {
            true => Seat::Person(who),
            false => Self::agents_seat(cx, who),
        };
        self.boards.desk(board.name.as_str(), seat).map_err(|error| in_words(&error))
    }

    fn agents_seat(cx: &Typing<'_>, principal: Actor) -> Seat {
        let address = cx.address;
        let here = Audience::of(address);
        Seat::Agent(Box::new(AgentSeat {
            agent: cx.agent.clone(),
            principal,
            seen: Label::of(here.clone()),
            here,
            claim: None,
            place: cx.is_chat.then(|| keep_place(address)),
        }))
    }

    async fn boards_told(&self, cx: &Typing<'_>) -> Result<String, String> {
        let mut lines = Vec::new();
        for board in self.boards_here(cx) {
            let desk = self.desk_here(cx, &board, BoardRight::See)?;
            let counts = desk.counts().await.map_err(|error| in_words(&error))?;
            let open = counts.iter().filter(|(status, count)| !status.is_over() && *count > 0);
            let counts: Vec<String> =
                open.map(|(status, count)| format!("{count} {status}")).collect();
            let counts = if counts.is_empty() { "nothing open".into() } else { counts.join(", ") };
            let about = board.description.as_deref().map(|it| format!(" ({it})"));
            lines.push(format!("{}{}: {counts}", board.name, about.unwrap_or_default()));
        }
        Ok(match lines.is_empty() {
            true => "there are no boards".to_owned(),
            false => lines.join("\n"),
        })
    }

    async fn with_board(
        &self,
        cx: &Typing<'_>,
        board: &Board,
        wish: Wish<'_>,
    ) -> Result<String, String> {
        if matches!(wish, Wish::List(_) | Wish::Show(_)) && !is_alone(cx) {
            return Err(READ_HERE.to_owned());
        }
        let see = || self.desk_here(cx, board, BoardRight::See);
        // Whoever works on a card does so as themselves.
        let own = || {
            let seat = Seat::Person(cx.who.clone());
            let desk = self.boards.desk(board.name.as_str(), seat);
            desk.map_err(|_| {
                format!("you have no right of your own to board `{}`; the operator gives it in `boards.{}.people`", board.name, board.name)
            })
        };
        let told = match wish {
            Wish::Boards => return self.boards_told(cx).await,
            Wish::List(status) => return listed(&see()?, status).await,
            Wish::Show(card) => {
                let whole = see()?.show(number(card)?).await.map_err(|error| in_words(&error))?;
                return Ok(shown(&whole));
            }
            Wish::Add(text) => {
                return self.add_card(cx, board, text).await;
            }
            Wish::Claim(card) => own()?.claim(number(card)?).await.map(|row| {
                let until = row.lease_until.map(|at| at.to_string()).unwrap_or_default();
                let (card, name) = (row.id, &board.name);
                let title = if is_alone(cx) { format!(": {}", row.title) } else { String::new() };
                format!("card {card} is yours until {until}{title}\n/board {name} keep {card} keeps it, /board {name} done {card} RESULT or /board {name} block {card} WHY ends it")
            }),
            Wish::Keep(card) => {
                let (desk, card) = (own()?, number(card)?);
                let run = desk.show(card).await.map_err(|error| in_words(&error))?.row.run;
                desk.heartbeat(card, run, None).await.map(|row| {
                    let until = row.lease_until.map(|at| at.to_string()).unwrap_or_default();
                    format!("card {card} is yours until {until}")
                })
            }
            Wish::Comment(card, text) => {
                let right = BoardRight::Add;
                if !Self::may(cx, board, right) {
                    return Err(missing(right, board));
                }
                let done = self.desk_here(cx, board, right)?.comment(number(card)?, text).await;
                done.map(|row| format!("it stands on card {}", row.id))
            }
            Wish::Done(card, result) => {
                let done = own()?.complete(number(card)?, result).await;
                done.map(|row| format!("card {} is {}", row.id, row.status))
            }
            Wish::Block(card, why) => {
                let done = own()?.block(number(card)?, BlockKind::NeedsInput, why).await;
                done.map(|row| format!("card {} is {}", row.id, row.status))
            }
        };
        told.map_err(|error| in_words(&error))
    }

    /// Adds a card: by the agent where it may, so that what becomes of it is told here.
    async fn add_card(&self, cx: &Typing<'_>, board: &Board, text: &str) -> Result<String, String> {
        let right = BoardRight::Add;
        if !Self::may(cx, board, right) {
            return Err(missing(right, board));
        }
        let (first, rest) = word(text);
        let (assignee, text) = match first.strip_prefix('@') {
            Some(who) => (Some(who.into()), rest),
            None => (None, text),
        };
        let (title, body) = text.split_once('|').unwrap_or((text, ""));
        let who = cx.who.clone();
        let seat = match board.rights_of(&cx.agent.id).has(right) {
            true => Self::agents_seat(cx, who),
            false => Seat::Person(who),
        };
        let desk = self.boards.desk(board.name.as_str(), seat);
        let new = NewCard {
            title: title.trim().to_owned(),
            body: body.trim().to_owned(),
            assignee,
            // The same event twice adds one card.
            request: cx.event.clone(),
            ..NewCard::default()
        };
        let desk = desk.map_err(|error| in_words(&error))?;
        let row = desk.add(new).await.map_err(|error| in_words(&error))?;
        Ok(format!("card {} is added to board {}; it is {}", row.id, board.name, row.status))
    }
}

fn missing(right: BoardRight, board: &Board) -> String {
    let (right, name) = (right.as_str(), &board.name);
    format!(
        "that takes the right `{right}` on board `{name}`; the operator gives it in `boards.{name}`"
    )
}

async fn listed(desk: &Desk, status: Option<&str>) -> Result<String, String> {
    let wanted = match status {
        Some(text) => {
            let names: Vec<&str> = CardStatus::ALL.iter().map(|it| it.as_str()).collect();
            let unknown = || format!("`{text}` is no status; there are: {}", names.join(", "));
            Some(CardStatus::parse(text).ok_or_else(unknown)?)
        }
        None => None,
    };
    let filter = CardFilter { status: wanted.into_iter().collect(), ..CardFilter::default() };
    let mut cards = desk.list(filter).await.map_err(|error| in_words(&error))?;
    if wanted.is_none() {
        cards.retain(|row| !row.status.is_over());
    }
    if cards.is_empty() {
        return Ok("there are no such cards".to_owned());
    }
    let mut lines: Vec<String> = cards.iter().take(CARDS_SHOWN).map(line).collect();
    match cards.len().saturating_sub(CARDS_SHOWN) {
        0 => {}
        more => lines.push(format!("… and {more} more; `list STATUS` shows some of them")),
    }
    Ok(lines.join("\n"))
}

fn line(row: &CardRow) -> String {
    let who = row.worker.as_ref().or(row.assignee.as_ref());
    let who = who.map(|who| format!(" ({who})")).unwrap_or_default();
    format!("{} [{}] {}{who}", row.id, row.status, row.title)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn shown(whole: &CardWhole) -> String {
    let row = &whole.row;
    let mut told = vec![line(row)];
    if let Some(why) = &row.why {
        told.push(format!("why: {}", cut(why)));
    }
    if !row.body.trim().is_empty() {
        told.push(cut(row.body.trim()));
    }
    let from = whole.comments.len().saturating_sub(COMMENTS_SHOWN);
    for it in &whole.comments[from..] {
        let by = it.agent.as_ref().map_or_else(|| it.author.to_string(), ToString::to_string);
        told.push(format!("{by}: {}", cut(&it.text)));
    }
    if let Some(result) = &row.result {
        told.push(format!("result: {}", cut(result)));
    }
    told.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_may_be_named_and_what_makes_no_sense_is_nothing() {
        for (text, meant) in [
            ("", Some((None, Wish::Boards))),
            ("list", Some((None, Wish::List(None)))),
            ("list blocked", Some((None, Wish::List(Some("blocked"))))),
            ("work", Some((Some("work"), Wish::List(None)))),
            ("work  show  3", Some((Some("work"), Wish::Show("3")))),
            (
                "add @coder Mend it | The  sign-in",
                Some((None, Wish::Add("@coder Mend it | The  sign-in"))),
            ),
            ("work done 3", Some((Some("work"), Wish::Done("3", "")))),
            ("comment 3 it is late", Some((None, Wish::Comment("3", "it is late")))),
            ("comment 3", None),
            ("block 3", None),
            ("add", None),
            ("work dance 3", None),
        ] {
            assert_eq!(read(text), meant, "{text:?}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"ä".repeat(TEXT_CHARS_MAX + 1)).chars().count(), TEXT_CHARS_MAX + 1);
    }
}
