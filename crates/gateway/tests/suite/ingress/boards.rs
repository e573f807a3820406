//! Cards of boards, from whoever asks for one to what comes of it. The model does what the words it
//! is shown tell it to: `DO tool {arguments}` for who works, `LOOK tool {arguments}` for who
//! reviews.

use crate::ingress::support::{Fixture, again, calls, dm, group, process, says, shown, with};
use insula_domain::{Actor, BlockKind, CardId, CardStatus};
use insula_registry::boards::{BoardError, Desk, NewCard, Seat};
use insula_store::{CardFilter, CardWhole};
use insula_testkit::upstream::{Seen, Step};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const ACCOUNT: &str = "channels: {telegram: {accounts: {main: {token: '1:x'}}}}\n";
const ACCESS: &str = "access: {allow: ['telegram:1', 'telegram:2'], admins: ['telegram:9']}";

pub(super) fn config(boards: &str) -> String {
    format!(
        "{ACCOUNT}agents:\n  a: {{default: true, {ACCESS}}}\n  b: {{{ACCESS}}}\n  c: {{{ACCESS}}}\nboards:\n  {boards}\n"
    )
}

/// Does what it is told, one call after the other, and says so.
pub(super) fn obedient(seen: &Seen, _: usize) -> Vec<Step> {
    let heard = shown(seen);
    // A message is shown in pieces, which come one after the other.
    let is_told = |(role, _): &&(String, String)| role == "user";
    let at = heard
        .iter()
        .rposition(|it| is_told(&it))
        .map_or(0, |last| last + 1 - heard[..=last].iter().rev().take_while(is_told).count());
    let told: Vec<&str> = heard[at..].iter().filter(is_told).map(|it| &*it.1).collect();
    let told = told.join("\n");
    let word = if told.contains("You review the card") { "LOOK " } else { "DO " };
    let wishes: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix(word)).collect();
    let done = heard[at..].iter().filter(|(role, _)| role == "tool").count();
    match wishes.get(done).and_then(|wish| wish.split_once(' ')) {
        Some((tool, arguments)) => calls(&format!("call-{done}"), tool, arguments),
        None => says("I am done"),
    }
}

pub(super) async fn open(boards: &str) -> Fixture {
    with(&config(boards), insula_tools::BUILT_IN, obedient).await
}

pub(super) fn begin(fixture: &Fixture) -> CancellationToken {
    let stop = CancellationToken::new();
    tokio::spawn(fixture.owner.workers().clone().run(stop.clone()));
    stop
}

pub(super) fn desk_of(fixture: &Fixture, who: Actor) -> Result<Desk, BoardError> {
    fixture.daemon.opened().parts.boards.desk("work", Seat::Person(who))
}

pub(super) fn desk(fixture: &Fixture) -> Desk {
    desk_of(fixture, Actor::CommandLine).unwrap()
}

pub(super) fn for_agent(agent: &str, body: &str) -> NewCard {
    NewCard {
        title: "A thing".to_owned(),
        body: body.to_owned(),
        assignee: Some(agent.into()),
        ..NewCard::default()
    }
}

/// A card once it is as it should be.
pub(super) async fn when(
    fixture: &Fixture,
    card: CardId,
    is_it: impl Fn(&CardWhole) -> bool,
) -> CardWhole {
    for _ in 0..40_000 {
        let whole = desk(fixture).show(card).await.unwrap();
        if is_it(&whole) {
            return whole;
        }
        tokio::task::yield_now().await;
    }
    panic!("{:#?}", desk(fixture).show(card).await);
}

pub(super) async fn until(fixture: &Fixture, card: CardId, status: CardStatus) -> CardWhole {
    when(fixture, card, |it| it.row.status == status).await
}

pub(super) fn results(fixture: &Fixture) -> Vec<String> {
    let seen = fixture.upstream.seen();
    let all = seen.iter().flat_map(shown).filter(|(role, _)| role == "tool").map(|it| it.1);
    all.collect()
}

