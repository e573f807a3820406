//! `insula open`

use super::text;
use crate::failure::Failure;
use crate::output;
use crate::process;
use crate::reach::Reach;
use crate::setting::Answer;
use std::io::IsTerminal as _;

/// Prints a link that signs in whoever opens it first, and opens it where somebody sits.
pub async fn run(reach: &Reach, answer: Answer, print: bool) -> Result<u8, Failure> {
    let link = reach.post("/api/sign-in/links", None).await?;
    let url = text(&link, "url");
    answer.give(&link, |_| output::line(&url));
    if answer == Answer::Text && !print && std::io::stdout().is_terminal() {
        // Where there is no browser, the link was printed.
        process::show_page(&url);
    }
    Ok(0)
}
