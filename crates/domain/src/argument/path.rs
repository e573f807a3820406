//! Patterns of paths, compared part by part. What a path leads to is not known here: links
//! and folders are the boundary's.

use std::fmt;

/// A pattern of paths: `*` and `?` within one part, `**` for any number of parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathGlob {
    text: Box<str>,
    is_absolute: bool,
    parts: Box<[Box<str>]>,
}

/// Most parts of a pattern or a path.
const PARTS_MAX: usize = 256;

impl PathGlob {
    /// Reads a pattern; what is wrong with it otherwise.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (is_absolute, parts) =
            parts(text).ok_or("`..` and control characters can't be used")?;
        if parts.is_empty() {
            return Err("it names nothing");
        }
        if parts.iter().any(|part| part.contains("**") && *part != "**") {
            return Err("`**` stands alone between two slashes");
        }
        let parts = parts.into_iter().map(Into::into).collect();
        Ok(Self { text: text.into(), is_absolute, parts })
    }

    /// Whether a path is one of these. One with `..` in it never is.
    pub fn covers(&self, path: &str) -> bool {
        let Some((is_absolute, parts)) = parts(path) else { return false };
        is_absolute == self.is_absolute && covers(&self.parts, &parts)
    }
}

impl fmt::Display for PathGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The parts of a path, without empty ones and `.`.
fn parts(path: &str) -> Option<(bool, Vec<&str>)> {
    if path.contains(char::is_control) || path.contains('\\') {
        return None;
    }
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let is_fine = parts.len() <= PARTS_MAX && !parts.contains(&"..");
    is_fine.then_some((path.starts_with('/'), parts))
}

/// Matches with `**` for any run of parts. Going back to the last one is enough.
fn covers(pattern: &[Box<str>], parts: &[&str]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < parts.len() {
        match pattern.get(p).map(|part| &**part) {
            Some("**") => {
                star = Some((p, t));
                p += 1;
            }
            Some(part) if within(part.as_bytes(), parts[t].as_bytes()) => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|part| &**part == "**")
}

/// Matches `*` and `?` within one part.
fn within(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(b'?') => {
                p += 1;
                t += 1;
            }
            Some(byte) if *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}
