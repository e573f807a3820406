//! TLS, against a server with a certificate of its own authority.

use crate::support::{ask, hello, provider};
use insula_models::{Kind, ModelFault, Transport};
use insula_testkit::auto_world;
use insula_testkit::upstream::{event_stream, serve_one};
use insula_world::World;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

// Valid from 2025 to 2125, for `model.test`.
const AUTHORITY: &[u8] = include_bytes!("tls/ca.der");
const CERTIFICATE: &[u8] = include_bytes!("tls/leaf.der");
const KEY: &[u8] = include_bytes!("tls/leaf.key.der");

async fn serve(world: &World) -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(CERTIFICATE)],
            PrivateKeyDer::try_from(KEY).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = world.network.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                let hi = r#"{"choices":[{"delta":{"content":"hi"}}]}"#;
                tokio::spawn(serve_one(Box::new(stream), move |_, _| event_stream([hi, "[DONE]"])));
            }
        }
    });
    port
}

#[tokio::test(start_paused = true)]
async fn a_known_authority_is_trusted_for_its_name_and_nothing_else_is() {
    let (world, handles) = auto_world(1);
    let port = serve(&world).await;
    for name in ["model.test", "other.test"] {
        handles.network.name(name, ["127.0.0.1".parse().unwrap()]);
    }
    let trusting = Transport::new(&world, &[AUTHORITY.to_vec()]).unwrap();
    let wary = Transport::new(&world, &[]).unwrap();
    let url = |host: &str| format!("https://{host}:{port}/v1");
    let good = provider(&trusting, Kind::OpenAi, &url("model.test"));
    for _ in 0..2 {
        assert_eq!(ask(&*good, &hello()).await.unwrap().text(), "hi");
    }
    for (transport, host) in [(&wary, "model.test"), (&trusting, "other.test")] {
        let bad = provider(transport, Kind::OpenAi, &url(host));
        let error = ask(&*bad, &hello()).await.unwrap_err();
        assert!(matches!(&error.fault, ModelFault::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("certificate"), "{error}");
    }
    assert!(Transport::new(&world, &[b"nonsense".to_vec()]).is_err());
}
