//! The machine as it is. The one file that reads the clock, the system's entropy and opens
//! sockets and processes for everyone else.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this file is the owner of clock, entropy, processes and sockets; all else goes through World"
)]

use crate::clock::{Clock, Timestamp};
use crate::network::{Listener, Network, Stream};
use crate::process::{Finished, Process, ProcessLauncher, ProcessSpec};
use async_trait::async_trait;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};
use tokio::net::{TcpListener, TcpSocket};

pub(crate) struct SystemClock {
    started: Instant,
}

impl SystemClock {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now() }
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock set before 1970 reads as the epoch: better a wrong date than no daemon.
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

pub(crate) fn system_seed() -> io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(io::Error::other)?;
    Ok(seed)
}

pub(crate) struct SystemProcesses;

struct SystemProcess(tokio::process::Child);

#[async_trait]
impl Process for SystemProcess {
    fn id(&self) -> Option<u32> {
        self.0.id()
    }

    async fn finish(self: Box<Self>) -> io::Result<Finished> {
        let output = self.0.wait_with_output().await?;
        Ok(Finished { code: output.status.code(), stdout: output.stdout, stderr: output.stderr })
    }
}

#[async_trait]
impl ProcessLauncher for SystemProcesses {
    async fn launch(&self, spec: ProcessSpec) -> io::Result<Box<dyn Process>> {
        let child = tokio::process::Command::new(&spec.program)
            .args(&spec.args)
            .env_clear()
            .envs(&spec.env)
            .current_dir(&spec.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Box::new(SystemProcess(child)))
    }
}

pub(crate) struct SystemNetwork;

#[async_trait]
impl Network for SystemNetwork {
    async fn listen(&self, address: SocketAddr) -> io::Result<Box<dyn Listener>> {
        Ok(Box::new(SystemListener(TcpListener::bind(address).await?)))
    }

    fn adopt(&self, descriptor: OwnedFd) -> io::Result<Box<dyn Listener>> {
        let listener = std::net::TcpListener::from(descriptor);
        listener.set_nonblocking(true)?;
        Ok(Box::new(SystemListener(TcpListener::from_std(listener)?)))
    }

    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        }
        Ok(found)
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        socket.set_send_buffer_size(WAITING_BYTES)?;
        socket.set_recv_buffer_size(WAITING_BYTES)?;
        let stream = socket.connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}

/// What waits on either side of a connection, at most. All connections of the machine take from
/// one pool, and left to itself the kernel gives one of them several megabytes.
const WAITING_BYTES: u32 = 256 * 1024;

struct SystemListener(TcpListener);

#[async_trait]
impl Listener for SystemListener {
    async fn accept(&self) -> io::Result<(Box<dyn Stream>, SocketAddr)> {
        let (stream, peer) = self.0.accept().await?;
        stream.set_nodelay(true)?;
        Ok((Box::new(stream), peer))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn rule_07_children_start_empty() {
        let spec = ProcessSpec {
            program: "/usr/bin/env".into(),
            args: vec![],
            env: BTreeMap::from([("GRANTED".into(), "yes".into())]),
            cwd: "/".into(),
        };
        let finished = SystemProcesses.launch(spec).await.unwrap().finish().await.unwrap();
        assert_eq!(finished.code, Some(0));
        assert_eq!(String::from_utf8(finished.stdout).unwrap(), "GRANTED=yes\n");
    }

    #[tokio::test]
    async fn a_connection_carries_bytes_both_ways() {
        let listener = SystemNetwork.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let mut ours = SystemNetwork.connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut theirs, _) = listener.accept().await.unwrap();
        ours.write_all(b"ping").await.unwrap();
        let mut got = [0; 4];
        theirs.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"ping");
    }

    #[tokio::test]
    async fn a_listener_from_elsewhere_is_taken_over() {
        let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = elsewhere.local_addr().unwrap();
        let listener = SystemNetwork.adopt(elsewhere.into()).unwrap();
        assert_eq!(listener.local_addr().unwrap(), address);
        let mut ours = SystemNetwork.connect(address).await.unwrap();
        let (mut theirs, _) = listener.accept().await.unwrap();
        theirs.write_all(b"pong").await.unwrap();
        let mut got = [0; 4];
        ours.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"pong");
    }

    #[tokio::test]
    async fn names_and_literals_resolve_and_a_missing_name_is_an_error() {
        let literal = SystemNetwork.resolve("::1", 7).await.unwrap();
        assert_eq!(literal, ["[::1]:7".parse().unwrap()]);
        let named = SystemNetwork.resolve("localhost", 7).await.unwrap();
        assert!(named.iter().all(|address| address.ip().is_loopback() && address.port() == 7));
        // Longer than a name can be, so that no resolver on the network is asked.
        assert!(SystemNetwork.resolve(&"x".repeat(300), 7).await.is_err());
    }
}