#[tokio::test]
async fn a_card_is_done_by_whom_it_is_for_in_a_conversation_and_a_folder_of_its_own() {
    let fixture = open("work: {agents: {a: manage, b: work}}").await;
    let _stop = begin(&fixture).drop_guard();
    let body = "DO write_file {\"path\": \"x.txt\", \"content\": \"made\"}\nDO kanban_attach {\"path\": \"x.txt\"}\nDO kanban_complete {\"result\": \"it is made\"}";
    let card = desk(&fixture).add(for_agent("b", body)).await.unwrap();
    let whole = until(&fixture, card.id, CardStatus::Done).await;
    assert_eq!(whole.row.result.as_deref(), Some("it is made"));
    assert_eq!(whole.row.result_by.as_deref(), Some("agent:b"));
    assert_eq!(whole.files.len(), 1);
    let whole = when(&fixture, card.id, |it| it.runs[0].turn.is_some()).await;
    assert_eq!(whole.runs[0].outcome.as_deref(), Some("completed"));
    let sessions = fixture.agent("b").store.sessions(None, 9).await.unwrap();
    assert_eq!(sessions.len(), 1);
    assert_eq!(&*sessions[0].key, "agent:b:board:work:dm:1");
    assert_eq!(sessions[0].scope.as_str(), "chat:board:work:1");
    let made = "agents/b/conversations/board+work+dm+1/workspace/x.txt";
    assert_eq!(fixture.files.read(made).unwrap(), "made");
    assert!(fixture.files.read("agents/b/workspace/x.txt").is_err());
    assert!(fixture.agent("a").store.sessions(None, 9).await.unwrap().is_empty());
    let trail = fixture.agent("b").store.audit_tail(100).await.unwrap();
    let claimed = trail.iter().filter(|it| &*it.kind == "card.claimed");
    let claimed = claimed.map(|it| serde_json::from_str(it.content.as_ref().unwrap()).unwrap());
    let claimed: Vec<serde_json::Value> = claimed.collect();
    let wanted = serde_json::json!({ "board": "work", "card": 1, "run": 1, "as": "work" });
    assert_eq!(claimed, [wanted]);
    // The words on the card stand between marks.
    let first = shown(&fixture.upstream.seen()[0]);
    assert!(first.iter().any(|it| it.1.contains("<untrusted id=")), "{first:?}");
}

#[tokio::test]
async fn hooks_of_who_works_on_a_card_hear_what_becomes_of_it_and_no_other_does() {
    let hooks = "hooks: {kanban_task_claimed: [{expr: 'true'}], kanban_task_completed: [{expr: 'true'}], kanban_task_blocked: [{expr: 'true'}]}, ";
    let text = config("work: {agents: {b: work, c: manage}}");
    let text = text.replace("  b: {", &format!("  b: {{{hooks}"));
    let text = text.replace("  c: {", &format!("  c: {{{hooks}"));
    let fixture = with(&text, insula_tools::BUILT_IN, obedient).await;
    let _stop = begin(&fixture).drop_guard();
    for body in
        ["DO kanban_complete {\"result\": \"x\"}", "DO kanban_block {\"reason\": \"no key\"}"]
    {
        let card = desk(&fixture).add(for_agent("b", body)).await.unwrap();
        when(&fixture, card.id, |it| it.runs.iter().any(|run| run.turn.is_some())).await;
        while fixture.owner.workers().running() > 0 {
            tokio::task::yield_now().await;
        }
    }
    let heard = async |agent: &str| -> Vec<String> {
        let records = fixture.agent(agent).store.audit_tail(100).await.unwrap();
        let hooks = records.iter().filter(|it| &*it.kind == "hook");
        let events = hooks.map(|it| {
            let content: serde_json::Value =
                serde_json::from_str(it.content.as_deref().unwrap()).unwrap();
            content["event"].as_str().unwrap().to_owned()
        });
        events.collect()
    };
    let all = [
        "kanban_task_claimed",
        "kanban_task_completed",
        "kanban_task_claimed",
        "kanban_task_blocked",
    ];
    assert_eq!(heard("b").await, all);
    assert_eq!(heard("c").await, Vec::<String>::new());
}

