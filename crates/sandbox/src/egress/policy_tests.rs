//! The list and the addresses, in every spelling.

use super::*;
use proptest::prelude::*;
use std::net::Ipv4Addr;

fn policy(allow: &[&str]) -> Policy {
    Policy::new(NetworkGrants::allow(allow.iter().map(|text| HostPattern::parse(text).unwrap())))
}

/// Decides as a connection would: reads, decides, and checks what the name resolves to.
fn ask(policy: &Policy, authority: &str, resolved: &str) -> Result<(), EgressRefusal> {
    let destination = EgressDestination::parse(authority, Scheme::Https)?;
    let permit = policy.decide(&destination)?;
    let address = match destination.host {
        Host::Address(literal) => literal,
        Host::Name(_) => resolved.parse().unwrap(),
    };
    policy.check_address(&permit, address)
}

#[test]
fn rule_04_what_is_not_on_the_list_is_refused_with_the_setting_that_would_grant_it() {
    let policy = policy(&["api.github.com", "*.example.org"]);
    let refused = ask(&policy, "evil.net", "1.1.1.1").unwrap_err().to_string();
    assert!(
        refused.contains("`evil.net:443`") && refused.contains("`network.allow` of this agent")
    );
    let port = ask(&policy, "api.github.com:22", "1.1.1.1").unwrap_err().to_string();
    assert!(port.contains("not this port"), "{port}");
    let inside = ask(&policy, "a.example.org", "10.1.2.3").unwrap_err().to_string();
    assert!(inside.contains("10.1.2.3, a private address"), "{inside}");
    assert!(inside.contains("`10.1.2.3:443` in `network.allow`"), "{inside}");
    assert!(ask(&Policy::default(), "api.github.com", "1.1.1.1").is_err());
    assert!(Policy::default().is_none());
}

#[test]
fn the_list_is_read_without_case_and_final_dot_and_nothing_else_is_forgiven() {
    let policy = policy(&["api.github.com", "*.example.org"]);
    for yes in ["api.github.com", "API.GitHub.com.", "a.example.org", "a.b.example.org:443"] {
        assert_eq!(ask(&policy, yes, "1.1.1.1"), Ok(()), "{yes}");
    }
    for no in [
        "example.org",
        "github.com",
        "api.github.com..",
        "api.github.com.evil.net",
        "evil.net@api.github.com",
        "api.github.com@evil.net",
        "api.github.com:443@evil.net",
        "evil.net\0.example.org",
        "evil.net%00.example.org",
        "evil.net#.example.org",
        "evil.net?.example.org",
        "evil.net\\.example.org",
        "evil.net/.example.org",
        "evil.net\r\n.example.org",
        "%61pi.github.com",
        "api。github。com",
        "ａｐｉ.github.com",
        "api.gıthub.com",
        " api.github.com",
        "api.github.com ",
        "api.github.com:0443x",
        "api.github.com:443:443",
        "[api.github.com]",
        "",
        ".",
        ":443",
    ] {
        assert!(ask(&policy, no, "1.1.1.1").is_err(), "{no:?}");
    }
}

#[test]
fn a_private_address_is_granted_by_exactly_itself() {
    let policy = policy(&["127.0.0.1:3000", "[fd00::1]", "db.internal", "10.0.0.5"]);
    assert_eq!(ask(&policy, "127.0.0.1:3000", ""), Ok(()));
    assert_eq!(ask(&policy, "[fd00::1]", ""), Ok(()));
    assert_eq!(ask(&policy, "[fd00:0:0::1]:443", ""), Ok(()));
    assert_eq!(ask(&policy, "db.internal", "10.0.0.5"), Ok(()));
    for (no, resolved) in [
        ("127.0.0.1:3001", ""),
        ("127.0.0.1", ""),
        ("127.0.0.2:3000", ""),
        ("localhost:3000", "127.0.0.1"),
        ("[::ffff:127.0.0.1]:3000", ""),
        ("[fd00::2]", ""),
        ("db.internal", "10.0.0.6"),
        ("db.internal", "127.0.0.1"),
    ] {
        assert!(ask(&policy, no, resolved).is_err(), "{no}");
    }
}

#[test]
fn localhost_grants_this_machine_by_that_name_only() {
    let policy = policy(&["localhost", "*.localhost", "a.example.org"]);
    assert_eq!(ask(&policy, "localhost", "127.0.0.1"), Ok(()));
    assert_eq!(ask(&policy, "LOCALHOST.", "::1"), Ok(()));
    assert!(ask(&policy, "localhost", "10.0.0.1").is_err());
    assert!(ask(&policy, "127.0.0.1", "").is_err());
    assert!(ask(&policy, "a.example.org", "127.0.0.1").is_err());
    assert!(ask(&policy, "a.localhost", "127.0.0.1").is_err());
}

#[test]
fn what_stands_for_another_address_can_not_be_granted() {
    let policy = policy(&["0.0.0.0", "[::]", "[::ffff:10.0.0.1]", "[2002:a00:1::]", "224.0.0.1"]);
    for no in ["0.0.0.0", "[::]", "[::ffff:10.0.0.1]", "[2002:a00:1::]", "224.0.0.1"] {
        let refused = ask(&policy, no, "").unwrap_err();
        assert!(refused.to_string().contains("no setting grants it"), "{refused}");
    }
}

