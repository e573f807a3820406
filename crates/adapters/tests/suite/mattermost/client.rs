//! Mattermost's own client against the fake server.

use insula_testkit::mattermost::Mattermost;
use insula_world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it needs packages from npm: scripts/mattermost-client"]
async fn mattermosts_own_client_accepts_the_fake() {
    let world = World::real().unwrap();
    let platform = Mattermost::start(&world).await.unwrap();
    let ann = platform.person("ann", "Ann Lee");
    let town = platform.channel("O", &[&ann]);
    let script =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/platforms/mattermost/client.cjs");
    let arguments = [script.to_owned(), platform.url(), "ann".to_owned(), town];
    let output = tokio::task::spawn_blocking(move || {
        std::process::Command::new("node").args(arguments).output().unwrap()
    });
    let output = output.await.unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stdout));
}
