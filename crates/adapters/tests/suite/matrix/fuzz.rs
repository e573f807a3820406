//! Whatever an answer to `/sync` holds: an event is in no place that it was not sent to.

use crate::matrix::support::adapter;
use crate::matrix::trouble::{US, message, ok, ordinary};
use crate::noise::{Cast, Looking, Plan, Subject, Told, platforms, run};
use async_trait::async_trait;
use insula_channel::{Adapter as _, Cursor, Envelope, Inbox, NotTaken};
use insula_testkit::fuzz::Dice;
use insula_testkit::upstream::{Seen, Step, answer, serve_one};
use insula_world::World;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Answers on one connection: the scripted server remembers what it saw there.
const CONNECTION_LEN_MAX: usize = 40;
/// Who is in rooms with us, and may talk.
const ANN: &str = "@a:x";
/// Who may not.
const STRANGER: &str = "@stranger:x";

/// Looks at what comes, and also at which room it was sent to.
struct Watching {
    looking: Arc<Looking>,
    last: Arc<Mutex<Vec<u8>>>,
}

#[async_trait]
impl Inbox for Watching {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        let answer: Value = serde_json::from_slice(&self.last.lock().unwrap()).unwrap_or_default();
        for envelope in &envelopes {
            let address = &envelope.address;
            assert!(address.user.is_some(), "{envelope:?}");
            if envelope.event.0.starts_with("$page") || envelope.event.0.starts_with("invite:") {
                continue;
            }
            let room = address.chat.as_str();
            let sent = ["join", "leave"].iter().any(|kind| {
                let events = &answer["rooms"][kind][room]["timeline"]["events"];
                events.as_array().is_some_and(|events| {
                    events.iter().any(|event| event["event_id"] == *envelope.event.0)
                })
            });
            // An answer that another library reads otherwise tells nothing.
            assert!(sent || answer.is_null(), "{envelope:?} in {answer}");
        }
        self.looking.take(envelopes, None).await
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(Some(Cursor("s".into())))
    }

    fn alive(&self) {}
}

/// A homeserver that answers `/sync` with what it is told to.
struct Homeserver {
    answers: mpsc::Sender<Vec<u8>>,
    /// How often it was asked for more.
    asked: watch::Receiver<usize>,
    told: usize,
}

#[async_trait]
impl Subject for Homeserver {
    async fn tell(&mut self, told: Told) {
        self.answers.send(told.bytes).await.unwrap();
        self.told += 1;
    }

    /// Who asks for the next has done with the last.
    async fn settle(&mut self) {
        let told = self.told;
        self.asked.wait_for(|asked| *asked > told).await.unwrap();
    }
}

/// Serves; what it answers to `/sync` comes by the channel.
async fn serve(world: &World) -> (Homeserver, Arc<Mutex<Vec<u8>>>, String) {
    let (answers, next) = mpsc::channel::<Vec<u8>>(1);
    let (counting, asked) = watch::channel(0);
    let last = Arc::new(Mutex::new(vec![]));
    let dice = Mutex::new(Dice::new(world, "beside"));
    let (next, shown) = (Mutex::new(next), last.clone());
    let page = |id: &str, body: &str| {
        let mut page = message(id, body);
        page["sender"] = STRANGER.into();
        page
    };
    let script = move |seen: &Seen| {
        let mut dice = dice.lock().unwrap();
        let is_noisy = dice.below(20) == 0;
        if let Some(value) = ordinary(seen) {
            let noisy = is_noisy && !seen.line.contains("whoami");
            return ok(&if noisy { dice.value(3) } else { value });
        }
        if seen.line.contains("/sync") {
            counting.send_modify(|count| *count += 1);
            // On a thread of its own: there are more of them than connections.
            let told = tokio::task::block_in_place(|| next.lock().unwrap().blocking_recv());
            let Some(bytes) = told else { return vec![Step::Hang] };
            (*shown.lock().unwrap()).clone_from(&bytes);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", bytes.len());
            return vec![Step::Write([head.into_bytes(), bytes].concat())];
        }
        if seen.line.contains("/messages") {
            let page = match seen.line.contains("from=p2") {
                true => json!({ "chunk": [] }),
                false => json!({ "end": "p2",
                    "chunk": [page("$page1", "a"), dice.value(3), page("$page2", "b")] }),
            };
            return ok(&page);
        }
        if seen.line.contains("/event/") {
            return ok(&if is_noisy { dice.value(3) } else { message("$1", "earlier") });
        }
        vec![answer(404, &[], r#"{"errcode":"M_NOT_FOUND"}"#)]
    };
    let script = Arc::new(script);
    let listener = world.network.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let script = script.clone();
            tokio::spawn(serve_one(stream, move |seen, number| {
                let mut steps = script(seen);
                if number % CONNECTION_LEN_MAX == CONNECTION_LEN_MAX - 1 {
                    steps.push(Step::Close);
                }
                steps
            }));
        }
    });
    (Homeserver { answers, asked, told: 0 }, last, url)
}

async fn fuzz(plan: Plan) {
    let world = World::real().unwrap();
    let (mut homeserver, last, url) = serve(&world).await;
    let cast = Cast {
        ours: US.to_owned(),
        friend: ANN.to_owned(),
        stranger: STRANGER.to_owned(),
        chat: "!r:x".to_owned(),
        ..Cast::default()
    };
    let looking =
        Arc::new(Looking::new("matrix", "home", ANN, &[ANN, STRANGER, "!r:x", "!q:x", "!l:x"]));
    let matrix = adapter(&url, None, "t");
    let watching = Watching { looking: looking.clone(), last };
    let stop = CancellationToken::new();
    let listen = async {
        loop {
            // Whatever the answer was, it is a fault or it was taken; a connection that is closed
            // under a request is one more fault. It is asked again.
            let _ = matrix.listen(&watching, &stop).await;
        }
    };
    let templates = |speaker: &str| platforms::matrix(&cast, speaker);
    let all = run(plan, &world, &mut homeserver, &looking.judge, templates, &cast);
    tokio::select! { () = listen => {}, _ = all => {} }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn answers_of_any_shape_are_survived() {
    fuzz(Plan { count: 300, ..Plan::some("matrix", 1) }).await;
}

/// An answer has more than ten events.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
#[ignore = "the whole of it: scripts/fuzz-adapters"]
async fn a_hundred_thousand_events_of_matrix_are_survived() {
    fuzz(Plan { count: 20_000, ..Plan::all("matrix", 1) }).await;
}
