//! Which hosts an agent's programs and tools reach, and the credentials that go along.

use crate::host::{Host, HostPattern, Scheme};
use crate::policy::Switch;
use std::collections::BTreeSet;

/// Which hosts may be reached: those that every list allows. Without a list, none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkGrants {
    lists: Vec<BTreeSet<HostPattern>>,
    credentials: Vec<HostCredential>,
}

/// A header that is set on requests to a host, where neither program nor model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCredential {
    pub host: HostPattern,
    pub header: Box<str>,
    /// Its value, with names of secrets in place of the secrets.
    pub value: Box<str>,
    /// The secrets it is made of.
    pub secrets: BTreeSet<Box<str>>,
    /// Whether it may also go where everyone on the way can read it.
    pub plain_http: Switch,
}

/// Headers that say where a message goes or ends. A credential in one of them could change
/// what a host takes for the next request.
pub const FRAMING_HEADERS: [&str; 9] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "proxy-authorization",
];

/// Whether a text is the name of a header that a credential may be in.
pub fn is_credential_header(name: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty()
        && name.len() <= 128
        && name.chars().all(is_token)
        && !FRAMING_HEADERS.contains(&&*name.to_ascii_lowercase())
}

impl NetworkGrants {
    /// No network.
    pub fn none() -> Self {
        Self::default()
    }

    /// What one list allows.
    pub fn allow(hosts: impl IntoIterator<Item = HostPattern>) -> Self {
        Self { lists: vec![hosts.into_iter().collect()], credentials: Vec::new() }
    }

    /// These grants with credentials for some of their hosts. One for a host that is not
    /// wholly within them is left out.
    #[must_use]
    pub fn with(mut self, credentials: impl IntoIterator<Item = HostCredential>) -> Self {
        let all = credentials.into_iter().filter(|it| self.covers(&it.host));
        let all: Vec<_> = all.collect();
        self.credentials.extend(all);
        self
    }

    /// Whether every list allows all that a pattern stands for.
    pub fn covers(&self, hosts: &HostPattern) -> bool {
        let all = |list: &BTreeSet<HostPattern>| list.iter().any(|it| it.covers_all_of(hosts));
        !self.lists.is_empty() && self.lists.iter().all(all)
    }

    /// The credentials that are added on the way out.
    pub fn credentials(&self) -> &[HostCredential] {
        &self.credentials
    }

    /// These grants without the credentials that need another secret than these.
    #[must_use]
    pub fn only_secrets(mut self, secrets: &BTreeSet<Box<str>>) -> Self {
        self.credentials.retain(|it| it.secrets.is_subset(secrets));
        self
    }

    /// What these grants and one more list both allow; nothing where nothing was allowed. A
    /// credential stays where the list has all of its hosts.
    #[must_use]
    pub fn and(&self, hosts: impl IntoIterator<Item = HostPattern>) -> Self {
        let mut lists = self.lists.clone();
        if !lists.is_empty() {
            lists.push(hosts.into_iter().collect());
        }
        Self { lists, credentials: Vec::new() }.with(self.credentials.iter().cloned())
    }

    /// The lists, of which every one must allow a host.
    pub fn lists(&self) -> &[BTreeSet<HostPattern>] {
        &self.lists
    }

    /// Whether nothing may be reached at all.
    pub fn is_none(&self) -> bool {
        self.lists.is_empty() || self.lists.iter().any(BTreeSet::is_empty)
    }

    /// Whether a host may be reached, at some port. Case and one final dot make no difference.
    pub fn allows(&self, host: &str) -> bool {
        let Ok(host) = Host::parse(host) else { return false };
        !self.lists.is_empty()
            && self.lists.iter().all(|list| list.iter().any(|pattern| pattern.covers_host(&host)))
    }

    /// The pattern of the first list by which a host may be reached at a port; `None` where
    /// some list does not allow it.
    pub fn reaches(&self, host: &Host, port: u16, scheme: Scheme) -> Option<&HostPattern> {
        let mut rules = self
            .lists
            .iter()
            .map(|list| list.iter().find(|pattern| pattern.covers(host, port, scheme)));
        let first = rules.next()??;
        rules.all(|rule| rule.is_some()).then_some(first)
    }

