//! discord.py and discord.js against the fake Discord: whether it speaks what Discord speaks.

use insula_testkit::discord::Discord;
use insula_world::World;
use serde_json::{Value, json};
use std::process::Command;

const TOKEN: &str = "secret.bot.token";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it needs packages from PyPI: scripts/discord-clients"]
async fn discord_py_accepts_the_fake() {
    let python = std::env::var("INSULA_DISCORD_PYTHON").unwrap();
    accepts(&python, "client.py").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it needs packages from npm: scripts/discord-clients"]
async fn discord_js_accepts_the_fake() {
    accepts("node", "client.cjs").await;
}

/// Plays the people around a bot that another client is.
async fn accepts(program: &str, script: &str) {
    let world = World::real().unwrap();
    let platform = Discord::start(&world).await.unwrap();
    let bot = platform.bot(TOKEN, "ada");
    let ann = platform.person("ann", "Ann Lee");
    let guild = platform.guild(&[&bot, &ann]);
    let role = platform.role(&guild);
    platform.member(&guild, &ann, "Annie", &[&role]);
    let town = platform.channel(&guild, 0);
    let thread = platform.thread(&guild, &town);
    let script = format!("{}/../../tests/platforms/discord/{script}", env!("CARGO_MANIFEST_DIR"));
    let arguments = [script, platform.url(), TOKEN.to_owned(), town.clone()];
    let program = program.to_owned();
    let client = tokio::task::spawn_blocking(move || {
        Command::new(program).args(arguments).output().unwrap()
    });
    let people = async {
        let says = async |text: &str| {
            platform
                .until(|platform| platform.messages_of(&bot).iter().any(|it| it["content"] == text))
                .await;
        };
        says("ready").await;
        let question = platform.say(&town, &ann, &format!("<@{bot}> hello"));
        says("see").await;
        let said = platform.messages_of(&bot);
        let find = |text: &str| said.iter().find(|it| it["content"] == text).unwrap().clone();
        assert_eq!(find("ready, edited")["nonce"].as_str().map(str::len).unwrap_or(5), 5);
        let heard = find("heard");
        assert_eq!(heard["referenced_message"]["id"], json!(question));
        assert_eq!(find("see")["attachments"][0]["filename"], "note.txt");
        assert_eq!(platform.get(&question)["reactions"][0]["emoji"]["name"], "👀");
        assert!(!platform.typing().is_empty());
        let pressed = platform.press(TOKEN, &ann, heard["id"].as_str().unwrap(), "yes");
        let used = platform.command(TOKEN, &ann, &town, "new", "now");
        platform
            .until(|platform| {
                platform.answers(&pressed).len() == 2 && platform.answers(&used).len() == 2
            })
            .await;
        let told = |id: &str| -> Vec<Value> {
            platform.answers(id).into_iter().map(|(_, body)| body).collect()
        };
        assert_eq!(told(&pressed)[0]["type"], 6);
        assert_eq!(told(&pressed)[1]["content"], "pressed by ann");
        assert_eq!(told(&used)[0]["type"], 5);
        assert_eq!(told(&used)[1]["content"], "new now");
        platform.say(&thread, &ann, "in it");
        says("thread: in it").await;
        let file = platform.file(&town, "a.txt", "text/plain", b"her file");
        platform.post(&json!({ "channel_id": town, "author_id": ann, "attachments": [file] }));
        says("read her file").await;
        platform.break_sockets();
        platform.say(&town, &ann, "while it was broken");
        says("channel: while it was broken").await;
        platform.ask_back();
        platform.until(|platform| platform.begun().len() == 3).await;
        platform.say(&town, &ann, "while it came back");
        says("channel: while it came back").await;
        let begun: Vec<_> = platform.begun().iter().map(|it| it["op"].clone()).collect();
        assert_eq!(begun, [json!(2), json!(6), json!(6)], "one session, taken up twice");
        platform.say(&town, &ann, "bye");
    };
    tokio::pin!(people, client);
    let output = tokio::select! {
        // A client that ends while people still wait for it has failed.
        output = &mut client => output,
        () = &mut people => client.await,
    };
    let output = output.unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stdout));
    let twice = platform.messages_of(&bot).len();
    assert_eq!(twice, 7, "nothing was heard twice");
}
