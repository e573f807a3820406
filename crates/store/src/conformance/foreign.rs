//! Files that hold words of others.

use super::{Opener, agent};
use crate::AgentCommand;
use crate::foreign::{FOREIGN_FILES_MAX, FOREIGN_PATH_BYTES_MAX, ForeignFile};
use insula_domain::{Integrity, Source, SourceKind};

pub(super) async fn run(opener: &dyn Opener) {
    what_is_noted_of_a_file_only_grows_until_it_is_forgotten(opener).await;
    no_note_is_left_out_because_there_are_many(opener).await;
}

fn of(host: &str) -> Integrity {
    Integrity::of(Source::new(SourceKind::Web, host))
}

fn note(path: &str, integrity: Integrity) -> AgentCommand {
    AgentCommand::NoteForeign { path: path.into(), integrity }
}

async fn what_is_noted_of_a_file_only_grows_until_it_is_forgotten(opener: &dyn Opener) {
    let store = opener.open("foreign").await;
    let owner = store.claim("suite").await.unwrap();
    let (a, b) = (owner.agent(&agent("a")), owner.agent(&agent("b")));
    assert_eq!(a.foreign_files().await.unwrap(), []);
    a.commit(vec![note("x", of("one.example")), note("/y", Integrity::many())]).await.unwrap();
    a.commit(vec![note("x", of("two.example")), note("/y", of("one.example"))]).await.unwrap();
    let file = |path: &str, integrity| ForeignFile { path: path.into(), integrity };
    let both = of("one.example").join(&of("two.example"));
    let all = [file("/y", Integrity::many()), file("x", both)];
    assert_eq!(a.foreign_files().await.unwrap(), all);
    assert_eq!(b.foreign_files().await.unwrap(), []);

    let long = "x".repeat(FOREIGN_PATH_BYTES_MAX + 1);
    assert!(a.commit(vec![note(&long, Integrity::many())]).await.is_err());

    a.commit(vec![AgentCommand::ForgetForeign { path: "x".into() }]).await.unwrap();
    assert_eq!(a.foreign_files().await.unwrap(), all[..1]);
    store.shutdown().await;

    let store = opener.open("foreign").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(a.foreign_files().await.unwrap(), all[..1]);
    a.commit(vec![AgentCommand::ForgetForeign { path: "/y".into() }]).await.unwrap();
    assert_eq!(a.foreign_files().await.unwrap(), []);
    store.shutdown().await;
}

async fn no_note_is_left_out_because_there_are_many(opener: &dyn Opener) {
    let store = opener.open("foreign-many").await;
    let owner = store.claim("suite").await.unwrap();
    let (a, b) = (owner.agent(&agent("a")), owner.agent(&agent("b")));
    let chat = |number: usize| format!("chats/{number:05}/workspace");
    let all: Vec<_> =
        (0..=FOREIGN_FILES_MAX).map(|it| note(&chat(it), of("one.example"))).collect();
    for some in all.chunks(256) {
        a.commit(some.to_vec()).await.unwrap();
    }
    assert_eq!(a.foreign_files().await.unwrap().len(), FOREIGN_FILES_MAX);
    let about = async |name: &str| a.foreign_about(vec![name.into()]).await.unwrap();
    let file = |path: &str, integrity| ForeignFile { path: path.into(), integrity };
    let last = chat(FOREIGN_FILES_MAX);
    let expected = [file(&last, of("one.example"))];
    for name in [last.clone(), format!("{last}/x/y"), last.replace("/workspace", "")] {
        assert_eq!(about(&name).await, expected, "{name}");
    }
    for name in ["chats/99999", "chat", "/chats/00001/workspace", "chats/00001/workspaces"] {
        assert_eq!(about(name).await, [], "{name}");
    }
    assert_eq!(b.foreign_about(vec![last.into()]).await.unwrap(), []);
    // Of a folder that holds more than are told apart, the whole is anybody's.
    for name in ["chats", ""] {
        let found = about(name).await;
        assert_eq!(found.len(), FOREIGN_FILES_MAX + 1);
        assert!(found.contains(&file(name, Integrity::many())), "{name}");
    }
    let more = [note("/", of("two.example")), note("chats/00001/workspace/x", of("two.example"))];
    a.commit(more.to_vec()).await.unwrap();
    let names = vec!["/srv/x".into(), "chats/00001".into(), "chats/00001/workspace".into()];
    let found = a.foreign_about(names).await.unwrap();
    let paths: Vec<&str> = found.iter().map(|it| &*it.path).collect();
    assert_eq!(paths, ["/", "chats/00001/workspace", "chats/00001/workspace/x"]);
    store.shutdown().await;
}
