//! The network of a child: its own loopback and one listener on it, or nothing.

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, listen, recv, sendto,
    socket_with, sockopt,
};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

/// Connections that may wait for the proxy.
const BACKLOG: i32 = 128;

/// The loopback is the first interface of every network.
const LOOPBACK_INDEX: u32 = 1;

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST_ACK: u16 = 0x1 | 0x4;
const NLMSG_ERROR: u16 = 2;
const IFF_UP: u32 = 1;

/// Raises the loopback, by the one message that takes.
pub(super) fn raise_loopback() -> rustix::io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut message = vec![];
    message.extend_from_slice(&32u32.to_ne_bytes());
    message.extend_from_slice(&RTM_NEWLINK.to_ne_bytes());
    message.extend_from_slice(&NLM_F_REQUEST_ACK.to_ne_bytes());
    message.extend_from_slice(&1u32.to_ne_bytes());
    message.extend_from_slice(&0u32.to_ne_bytes());
    // Family and type are of no interest; then the index, the flags and which of them change.
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(&LOOPBACK_INDEX.to_ne_bytes());
    message.extend_from_slice(&IFF_UP.to_ne_bytes());
    message.extend_from_slice(&IFF_UP.to_ne_bytes());
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;

    let mut answer = [0u8; 256];
    let (received, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    let answer = answer.get(..received).unwrap_or_default();
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let code = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, code) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(code)) => Err(Errno::from_raw_os_error(code.wrapping_neg())),
        _ => Err(Errno::PROTO),
    }
}

/// Most bytes that wait on either side of a connection: the least, the usual and the most, as the
/// kernel is told. All networks take from one pool.
const WAITING: &str = "4096 65536 262144";

/// Bounds what connections inside keep waiting.
pub(super) fn bound_buffers() -> std::io::Result<()> {
    super::start::write("/proc/sys/net/ipv4/tcp_wmem", WAITING)?;
    super::start::write("/proc/sys/net/ipv4/tcp_rmem", WAITING)
}

/// Opens the listener that the daemon accepts on.
pub(super) fn open_listener(port: u16) -> rustix::io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}
