//! Words from outside that are kept in a file: whoever reads it reads them marked.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::{FileFixture, Silence};
use insula_tools::workspace::states::FileReader;
use insula_tools::workspace::{Absent, AgentFolders, Granted, Site};
use insula_tools::{Cleared, Files, Hands, Output, Piece, QuotedSource, ToolRef, find};
use serde_json::{Value, json};
use std::sync::Arc;

fn files(fixture: &FileFixture) -> Files {
    let own = Granted {
        site: Site::Home(crate::support::OWN.into()),
        mode: insula_domain::AccessMode::Rw,
        absent: Absent::Make,
    };
    let place = Arc::new(AgentFolders::new(fixture.root(), None, vec![own]));
    let (states, reader) = (fixture.states.clone(), FileReader::new("ann"));
    let output = Some("agents/a/output/3".into());
    Files::new(place, None, states, reader, fixture.stale_writes, output, fixture.world.clone())
}

async fn call(files: &Files, tool: &str, arguments: Value) -> Output {
    let hands = Hands { files: Some(files), ..Hands::bare(&Silence) };
    let call = Cleared::by_the_gate(ToolRef::BuiltIn(find(tool).unwrap()), arguments);
    call.run(&hands).await.unwrap()
}

#[tokio::test]
async fn what_came_from_outside_is_read_and_found_as_that() {
    let fixture = FileFixture::new(&[("own.txt", "a canary of ours\n")]);
    let files = files(&fixture);
    let page = b"[untrusted text from http://a.test/]\n\nignore this canary\n".to_vec();
    let foreign = files.keep_output(page, QuotedSource::Foreign).await.unwrap();
    let printed =
        files.keep_output(b"a printed canary\n".to_vec(), QuotedSource::Own).await.unwrap();
    assert!(foreign.ends_with("/1.untrusted.txt") && printed.ends_with("/2.txt"), "{foreign}");

    let marked = |output: Output| match output {
        Output::Pieces(pieces) => match &pieces[..] {
            [Piece::Foreign { source, text }, ..] => (source.clone(), text.clone()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let read = marked(call(&files, "read_file", json!({ "path": &foreign })).await);
    assert_eq!(read.0, foreign);
    assert!(read.1.contains("     3|ignore this canary"), "{read:?}");
    // Also from its middle, where nothing in the words says so.
    let asked = json!({ "path": &foreign, "offset": 3, "limit": 1 });
    assert!(marked(call(&files, "read_file", asked).await).1.contains("ignore"));
    let folder = foreign.rsplit_once('/').unwrap().0;
    for path in [&foreign, folder] {
        let asked = json!({ "pattern": "canary", "path": path });
        let found = marked(call(&files, "search_files", asked).await);
        assert!(found.1.contains("ignore this canary"), "{found:?}");
    }
    // Around what is ours there is no mark, and neither around names.
    for (tool, arguments) in [
        ("read_file", json!({ "path": &printed })),
        ("read_file", json!({ "path": "own.txt" })),
        ("search_files", json!({ "pattern": "canary", "path": &printed })),
        ("search_files", json!({ "pattern": "canary" })),
        ("search_files", json!({ "pattern": "canary", "path": folder, "output_mode": "count" })),
        ("search_files", json!({ "pattern": "*.txt", "target": "files", "path": folder })),
    ] {
        let output = call(&files, tool, arguments.clone()).await;
        assert!(matches!(output, Output::Text(_)), "{arguments}: {output:?}");
    }
    // A name in a folder of the agent's own says nothing: anybody could have written it.
    fixture.put("1.untrusted.txt", "ours\n");
    let output = call(&files, "read_file", json!({ "path": "1.untrusted.txt" })).await;
    assert!(matches!(output, Output::Text(_)), "{output:?}");
}

#[tokio::test]
async fn only_so_many_are_kept_of_both_kinds_together() {
    let fixture = FileFixture::new(&[]);
    let files = files(&fixture);
    let folder = fixture.root().join("agents/a/output/3");
    std::fs::create_dir_all(&folder).unwrap();
    for number in 1..=100 {
        let name = if number % 2 == 0 { "txt" } else { "untrusted.txt" };
        std::fs::write(folder.join(format!("{number}.{name}")), "x").unwrap();
    }
    let path = files.keep_output(b"x".to_vec(), QuotedSource::Own).await.unwrap();
    assert!(path.ends_with("/101.txt"), "{path}");
    let path = files.keep_output(b"x".to_vec(), QuotedSource::Foreign).await.unwrap();
    assert!(path.ends_with("/102.untrusted.txt"), "{path}");
    assert!(!folder.join("1.untrusted.txt").exists() && !folder.join("2.txt").exists());
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 100);
}
