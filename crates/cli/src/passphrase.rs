//! Passphrases: from a file, a hidden prompt or standard input, never from an argument, which
//! others on the machine and the shell's history would see.

use crate::arguments::PassphraseFrom;
use crate::failure::Failure;
use crate::process::{ask_hidden, lines};
use insula_archive::Passphrase;
use std::io::{BufRead as _, IsTerminal as _, Read as _};

/// Longest passphrase that is read.
const BYTES_MAX: usize = 4_096;

/// One to seal with: typed twice, since what nobody can type again opens nothing.
pub fn to_seal(from: &PassphraseFrom, what: &str) -> Result<Passphrase, Failure> {
    let text = given(from, &format!("passphrase for {what}: "))?;
    let passphrase = Passphrase::for_sealing(text).map_err(wrong_use)?;
    if is_typed(from) {
        let again = Passphrase::new(ask_hidden("the same again: ")?);
        if !passphrase.is(&again) {
            return Err(Failure::WrongUse("the two are not the same; nothing was done".to_owned()));
        }
    }
    Ok(passphrase)
}

/// One to open with.
pub fn to_open(from: &PassphraseFrom, what: &str) -> Result<Passphrase, Failure> {
    Ok(Passphrase::new(given(from, &format!("passphrase of {what}: "))?))
}

fn wrong_use(error: insula_archive::ArchiveError) -> Failure {
    Failure::WrongUse(error.to_string())
}

fn is_typed(from: &PassphraseFrom) -> bool {
    from.passphrase_file.is_none() && std::io::stdin().is_terminal()
}

/// The first line of whatever has it, without its end.
fn given(from: &PassphraseFrom, prompt: &str) -> Result<String, Failure> {
    if let Some(path) = &from.passphrase_file {
        let named = |error: std::io::Error| Failure::Failed(format!("{}: {error}", path.display()));
        let first = lines(path, BYTES_MAX).map_err(named)?.next().transpose().map_err(named)?;
        return Ok(first.map(without_end).unwrap_or_default());
    }
    if is_typed(from) {
        return Ok(ask_hidden(prompt)?);
    }
    let mut text = String::new();
    std::io::stdin().lock().take(BYTES_MAX as u64).read_line(&mut text)?;
    Ok(without_end(text))
}

fn without_end(mut text: String) -> String {
    let end = text.trim_end_matches(['\r', '\n']).len();
    text.truncate(end);
    text
}
