//! Events of any shape through each adapter, by the one harness of the testkit: what the adapter
//! makes of them is held against the claims of [`insula_testkit::fuzz`], by the decisions that the
//! gateway would make.
//!
//! `scripts/fuzz-adapters` runs the whole of it; the normal run a part.

use async_trait::async_trait;
use insula_channel::{Adapter, ConnectFault};
use insula_channel::{Cursor, Envelope, Happening, Inbox, NotTaken};
use insula_domain::{
    AccessRules, Admins, AgentId, AllowList, Asker, DmSessions, GroupSessions, Platform, Roster,
    SessionKey, SessionRule, UserId,
};
use insula_testkit::fuzz::{Heard, Judge};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long whatever is said takes at most to be heard, of the clock that tests turn.
const DEAF_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

pub use insula_testkit::fuzz::{Cast, MARK, Plan, Subject, Told, platforms, run};

/// Makes a pair of tests: the whole of it, and what an ordinary run does of it.
macro_rules! fuzzed {
    ($platform:literal, batch $batch:literal, $whole:ident, $fuzz:path) => {
        #[tokio::test(start_paused = true)]
        async fn events_of_any_shape_are_survived() {
            $fuzz(insula_testkit::fuzz::Plan::some($platform, $batch)).await;
        }

        #[tokio::test(start_paused = true)]
        #[ignore = "the whole of it: scripts/fuzz-adapters"]
        async fn $whole() {
            $fuzz(insula_testkit::fuzz::Plan::all($platform, $batch)).await;
        }
    };
}
pub(crate) use fuzzed;

/// An inbox that holds each envelope against the claims, and keeps none.
pub struct Looking {
    platform: Platform,
    account: &'static str,
    agent: AgentId,
    allow: AllowList,
    admins: Admins,
    roster: Roster,
    pub judge: Judge,
    /// Where listening begins.
    cursor: Option<Cursor>,
}

impl Looking {
    /// `known` is what may be named without standing in an event.
    pub fn new(platform: &str, account: &'static str, friend: &str, known: &[&str]) -> Self {
        let platform = Platform::new(platform).unwrap();
        let mut allow = AllowList::default();
        allow.user(platform, UserId::new(friend).unwrap(), None);
        Self {
            platform,
            account,
            agent: AgentId::new("a").unwrap(),
            allow,
            admins: Admins::default(),
            roster: Roster::default(),
            judge: Judge::new(friend, known),
            cursor: None,
        }
    }

    /// The same, listening from here on.
    pub fn from(self, cursor: Cursor) -> Self {
        Self { cursor: Some(cursor), ..self }
    }

    /// What the claims need to know of an envelope, and what the gateway would decide about it.
    fn heard(&self, envelope: &Envelope) -> Heard {
        let Envelope { address, sender, what, .. } = envelope;
        assert_eq!((address.platform, address.account.as_str()), (self.platform, self.account));
        let rules = AccessRules {
            allow: &self.allow,
            admins: &self.admins,
            roster: &self.roster,
            invites: true,
            person: &|_, _| None,
        };
        let asker = Asker { address, also: &sender.also, is_bot: sender.is_bot };
        let session = SessionKey::of(
            &self.agent,
            address,
            SessionRule { dm: DmSessions::PerUser, group: GroupSessions::PerChat },
        );
        let name = session.to_string();
        assert_eq!(name.parse::<SessionKey>().as_ref(), Ok(&session), "`{name}` is not read back");
        let (text, size) = match what {
            Happening::Said(message) | Happening::Edited(message) => {
                let quoted = message.quoted.as_ref().map_or(0, |quoted| quoted.text.len());
                (message.words.all(), message.words.bytes() + quoted)
            }
            _ => (String::new(), 0),
        };
        let mut ids = vec![address.chat.as_str().to_owned()];
        ids.extend(address.topic.iter().map(|it| it.as_str().to_owned()));
        ids.extend(address.parent.iter().map(|it| it.as_str().to_owned()));
        ids.extend(address.roles.iter().map(|it| it.as_str().to_owned()));
        let users = asker.ids().map(|it| it.as_str().to_owned()).collect();
        // A direct chat is with one person; all other places are everybody's who is there.
        let of = Some(&address.user).filter(|_| address.chat_type == insula_domain::ChatType::Dm);
        let place = (&address.account, &address.chat, &address.topic, address.chat_type, of);
        Heard {
            ids,
            users,
            size,
            text,
            place: format!("{place:?}"),
            session: name,
            is_admitted: rules.judge(asker).is_allowed(),
        }
    }
}

#[async_trait]
impl Inbox for Looking {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        envelopes.iter().for_each(|envelope| self.judge.look(&self.heard(envelope)));
        Ok(())
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(self.cursor.clone())
    }

    fn alive(&self) {}
}

