//! A form with files: `multipart/form-data`, as RFC 7578 has it.

use bytes::{BufMut as _, Bytes, BytesMut};

/// Fields and files on their way to a server.
#[derive(Debug, Default, Clone)]
pub struct Form {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
struct Part {
    head: String,
    content: Bytes,
}

impl Form {
    /// An empty form.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a field.
    #[must_use]
    pub fn text(mut self, name: &str, value: impl Into<String>) -> Self {
        let head = format!("Content-Disposition: form-data; name=\"{}\"", quoted(name));
        self.parts.push(Part { head, content: Bytes::from(value.into()) });
        self
    }

    #[must_use]
    pub fn file(mut self, name: &str, file_name: &str, media_type: &str, content: Bytes) -> Self {
        let is_plain = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        let is_usable = !media_type.is_empty() && media_type.bytes().all(is_plain);
        let media_type = if is_usable { media_type } else { "application/octet-stream" };
        let head = format!(
            "Content-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\nContent-Type: {media_type}",
            quoted(name),
            quoted(file_name)
        );
        self.parts.push(Part { head, content });
        self
    }

    /// The type and the bytes of the body.
    pub fn finish(self) -> (String, Bytes) {
        // What separates the parts must stand in none of them. A hash of all of them does not:
        // nobody can write a file that holds the hash of itself.
        let mut hasher = blake3::Hasher::new();
        for part in &self.parts {
            hasher.update(part.head.as_bytes());
            hasher.update(&part.content);
        }
        let boundary = format!("insula-{}", &hasher.finalize().to_hex()[..40]);
        let room: usize = self.parts.iter().map(|part| part.content.len() + 256).sum();
        let mut body = BytesMut::with_capacity(room + 64);
        for Part { head, content } in &self.parts {
            for piece in ["--", &boundary, "\r\n", head, "\r\n\r\n"] {
                body.put_slice(piece.as_bytes());
            }
            body.put_slice(content);
            body.put_slice(b"\r\n");
        }
        body.put_slice(format!("--{boundary}--\r\n").as_bytes());
        (format!("multipart/form-data; boundary={boundary}"), body.freeze())
    }
}

/// A name that can't end its quotation or its line.
fn quoted(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '"' => safe.push_str("%22"),
            '\r' => safe.push_str("%0D"),
            '\n' => safe.push_str("%0A"),
            '\0' => {}
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_says_what_it_holds_and_a_name_ends_no_line() {
        let form = Form::new().text("chat_id", "7").file(
            "document",
            "a\"\r\nX: y.txt",
            "text/plain\r\nX: y",
            Bytes::from_static(b"--insula\r\n"),
        );
        let (media_type, body) = form.finish();
        let boundary = media_type.split_once("boundary=").unwrap().1;
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"document\"; \
             filename=\"a%22%0D%0AX: y.txt\"\r\nContent-Type: application/octet-stream\r\n\r\n\
             --insula\r\n\r\n--{boundary}--\r\n"
        );
        assert_eq!(String::from_utf8_lossy(&body), expected);
    }
}
