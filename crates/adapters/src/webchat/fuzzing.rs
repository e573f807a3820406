//! What fuzz targets call: frames of a page of any shape. Built only for them.

use super::frames::ClientFrame;

/// The frame in these bytes, if it is one, as it would be told apart from another.
pub fn frame(bytes: &[u8]) -> Option<String> {
    let said: ClientFrame = serde_json::from_slice(bytes).ok()?;
    Some(format!("{said:?}"))
}