    /// Whether these grants could allow a host that `other` does not: true unless each list
    /// of `other` is seen to allow all that one of these does.
    pub fn exceeds(&self, other: &Self) -> bool {
        let within = |list: &BTreeSet<HostPattern>, bound: &BTreeSet<HostPattern>| {
            list.iter().all(|it| bound.iter().any(|bound| bound.covers_all_of(it)))
        };
        let bounded = !other.lists.is_empty()
            && other.lists.iter().all(|bound| self.lists.iter().any(|list| within(list, bound)));
        let known = |it: &HostCredential| other.credentials.contains(it);
        !(self.is_none() || bounded && self.credentials.iter().all(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(texts: &[&str]) -> Vec<HostPattern> {
        texts.iter().map(|text| HostPattern::parse(text).unwrap()).collect()
    }

    #[test]
    fn a_host_must_be_in_every_list_and_no_list_allows_nothing() {
        let grants = NetworkGrants::allow(hosts(&["api.github.com", "*.example.org"]));
        for yes in ["api.github.com", "API.github.com.", "a.example.org", "a.b.example.org"] {
            assert!(grants.allows(yes), "{yes}");
        }
        for no in [
            "github.com",
            "example.org",
            "evilexample.org",
            ".example.org",
            "a..example.org",
            "api.github.com.evil.net",
            "api.github.com..",
            "x@a.example.org",
            "",
            ".",
        ] {
            assert!(!grants.allows(no), "{no}");
        }
        let fewer = grants.and(hosts(&["api.github.com", "crates.io"]));
        assert!(fewer.allows("api.github.com"));
        assert!(!fewer.allows("a.example.org") && !fewer.allows("crates.io"));
        assert!(!NetworkGrants::none().allows("api.github.com"));
        assert!(!NetworkGrants::none().and(hosts(&["crates.io"])).allows("crates.io"));
        assert!(!NetworkGrants::allow([]).allows("crates.io"));
    }

    #[test]
    fn a_pattern_covers_the_usual_port_of_each_scheme_or_the_one_it_names() {
        let grants = NetworkGrants::allow(hosts(&["a.org", "b.org:8443", "[::1]:80"]));
        let rule = |host, port, scheme| {
            let host = Host::parse(host).unwrap();
            grants.reaches(&host, port, scheme).map(ToString::to_string)
        };
        assert_eq!(rule("a.org", 443, Scheme::Https).unwrap(), "a.org");
        assert_eq!(rule("A.org.", 80, Scheme::Http).unwrap(), "a.org");
        assert_eq!(rule("a.org", 80, Scheme::Https), None);
        assert_eq!(rule("a.org", 443, Scheme::Http), None);
        assert_eq!(rule("a.org", 22, Scheme::Https), None);
        assert_eq!(rule("b.org", 8443, Scheme::Https).unwrap(), "b.org:8443");
        assert_eq!(rule("b.org", 8443, Scheme::Http).unwrap(), "b.org:8443");
        assert_eq!(rule("b.org", 443, Scheme::Https), None);
        assert_eq!(rule("[0:0::1]", 80, Scheme::Http).unwrap(), "[::1]:80");
        let fewer = grants.and(hosts(&["a.org:443"]));
        let host = Host::parse("a.org").unwrap();
        assert!(fewer.reaches(&host, 443, Scheme::Https).is_some());
        assert!(fewer.reaches(&host, 80, Scheme::Http).is_none());
        assert!(NetworkGrants::none().reaches(&host, 443, Scheme::Https).is_none());
    }

    #[test]
    fn a_wildcard_never_covers_an_address() {
        let grants = NetworkGrants::allow(hosts(&["*.com"]));
        assert!(!grants.allows("10.0.0.1") && !grants.allows("[::1]"));
    }

    #[test]
    fn more_lists_never_exceed_fewer() {
        let wide = NetworkGrants::allow(hosts(&["*.example.org", "crates.io"]));
        let narrow = NetworkGrants::allow(hosts(&["a.example.org", "*.b.example.org"]));
        assert!(!narrow.exceeds(&wide) && wide.exceeds(&narrow));
        assert!(!wide.and(hosts(&["elsewhere.net"])).exceeds(&wide));
        assert!(!NetworkGrants::none().exceeds(&NetworkGrants::none()));
        assert!(wide.exceeds(&NetworkGrants::none()));
        let below = NetworkGrants::allow(hosts(&["*.crates.io"]));
        assert!(below.exceeds(&wide));
        let port = NetworkGrants::allow(hosts(&["crates.io:8443"]));
        assert!(port.exceeds(&wide) && wide.exceeds(&port) && !port.exceeds(&port));
    }

    fn credential(host: &str, secret: &str) -> HostCredential {
        HostCredential {
            host: HostPattern::parse(host).unwrap(),
            header: "authorization".into(),
            value: format!("Bearer ${{secret:{secret}}}").into(),
            secrets: [secret.into()].into(),
            plain_http: Switch::Off,
        }
    }

    #[test]
    fn a_credential_is_for_hosts_that_are_wholly_granted_and_goes_when_they_are_not() {
        let grants = NetworkGrants::allow(hosts(&["api.org", "*.b.org"]));
        let grants = grants.with([
            credential("api.org", "A"),
            credential("x.b.org", "B"),
            credential("*.org", "C"),
            credential("api.org:8443", "D"),
        ]);
        let names = |grants: &NetworkGrants| -> Vec<String> {
            grants.credentials().iter().map(|it| it.host.to_string()).collect()
        };
        assert_eq!(names(&grants), ["api.org", "x.b.org"]);
        let fewer = grants.and(hosts(&["api.org"]));
        assert_eq!(names(&fewer), ["api.org"]);
        assert!(!fewer.exceeds(&grants));
        assert_eq!(names(&grants.and(hosts(&["elsewhere.net"]))), [""; 0]);
        let kept = grants.clone().only_secrets(&["B".into()].into());
        assert_eq!(names(&kept), ["x.b.org"]);
        let bare = NetworkGrants::allow(hosts(&["api.org", "*.b.org"]));
        assert!(grants.exceeds(&bare) && !bare.exceeds(&grants));
        assert_eq!(names(&NetworkGrants::none().with([credential("api.org", "A")])), [""; 0]);
    }

    #[test]
    fn a_credential_never_frames_a_message() {
        for good in ["Authorization", "X-Api-Key", "cookie"] {
            assert!(is_credential_header(good), "{good}");
        }
        for bad in ["", "a b", "x:", "Host", "Content-Length", "Transfer-Encoding", "x\r\ny"] {
            assert!(!is_credential_header(bad), "{bad}");
        }
        assert!(is_credential_header(&"x".repeat(128)) && !is_credential_header(&"x".repeat(129)));
    }
}
