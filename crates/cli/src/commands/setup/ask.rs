//! The questions of the wizards, one by one at the terminal. Ctrl-C or Escape gives up, and
//! nothing was written then.

use crate::failure::Failure;
use std::fmt::Display;

const GIVEN_UP: &str = "given up; nothing was written";

fn done<T>(answer: std::io::Result<T>) -> Result<T, Failure> {
    answer.map_err(|error| match error.kind() {
        std::io::ErrorKind::Interrupted => Failure::Failed(GIVEN_UP.to_owned()),
        _ => Failure::from(error),
    })
}

pub fn begin(title: &str) -> Result<(), Failure> {
    done(cliclack::intro(title))
}

/// One of several: what it means, what it is called, and what there is to know about it.
pub fn one<T: Clone + Eq>(
    question: &str,
    choices: impl IntoIterator<Item = (T, String, String)>,
) -> Result<T, Failure> {
    let mut select = cliclack::select(question);
    for (value, label, hint) in choices {
        select = select.item(value, label, hint);
    }
    done(select.interact())
}

/// A line; an empty one is the usual answer. It is asked again until the check is content.
pub fn line(
    question: &str,
    usual: &str,
    check: impl Fn(&str) -> Result<(), String> + 'static,
) -> Result<String, Failure> {
    let input = cliclack::input(question).default_input(usual);
    let answer: String = done(input.validate(move |it: &String| check(it.trim())).interact())?;
    Ok(answer.trim().to_owned())
}

/// A line that may be left empty.
pub fn maybe(question: &str) -> Result<String, Failure> {
    // Without a placeholder: one would stand there as if it were the answer.
    let answer: String = done(cliclack::input(question).required(false).interact())?;
    Ok(answer.trim().to_owned())
}

/// A line that is not shown.
pub fn hidden(question: &str) -> Result<String, Failure> {
    let answer = done(cliclack::password(question).mask('•').interact())?;
    Ok(answer.trim().to_owned())
}

/// The same, where an empty one is an answer.
pub fn hidden_or_none(question: &str) -> Result<String, Failure> {
    let answer = done(cliclack::password(question).mask('•').allow_empty().interact())?;
    Ok(answer.trim().to_owned())
}

pub fn yes(question: &str) -> Result<bool, Failure> {
    done(cliclack::confirm(question).initial_value(true).interact())
}

/// Says something between two questions.
pub fn say(text: impl Display) -> Result<(), Failure> {
    done(cliclack::log::info(text))
}
