//! What fuzz targets call: whatever a server may write. Built only for them.

use crate::content;
use crate::offer::Offer;
use crate::stdio_lines::StdioLines;
use insula_world::Clock;
use rmcp::model::{CallToolResult, JsonRpcMessage, Tool};
use rmcp::transport::Transport as _;
use std::io::Cursor;
use std::sync::Arc;

/// How many messages are in what a program wrote, and as which results and tools they would be
/// understood.
pub async fn written(bytes: Vec<u8>, clock: Arc<dyn Clock>) -> usize {
    let read = Box::new(Cursor::new(bytes));
    let mut lines =
        StdioLines::new(read, Box::new(tokio::io::sink()), Box::new(()), clock, Arc::default());
    let mut count = 0;
    while let Some(message) = lines.receive().await {
        count += 1;
        let JsonRpcMessage::Response(response) = message else { continue };
        let Ok(value) = serde_json::to_value(response.result) else { continue };
        if let Ok(result) = serde_json::from_value::<CallToolResult>(value.clone()) {
            let outcome = content::outcome(result);
            assert!(outcome.text.len() <= content::RESULT_BYTES_MAX + 1_024);
        }
        let tools = value["tools"].as_array().cloned().unwrap_or_default();
        for tool in tools.into_iter().filter_map(|it| serde_json::from_value::<Tool>(it).ok()) {
            Offer::of(tool).mark();
        }
    }
    count
}
