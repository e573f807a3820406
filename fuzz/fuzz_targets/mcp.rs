//! Whatever an MCP server writes: messages, results, tools, pins.
#![no_main]

use insula_mcp::{Pins, full_name};
use insula_world::World;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static WORLD: LazyLock<World> = LazyLock::new(|| World::real().expect("a real world"));

fuzz_target!(|bytes: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(insula_mcp::fuzzing::written(bytes.to_vec(), WORLD.clock.clone()));
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(pins) = Pins::parse(text) {
        let again = Pins::parse(&pins.to_text()).expect("what was written can be read");
        assert_eq!(again.to_text(), pins.to_text());
    }
    if let Some(name) = full_name("server", text) {
        assert!(name.len() <= insula_mcp::NAME_BYTES_MAX && name.starts_with("mcp__server__"));
    }
});
