//! A name server that does not answer holds up the agent that asks it, and nobody else.

use crate::egress::support::{A, Book, policy};
use async_trait::async_trait;
use insula_sandbox::egress::{Client, ClientLimits, Egress, Fetch, Lookups, Tls};
use insula_world::{Listener, Network, Stream, World};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A resolver that blocks a thread for a minute, whoever still waits, and counts those threads.
struct Hangs {
    network: Arc<dyn Network>,
    threads: Arc<AtomicUsize>,
}

#[async_trait]
impl Network for Hangs {
    async fn listen(&self, address: SocketAddr) -> io::Result<Box<dyn Listener>> {
        self.network.listen(address).await
    }

    async fn resolve(&self, _: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let threads = self.threads.clone();
        threads.fetch_add(1, Ordering::SeqCst);
        let blocked = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            threads.fetch_sub(1, Ordering::SeqCst);
        });
        let _ = blocked.await;
        Ok(vec![SocketAddr::new(A.parse().unwrap(), port)])
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        self.network.connect(address).await
    }
}

fn client(world: &World, lookups: Lookups) -> Client {
    let tls = Tls::new(world.clock.clone(), &[]).unwrap();
    let book = Arc::new(Book::default());
    let egress = Egress::new(world.clone(), policy(&["*.test"]), book, tls, vec![], lookups);
    Client::new(egress, ClientLimits { resolve: Duration::from_secs(1), ..ClientLimits::default() })
}

#[tokio::test(start_paused = true)]
async fn one_agent_has_few_threads_that_look_names_up_however_often_it_gives_up() {
    let (mut world, _handles) = insula_testkit::auto_world(5);
    let threads = Arc::new(AtomicUsize::new(0));
    world.network = Arc::new(Hangs { network: world.network.clone(), threads: threads.clone() });
    let (one, other) = (client(&world, Lookups::default()), client(&world, Lookups::default()));
    let mut most = 0;
    for _ in 0..5 {
        let asks = (0..40).map(|number| {
            let one = one.clone();
            tokio::spawn(
                async move { one.fetch(Fetch::get(format!("http://h{number}.test/"))).await },
            )
        });
        for asked in asks.collect::<Vec<_>>() {
            assert!(asked.await.unwrap().is_err());
        }
        most = most.max(threads.load(Ordering::SeqCst));
    }
    assert_eq!(most, 8, "threads of one agent");
    // Another has its own.
    assert!(other.fetch(Fetch::get("http://other.test/")).await.is_err());
    assert_eq!(threads.load(Ordering::SeqCst), 9);
}
