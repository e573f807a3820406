//! Which version of the protocol is spoken, and what that means for a request.

use super::rpc::{Request, RpcFault};
use axum::http::HeaderMap;
use serde_json::Value;

/// Versions that begin with `initialize`, the newest first.
pub(super) const WITH_SESSION: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Versions whose every request stands for itself.
pub(super) const SINGLE: [&str; 1] = ["2026-07-28"];

const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";
/// Where a request that stands for itself says its version.
const VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_META: &str = "io.modelcontextprotocol/clientCapabilities";

/// How requests relate to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// They belong to a session.
    Session,
    /// Each stands for itself; closing its answer cancels it.
    Single,
}

/// All versions, the newest first.
pub(super) fn all() -> Vec<&'static str> {
    SINGLE.into_iter().chain(WITH_SESSION).collect()
}

/// The version that `initialize` settles on: the one asked for, or else our newest.
pub(super) fn settle(asked: Option<&str>) -> &'static str {
    let known = WITH_SESSION.into_iter().find(|version| Some(*version) == asked);
    known.unwrap_or(WITH_SESSION[0])
}

/// Whether a request belongs to a session. One that says two things about itself is refused:
/// something between us and the client may have decided by the headers.
pub(super) fn era(headers: &HeaderMap, request: &Request) -> Result<Era, RpcFault> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let meta = request.params.get("_meta");
    let inside = meta.and_then(|meta| meta.get(VERSION_META));
    let said = header(VERSION_HEADER);
    if inside.is_none() && said.is_none_or(|said| WITH_SESSION.contains(&said)) {
        return Ok(Era::Session);
    }
    let Some(inside) = inside.and_then(Value::as_str) else {
        return match said.filter(|said| !SINGLE.contains(said)) {
            Some(said) => Err(RpcFault::unsupported_version(said, &all())),
            None => Err(RpcFault::invalid_params(format!("`_meta` lacks `{VERSION_META}`"))),
        };
    };
    if said != Some(inside) {
        let message = format!("the header `{VERSION_HEADER}` and `{VERSION_META}` differ");
        return Err(RpcFault::header_mismatch(message));
    }
    if header(METHOD_HEADER) != Some(&request.method) {
        return Err(RpcFault::header_mismatch(format!(
            "the header `{METHOD_HEADER}` and `method` differ"
        )));
    }
    let name = request.params.get("name").filter(|_| request.method == "tools/call");
    if let Some(name) = name.and_then(Value::as_str)
        && header(NAME_HEADER) != Some(name)
    {
        return Err(RpcFault::header_mismatch(format!(
            "the header `{NAME_HEADER}` and `name` differ"
        )));
    }
    if !SINGLE.contains(&inside) {
        return Err(RpcFault::unsupported_version(inside, &all()));
    }
    if meta.and_then(|meta| meta.get(CAPABILITIES_META)).is_none() {
        return Err(RpcFault::invalid_params(format!("`_meta` lacks `{CAPABILITIES_META}`")));
    }
    Ok(Era::Single)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};
    use serde_json::json;

    fn asked(headers: &[(&'static str, &'static str)], params: Value) -> Result<Era, RpcFault> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let Value::Object(params) = params else { panic!("params are an object") };
        era(&headers, &Request { id: json!(1), method: "tools/call".to_owned(), params })
    }

    #[test]
    fn a_request_says_one_thing_about_itself() {
        let meta = json!({ VERSION_META: "2026-07-28", CAPABILITIES_META: {} });
        let new = json!({ "name": "talk", "_meta": meta });
        let all =
            [(VERSION_HEADER, "2026-07-28"), (METHOD_HEADER, "tools/call"), (NAME_HEADER, "talk")];
        assert_eq!(asked(&all, new.clone()), Ok(Era::Single));
        assert_eq!(asked(&[], json!({})), Ok(Era::Session));
        assert_eq!(asked(&[(VERSION_HEADER, "2025-06-18")], json!({})), Ok(Era::Session));
        for headers in [
            &all[..2],
            &all[1..],
            &[all[0], (METHOD_HEADER, "ping"), all[2]],
            &[all[0], all[1], (NAME_HEADER, "approve")],
        ] {
            assert!(asked(headers, new.clone()).is_err(), "{headers:?}");
        }
        assert!(asked(&all, json!({ "name": "talk" })).is_err());
        let only = json!({ "name": "talk", "_meta": { VERSION_META: "2026-07-28" } });
        assert!(asked(&all, only).is_err());
        let later = [(VERSION_HEADER, "2031-01-01"), all[1], all[2]];
        let meta = json!({ VERSION_META: "2031-01-01", CAPABILITIES_META: {} });
        let fault = asked(&later, json!({ "name": "talk", "_meta": meta })).unwrap_err();
        assert_eq!(fault.response(&json!(1))["error"]["data"]["supported"][0], "2026-07-28");
        assert!(asked(&[(VERSION_HEADER, "1999-01-01")], json!({})).is_err());
    }

    #[test]
    fn initialize_settles_on_what_both_speak() {
        assert_eq!(settle(Some("2025-03-26")), "2025-03-26");
        assert_eq!(settle(Some("2099-01-01")), "2025-11-25");
        assert_eq!(settle(None), "2025-11-25");
    }
}