#[test]
fn a_refusal_repeats_little_of_what_was_asked_and_nothing_that_moves_a_cursor() {
    let asked = format!("\x1b[2J{}", "é".repeat(5000));
    let refused = EgressDestination::parse(&asked, Scheme::Http).unwrap_err().to_string();
    assert!(refused.len() < 3000, "{refused}");
    assert!(!refused.contains(char::is_control), "{refused}");
}

fn private_v4() -> impl Strategy<Value = Ipv4Addr> {
    prop_oneof![
        any::<[u8; 3]>().prop_map(|[b, c, d]| Ipv4Addr::new(10, b, c, d)),
        any::<[u8; 3]>().prop_map(|[b, c, d]| Ipv4Addr::new(127, b, c, d)),
        any::<[u8; 2]>().prop_map(|[c, d]| Ipv4Addr::new(192, 168, c, d)),
        any::<[u8; 2]>().prop_map(|[c, d]| Ipv4Addr::new(169, 254, c, d)),
        any::<[u8; 2]>().prop_map(|[c, d]| Ipv4Addr::new(172, 16, c, d)),
        any::<[u8; 2]>().prop_map(|[c, d]| Ipv4Addr::new(100, 64, c, d)),
        Just(Ipv4Addr::UNSPECIFIED),
    ]
}

/// One number the way `inet_aton`, and so curl and every browser, would take it.
fn number(value: u32, base: u8, zeros: usize, upper: bool) -> String {
    match base {
        0 => format!("{value}"),
        1 => format!("0{}{value:o}", "0".repeat(zeros)),
        _ if upper => format!("0X{}{value:X}", "0".repeat(zeros)),
        _ => format!("0x{}{value:x}", "0".repeat(zeros)),
    }
}

proptest! {
    #[test]
    fn no_spelling_of_a_private_address_is_reached(
        address in private_v4(),
        parts in 1_usize..=4,
        bases in prop::array::uniform4(0_u8..3),
        zeros in 0_usize..4,
        upper: bool,
        dot: bool,
    ) {
        let [a, b, c, d] = address.octets().map(u32::from);
        let numbers = match parts {
            1 => vec![address.to_bits()],
            2 => vec![a, (b << 16) | (c << 8) | d],
            3 => vec![a, b, (c << 8) | d],
            _ => vec![a, b, c, d],
        };
        let text: Vec<String> = numbers.iter().zip(bases)
            .map(|(&value, base)| number(value, base, zeros, upper)).collect();
        let mut text = text.join(".");
        if dot {
            text.push('.');
        }
        // Everything is on the list that can be, save the address itself.
        let policy = policy(&["*.com", "*.org", "*.net", "localhost", "8.8.8.8"]);
        prop_assert!(ask(&policy, &text, "127.0.0.1").is_err(), "{}", text);
        // Where the address is granted, a spelling is either it or refused: never a name.
        let allowed = address.to_string();
        if let Ok(destination) = EgressDestination::parse(&text, Scheme::Http) {
            prop_assert_eq!(destination.host, Host::Address(address.into()), "{}", allowed);
        }
    }

    #[test]
    fn no_address_inside_brackets_reaches_what_it_contains(address in private_v4(), form in 0..5) {
        let [high, low] = [(address.to_bits() >> 16) as u16, address.to_bits() as u16];
        let text = match form {
            0 => format!("[::ffff:{address}]"),
            1 => format!("[::{address}]"),
            2 => format!("[64:ff9b::{address}]"),
            3 => format!("[2002:{high:x}:{low:x}::1]"),
            _ => format!("[0:0:0:0:0:FFFF:{high:x}:{low:x}]"),
        };
        let granted = address.to_string();
        let policy = policy(&[&granted, &text]);
        let refused = ask(&policy, &text, "").unwrap_err();
        prop_assert!(
            matches!(refused, EgressRefusal::Address { .. } | EgressRefusal::Spelling { .. }), "{}", refused
        );
    }

    #[test]
    fn reading_never_panics_and_what_it_reads_prints_as_something_it_reads(text in ".{0,40}") {
        if let Ok(destination) = EgressDestination::parse(&text, Scheme::Http) {
            let again = EgressDestination::parse(&destination.to_string(), Scheme::Http);
            prop_assert_eq!(again, Ok(destination));
        }
    }

    #[test]
    fn a_name_that_resolves_inside_is_refused_whatever_is_listed_by_name(address in private_v4()) {
        let policy = policy(&["*.example.org", "localhost"]);
        prop_assert!(ask(&policy, "a.example.org", &address.to_string()).is_err());
        let mapped = address.to_ipv6_mapped();
        prop_assert!(ask(&policy, "a.example.org", &mapped.to_string()).is_err());
    }

    #[test]
    fn the_public_web_never_leads_inside(address in private_v4()) {
        let policy = policy(&["public"]);
        prop_assert!(ask(&policy, "a.example.org", "1.1.1.1").is_ok());
        prop_assert!(ask(&policy, "a.example.org", &address.to_string()).is_err());
        prop_assert!(ask(&policy, &address.to_string(), "1.1.1.1").is_err());
        let mapped = address.to_ipv6_mapped();
        prop_assert!(ask(&policy, "a.example.org", &mapped.to_string()).is_err());
        let literal = format!("[{mapped}]");
        prop_assert!(ask(&policy, &literal, "1.1.1.1").is_err());
        for inside in ["localhost", "intranet", "a.example.org:22"] {
            prop_assert!(ask(&policy, inside, "1.1.1.1").is_err());
        }
    }
}