#[tokio::test]
async fn two_failures_block_a_card_and_say_why() {
    let fixture = open("work: {agents: {b: work}}").await;
    let _stop = begin(&fixture).drop_guard();
    let card = desk(&fixture).add(for_agent("b", "nothing to call here")).await.unwrap();
    let whole = until(&fixture, card.id, CardStatus::Blocked).await;
    assert_eq!(whole.row.block, Some(BlockKind::Transient));
    let why = whole.row.why.unwrap();
    assert_eq!(
        why,
        "it failed 2 times, at last: its worker stopped without completing or blocking it"
    );
    let outcomes: Vec<_> = whole.runs.iter().map(|it| it.outcome.as_deref().unwrap()).collect();
    assert_eq!(outcomes, ["protocol", "protocol"]);
    // It was reminded once each time.
    assert_eq!(fixture.asked(), 4);
}

#[tokio::test]
async fn a_board_without_a_grant_is_one_that_does_not_exist() {
    let fixture = open("work: {agents: {b: work}, people: {'telegram:2': see}}").await;
    desk(&fixture).add(for_agent("b", "secret plan")).await.unwrap();
    let refused = desk_of(&fixture, "telegram:1".into()).err().unwrap().to_string();
    assert_eq!(refused, "there is no board `work`");
    let absent =
        fixture.daemon.opened().parts.boards.desk("wrok", Seat::Person("telegram:1".into()));
    assert_eq!(absent.err().unwrap().to_string().replace("wrok", "work"), refused);
    let boards = &fixture.daemon.opened().parts.boards;
    assert!(boards.seen_by(&Seat::Person("telegram:1".into())).is_empty());
    let seen = desk_of(&fixture, "telegram:2".into()).unwrap();
    assert_eq!(seen.list(CardFilter::default()).await.unwrap().len(), 1);
    let no = seen.add(for_agent("b", "x")).await.unwrap_err();
    assert!(matches!(no, BoardError::NotAllowed(_)), "{no}");
    let no = seen.comment(CardId(1), "x").await.unwrap_err();
    assert!(matches!(no, BoardError::NotAllowed(_)), "{no}");
    // An agent that is not of the board has no tool for it.
    let tools = |agent: &str| fixture.engine.has_tool(&fixture.agent(agent), "kanban_list");
    assert!(tools("b") && !tools("a") && !tools("c"));
}

#[tokio::test]
async fn a_worker_reads_and_writes_its_own_card_alone() {
    let fixture = open("work: {agents: {b: manage, c: work}}").await;
    let other = NewCard { assignee: None, ..for_agent("b", "the other secret") };
    let other = desk(&fixture).add(other).await.unwrap();
    let _stop = begin(&fixture).drop_guard();
    let body = "DO kanban_show {\"task_id\": \"1\"}\nDO kanban_comment {\"task_id\": \"1\", \"text\": \"hi\"}\nDO kanban_complete {\"task_id\": \"1\", \"result\": \"x\"}\nDO kanban_list {}\nDO kanban_unblock {\"task_id\": \"1\"}\nDO kanban_link {\"parent_id\": \"1\", \"child_id\": \"2\"}\nDO kanban_complete {\"result\": \"mine\"}";
    let card = desk(&fixture).add(for_agent("b", body)).await.unwrap();
    let whole = until(&fixture, card.id, CardStatus::Done).await;
    assert_eq!(whole.row.result.as_deref(), Some("mine"));
    let told = results(&fixture);
    assert!(told.iter().all(|it| !it.contains("the other secret")), "{told:?}");
    let refused = told.iter().filter(|it| it.contains("board `work` has no card 1")).count();
    assert!(refused >= 5, "{told:?}");
    let other = desk(&fixture).show(other.id).await.unwrap();
    assert_eq!((other.row.status, other.comments.len()), (CardStatus::Triage, 0));
}

#[tokio::test]
async fn a_review_sends_back_and_lets_pass() {
    let fixture = open("work: {agents: {b: work, c: review}, reworks: 1}").await;
    let _stop = begin(&fixture).drop_guard();
    let body = "DO kanban_complete {\"result\": \"first try\"}\nLOOK kanban_complete {\"result\": \"good\"}";
    let card = NewCard { reviewer: Some("c".into()), ..for_agent("b", body) };
    let card = desk(&fixture).add(card).await.unwrap();
    let whole = until(&fixture, card.id, CardStatus::Done).await;
    // Who looked at it did not replace it.
    assert_eq!(whole.row.result.as_deref(), Some("first try"));
    let runs: Vec<_> =
        whole.runs.iter().map(|it| (&*it.worker, &*it.kind, it.outcome.as_deref())).collect();
    assert_eq!(
        runs,
        [("agent:b", "work", Some("review_requested")), ("agent:c", "review", Some("approved"))]
    );
    let body =
        "DO kanban_complete {\"result\": \"again\"}\nLOOK kanban_block {\"reason\": \"not yet\"}";
    let card = NewCard { reviewer: Some("c".into()), ..for_agent("b", body) };
    let card = desk(&fixture).add(card).await.unwrap();
    let whole = until(&fixture, card.id, CardStatus::Blocked).await;
    assert_eq!(whole.row.block, Some(BlockKind::NeedsInput));
    assert_eq!(
        whole.row.why.as_deref(),
        Some("it came back from review 2 times, at last: not yet")
    );
}

