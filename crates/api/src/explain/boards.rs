//! Whether an agent reads or writes what is on a board, and by which right. Only the operator asks,
//! so every board is told of.

use super::files::Access;
use super::tools::without;
use super::{Finding, Subject};
use insula_config::board::Board;
use insula_domain::{Actor, AgentId, BoardRight, CardId};
use insula_registry::tokens::Verb;
use std::sync::Arc;

/// A board that was asked about, and the card of it where one was.
pub(super) struct Named {
    board: Arc<Board>,
    card: Option<CardId>,
    /// How it was named, where a file might be named so too.
    is_bare: bool,
}

fn known(subject: &Subject<'_>) -> Vec<Arc<Board>> {
    subject.api.registry.snapshot().daemon.boards.values().cloned().collect()
}

/// The board that is meant by `board NAME`, `card NAME/NUMBER`, `card NUMBER`, or by a name alone;
/// none where it is a file.
pub(super) fn named(subject: &Subject<'_>, what: &str) -> Result<Option<Named>, String> {
    let all = known(subject);
    let board = |name: &str| all.iter().find(|it| it.name.as_str() == name).cloned();
    let missing = |name: &str| format!("there is no board `{}`", name.escape_debug());
    let what = what.trim();
    if let Some(name) = what.strip_prefix("board ") {
        let board = board(name.trim()).ok_or_else(|| missing(name.trim()))?;
        return Ok(Some(Named { board, card: None, is_bare: false }));
    }
    let (card, is_bare) = match what.strip_prefix("card ") {
        Some(card) => (card.trim(), false),
        None => (what, true),
    };
    if let Some((name, number)) = card.split_once(['/', ' ', '#'])
        && let Some(number) = CardId::parse(number.trim())
        && !name.is_empty()
    {
        return match board(name) {
            Some(board) => Ok(Some(Named { board, card: Some(number), is_bare })),
            None if is_bare => Ok(None),
            None => Err(missing(name)),
        };
    }
    if is_bare {
        return Ok(board(card).map(|board| Named { board, card: None, is_bare }));
    }
    let number = CardId::parse(card)
        .ok_or_else(|| format!("`{}` is not the number of a card", card.escape_debug()))?;
    // Of several boards those are meant that the agent has a right to.
    let rights = |it: &&Arc<Board>| !it.rights_of(&subject.agent.id).is_none();
    let own: Vec<_> = all.iter().filter(rights).collect();
    match (own.as_slice(), all.as_slice()) {
        ([one], _) => Ok(Some(Named { board: (*one).clone(), card: Some(number), is_bare })),
        (_, [one]) => Ok(Some(Named { board: one.clone(), card: Some(number), is_bare })),
        _ => Err(format!("say of which board: `card BOARD/{number}`")),
    }
}

/// Whether what is there can be read, or written on.
pub(super) fn find(subject: &Subject<'_>, access: Access, named: &Named) -> Finding {
    let finding = decide(subject, access, named);
    match named.is_bare {
        true => {
            finding.note("a file of that name in its workspace is asked for with `./` before it")
        }
        false => finding,
    }
}

fn decide(subject: &Subject<'_>, access: Access, Named { board, card, .. }: &Named) -> Finding {
    let (agent, name) = (&subject.agent, &board.name);
    let (right, tool, role) = match access {
        Access::Read => (BoardRight::See, "kanban_show", "see"),
        Access::Write => (BoardRight::Add, "kanban_comment", "add"),
    };
    let what = match card {
        // Whether there is such a card is not looked at.
        Some(card) => format!("a card {card} would be on board `{name}`"),
        None => format!("`{name}` is a board"),
    };
    let rights = board.rights_of(&agent.id);
    if !rights.has(right) {
        let rule = match rights.is_none() {
            true => format!("{what}, to which it has no right: to it there is no such board"),
            false => {
                format!("{what}, where it may `{rights}`, and that takes `{}`", right.as_str())
            }
        };
        return Finding::no(rule).right(board, &agent.id).change(format!(
            "give it the right: `boards: {{{name}: {{agents: {{{}: {role}}}}}}}`",
            agent.id
        ));
    }
    if let Some(finding) = without(subject, tool) {
        return finding.right(board, &agent.id);
    }
    if access == Access::Read && !shows_all(subject, board) {
        return Finding::no(format!(
            "{what}: in chats of others than its admins and the people of the board it shows cards that were asked for there, and no others"
        ))
        .right(board, &agent.id)
        .change(format!("give them a right of their own: `boards.{name}.people`"));
    }
    let mut finding = Finding::yes(format!("{what}, where it may `{rights}`"))
        .by(["tools"])
        .right(board, &agent.id)
        .note("while it works on a card it reads that card, those it waited for and its parts, and writes on that card alone");
    if subject.address.is_none() {
        finding =
            finding.note("in a chat it shows what those there may read; name where with --as");
    }
    finding
}

/// Whether it shows every card where it is asked.
fn shows_all(subject: &Subject<'_>, board: &Board) -> bool {
    let Some(address) = &subject.address else { return true };
    let Some(user) = &address.user else { return false };
    let who = Actor::from(format!("{}:{user}", address.platform).as_str());
    board.rights_of_person(&who).has(BoardRight::See)
        || subject.api.access.is_admin(&subject.agent, &who, Verb::Read)
}

/// The boards by which an agent sees what another does, and how that is said.
pub(super) fn shared(subject: &Subject<'_>, other: &AgentId) -> Vec<(Arc<Board>, String)> {
    let mut shared = Vec::new();
    for board in known(subject) {
        let (own, theirs) = (board.rights_of(&subject.agent.id), board.rights_of(other));
        if own.has(BoardRight::See) && !theirs.is_none() {
            let way = format!(
                "the cards of board `{}`, where it may `{own}` and `{other}` may `{theirs}`",
                board.name
            );
            shared.push((board, way));
        }
    }
    shared
}