/// An adapter that listens, while events are told.
pub struct Heeding {
    stop: CancellationToken,
    task: JoinHandle<Result<(), ConnectFault>>,
    /// How many marks were waited for.
    marks: usize,
}

impl Heeding {
    pub fn start(adapter: Arc<dyn Adapter>, looking: &Arc<Looking>) -> Self {
        let (stop, looking) = (CancellationToken::new(), looking.clone());
        let stopped = stop.clone();
        let task = tokio::spawn(async move { adapter.listen(&*looking, &stopped).await });
        Self { stop, task, marks: 0 }
    }

    /// Waits until one more mark was heard.
    pub async fn until_mark(&mut self, judge: &Judge) {
        self.marks += 1;
        let heard = tokio::time::timeout(DEAF_AFTER, judge.until_marks(self.marks));
        tokio::select! {
            heard = heard => heard.expect("it listens, and hears nothing more"),
            end = &mut self.task => panic!("it listens no more: {end:?}"),
        }
    }

    pub async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

mod liars {
    //! Adapters that lie, each in one way: the harness notices.

    use super::*;
    use insula_channel::{EventId, Message, MessageId, Sender};
    use insula_domain::{AccountId, Address, ChatId, ChatType, Words};
    use insula_testkit::fuzz::{Speaker, Template};
    use insula_world::Timestamp;
    use serde_json::json;

    /// Makes of every event what its field says, and of a stranger's something else.
    struct Liar {
        looking: Arc<Looking>,
        lie: fn(&mut Envelope),
    }

    fn envelope(user: &str) -> Envelope {
        let message = Message {
            id: MessageId("1".into()),
            words: Words::typed("hi"),
            mentions_us: true,
            is_for_another: false,
            attachments: vec![],
            quoted: None,
            group: None,
        };
        Envelope {
            event: EventId("1".into()),
            address: Address {
                platform: Platform::new("telegram").unwrap(),
                account: AccountId::new("main").unwrap(),
                chat: ChatId::new("town").unwrap(),
                chat_type: ChatType::Group,
                topic: None,
                parent: None,
                community: None,
                user: Some(UserId::new(user).unwrap()),
                roles: vec![],
            },
            sender: Sender::default(),
            at: Timestamp::from_millis(0),
            what: Happening::Said(message),
        }
    }

    #[async_trait]
    impl Subject for Liar {
        async fn tell(&mut self, told: Told) {
            let who = told.value().and_then(|it| it["who"].as_str().map(str::to_owned));
            let Some(who @ ("ann" | "bob")) = who.as_deref() else { return };
            let mut envelope = envelope(who);
            (self.lie)(&mut envelope);
            self.looking.take(vec![envelope], None).await.unwrap();
        }
    }

    async fn tell_it_all(lie: fn(&mut Envelope)) {
        let (world, _) = insula_testkit::world(7);
        let cast = Cast { friend: "ann".to_owned(), stranger: "bob".to_owned(), ..Cast::default() };
        let looking = Arc::new(Looking::new("telegram", "main", "ann", &["town", "ann"]));
        let mut liar = Liar { looking: looking.clone(), lie };
        let templates = |who: &str| {
            let by = Speaker::At(vec![("/who", who.into())]);
            vec![Template::new("", json!({ "who": who, "text": "hi" }), by)]
        };
        let plan = Plan { platform: "telegram", count: 400, batch: 1 };
        run(plan, &world, &mut liar, &looking.judge, templates, &cast).await;
    }

    #[tokio::test]
    async fn who_tells_the_truth_is_believed() {
        tell_it_all(|_| {}).await;
    }

    #[tokio::test]
    #[should_panic(expected = "a stranger speaks as another")]
    async fn who_makes_a_friend_of_a_stranger_is_found() {
        tell_it_all(|it| it.address.user = Some(UserId::new("ann").unwrap())).await;
    }

    #[tokio::test]
    #[should_panic(expected = "a stranger speaks as another")]
    async fn who_gives_a_stranger_the_id_of_a_friend_besides_is_found() {
        tell_it_all(|it| it.sender.also = vec![UserId::new("ann").unwrap()]).await;
    }

    #[tokio::test]
    #[should_panic(expected = "`elsewhere` came from nowhere")]
    async fn who_names_a_chat_that_nobody_named_is_found() {
        tell_it_all(|it| it.address.chat = ChatId::new("elsewhere").unwrap()).await;
    }

    #[tokio::test]
    #[should_panic(expected = "it outgrew what came")]
    async fn who_makes_much_of_little_is_found() {
        tell_it_all(|it| {
            let Happening::Said(message) = &mut it.what else { return };
            message.words = Words::typed(&"hi".repeat(50_000));
        })
        .await;
    }
}