#[tokio::test]
async fn a_card_is_split_within_bounds_and_comes_back_when_its_parts_are_done() {
    let fixture = open("work: {agents: {b: work, c: work}, max_depth: 1, max_parts: 2}").await;
    let _stop = begin(&fixture).drop_guard();
    let part = |name: &str| {
        format!(
            "DO kanban_create {{\"title\": \"{name}\", \"assignee\": \"c\", \"body\": \"DO kanban_create {{\\\"title\\\": \\\"deeper\\\"}}\\nDO kanban_complete {{\\\"result\\\": \\\"{name} is done\\\"}}\"}}"
        )
    };
    let body = format!(
        "{}\n{}\n{}\nDO kanban_block {{\"kind\": \"dependency\", \"reason\": \"parts first\"}}",
        part("one"),
        part("two"),
        part("three")
    );
    let card = desk(&fixture).add(for_agent("b", &body)).await.unwrap();
    let whole = when(&fixture, card.id, |it| it.runs.len() > 1).await;
    assert_eq!(whole.parts.len(), 2, "{whole:?}");
    assert_eq!(whole.runs[0].outcome.as_deref(), Some("waits"));
    for part in &whole.parts {
        let part = desk(&fixture).show(*part).await.unwrap();
        assert_eq!((part.row.status, part.row.depth), (CardStatus::Done, 1));
        assert!(part.parts.is_empty());
    }
    let told = results(&fixture);
    assert!(told.iter().any(|it| it.contains("can't be split any further")), "{told:?}");
    assert!(told.iter().any(|it| it.contains("has 2 parts already")), "{told:?}");
    // The second time it is told what its parts came to.
    let again = fixture.upstream.seen();
    let again = again.iter().flat_map(shown).filter(|(role, _)| role == "user");
    assert!(again.into_iter().any(|(_, text)| text.contains("one is done")));
}

#[tokio::test]
async fn what_a_chat_asked_for_is_told_there_and_others_do_not_see_it() {
    let fixture = open("work: {agents: {a: add, b: work}}").await;
    tokio::spawn(fixture.owner.delivery().clone().run(CancellationToken::new()));
    let _stop = begin(&fixture).drop_guard();
    let wish = "DO kanban_create {\"title\": \"For ann\", \"assignee\": \"b\", \"body\": \"DO kanban_complete {\\\"result\\\": \\\"forty-two\\\"}\"}";
    let said = fixture.ask(&dm("1"), wish).await;
    assert_eq!(said, "I am done");
    let posts = fixture.posts(2).await;
    assert_eq!(posts[1].1, "1");
    assert_eq!(posts[1].2, "Card 1 is done: For ann\nforty-two");
    // Somebody else asks the same agent what there is.
    fixture.ask(&dm("2"), "DO kanban_list {}\nDO kanban_show {\"task_id\": \"1\"}").await;
    let told = results(&fixture);
    assert_eq!(told[told.len() - 2], "there are no such cards");
    assert_eq!(told[told.len() - 1], "board `work` has no card 1");
    // Who asked, and an admin of the agent, do.
    fixture.ask(&dm("1"), "DO kanban_list {}").await;
    assert!(results(&fixture).last().unwrap().contains("For ann"));
    fixture.ask(&dm("9"), "DO kanban_show {\"task_id\": \"1\"}").await;
    assert!(results(&fixture).last().unwrap().contains("forty-two"));
}

