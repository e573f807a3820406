//! A network in memory: connections are pipes, and only this world's code is on it.

use super::locked;
use async_trait::async_trait;
use insula_world::{Listener, Network, Stream};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

/// Bytes a connection holds that the other side has not read, each way.
const PIPE_LEN_MAX: usize = 64 * 1024;
/// Connections that wait to be accepted; the next one waits to connect.
const BACKLOG_LEN_MAX: usize = 128;
/// The first port given where 0 was asked for. Counting up, so that it can be replayed.
const PORT_FIRST: u16 = 49_152;

type Arrival = (DuplexStream, SocketAddr);

/// Connects the code of one world with itself.
#[derive(Default)]
pub struct MemoryNetwork {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    listeners: BTreeMap<SocketAddr, mpsc::Sender<Arrival>>,
    ports_given: u16,
    names: BTreeMap<String, Vec<IpAddr>>,
}

impl MemoryNetwork {
    /// From now on `host` has these addresses. A name nobody registered does not exist.
    pub fn name(&self, host: impl Into<String>, addresses: impl IntoIterator<Item = IpAddr>) {
        locked(&self.state).names.insert(host.into(), addresses.into_iter().collect());
    }
}

impl State {
    fn next_port(&mut self) -> io::Result<u16> {
        let port = PORT_FIRST.checked_add(self.ports_given).ok_or(io::ErrorKind::AddrInUse)?;
        self.ports_given += 1;
        Ok(port)
    }
}

#[async_trait]
impl Network for MemoryNetwork {
    async fn listen(&self, mut address: SocketAddr) -> io::Result<Box<dyn Listener>> {
        let mut state = locked(&self.state);
        if address.port() == 0 {
            address.set_port(state.next_port()?);
        }
        // An address whose listener is gone is free again.
        if state.listeners.get(&address).is_some_and(|listener| !listener.is_closed()) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let (listener, arrivals) = mpsc::channel(BACKLOG_LEN_MAX);
        state.listeners.insert(address, listener);
        Ok(Box::new(VirtualListener { address, arrivals: tokio::sync::Mutex::new(arrivals) }))
    }

    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let found = match host.parse::<IpAddr>() {
            Ok(literal) => Some(vec![literal]),
            Err(_) => locked(&self.state).names.get(host).cloned(),
        };
        let found = found.filter(|found| !found.is_empty()).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("no address for `{host}`"))
        })?;
        Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let (listener, from) = {
            let mut state = locked(&self.state);
            let listener = state.listeners.get(&address).cloned();
            let listener = listener.ok_or(io::ErrorKind::ConnectionRefused)?;
            (listener, SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), state.next_port()?))
        };
        let (ours, theirs) = tokio::io::duplex(PIPE_LEN_MAX);
        listener.send((theirs, from)).await.map_err(|_| io::ErrorKind::ConnectionRefused)?;
        Ok(Box::new(ours))
    }
}

struct VirtualListener {
    address: SocketAddr,
    arrivals: tokio::sync::Mutex<mpsc::Receiver<Arrival>>,
}

#[async_trait]
impl Listener for VirtualListener {
    async fn accept(&self) -> io::Result<(Box<dyn Stream>, SocketAddr)> {
        match self.arrivals.lock().await.recv().await {
            Some((stream, from)) => Ok((Box::new(stream), from)),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    fn any() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    #[tokio::test]
    async fn a_connection_carries_bytes_both_ways() {
        let network = MemoryNetwork::default();
        let listener = network.listen(any()).await.unwrap();
        let mut ours = network.connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut theirs, from) = listener.accept().await.unwrap();
        assert_ne!(from, listener.local_addr().unwrap());
        let mut got = [0; 4];
        ours.write_all(b"ping").await.unwrap();
        theirs.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"ping");
        theirs.write_all(b"pong").await.unwrap();
        ours.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"pong");
        drop(theirs);
        assert_eq!(ours.read(&mut got).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn nobody_listening_refuses_and_a_taken_address_is_taken() {
        let network = MemoryNetwork::default();
        let listener = network.listen(any()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let taken = network.listen(address).await;
        assert_eq!(taken.err().unwrap().kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        let refused = network.connect(address).await;
        assert_eq!(refused.err().unwrap().kind(), io::ErrorKind::ConnectionRefused);
        network.listen(address).await.unwrap();
    }

    #[tokio::test]
    async fn only_registered_names_and_literals_resolve() {
        let network = MemoryNetwork::default();
        network.name("model.test", ["127.0.0.9".parse().unwrap()]);
        let named = network.resolve("model.test", 80).await.unwrap();
        assert_eq!(named, ["127.0.0.9:80".parse().unwrap()]);
        assert_eq!(network.resolve("::1", 80).await.unwrap(), ["[::1]:80".parse().unwrap()]);
        let missing = network.resolve("elsewhere.test", 80).await;
        assert_eq!(missing.err().unwrap().kind(), io::ErrorKind::NotFound);
    }
}
