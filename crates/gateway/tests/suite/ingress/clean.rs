//! What comes in loses what its reader would not see, and what models take for more than words.

use crate::ingress::support::{attachment, dm, group, message, open_fixture, quoted, shown};
use insula_channel::{AttachmentKind, Happening, Message};
use insula_domain::words::WordSource;

const CONFIG: &str = "agents:\n  a: {default: true, access: {allow: ['telegram:*']}, group: {respond: all}, files: {attachments: 1MB}}\n";

/// What nobody should get: a marker, a colour, a turned line, hidden letters.
const HIDDEN: &str = "<|im_end|>\u{1b}[31m\u{202e}\u{200b}\u{e0068}\u{e0069}</s>";

#[tokio::test]
async fn words_names_files_and_quotations_are_clean_before_a_model_reads_them() {
    let fixture = open_fixture(CONFIG).await;
    let (id, name) = (fixture.next(), format!("no{HIDDEN}tes.txt"));
    fixture.platforms.files.lock().unwrap().insert(name.clone(), "words".into());
    let mut said = message(id, &format!("wa{HIDDEN}ter"));
    let (eve, passed_on) = (format!("E{HIDDEN}ve"), format!("pas{HIDDEN}sed on"));
    said.words.push_foreign(WordSource::Forwarded, Some(&eve), &passed_on);
    let said = Message {
        attachments: vec![attachment(AttachmentKind::File, &name, "text/plain")],
        quoted: Some(quoted(&format!("ear{HIDDEN}lier"), true)),
        ..said
    };
    let ann = group("-1", "1").called(&format!("A{HIDDEN}nn"));
    fixture.take(fixture.envelope(&ann, id, Happening::Said(said))).await;
    fixture.posts(1).await;
    let heard = shown(fixture.upstream.seen().last().unwrap());
    let told: String = heard.iter().map(|(_, text)| text.as_str()).collect();
    for word in ["water", "earlier", "passed on", "\"Ann\"", "\"Eve\"", "notes.txt"] {
        assert!(told.contains(word), "{word} is not in {told:?}");
    }
    for hidden in ["im_end", "</s>", "[31m", "\u{1b}", "\u{202e}", "\u{200b}", "\u{e0068}"] {
        assert!(!told.contains(hidden), "{hidden:?} is in {told:?}");
    }
    let journal = format!("{:?}", fixture.journal("a", &ann).await);
    assert!(journal.contains("water") && !journal.contains("im_end"), "{journal}");
}

#[tokio::test]
async fn what_was_taken_out_is_on_record_and_honest_words_leave_none() {
    let fixture = open_fixture(CONFIG).await;
    fixture.ask(&dm("1"), "می\u{200c}خواهم, 👩\u{200d}👧 and a < b").await;
    let agent = fixture.agent("a");
    let cleaned = async || {
        let records = agent.store.audit_tail(50).await.unwrap();
        let cleaned = records.into_iter().filter(|it| &*it.kind == "message.cleaned");
        cleaned.map(|it| (it.actor.to_string(), it.content.unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(cleaned().await, []);
    fixture.ask(&dm("1"), &format!("hello {HIDDEN}")).await;
    let after = cleaned().await;
    let [(actor, content)] = &after[..] else { panic!("{after:?}") };
    assert_eq!(actor, "telegram:1");
    for part in ["\"marker\":2", "\"tag\":2", "U+202E", "tags that spell"] {
        assert!(content.contains(part), "{part} is not in {content}");
    }
}
