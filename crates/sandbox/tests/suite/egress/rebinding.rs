//! A name that changes its address between the check and the connection.

use crate::egress::support::{A, Book, Plan, Town, policy};
use async_trait::async_trait;
use insula_sandbox::egress::{
    Client, ClientLimits, Egress, EgressRefusal, Fetch, FetchError, Lookups, Tls,
};
use insula_testkit::Handles;
use insula_world::{Listener, Network, Stream, World};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Answers every other question with an address inside, and notes who was connected to.
struct Rebinding {
    network: Arc<dyn Network>,
    answers: Mutex<Vec<IpAddr>>,
    asked: Mutex<usize>,
    connected: Mutex<Vec<SocketAddr>>,
}

#[async_trait]
impl Network for Rebinding {
    async fn listen(&self, address: SocketAddr) -> io::Result<Box<dyn Listener>> {
        self.network.listen(address).await
    }

    async fn resolve(&self, _: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let mut asked = self.asked.lock().unwrap();
        let answers = self.answers.lock().unwrap();
        let answer = answers[*asked % answers.len()];
        *asked += 1;
        Ok(vec![SocketAddr::new(answer, port)])
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        self.connected.lock().unwrap().push(address);
        self.network.connect(address).await
    }
}

fn rebinding() -> (World, Handles, Arc<Rebinding>) {
    let (mut world, handles) = insula_testkit::auto_world(3);
    let network = Arc::new(Rebinding {
        network: world.network.clone(),
        answers: Mutex::new(vec![A.parse().unwrap(), "127.0.0.1".parse().unwrap()]),
        asked: Mutex::default(),
        connected: Mutex::default(),
    });
    world.network = network.clone();
    (world, handles, network)
}

#[tokio::test(start_paused = true)]
async fn the_proxy_asks_once_and_connects_to_what_it_checked() {
    let (world, _handles, network) = rebinding();
    let town = Town::over(world, Plan { allow: &["a.test"], ..Plan::default() }).await;
    town.serve(&format!("{A}:80"), HELLO).await;
    let inside = town.serve("127.0.0.1:80", "HTTP/1.1 200 OK\r\n\r\nsecret").await;
    // The test's own connections to the proxy are not what is looked at.
    let outward = || {
        let all = network.connected.lock().unwrap();
        all.iter().filter(|to| **to != town.proxy).map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(town.get("http://a.test/").await.ends_with("hello"));
    assert_eq!(*network.asked.lock().unwrap(), 1);
    assert_eq!(outward(), [format!("{A}:80")]);
    let second = town.get("http://a.test/").await;
    assert!(second.contains("leads to 127.0.0.1, a loopback address"), "{second}");
    assert_eq!(outward(), [format!("{A}:80")], "nobody was connected to");
    assert!(inside.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_client_does_the_same_at_every_hop() {
    let (world, _handles, network) = rebinding();
    let tls = Tls::new(world.clock.clone(), &[]).unwrap();
    let book = Arc::new(Book::default());
    let lookups = Lookups::default();
    let egress = Egress::new(world.clone(), policy(&["a.test"]), book, tls, vec![], lookups);
    let client = Client::new(egress, ClientLimits::default());
    let town = Town::over(world, Plan::default()).await;
    let again = "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n";
    town.serve(&format!("{A}:80"), again).await;
    let inside = town.serve("127.0.0.1:80", HELLO).await;
    let refused = client.fetch(Fetch::get("http://a.test/")).await.err().unwrap();
    assert!(matches!(refused, FetchError::Refused(EgressRefusal::Address { .. })), "{refused}");
    assert_eq!(*network.asked.lock().unwrap(), 2);
    assert!(inside.lock().unwrap().is_empty());
}
