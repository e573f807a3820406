//! A tool whose results are read in quarantine: by a model without tools and without a
//! conversation, which answers one question in a given shape. Only that value comes back.

mod shape;

use crate::{
    Cleared, Course, Habits, Hands, Output, Piece, Recall, Risk, Tool, ToolError, ToolRef,
};
use async_trait::async_trait;
use insula_domain::Source;

use serde_json::{Map, Value, json};
use shape::Shape;

/// What is asked about a result.
const QUESTION: &str = "question";
/// The shape of the answer.
const ANSWER: &str = "answer_schema";
/// Longest question, in bytes.
const QUESTION_BYTES_MAX: usize = 2_000;

/// A tool behind a quarantine.
pub struct Quarantined {
    inner: ToolRef,
    description: String,
    parameters: String,
}

impl Quarantined {
    /// The same tool, read in quarantine. One whose schema can't be read stays out.
    pub fn new(inner: ToolRef) -> Option<Self> {
        let mut parameters: Value = serde_json::from_str(inner.parameters()).ok()?;
        let members = parameters.as_object_mut()?;
        let properties = members.entry("properties").or_insert_with(|| json!({}));
        properties.as_object_mut()?.extend([
            (QUESTION.to_owned(), json!({ "type": "string" })),
            (ANSWER.to_owned(), json!({ "type": "object" })),
        ]);
        let required = members.entry("required").or_insert_with(|| json!([]));
        required.as_array_mut()?.extend([json!(QUESTION), json!(ANSWER)]);
        let description = format!(
            "{} You are not shown the result: it is read for you, your `question` is answered, and you get a value of `answer_schema` (JSON schema of booleans, numbers, enums, dates, and arrays and objects of these; no free text).",
            inner.description()
        );
        Some(Self { inner, description, parameters: parameters.to_string() })
    }
}

#[async_trait]
impl Tool for Quarantined {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> &str {
        &self.parameters
    }

    fn habits(&self) -> Habits {
        self.inner.habits()
    }

    fn left_out(&self, given: &Map<String, Value>) -> Vec<(&'static str, &'static str)> {
        self.inner.left_out(given)
    }

    fn recall(&self) -> Recall {
        self.inner.recall()
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        self.inner.subject(arguments)
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        self.inner.risk(arguments)
    }

    fn course(&self) -> Course {
        self.inner.course()
    }

    fn only_reads(&self) -> bool {
        self.inner.only_reads()
    }

    fn source(&self, shown: &str) -> Option<Source> {
        self.inner.source(shown)
    }

    fn is_quarantined(&self) -> bool {
        true
    }

    fn writes(&self, arguments: &Value) -> Vec<String> {
        self.inner.writes(arguments)
    }

    fn reaches_everywhere(&self, arguments: &Value) -> bool {
        self.inner.reaches_everywhere(arguments)
    }

    fn takes_away(&self, arguments: &Value) -> bool {
        self.inner.takes_away(arguments)
    }

    async fn run(&self, hands: &Hands<'_>, call: &Cleared) -> Result<Output, ToolError> {
        let wrong = |what: String| ToolError::Arguments(what);
        let question = call.get(QUESTION).and_then(Value::as_str).unwrap_or_default();
        if question.trim().is_empty() || question.len() > QUESTION_BYTES_MAX {
            return Err(wrong(format!(
                "`{QUESTION}` is a text of 1 to {QUESTION_BYTES_MAX} bytes"
            )));
        }
        let schema = call.get(ANSWER).unwrap_or(&Value::Null);
        let shape = Shape::parse(schema).map_err(|why| wrong(format!("`{ANSWER}`: {why}")))?;
        let reader = hands.reader()?;
        let inner = call.without(&self.inner, &[QUESTION, ANSWER]);
        // Whatever it says, also of what went wrong, may be somebody else's words.
        let text = match inner.run(hands).await {
            Ok(Output::Text(text)) => text,
            // Pictures are read by nobody here.
            Ok(Output::Pieces(pieces) | Output::WithPictures { pieces, .. }) => {
                Piece::plain(&pieces)
            }
            Ok(Output::AskFor { .. }) => {
                let why = "it asks something, which is not shown in quarantine";
                return Err(ToolError::Refused(why.to_owned()));
            }
            Ok(ask @ (Output::Ask { .. } | Output::Last { .. })) => return Ok(ask),
            // Where a page leads is refused by the name that the page gave it.
            Err(ToolError::Pieces(_) | ToolError::Hand(_) | ToolError::Refused(_)) => {
                let why = "it failed, and what it said of that is not shown in quarantine";
                return Err(ToolError::Refused(why.to_owned()));
            }
            // Those are about what it was called with.
            Err(error @ ToolError::Arguments(_)) => return Err(error),
        };
        let value = reader.answer(&text, question, schema).await?;
        match shape.fits(&value) {
            true => Ok(Output::Text(value.to_string())),
            false => Err(ToolError::Refused(
                "what was read could not be answered in that shape; ask for less, or for something else".to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod quarantine_tests;
