//! What the first bytes of an agent's database tell, without opening it: whether it is ours, and of
//! a version that we know. What they don't tell, opening it does.

use super::schema::AGENT;
use crate::error::{Result, StoreError};
use insula_domain::AgentId;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

/// What every SQLite database begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where its header has the version of the format, and whose it is.
const VERSION: usize = 60;
const OWNER: usize = 68;
const HEADER_BYTES: usize = 100;

/// An error where the database of an agent can't be used, whatever else is in it. One that is not
/// there, that is empty or that was just begun is fine.
#[expect(clippy::disallowed_methods, reason = "it reads bytes of a database without opening it")]
pub fn glance(home: &Path, agent: &AgentId) -> Result<()> {
    let file = home.join("agents").join(agent.as_str()).join("agent.db");
    let mut header = [0; HEADER_BYTES];
    let read = File::open(&file).and_then(|mut opened| opened.read_exact(&mut header));
    let damaged = |what: &str| StoreError::Damaged { file: file.clone(), what: what.to_owned() };
    match read {
        Ok(()) if !header.starts_with(MAGIC) => return Err(damaged("it has no header of one")),
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof && header[0] != 0 => {
            return Err(damaged("it ends within its header"));
        }
        // Who opens it says what is wrong.
        Err(_) => return Ok(()),
    }
    let number = |at: usize| {
        let bytes = header[at..at + 4].iter();
        bytes.fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
    };
    let (found, known) = (i64::from(number(VERSION)), AGENT.migrations.len());
    let known = i64::try_from(known).unwrap_or(i64::MAX);
    match number(OWNER) {
        // Made, and cut off before it was ours; or that is not in this file yet.
        0 if found == 0 => Ok(()),
        owner if i64::from(owner) != i64::from(AGENT.application_id) => {
            Err(damaged("its header is another program's"))
        }
        _ if found > known => Err(StoreError::Newer { file, found, known }),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests touch files and panic")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_no_version_of_ours_can_open_is_seen_in_its_header() {
        let home = tempfile::tempdir().unwrap();
        let agent = AgentId::new("a").unwrap();
        let file = home.path().join("agents/a/agent.db");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        assert!(glance(home.path(), &agent).is_ok(), "there is none yet");
        let known = u32::try_from(AGENT.migrations.len()).unwrap();
        let header = |owner: i32, version: u32| {
            let mut bytes = [MAGIC, &[0; HEADER_BYTES]].concat();
            bytes[VERSION..VERSION + 4].copy_from_slice(&version.to_be_bytes());
            bytes[OWNER..OWNER + 4].copy_from_slice(&owner.to_be_bytes());
            bytes
        };
        for (bytes, said) in [
            (Vec::new(), None),
            (header(0, 0), None),
            (header(AGENT.application_id, known), None),
            (header(AGENT.application_id, 1), None),
            (header(AGENT.application_id, known + 1), Some("knows formats up to")),
            (header(7, 1), Some("another program's")),
            (b"no database at all".to_vec(), Some("ends within")),
            (vec![b'x'; 4096], Some("no header")),
        ] {
            fs::write(&file, &bytes).unwrap();
            let found = glance(home.path(), &agent).map_err(|error| error.to_string());
            match said {
                None => assert_eq!(found, Ok(()), "{bytes:?}"),
                Some(said) => assert!(found.as_ref().unwrap_err().contains(said), "{found:?}"),
            }
        }
    }
}
