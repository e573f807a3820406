//! Greetings as a real client writes them, and as nobody should.

use super::*;
use proptest::prelude::*;
use rustls::pki_types::ServerName;
use std::sync::Arc;

/// What rustls sends first to a server of that name.
fn real_hello(name: &str) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = vec![];
    client.write_tls(&mut bytes).unwrap();
    bytes
}

fn with_extensions(extensions: &[(u16, &[u8])]) -> Vec<u8> {
    let mut list = vec![];
    for (kind, content) in extensions {
        list.extend(kind.to_be_bytes());
        list.extend((content.len() as u16).to_be_bytes());
        list.extend(*content);
    }
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend((list.len() as u16).to_be_bytes());
    body.extend(list);
    let mut message = vec![1, 0];
    message.extend((body.len() as u16).to_be_bytes());
    message.extend(body);
    message
}

fn record(message: &[u8]) -> Vec<u8> {
    let mut record = vec![22, 3, 1];
    record.extend((message.len() as u16).to_be_bytes());
    record.extend(message);
    record
}

fn sni(names: &[&str]) -> Vec<u8> {
    let mut list = vec![];
    for name in names {
        list.push(0);
        list.extend((name.len() as u16).to_be_bytes());
        list.extend(name.as_bytes());
    }
    let mut content = (list.len() as u16).to_be_bytes().to_vec();
    content.extend(list);
    content
}

fn named(name: Option<&str>) -> Progress {
    Progress::Complete(Greeting { server_name: name.map(|name| Host::parse(name).unwrap()) })
}

#[test]
fn a_real_greeting_gives_its_name_and_every_part_of_it_asks_for_more() {
    let hello = real_hello("api.example.org");
    assert_eq!(read(&hello), Ok(named(Some("api.example.org"))));
    for len in 0..hello.len() {
        assert_eq!(read(&hello[..len]), Ok(Progress::Unfinished), "{len}");
    }
    assert_eq!(read(&real_hello("127.0.0.1")), Ok(named(None)));
}

#[test]
fn a_greeting_in_many_records_is_one_greeting() {
    let hello = real_hello("api.example.org");
    let message = &hello[RECORD_HEADER_LEN..];
    let cut = |count: usize| -> Vec<u8> {
        message.chunks(message.len().div_ceil(count)).flat_map(record).collect()
    };
    for count in [2, 3, 10, RECORDS_MAX] {
        assert_eq!(read(&cut(count)), Ok(named(Some("api.example.org"))), "{count}");
    }
    assert!(read(&cut(message.len())).is_err());
}

#[test]
fn what_hides_or_doubles_the_name_is_refused() {
    let one = sni(&["a.org"]);
    let refused = |extensions: &[(u16, &[u8])]| read(&record(&with_extensions(extensions)));
    assert_eq!(refused(&[(0, &one)]), Ok(named(Some("a.org"))));
    assert_eq!(refused(&[]), Ok(named(None)));
    assert_eq!(refused(&[(0, &one), (0xfe0d, b"x")]), Err(TlsRefusal::Hidden));
    assert_eq!(refused(&[(0xffce, b"x")]), Err(TlsRefusal::Hidden));
    let twice = Err(TlsRefusal::Broken("an extension twice"));
    assert_eq!(refused(&[(0, &one), (0, &sni(&["b.org"]))]), twice);
    let two = Err(TlsRefusal::Broken("more than one server name"));
    assert_eq!(refused(&[(0, &sni(&["a.org", "b.org"]))]), two);
    assert!(refused(&[(0, &sni(&[]))]).is_err());
    assert!(refused(&[(0, &sni(&["a.org\0.b.org"]))]).is_err());
    assert!(refused(&[(0, &sni(&["127.1"]))]).is_err());
}

#[test]
fn what_is_not_tls_is_told_at_the_first_bytes() {
    for other in [&b"G"[..], b"SSH-2.0-x", b"\x16\x02", b"\x80\x2e\x01", b"\0", b"\x17\x03\x03"] {
        assert_eq!(read(other), Err(TlsRefusal::NotTls), "{other:?}");
    }
    assert!(read(&[22, 3, 1, 0, 0]).is_err());
    assert!(read(&[22, 3, 1, 0xff, 0xff]).is_err());
    assert!(read(&record(&[2, 0, 0, 1, 0])).is_err());
    assert_eq!(read(&record(&[1, 1, 0, 0])), Err(TlsRefusal::Broken("it is too long")));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
        let _ = read(&record(&bytes));
        let mut message = vec![1, 0];
        message.extend((bytes.len() as u16).to_be_bytes());
        message.extend(&bytes);
        let _ = read(&record(&message));
    }

    #[test]
    fn a_changed_byte_never_gives_another_name_than_the_bytes_say(at in 0_usize..200, to: u8) {
        let mut hello = real_hello("api.example.org");
        let at = at % hello.len();
        hello[at] = to;
        if let Ok(Progress::Complete(Greeting { server_name: Some(host) })) = read(&hello) {
            let text = host.to_string();
            let inside = hello.to_ascii_lowercase();
            prop_assert!(inside.windows(text.len()).any(|it| it == text.as_bytes()));
        }
    }
}
