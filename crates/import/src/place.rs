//! Where something stands in another runtime's home.

/// Where something stands in the other home.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Below that home; an absolute path where it is elsewhere.
    pub file: String,
    pub line: Option<usize>,
}

impl Place {
    /// A whole file.
    pub fn file(file: impl Into<String>) -> Self {
        Self { file: file.into(), line: None }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}
