//! Files that hold words of others.

use super::{Opener, agent};
use crate::AgentCommand;
use crate::foreign::{FOREIGN_PATH_BYTES_MAX, ForeignFile};
use insula_domain::{Integrity, Source, SourceKind};

pub(super) async fn run(opener: &dyn Opener) {
    what_is_noted_of_a_file_only_grows_until_it_is_forgotten(opener).await;
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
