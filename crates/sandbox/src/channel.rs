//! Messages with descriptors between the daemon and its helper, over a socket that keeps
//! message boundaries.

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Messages are short; whatever may be long travels in a descriptor.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// A plan, a standard input, a `/dev`.
const DESCRIPTORS_MAX: usize = 4;

/// A plan larger than this is no plan: environment and arguments are bounded by the kernel.
const PLAN_BYTES_MAX: u64 = 32 << 20;

/// Two connected ends. Neither survives an exec by itself.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends one message, with descriptors.
pub(crate) fn send(
    socket: impl AsFd,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    if descriptors.is_empty() {
        return send_plainly(&socket, &bytes);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors in one message"));
    }
    loop {
        match sendmsg(&socket, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}

/// By the call that passes no descriptors: the first process inside reports under the filter of
/// its child, which may not have the other.
fn send_plainly(socket: impl AsFd, bytes: &[u8]) -> io::Result<()> {
    loop {
        match rustix::net::send(&socket, bytes, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}

/// Receives one message. `None` at the end.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: impl AsFd,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; MESSAGE_BYTES_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let received = loop {
        match recvmsg(&socket, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(received) => break received.bytes,
        }
    };
    let mut descriptors = vec![];
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            descriptors.extend(passed);
        }
    }
    if received == 0 {
        return Ok(None);
    }
    let message = bytes.get(..received).unwrap_or_default();
    Ok(Some((serde_json::from_slice(message)?, descriptors)))
}

/// Puts something long into a descriptor.
pub(crate) fn parcel(content: &impl Serialize, appendix: &[u8]) -> io::Result<OwnedFd> {
    let descriptor = memfd_create("plan", MemfdFlags::CLOEXEC)?;
    let text = serde_json::to_vec(content)?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend_from_slice(&text);
    bytes.extend_from_slice(appendix);
    let mut rest = bytes.as_slice();
    let mut offset = 0;
    while !rest.is_empty() {
        let written = rustix::io::pwrite(&descriptor, rest, offset)?;
        offset += written as u64;
        rest = rest.get(written..).unwrap_or_default();
    }
    Ok(descriptor)
}

/// Takes it out again.
pub(crate) fn unpack<T: DeserializeOwned>(descriptor: &OwnedFd) -> io::Result<(T, Vec<u8>)> {
    let size = u64::try_from(rustix::fs::fstat(descriptor)?.st_size).unwrap_or(0);
    if size > PLAN_BYTES_MAX {
        return Err(io::Error::other("the plan is too long"));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(descriptor, rest, filled as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    let (length, rest) =
        bytes.split_first_chunk::<4>().ok_or(io::Error::other("the plan is cut off"))?;
    let length = u32::from_le_bytes(*length) as usize;
    let (text, appendix) =
        rest.split_at_checked(length).ok_or(io::Error::other("the plan is cut off"))?;
    Ok((serde_json::from_slice(text)?, appendix.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_their_boundaries_and_bring_descriptors() {
        let (one, other) = pair().unwrap();
        let parcel = parcel(&"content", b"appendix").unwrap();
        send(&one, &1, &[]).unwrap();
        send(&one, &2, &[parcel.as_fd()]).unwrap();
        drop(one);
        assert_eq!(receive::<i32>(&other).unwrap().unwrap().0, 1);
        let (number, descriptors) = receive::<i32>(&other).unwrap().unwrap();
        assert_eq!((number, descriptors.len()), (2, 1));
        let (content, appendix) = unpack::<String>(&descriptors[0]).unwrap();
        assert_eq!((content.as_str(), appendix.as_slice()), ("content", &b"appendix"[..]));
        assert!(receive::<i32>(&other).unwrap().is_none());
    }
}
