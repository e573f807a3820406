//! Heads as clients write them, and as attackers do.

use super::*;
use insula_domain::HostPattern;
use proptest::prelude::*;

fn request(text: &str) -> Result<Request, EgressRefusal> {
    Request::parse(text.as_bytes()).map_err(|unfit| unfit.refusal)
}

fn written(request: &Request, injections: &[Injection]) -> String {
    let Target::Path(path) = &request.target else { panic!("no path") };
    String::from_utf8(request.write(path, injections.iter())).unwrap()
}

#[test]
fn a_request_goes_on_with_its_path_and_without_what_was_for_the_proxy() {
    let request = request(
        "POST http://A.org:8080/x?y=1 HTTP/1.1\r\nHost: a.org:8080\r\nAccept: */*\r\n\
         Proxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\nConnection: x-hop, close\r\n\
         X-Hop: 1\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\nExpect: 100-continue\r\n\
         Content-Length: 3\r\nX-Key: theirs\r\n\r\n",
    )
    .unwrap();
    assert!(request.expects_continue && request.framing == Framing::Length(3));
    let pattern = HostPattern::parse("a.org:8080").unwrap();
    let key = Injection::new(pattern, "x-key", "ours".to_owned().into()).unwrap();
    assert_eq!(
        written(&request, &[key]),
        "POST /x?y=1 HTTP/1.1\r\nHost: a.org:8080\r\naccept: */*\r\nx-key: ours\r\n\
         accept-encoding: identity\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    );
}

#[test]
fn a_connection_header_can_not_take_away_host_or_framing() {
    let request = request(
        "POST http://a.org HTTP/1.1\r\nHost: a.org\r\nConnection: host, content-length\r\n\
         Content-Length: 3\r\n\r\n",
    )
    .unwrap();
    let head = written(&request, &[]);
    assert_eq!(
        head,
        "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    );
}

#[test]
fn a_request_that_could_be_read_in_two_ways_is_refused() {
    let with = |headers: &str| {
        request(&format!("POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\n{headers}\r\n"))
    };
    assert!(with("").is_ok());
    for bad in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 3\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x3\r\n",
        "Content-Length: \r\n",
        "Content-Length: 99999999999999999999999\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\r\n : chunked\r\n",
        "X: a\r\n folded\r\n",
        "X: a\r\n\tfolded\r\n",
        " X: a\r\n",
        "X: a\nY: b\r\n",
        "X: a\rY: b\r\n",
        "X: a\0b\r\n",
        "X y: a\r\n",
        ": a\r\n",
        "Host: a.org\r\n",
        "Host: b.org\r\n",
    ] {
        assert!(with(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn the_host_header_is_the_host_of_the_address() {
    let with =
        |uri: &str, host: &str| request(&format!("GET {uri} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(with("http://a.org/", "a.org").is_ok());
    assert!(with("http://a.org/", "A.ORG:80").is_ok());
    assert!(with("HTTPS://a.org/", "a.org:443").is_ok());
    for (uri, host) in [
        ("http://a.org/", "b.org"),
        ("http://a.org/", "a.org:8080"),
        ("http://a.org/", "a.org, b.org"),
        ("http://a.org/", ""),
        ("http://a.org/", "x@a.org"),
    ] {
        assert!(with(uri, host).is_err(), "{uri} {host}");
    }
    assert!(request("GET http://a.org/ HTTP/1.1\r\n\r\n").is_err());
    assert!(request("GET http://a.org/ HTTP/1.0\r\n\r\n").is_ok());
}

#[test]
fn only_whole_addresses_and_tunnels_are_targets() {
    let get = |target: &str| request(&format!("GET {target} HTTP/1.0\r\n\r\n"));
    assert_eq!(get("http://a.org?x").unwrap().target, Target::Path("/?x".to_owned()));
    for bad in [
        "/",
        "*",
        "a.org:80",
        "ftp://a.org/",
        "http:/a.org/",
        "http:///x",
        "http://",
        "http://user@a.org/",
        "http://user:pass@a.org/",
        "http://a.org@b.org/",
        "http://a.org\\@b.org/",
        "http://a.org#@b.org/",
        "http://a.org/#x",
        "http://a.org/\\x",
        "http://a.org%2f@b.org/",
        "http://%61.org/",
        "http://a.org:80:80/",
        "http://[::1/",
        "http://127.1/",
        "http://0x7f.1/",
        "http://a .org/",
    ] {
        assert!(get(bad).is_err(), "{bad}");
    }
    let connect = |target: &str| request(&format!("CONNECT {target} HTTP/1.1\r\n\r\n"));
    let tunnel = connect("a.org:443").unwrap();
    assert_eq!((tunnel.target, tunnel.destination.port), (Target::Tunnel, 443));
    assert!(connect("[2001:db8::1]:443").is_ok());
    for bad in ["a.org", "a.org:", "http://a.org:443", "a.org:443/", "x@a.org:443", ":443", "[::1]"]
    {
        assert!(connect(bad).is_err(), "{bad}");
    }
    assert!(request("CONNECT a.org:443 HTTP/1.1\r\nContent-Length: 3\r\n\r\n").is_err());
    assert!(request("TRACE http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n").is_err());
    assert!(request("POST http://a.org/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
}

#[test]
fn an_answer_says_once_where_it_ends_and_how_it_goes_on() {
    let answer = |text: &str, method: Method| Answer::parse(text.as_bytes(), &method);
    let ok =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\nX: y\r\n\r\n";
    let chunked = answer(ok, Method::GET).unwrap();
    assert_eq!(chunked.framing, Framing::Chunked);
    assert_eq!(
        String::from_utf8(chunked.write(true)).unwrap(),
        "HTTP/1.1 200 OK\r\nx: y\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    assert!(!String::from_utf8(chunked.write(false)).unwrap().contains("chunked"));
    let head = answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Method::HEAD).unwrap();
    assert_eq!(head.framing, Framing::Empty);
    assert!(String::from_utf8(head.write(true)).unwrap().contains("Content-Length: 9"));
    let bare = answer("HTTP/1.0 200 OK\r\n\r\n", Method::GET).unwrap();
    assert_eq!(bare.framing, Framing::UntilClose);
    for bad in [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
        "HTTP/1.1 99 Low\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\n\r\n",
    ] {
        assert!(answer(bad, Method::GET).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn a_head_is_read_up_to_its_end_and_no_further() {
    let mut from = tokio::io::BufReader::with_capacity(3, &b"GET x\r\nA: b\r\n\r\nbody"[..]);
    let head = read_head(&mut from).await.unwrap().unwrap();
    assert_eq!(head, b"GET x\r\nA: b\r\n\r\n");
    let mut rest = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut from, &mut rest).await.unwrap();
    assert_eq!(rest, "body");
    assert!(read_head(&mut &b""[..]).await.unwrap().is_none());
    assert!(read_head(&mut &b"GET"[..]).await.is_err());
    let endless = vec![b'x'; HEAD_LEN_MAX * 2];
    let mut endless = tokio::io::BufReader::with_capacity(1024, &endless[..]);
    assert_eq!(read_head(&mut endless).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
}

proptest! {
    #[test]
    fn no_bytes_make_reading_panic_and_what_goes_on_is_one_head(
        bytes in prop::collection::vec(any::<u8>(), 0..200), header in "[ -~]{0,40}",
    ) {
        let _ = Request::parse(&bytes);
        let _ = Answer::parse(&bytes, &Method::GET);
        let text = format!("GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n{header}\r\n\r\n");
        if let Ok(request) = request(&text) {
            let head = written(&request, &[]);
            prop_assert_eq!(head.matches("\r\n\r\n").count(), 1);
            prop_assert_eq!(head.to_lowercase().matches("\r\nhost:").count(), 1);
        }
    }
}