#[tokio::test]
async fn what_is_taken_from_a_worker_is_not_its_any_more() {
    let fixture =
        open("work: {agents: {b: work}, people: {'telegram:2': [claim]}, lease: 1m}").await;
    let ben = desk_of(&fixture, "telegram:2".into()).unwrap();
    let card = desk(&fixture).add(for_agent("b", "")).await.unwrap();
    let claimed = ben.claim(card.id).await.unwrap();
    assert_eq!((claimed.status, claimed.run), (CardStatus::Running, 1));
    let twice = desk(&fixture).claim(card.id).await.unwrap_err();
    assert!(matches!(twice, BoardError::Step(_)), "{twice}");
    // A sign of life of another, or by another claim, is none.
    let forged = desk(&fixture).heartbeat(card.id, 1, None).await.unwrap_err();
    assert!(matches!(forged, BoardError::Lost(_)), "{forged}");
    let forged = ben.heartbeat(card.id, 2, None).await.unwrap_err();
    assert!(matches!(forged, BoardError::Lost(_)), "{forged}");
    ben.heartbeat(card.id, 1, Some("half")).await.unwrap();
    fixture.handles.clock.advance(Duration::from_secs(61)).await;
    let late = ben.complete(card.id, "late").await.unwrap_err();
    assert!(matches!(late, BoardError::Lost(_) | BoardError::NotAllowed(_)), "{late}");
    let late = ben.heartbeat(card.id, 1, None).await.unwrap_err();
    assert!(matches!(late, BoardError::Lost(_)), "{late}");
    let office = fixture.daemon.opened().parts.boards.desk("work", Seat::Daemon).unwrap();
    office.lapse().await.unwrap();
    let whole = desk(&fixture).show(card.id).await.unwrap();
    assert_eq!((whole.row.status, whole.row.failures), (CardStatus::Ready, 0));
    assert_eq!(whole.runs[0].outcome.as_deref(), Some("lapsed"));
}

#[tokio::test]
async fn a_card_waits_for_others_and_never_in_a_circle() {
    let fixture = open("work: {agents: {b: work}, max_running: 0}").await;
    let desk = desk(&fixture);
    let wrong = desk.add(for_agent("nobody", "")).await.unwrap_err().to_string();
    assert_eq!(
        wrong,
        "nobody and no kind of work on board `work` is called `nobody`; there are: b"
    );
    let one = desk.add(for_agent("b", "")).await.unwrap();
    let two = NewCard { needs: vec![one.id], ..for_agent("b", "") };
    let two = desk.add(two).await.unwrap();
    let three = NewCard { needs: vec![one.id, two.id], ..for_agent("b", "") };
    let three = desk.add(three).await.unwrap();
    assert_eq!((one.status, two.status), (CardStatus::Ready, CardStatus::Todo));
    assert!(matches!(desk.link(one.id, three.id).await, Err(BoardError::Wrong(_))));
    assert!(matches!(desk.link(one.id, one.id).await, Err(BoardError::Wrong(_))));
    desk.move_to(one.id, CardStatus::Done, None).await.unwrap();
    let status = async |card| desk.show(card).await.unwrap().row.status;
    assert_eq!(status(two.id).await, CardStatus::Ready);
    assert_eq!(status(three.id).await, CardStatus::Todo);
    desk.move_to(two.id, CardStatus::Done, None).await.unwrap();
    desk.move_to(one.id, CardStatus::Archived, None).await.unwrap();
    assert_eq!(status(three.id).await, CardStatus::Ready);
    let odd = desk.move_to(three.id, CardStatus::Todo, None).await.unwrap_err().to_string();
    assert_eq!(odd, "card 3 can't be `todo`: it would be `ready`");
}

#[tokio::test]
async fn a_right_that_is_taken_away_ends_the_work() {
    let fixture = open("work: {agents: {b: work}}").await;
    let stop = begin(&fixture);
    let body = "DO terminal {\"command\": \"sleep 600\", \"timeout\": 600}\nDO kanban_complete {\"result\": \"x\"}";
    let card = desk(&fixture).add(for_agent("b", body)).await.unwrap();
    when(&fixture, card.id, |it| it.row.worker.is_some()).await;
    fixture.reconfigure(|text| text.replace("{b: work}", "{b: see}")).await;
    let whole = when(&fixture, card.id, |it| it.row.worker.is_none()).await;
    assert_ne!(whole.row.status, CardStatus::Done);
    stop.cancel();
}

