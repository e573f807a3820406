//! The seal: a passphrase that is costly to guess, by age.

use crate::error::{ArchiveError, Result};
use age::DecryptError;
use age::secrecy::{ExposeSecret as _, SecretString};
use age::stream::{StreamReader, StreamWriter};
use std::io::{self, BufRead, Write};
use std::iter::once;
use std::path::Path;

/// Fewest characters of a passphrase: shorter ones are guessed, whatever guessing costs.
pub const PASSPHRASE_CHARS_MIN: usize = 8;

/// How much work a guess is, as a power of two: about a second on a small machine.
const WORK: u8 = 17;

/// Most work that is done to open a file: a forged one could ask for hours.
const WORK_MAX: u8 = 22;

/// How a sealed file begins.
pub(crate) const MAGIC: &[u8] = b"age-encryption.org/v1";

/// What somebody seals with. Never printed.
#[derive(Clone)]
pub struct Passphrase(SecretString);

impl Passphrase {
    /// One for opening: whatever it was sealed with.
    pub fn new(text: String) -> Self {
        Self(SecretString::from(text))
    }

    /// One for sealing: not so short that it is guessed.
    pub fn for_sealing(text: String) -> Result<Self> {
        let count = text.chars().count();
        if count < PASSPHRASE_CHARS_MIN {
            let what = match count {
                0 => format!(
                    "no passphrase was given; give one of at least {PASSPHRASE_CHARS_MIN} characters"
                ),
                _ => format!(
                    "a passphrase has at least {PASSPHRASE_CHARS_MIN} characters, this has {count}; several words are easy to keep and hard to guess"
                ),
            };
            return Err(ArchiveError::NoPassphrase(what));
        }
        Ok(Self::new(text))
    }

    /// Whether two are the same.
    pub fn is(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }
}

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

/// A writer whose bytes are sealed, or not where there is no passphrase.
pub(crate) enum Sealing<W: Write> {
    Sealed(StreamWriter<W>),
    Open(W),
}

impl<W: Write> Sealing<W> {
    pub(crate) fn begin(out: W, passphrase: Option<&Passphrase>) -> io::Result<Self> {
        let Some(passphrase) = passphrase else { return Ok(Self::Open(out)) };
        let mut recipient = age::scrypt::Recipient::new(passphrase.0.clone());
        recipient.set_work_factor(WORK);
        let sealer = age::Encryptor::with_recipients(once(&recipient as &dyn age::Recipient));
        Ok(Self::Sealed(sealer.map_err(io::Error::other)?.wrap_output(out)?))
    }

    /// Ends it: without that the file counts as cut off.
    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Self::Sealed(out) => out.finish(),
            Self::Open(out) => Ok(out),
        }
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Sealed(out) => out.write(bytes),
            Self::Open(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Sealed(out) => out.flush(),
            Self::Open(out) => out.flush(),
        }
    }
}

/// Opens a sealed file.
pub(crate) fn open<R: BufRead>(
    file: &Path,
    input: R,
    passphrase: &Passphrase,
) -> Result<StreamReader<R>> {
    let mut identity = age::scrypt::Identity::new(passphrase.0.clone());
    identity.set_max_work_factor(WORK_MAX);
    let opened = age::Decryptor::new_buffered(input).and_then(|sealed| match sealed.is_scrypt() {
        true => sealed.decrypt(once(&identity as &dyn age::Identity)),
        false => Err(DecryptError::UnknownFormat),
    });
    let foreign = |what: &str| ArchiveError::Foreign { file: file.to_owned(), what: what.into() };
    opened.map_err(|error| match error {
        DecryptError::NoMatchingKeys
        | DecryptError::KeyDecryptionFailed
        | DecryptError::DecryptionFailed => ArchiveError::Passphrase { file: file.to_owned() },
        DecryptError::ExcessiveWork { .. } => {
            foreign("opening it takes more work than anything that insula sealed")
        }
        DecryptError::UnknownFormat => foreign("it is sealed otherwise than with a passphrase"),
        DecryptError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            ArchiveError::file(file, "can't be read", &error)
        }
        _ => ArchiveError::damaged(file, "its beginning is not whole"),
    })
}
