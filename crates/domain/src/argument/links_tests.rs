//! Where texts link to.

use super::*;

#[test]
fn a_text_links_only_to_where_it_may() {
    check(
        &Bound::links(["docs.rs", "*.example.org", "localhost:8080"]).unwrap(),
        &[
            "nothing to follow in report.docx, and/or src/main.rs, at 3/4 of e.g. ann@example.net",
            "see https://docs.rs/x, http://a.example.org. Or (docs.rs/y)!",
            "www.example.org has it; http://localhost:8080/x too",
            "read:https://docs.rs/x, docs.rs/?u=http://docs.rs",
            "",
        ],
        &[
            "Check out this link: www.secure-systems-252.com",
            "see https://docs.rs/x and https://evil.net",
            "[docs](https://evil.net/?u=https://docs.rs)",
            "read:https://evil.net",
            // The address that a reader follows is the outer one, however it is written.
            "https://evil.net/?u=http://docs.rs/x",
            "http://evil.net/?u=https://docs.rs/x",
            "www.evil.net/?u=http://docs.rs/x",
            "evil.net/?u=https://docs.rs/x",
            "ftp://evil.net/http://docs.rs/x",
            "docs.rs/x?https://evil.net",
            "evil.net./x",
            "evil.xn--p1ai/x",
            "HTTPS://EVIL.NET",
            "https:\\\\evil.net/x",
            "bit.ly/sUf7tOJ",
            "//evil.net/x",
            "evil.net?x=1",
            "evil.net:8443/x",
            "ftp://docs.rs/",
            "https://docs.rs@evil.net/",
            "https://ev\u{200b}il.net",
            "<a href='https://evil.net'>docs.rs</a>",
            "http://localhost:9090/x",
            "WWW.evil.net",
            "https://d\u{f6}cs.rs/",
        ],
    );
    let none = Bound::links([]).unwrap();
    check(&none, &["plain words"], &["https://docs.rs"]);
    assert_eq!(
        none.admit(&text("go to www.evil.net now"), "").unwrap_err(),
        "has `www.evil.net` in it; allowed is what has no web address in it"
    );
}

#[test]
fn a_link_is_known_by_its_host() {
    let none = Bound::links([]).unwrap();
    check(
        &none,
        // A word with a dot and a slash that is no host, and `www.` inside of one.
        &["a.b/c", "a.b1/c", "a_b.org/c", "1.5/2", "a..org/c", ".org/c", "awww.b"],
        &["(www.b.org)", "see-www.b.org/x", "see:www.b.org", "a-b.org/c", "b.org?c", "b.org#c"],
    );
    let odd = Bound::hosts(["docs.rs"]).unwrap();
    check(
        &odd,
        &["docs.rs:80", "docs.rs:443"],
        &["docs.rs\u{1}", "docs.rs\u{a0}", "docs.rs\\", "docs.rs?x", "docs.rs:8080"],
    );
    // Behind the host too: who cuts such a letter out, or takes it for an end, reads on elsewhere.
    check(
        &odd,
        &["https://docs.rs/x"],
        &["https://docs.rs/\u{1}x", "https://docs.rs/ x", "https://docs.rs/\\x"],
    );
}
