//! `insula audit verify FILE`: checks an export of one scope, without a home and without a daemon.

use crate::arguments::Verify;
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::process;
use crate::setting::Answer;
use insula_store::proof::{Checker, Earlier, LINE_BYTES_MAX, ProofError, Verified};
use serde_json::{Value, json};
use std::path::Path;

/// A key, as people have it.
fn key(text: &str) -> Result<[u8; 32], Failure> {
    let wrong = || {
        let message = "a key has 64 hexadecimal digits, as `insula audit key AGENT` shows it";
        Failure::WrongUse(message.to_owned())
    };
    if text.len() != 64 || !text.is_ascii() {
        return Err(wrong());
    }
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        let digits = text.get(2 * at..2 * at + 2).ok_or_else(wrong)?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
    }
    Ok(bytes)
}

/// Checks a file.
fn check(
    file: &Path,
    earlier: Option<Earlier>,
    key: Option<&[u8; 32]>,
) -> Result<Result<Verified, ProofError>, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::Failed(format!("{} can't be read: {error}", file.display()))
    };
    let mut checker = earlier.map_or_else(Checker::default, Checker::after);
    for line in process::lines(file, LINE_BYTES_MAX).map_err(unreadable)? {
        if let Err(wrong) = checker.line(&line.map_err(unreadable)?) {
            return Ok(Err(wrong));
        }
    }
    Ok(checker.finish(key))
}

/// Runs it.
pub fn run(answer: Answer, wish: &Verify, file: &Path) -> Result<u8, Failure> {
    let wanted = wish.key.as_deref().map(key).transpose()?;
    let earlier = match &wish.after {
        None => None,
        Some(before) => {
            let found = check(before, None, wanted.as_ref())?;
            let found = found.map_err(|wrong| {
                Failure::Failed(format!("the earlier export {}: {wrong}", before.display()))
            })?;
            Some(found.end())
        }
    };
    let is_known = wanted.is_some();
    let goes_on = earlier.is_some();
    match check(file, earlier, wanted.as_ref())? {
        Ok(verified) => {
            let told = described(&verified, is_known, goes_on);
            answer.give(&told, |_| say(file, &verified, is_known, goes_on));
            Ok(0)
        }
        Err(wrong) => {
            let told = json!({ "ok": false, "reason": wrong.to_string() });
            answer.give(&told, |_| output::line(&format!("{}: {wrong}", file.display())));
            Ok(FAILED)
        }
    }
}

/// An export that this program made is checked before anybody has it.
pub fn summary(text: &str) -> Result<Value, Failure> {
    let mut checker = Checker::default();
    let taken = text.lines().try_for_each(|line| checker.line(line));
    let verified = taken.and_then(|()| checker.finish(None));
    let verified = verified.map_err(|wrong| {
        Failure::Failed(format!("the export is not whole, and was not written: {wrong}"))
    })?;
    Ok(described(&verified, true, false))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn described(verified: &Verified, is_known: bool, goes_on: bool) -> Value {
    let statement = &verified.statement;
    json!({
        "ok": true,
        "agent": &*statement.agent,
        "scope": &*statement.scope,
        "first": statement.first,
        "last": statement.last,
        "records": verified.records,
        "left_out": verified.left_out,
        "erased": verified.erased,
        "head": hex(&statement.head),
        "signed_at": statement.at.to_string(),
        "key": hex(&verified.key),
        "key_was_given": is_known,
        "goes_on_from_earlier": goes_on,
    })
}

fn say(file: &Path, verified: &Verified, is_known: bool, goes_on: bool) {
    let statement = &verified.statement;
    output::line(&format!("{}: intact", file.display()));
    let records = match statement.last < statement.first {
        true => "none".to_owned(),
        false => format!("{} to {}", statement.first, statement.last),
    };
    let records = match (verified.left_out, verified.erased) {
        (0, 0) => records,
        (left_out, erased) => {
            format!("{records}, {left_out} of them not shown, {erased} without their content")
        }
    };
    let mut facts = vec![
        ("agent", output::clean(&statement.agent)),
        ("scope", output::clean(&statement.scope)),
        ("records", records),
        ("signed at", statement.at.to_string()),
        ("signed by", hex(&verified.key)),
        ("head", hex(&statement.head)),
    ];
    if goes_on {
        facts.push(("earlier", "it goes on from the earlier export".to_owned()));
    }
    output::facts(&facts);
    if !is_known {
        output::notice(
            "whose key that is was not checked: compare it with the one that the operator told you, or give that by --key",
        );
    }
}
