//! What came along in a conversation is had back by whoever may read it there, and by nobody else.

use crate::scene::Scene;
use axum::body::to_bytes;
use insula_testkit::world;
use serde_json::{Value, json};

const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async fn list(scene: &Scene, token: &str, path: &str) -> Value {
    let (status, said) = scene.ask(token, &format!("GET {path}"), Value::Null).await;
    assert_eq!(status, 200, "{path}: {said}");
    said
}

#[tokio::test]
async fn a_picture_is_had_back_by_who_sent_it_and_who_reads_the_agent() {
    let (world, _handles) = world(7);
    let scene = Scene::new(&world, "agents: {a: {}, b: {}}\n", |_| {}).await;
    let sender = scene.token("a", &["chat"]).await;
    let url = format!("data:image/png;base64,{DOT}");
    let said = json!({ "session": "s", "text": "look", "parts": [{ "type": "image_url", "image_url": { "url": url } }] });
    let answer = scene.answer(&sender, "POST /api/agents/a/messages", &said).await;
    to_bytes(answer.into_body(), usize::MAX).await.unwrap();

    let own = list(&scene, &sender, "/api/agents/a/conversations").await;
    let own = format!("/api/agents/a/conversations/{}", own[0]["id"].as_str().unwrap());
    let messages = list(&scene, &sender, &own).await;
    let message = &messages["messages"][0];
    let file = &message["files"][0];
    assert_eq!(file["media_type"], "image/png", "{messages}");
    assert!(file["name"].as_str().unwrap().ends_with(".png"), "{file}");
    let path = format!("{own}/files/{}/{}", message["seq"], file["part"]);
    let answer = scene.answer(&sender, &format!("GET {path}"), &Value::Null).await;
    assert_eq!(answer.status(), 200);
    // No page of ours or of anybody comes of it.
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/octet-stream");
    assert_eq!(header("content-disposition"), "attachment");
    assert_eq!(header("x-content-type-options"), "nosniff");
    let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && bytes.ends_with(b"IEND\xae\x42\x60\x82"));

    // Who reads the agent finds it in the session, and who only talks does not.
    let reader = scene.token("a", &["read"]).await;
    let sessions = list(&scene, &reader, "/api/agents/a/sessions").await;
    let session = format!("/api/agents/a/sessions/{}", sessions[0]["id"].as_str().unwrap());
    let of_session = format!("{session}/files/{}/{}", message["seq"], file["part"]);
    let status = async |token: &str, path: &str| {
        scene.ask(token, &format!("GET {path}"), Value::Null).await.0.as_u16()
    };
    assert_eq!(status(&reader, &of_session).await, 200);
    assert_eq!(status(&sender, &of_session).await, 403);
    // Nobody else who talks to the agent has it, nor who has another agent.
    let other = scene.token("a", &["chat"]).await;
    assert_eq!(status(&other, &path).await, 404);
    assert_eq!(status(&reader, &path).await, 403);
    let stranger = scene.token("b", &["chat", "read"]).await;
    assert_eq!(status(&stranger, &path).await, 404);
    assert_eq!(status(&stranger, &of_session).await, 404);
    // What is no file, or not there, is one answer.
    for wrong in ["1/0", "1/99", "0/1", "99/1", "18446744073709551615/1"] {
        assert_eq!(status(&sender, &format!("{own}/files/{wrong}")).await, 404, "{wrong}");
    }
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn a_file_of_any_kind_is_kept_and_had_back_byte_for_byte() {
    let (world, _handles) = world(7);
    // The one has no tool that reads such a file, the other has.
    let config = "agents: {a: {tools: [todo]}, b: {tools: [terminal]}}\n";
    let scene = Scene::new(&world, config, |_| {}).await;
    let files: [(&str, &str, &str, &[u8]); 4] = [
        ("a paper.pdf", "application/pdf", "JVBERi0xLjcKAP8=", b"%PDF-1.7\n\0\xff"),
        ("voice.wav", "audio/wav", "UklGRgQAAABXQVZF/w==", b"RIFF\x04\0\0\0WAVE\xff"),
        ("all.zip", "application/zip", "UEsDBP8=", b"PK\x03\x04\xff"),
        ("odd", "application/x-odd", "AAH/", b"\0\x01\xff"),
    ];
    let part = |(name, kind, data, _): &(&str, &str, &str, &[u8])| {
        let data = format!("data:{kind};base64,{data}");
        json!({ "type": "file", "file": { "filename": name, "file_data": data } })
    };
    let parts: Vec<Value> = files.iter().map(part).collect();
    for (agent, told) in [("a", "you have no tool that reads it"), ("b", "; it is in /")] {
        let token = scene.token(agent, &["chat", "read"]).await;
        let say = format!("POST /api/agents/{agent}/messages");
        // Without words too: a file may say enough.
        let said = json!({ "session": "s", "text": "", "parts": parts });
        let answer = scene.answer(&token, &say, &said).await;
        let heard = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        assert!(String::from_utf8_lossy(&heard).contains("replied"), "{heard:?}");

        let own = list(&scene, &token, &format!("/api/agents/{agent}/conversations")).await;
        let own = format!("/api/agents/{agent}/conversations/{}", own[0]["id"].as_str().unwrap());
        let talk = list(&scene, &token, &own).await;
        let message = &talk["messages"][0];
        assert_eq!(message["text"].as_str().unwrap().matches(told).count(), 4, "{message}");
        let kept = message["files"].as_array().unwrap();
        assert_eq!(kept.len(), 4, "{message}");
        for (file, (name, kind, _, bytes)) in kept.iter().zip(files) {
            let about = (&file["name"], &file["media_type"], &file["bytes"]);
            assert_eq!(about, (&json!(name), &json!(kind), &json!(bytes.len())));
            let path = format!("GET {own}/files/{}/{}", message["seq"], file["part"]);
            let answer = scene.answer(&token, &path, &Value::Null).await;
            assert_eq!(answer.status(), 200, "{name}");
            assert_eq!(to_bytes(answer.into_body(), usize::MAX).await.unwrap(), bytes, "{name}");
        }
    }
    scene.daemon.close().await.unwrap();
}
