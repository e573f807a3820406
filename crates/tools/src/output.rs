//! What a tool gives back.

pub use insula_mcp::Picture;

/// What a tool gives back when it did what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Text for the model.
    Text(String),
    /// Text for the model of which some is somebody else's, and is marked so.
    Pieces(Vec<Piece>),
    /// The same with pictures, for models that look at them. The words say what they are.
    WithPictures { pieces: Vec<Piece>, pictures: Vec<Picture> },
    /// A question for the person; the turn ends with it and the answer is the next message.
    Ask {
        question: String,
        /// Answers to choose from; none for an open question.
        choices: Vec<String>,
    },
    /// What the turn ends with: `text` is the result, and people read what is `said`.
    Last { text: String, said: String },
    /// A question as [`Self::Ask`], asked by somebody else than the model: their words, which name them. What was
    /// called goes on with the answer.
    AskFor { question: String },
}

/// A piece of what a tool gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// What the tool itself says.
    Own(String),
    /// What came from outside and may say anything. Whoever shows it to a model keeps it
    /// between marks that it can't forge.
    Foreign {
        /// Where from, for the model and the record.
        source: String,
        text: String,
    },
}

impl Piece {
    /// What pieces say, without marks: for whoever does not show it to a model.
    pub fn plain(pieces: &[Self]) -> String {
        let texts = pieces.iter().map(|piece| match piece {
            Self::Own(text) => text.clone(),
            Self::Foreign { source, text } => format!("{source}\n{text}"),
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Whose words are passed on: in a file that is kept, or by a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotedSource {
    /// Those of this conversation: of its programs and its models.
    Own,
    /// Somebody else's may be among them: whoever reads them later reads them marked.
    Foreign,
}

/// A handle could not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HandError(pub String);

/// Why a tool did not do it. The message is for the model: what was wrong, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// the arguments are wrong
    #[error("the arguments are not valid: {0}")]
    Arguments(String),
    /// the boundary does not allow it
    #[error("refused: {0}")]
    Refused(String),
    /// a handle failed
    #[error(transparent)]
    Hand(#[from] HandError),
    /// it failed, and some of the words about it are somebody else's
    #[error("{}", Piece::plain(.0))]
    Pieces(Vec<Piece>),
}
