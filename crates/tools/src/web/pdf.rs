//! The text of a PDF document, by `pdftotext`, which runs in a sandbox.
//!
//! Such documents are programs more than texts, and other people's: they are read where reading
//! them wrong can touch nothing. What is here says what is run, and what came of it.

use super::readable::{PageContent, Readable, finish};
use super::{Converted, Web, charset, html, text};
use crate::ToolError;

/// What is run. Its page begins with what the document says of itself, which the text alone
/// would not have. `exec` ends with 127 where the program is not there.
const COMMAND: &str = "exec pdftotext -htmlmeta -enc UTF-8 -eol unix -nopgbrk - -";
/// What a shell says of a program that is not there.
const NOT_FOUND: i32 = 127;
/// What `pdftotext` says where the text may not be taken.
const NOT_PERMITTED: i32 = 3;
/// Where the text begins in what is printed. Nothing before can look like it: what the document
/// says of itself is escaped.
const BEGINNING: &str = "<pre>\n";
const END: &str = "</pre>";
/// Longest title.
const TITLE_CHARS_MAX: usize = 300;

/// Reads a document.
pub(crate) async fn read(web: &dyn Web, document: Vec<u8>) -> Result<Readable, ToolError> {
    const HEADER_WITHIN: usize = 1_024;
    let head = document.get(..document.len().min(HEADER_WITHIN)).unwrap_or_default();
    if charset::find(head, b"%PDF-").is_none() {
        let why = "it is not a PDF document, although the server says so";
        return Ok(Readable::nothing(why));
    }
    let converted = web.convert(COMMAND, document).await?;
    match web.apart(Box::new(move || PageContent::Text(readable(&converted)))).await? {
        PageContent::Text(readable) => Ok(readable),
        PageContent::Pdf(_) => Ok(Readable::default()),
    }
}

/// What can be read of what was printed, or why nothing can.
fn readable(converted: &Converted) -> Readable {
    let Converted { status, output, is_cut, complaint } = converted;
    match *status {
        Some(0) => {}
        // What it wrote until it was ended is as good as a beginning.
        None if !output.is_empty() => {}
        Some(NOT_FOUND) => {
            return Readable::nothing(
                "PDF documents are read by `pdftotext`, which is not installed on this machine; the operator can install the package `poppler-utils` (`poppler` on Arch)",
            );
        }
        Some(NOT_PERMITTED) => {
            return Readable::nothing("the document does not permit that its text is taken");
        }
        _ if complaint.contains("Incorrect password") => {
            return Readable::nothing("the document is encrypted");
        }
        Some(_) => return Readable::nothing("the document is damaged: no page of it can be read"),
        None => return Readable::nothing("the document takes too long or too much to read"),
    }
    let printed = String::from_utf8_lossy(output);
    let (head, body) = printed.split_once(BEGINNING).unwrap_or((&printed, ""));
    // What was cut has no end of ours, and one that the document wrote is text.
    let is_cut = *is_cut || status.is_none();
    let body = if is_cut { body } else { body.rsplit_once(END).map_or(body, |(text, _)| text) };
    let title = html::read(head, None).title;
    let title = title.map(|title| title.chars().take(TITLE_CHARS_MAX).collect());
    let note = is_cut.then(|| "only the beginning of the document was read".to_owned());
    let empty = "there is no text in the document; it may be a scan";
    finish(Readable { title, text: text::tidy(body), note }, empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "<!DOCTYPE html><html>\n<head>\n<title>A &lt;pre&gt; &amp; B</title>\n</head>\n<body>\n<pre>\nFirst  line\na < b </pre> c\n\n</pre>\n</body>\n</html>\n";

    fn of(status: Option<i32>, output: &str, complaint: &str) -> Converted {
        let output = output.as_bytes().to_vec();
        Converted { status, output, is_cut: false, complaint: complaint.to_owned() }
    }

    #[test]
    fn title_and_text_are_told_apart_whatever_they_say() {
        let read = readable(&of(Some(0), PRINTED, "Syntax Warning: x"));
        let text = "First  line\na < b </pre> c".to_owned();
        assert_eq!(read, Readable { title: Some("A <pre> & B".to_owned()), text, note: None });
    }

    #[test]
    fn what_was_cut_says_so_and_keeps_its_beginning() {
        let begun = &PRINTED[..PRINTED.find(" c\n").unwrap()];
        for cut in [Converted { is_cut: true, ..of(Some(0), begun, "") }, of(None, begun, "")] {
            let read = readable(&cut);
            assert_eq!(read.text, "First  line\na < b </pre>");
            assert_eq!(read.note.unwrap(), "only the beginning of the document was read");
        }
    }

    #[test]
    fn why_nothing_is_read_is_said() {
        for (status, output, complaint, note) in [
            (Some(127), "", "sh: 1: exec: pdftotext: not found", "package `poppler-utils`"),
            (Some(1), "", "Command Line Error: Incorrect password", "encrypted"),
            (Some(1), "", "Syntax Error: Couldn't read xref table", "damaged"),
            (Some(99), "", "Wrong page range given", "damaged"),
            (Some(3), "", "Copying of text is not allowed", "not permit"),
            (None, "", "", "too long or too much"),
            (Some(0), "<head></head><body><pre>\n\n</pre>", "", "may be a scan"),
        ] {
            let read = readable(&of(status, output, complaint));
            assert!(read.text.is_empty());
            assert!(read.note.clone().unwrap().contains(note), "{note}: {read:?}");
        }
    }
}
