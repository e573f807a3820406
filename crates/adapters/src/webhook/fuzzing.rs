//! What fuzz targets call: templates, payloads and signatures of any shape. Built only for them.

use super::signature::Signer;
use super::template::Template;
use insula_world::Timestamp;
use std::time::Duration;

/// What a template makes of a payload; `None` where one of them is none.
pub fn filled(template: &str, payload: &[u8]) -> Option<String> {
    let template = Template::parse(template).ok()?;
    Some(template.fill(&serde_json::from_slice(payload).ok()?))
}

/// Whether a delivery with these headers, at this second, is signed.
pub fn is_signed(timestamp: &str, signature: &str, body: &[u8], now_s: i64) -> bool {
    let signer = Signer::new("a secret of thirty-two characters", Duration::from_secs(300));
    let now = Timestamp::from_millis(now_s * 1_000);
    signer.check(Some(timestamp), Some(signature), body, now).is_ok()
}
