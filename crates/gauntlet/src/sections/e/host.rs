//! Things on the host that are worth reaching, and servers that stand where programs are kept
//! from: sockets of every kind, a site that is granted, one that is not, a name server that
//! changes its mind.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an attacking program: the sockets that its attempts aim at"
)]

use anyhow::{Context as _, Result};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::File;
use std::io::{IoSlice, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a connection of an attempt may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// Sockets of the host's, each of which hands the secret to whoever gets to it.
pub struct Sockets {
    /// The port of TCP, on loopback.
    pub tcp: u16,
    /// The port of UDP, on loopback.
    pub udp: u16,
    _udp: UdpSocket,
}

impl Sockets {
    /// Opens them: one without a path, two with one. Whoever connects to those is passed a
    /// descriptor of `secret`.
    pub fn open(abstract_name: &str, paths: &[PathBuf], secret: &Path) -> Result<Self> {
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let udp = UdpSocket::bind("127.0.0.1:0")?;
        let ports = (tcp.local_addr()?.port(), udp.local_addr()?.port());
        thread::spawn(move || tcp.incoming().for_each(drop));
        let address = UnixAddress::from_abstract_name(abstract_name)?;
        let mut listeners = vec![UnixListener::bind_addr(&address)?];
        for path in paths {
            listeners.push(UnixListener::bind(path).with_context(|| path.display().to_string())?);
        }
        for listener in listeners {
            let secret = File::open(secret)?;
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    // Who only wanted to see whether it connects is gone by now.
                    let _ = pass(&stream, &secret);
                }
            });
        }
        Ok(Self { tcp: ports.0, udp: ports.1, _udp: udp })
    }
}

fn pass(stream: &UnixStream, file: &File) -> Result<()> {
    let descriptors = [file.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(stream, &[IoSlice::new(b"x")], &mut control, SendFlags::empty())?;
    Ok(())
}

/// A server that keeps the first bytes of every connection, and answers all with one text.
pub struct Site {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Site {
    /// Starts one on loopback.
    pub fn open(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let heard = Arc::new(Mutex::new(vec![]));
        let (kept, answer) = (heard.clone(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (kept.clone(), answer.clone());
                thread::spawn(move || converse(stream, &kept, &*answer));
            }
        });
        Ok(Self { address, heard })
    }

    /// One that answers every request with this body.
    pub fn saying(body: &str) -> Result<Self> {
        let answer = plain(body);
        Self::open(move |_| answer.clone())
    }

    /// What each connection began with.
    pub fn heard(&self) -> Vec<String> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

/// An answer with this body.
pub fn plain(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// An answer that sends elsewhere.
pub fn redirect(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

fn converse(mut stream: TcpStream, heard: &Mutex<Vec<Vec<u8>>>, answer: &dyn Fn(&str) -> String) {
    let mut bytes = vec![0; 16 * 1024];
    let _ = stream.set_read_timeout(Some(SILENCE_MAX));
    let count = stream.read(&mut bytes).unwrap_or(0);
    bytes.truncate(count);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    heard.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    let _ = stream.write_all(answer(&text).as_bytes());
}

/// A name server that answers each question for an address with the next one of its list.
pub struct Names {
    /// Where it is: the port is always 53.
    pub address: Ipv4Addr,
    asked: Arc<AtomicUsize>,
}

impl Names {
    /// Starts one. Only root may.
    pub fn open(answers: &'static [Ipv4Addr]) -> Result<Self> {
        // Any address of loopback will do; another gauntlet may have taken one.
        let mut tries = (1..=250).map(|last| Ipv4Addr::new(127, 83, 7, last));
        let (socket, address) = tries
            .find_map(|address| Some((UdpSocket::bind((address, 53)).ok()?, address)))
            .context("no port 53 can be had")?;
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        thread::spawn(move || {
            let mut bytes = [0; 1024];
            while let Ok((length, from)) = socket.recv_from(&mut bytes) {
                if let Some(answer) = answered(&bytes[..length], answers, &count) {
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        Ok(Self { address, asked })
    }

    /// How many addresses it was asked for.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// The answer to a question of DNS: an address that nobody is to remember, or none of its kind.
fn answered(question: &[u8], answers: &[Ipv4Addr], asked: &AtomicUsize) -> Option<Vec<u8>> {
    let name_len = question.get(12..)?.iter().position(|byte| *byte == 0)? + 1;
    let end = 12 + name_len + 4;
    let kind = question.get(12 + name_len..12 + name_len + 2)?;
    let is_address = kind == [0, 1];
    let mut answer = question.get(..2)?.to_vec();
    // A response without recursion trouble; one question, one answer or none.
    answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_address), 0, 0, 0, 0]);
    answer.extend(question.get(12..end)?);
    if is_address {
        let at = asked.fetch_add(1, Ordering::Relaxed);
        let address = answers.get(at % answers.len().max(1))?;
        // A pointer to the name, kind and class, no time to live, four bytes.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        answer.extend(address.octets());
    }
    Some(answer)
}
