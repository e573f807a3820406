//! A request that the proxy makes itself: in the clear, or inside TLS that the proxy begins,
//! which is how a child gets the benefit of a credential without seeing it.

use super::cleaning::{Cleaner, is_packed};
use super::dial::Dialled;
use super::framing::{Rewrite, relay};
use super::head::{Answer, Request, read_head};
use super::ledger::Ending;
use super::meter::within;
use super::passage::{Child, Passage, answer};
use http::StatusCode;
use insula_domain::Scheme;
use insula_world::Stream;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncWriteExt as _, BufReader, ReadHalf};

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// Answers before the answer (100, 103) that are skipped.
const INTERIM_MAX: usize = 8;
/// Bytes read from the host at once.
const BUFFER_LEN: usize = 16 * 1024;

type FromHost = BufReader<ReadHalf<Box<dyn Stream>>>;

/// How far an exchange came, which decides whether the child can still be told.
enum Trouble {
    /// Nothing was answered yet, and the child's own body is broken.
    Unreadable(io::Error),
    /// Nothing was answered yet.
    Before(io::Error),
    /// The answer had begun.
    During(io::Error),
}

pub(super) async fn run(
    passage: &Passage,
    child: &mut Child,
    request: &Request,
    path: &str,
    dialled: Dialled,
) -> io::Result<()> {
    let Dialled { stream, meter, decision } = dialled;
    let begun = AtomicBool::new(false);
    let work = async {
        match exchange(passage, child, request, path, Box::new(stream), &begun).await {
            Ok(()) => Ok(Ending::Finished),
            Err(Trouble::During(error)) => Err(error),
            Err(Trouble::Unreadable(error)) => {
                answer(child, 400, &format!("the request is refused: {error}")).await?;
                Err(error)
            }
            Err(Trouble::Before(error)) => {
                let to = &request.destination;
                let (status, text) = match error.kind() {
                    io::ErrorKind::QuotaExceeded => {
                        (403, format!("`{to}` is refused: this child has had its bytes"))
                    }
                    // Told below, with all that took too long.
                    io::ErrorKind::TimedOut => return Err(error),
                    _ => (502, format!("`{to}` does not answer as it should: {error}")),
                };
                answer(child, status, &text).await?;
                Err(error)
            }
        }
    };
    match passage.carry(&decision, &meter, work).await {
        Ending::Stopped => Err(io::ErrorKind::ConnectionAborted.into()),
        Ending::TimedOut if !begun.load(Ordering::Relaxed) => {
            answer(child, 504, &format!("`{}` does not answer", request.destination)).await
        }
        _ => Ok(()),
    }
}

async fn exchange(
    passage: &Passage,
    child: &mut Child,
    request: &Request,
    path: &str,
    stream: Box<dyn Stream>,
    begun: &AtomicBool,
) -> Result<(), Trouble> {
    let egress = &passage.egress;
    let destination = &request.destination;
    let stream = match destination.scheme {
        Scheme::Http => stream,
        Scheme::Https => {
            let greeting = egress.tls.greet(&destination.host, stream);
            let limit = passage.limits.connect;
            within(&*egress.world.clock, limit, greeting).await.map_err(Trouble::Before)?
        }
    };
    let (from_host, mut to_host) = tokio::io::split(stream);
    let mut from_host = BufReader::with_capacity(BUFFER_LEN, from_host);
    let head = request.write(path, egress.injections_for(destination));
    to_host.write_all(&head).await.map_err(Trouble::Before)?;
    to_host.flush().await.map_err(Trouble::Before)?;
    if request.expects_continue && request.knows_chunks {
        child.writer.write_all(CONTINUE).await.map_err(Trouble::Before)?;
        child.writer.flush().await.map_err(Trouble::Before)?;
    }
    let Child { reader, writer } = child;
    // Side by side, since a host may answer before it has read everything.
    let up = relay(reader, request.framing, &mut to_host, Rewrite::Chunks);
    let cleaner = egress.cleaner_for(destination);
    let down = pass_back(&mut from_host, writer, request, cleaner.as_ref(), begun);
    tokio::pin!(up, down);
    tokio::select! {
        biased;
        answered = &mut down => answered,
        sent = &mut up => match sent {
            // A host that no longer reads may still answer; a body that is not one may not
            // be followed by anything.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                match begun.load(Ordering::Relaxed) {
                    true => Err(Trouble::During(error)),
                    false => Err(Trouble::Unreadable(error)),
                }
            }
            _ => down.await,
        },
    }
}

async fn pass_back(
    from: &mut FromHost,
    to: &mut (impl tokio::io::AsyncWrite + Unpin),
    request: &Request,
    cleaner: Option<&Cleaner>,
    begun: &AtomicBool,
) -> Result<(), Trouble> {
    let answer = final_answer(from, request).await.map_err(Trouble::Before)?;
    let rewrite = if request.knows_chunks { Rewrite::Chunks } else { Rewrite::Bare };
    if cleaner.is_some() && is_packed(answer.codings()) {
        let why = "it packs its answer though it was asked not to, and what is packed can't be cleared of the credential that was added";
        return Err(Trouble::Before(io::Error::new(io::ErrorKind::InvalidData, why)));
    }
    let head = match cleaner {
        Some(cleaner) => answer.clear(cleaner).write(request.knows_chunks),
        None => answer.write(request.knows_chunks),
    };
    begun.store(true, Ordering::Relaxed);
    to.write_all(&head).await.map_err(Trouble::During)?;
    let passed = match cleaner {
        Some(cleaner) => cleaner.relay(from, answer.framing, to, rewrite).await,
        None => relay(from, answer.framing, to, rewrite).await,
    };
    passed.map_err(Trouble::During)
}

async fn final_answer(from: &mut FromHost, request: &Request) -> io::Result<Answer> {
    let garbage = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    for _interim in 0..=INTERIM_MAX {
        let head = read_head(from).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let answer = Answer::parse(&head, &request.method);
        let answer = answer.map_err(|refusal| garbage(refusal.to_string()))?;
        if answer.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(garbage("it changes the protocol without being asked".to_owned()));
        }
        if !answer.status.is_informational() {
            return Ok(answer);
        }
    }
    Err(garbage("it announces an answer again and again".to_owned()))
}