#[test]
fn a_crash_begins_no_card_twice_and_loses_none() {
    let boards = config("work: {agents: {b: work}}");
    let body = "DO kanban_complete {\"result\": \"once\"}";
    let (files, card) = process().block_on(async {
        let fixture = with(&boards, insula_tools::BUILT_IN, obedient).await;
        let card = desk(&fixture).add(for_agent("b", body)).await.unwrap();
        let office = fixture.daemon.opened().parts.boards.desk("work", Seat::Daemon).unwrap();
        let agent = fixture.agent("b").id.clone();
        // Taken, and then nobody was there any more.
        office.claim_for(card.id, &agent, insula_registry::boards::RunKind::Work).await.unwrap();
        (fixture.into_files(), card.id)
    });
    process().block_on(async {
        let fixture = again(files, &boards, insula_tools::BUILT_IN, obedient).await;
        let _stop = begin(&fixture).drop_guard();
        let whole = until(&fixture, card, CardStatus::Done).await;
        assert_eq!(whole.runs.len(), 1, "{whole:?}");
        assert_eq!(whole.row.result.as_deref(), Some("once"));
        let group = group("-5", "1");
        assert_ne!(fixture.ask_in_group(&group, "still there?").await, "");
    });
}

#[tokio::test]
async fn a_chat_lists_adds_and_takes_cards_by_a_command_for_whoever_may() {
    let fixture = open(
        "work: {description: this week, agents: {a: add, b: [see, claim]}, people: {'telegram:2': work}, lease: 10m}\n  vault: {agents: {b: manage}, people: {'telegram:2': manage}}",
    )
    .await;
    let (guest, ben, admin) = (dm("1"), dm("2"), dm("9"));
    assert_eq!(fixture.ask(&guest, "/board").await, "there are no boards");
    assert!(fixture.ask(&guest, "/board work").await.starts_with("there is no board `work`"));
    let added = fixture.ask(&guest, "/board work add Something").await;
    assert!(added.starts_with("there is no board `work`"), "{added}");
    // The agent does not see the vault, so nothing of it is told in its chats.
    assert_eq!(fixture.ask(&ben, "/board").await, "work (this week): nothing open");
    assert!(fixture.ask(&ben, "/board vault").await.starts_with("there is no board `vault`"));
    let added = fixture.ask(&ben, "/board add @b Mend the sign-in | It fails since Monday").await;
    assert_eq!(added, "card 1 is added to board work; it is ready");
    assert_eq!(fixture.ask(&ben, "/board").await, "work (this week): 1 ready");
    let taken = fixture.ask(&ben, "/board work claim 1").await;
    assert!(taken.starts_with("card 1 is yours until 20"), "{taken}");
    let listed = fixture.ask(&ben, "/board list").await;
    assert_eq!(listed, "1 [running] Mend the sign-in (telegram:2)");
    // An admin of the agent looks by the agent's right, and takes no card by it.
    assert_eq!(fixture.ask(&admin, "/board list").await, listed);
    let refused = fixture.ask(&admin, "/board claim 1").await;
    assert!(refused.starts_with("you have no right of your own"), "{refused}");
    assert_eq!(fixture.ask(&ben, "/board comment #1 half of it").await, "it stands on card 1");
    let in_group = fixture.ask_in_group(&group("-5", "2"), "/board list").await;
    assert!(in_group.starts_with("others read here"), "{in_group}");
    assert_eq!(fixture.ask(&ben, "/board done 1 it works again").await, "card 1 is done");
    let shown = fixture.ask(&ben, "/board show 1").await;
    assert_eq!(
        shown,
        "1 [done] Mend the sign-in (b)\nIt fails since Monday\ntelegram:2: half of it\nresult: it works again"
    );
    // Who had it too long has it no more.
    fixture.ask(&ben, "/board add @b Another").await;
    fixture.ask(&ben, "/board claim 2").await;
    fixture.handles.clock.advance(Duration::from_secs(601)).await;
    let late = fixture.ask(&ben, "/board done 2 late").await;
    assert!(late.contains("no longer yours") || late.contains("`administer`"), "{late}");
    assert_eq!(fixture.asked(), 0, "no model is asked");
}
