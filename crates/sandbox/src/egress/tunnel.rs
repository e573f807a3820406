//! CONNECT: a tunnel that carries TLS to one host, whose greeting is read before it is
//! passed on.

use super::dial::Dialled;
use super::framing::copy_to_end;
use super::head::Request;
use super::hello::{self, HELLO_LEN_MAX, Progress};
use super::ledger::Ending;
use super::passage::{Child, Passage};
use super::policy::{EgressDestination, EgressRefusal, TlsRefusal};
use insula_domain::Host;
use std::io;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// What TLS says to a client it does not let in: a fatal alert, "access denied".
const ALERT_ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
/// Bytes read from the host at once.
const BUFFER_LEN: usize = 16 * 1024;
/// Greeting and the heads of its records.
const PEEKED_LEN_MAX: usize = HELLO_LEN_MAX + 1024;

pub(super) async fn run(
    passage: &Passage,
    child: &mut Child,
    request: &Request,
    dialled: Dialled,
) -> io::Result<()> {
    let Dialled { stream, meter, decision } = dialled;
    let destination = &request.destination;
    let work = async {
        child.writer.write_all(ESTABLISHED).await?;
        child.writer.flush().await?;
        let greeting = peek(child, destination);
        let greeting = match passage.unless_cancelled(passage.limits.head, greeting).await? {
            Ok(greeting) => greeting,
            Err(why) => {
                let refusal = EgressRefusal::Tls { destination: destination.clone(), why };
                passage.refuse(destination, refusal).await;
                child.writer.write_all(&ALERT_ACCESS_DENIED).await?;
                return Ok(Ending::Refused);
            }
        };
        let (from_host, mut to_host) = tokio::io::split(stream);
        let mut from_host = BufReader::with_capacity(BUFFER_LEN, from_host);
        to_host.write_all(&greeting).await?;
        let up = async {
            copy_to_end(&mut child.reader, &mut to_host).await?;
            to_host.shutdown().await
        };
        let down = async {
            copy_to_end(&mut from_host, &mut child.writer).await?;
            child.writer.shutdown().await
        };
        tokio::try_join!(up, down)?;
        Ok(Ending::Finished)
    };
    match passage.carry(&decision, &meter, work).await {
        Ending::Refused | Ending::Finished => Ok(()),
        _ => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

/// Reads the greeting and checks whom it names. What was read is given back, to be passed on.
async fn peek(
    child: &mut Child,
    destination: &EgressDestination,
) -> io::Result<Result<Vec<u8>, TlsRefusal>> {
    let mut peeked = vec![];
    loop {
        let available = child.reader.fill_buf().await?;
        if available.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        peeked.extend_from_slice(available);
        let taken = available.len();
        child.reader.consume(taken);
        match hello::read(&peeked) {
            Ok(Progress::Complete(greeting)) => {
                return Ok(check_name(destination, greeting.server_name).map(|()| peeked));
            }
            Ok(Progress::Unfinished) if peeked.len() <= PEEKED_LEN_MAX => {}
            Ok(Progress::Unfinished) => return Ok(Err(TlsRefusal::Broken("it is too long"))),
            Err(why) => return Ok(Err(why)),
        }
    }
}

/// The name in the greeting is the one the tunnel was opened for. Only an address that was
/// granted as such does without: TLS has no way to name one.
fn check_name(destination: &EgressDestination, named: Option<Host>) -> Result<(), TlsRefusal> {
    match (named, &destination.host) {
        (Some(named), host) if named == *host => Ok(()),
        (Some(other), _) => Err(TlsRefusal::Other(other.to_string())),
        (None, Host::Address(_)) => Ok(()),
        (None, Host::Name(_)) => Err(TlsRefusal::Nameless),
    }
}
