//! Which search of the web an agent asks, and how it is reached.

use insula_domain::{Host, HostPattern, Scheme, parse_authority};

/// Where Brave's search is, unless somebody says otherwise.
const BRAVE: &str = "https://api.search.brave.com";

/// Whose words a search speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchProvider {
    /// SearXNG.
    Searxng,
    /// Brave.
    Brave,
}

impl SearchProvider {
    /// Finds one by its name in the configuration.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "searxng" => Some(Self::Searxng),
            "brave" => Some(Self::Brave),
            _ => None,
        }
    }
}

/// The search that the operator named. Naming it grants exactly its host, to this one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchConfig {
    /// Whose words it speaks.
    pub provider: SearchProvider,
    /// Where it is, without a slash at the end.
    pub base_url: Box<str>,
    /// Its host and port, which is all that is reached.
    pub host: HostPattern,
    /// Its key, as written: a reference to a secret.
    pub api_key: Option<Box<str>>,
}

/// What is wrong with a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchProblem {
    /// Something it can't do without is not there: the tool waits for it.
    Missing(&'static str),
    /// The address can't be used.
    Address(&'static str),
    /// The key would be sent where everyone on the way reads it.
    InTheClear,
}

/// Reads what was written.
pub fn search(
    provider: SearchProvider,
    base_url: Option<&str>,
    api_key: Option<&str>,
) -> Result<SearchConfig, SearchProblem> {
    let base_url = match (provider, base_url) {
        (_, Some(url)) => url,
        (SearchProvider::Brave, None) => BRAVE,
        (SearchProvider::Searxng, None) => return Err(SearchProblem::Missing("base_url")),
    };
    if provider == SearchProvider::Brave && api_key.is_none() {
        return Err(SearchProblem::Missing("api_key"));
    }
    let base_url = base_url.trim_end_matches('/');
    let (scheme, rest) = match base_url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
        _ => return Err(SearchProblem::Address("it begins with neither http:// nor https://")),
    };
    if rest.contains(['?', '#']) {
        return Err(SearchProblem::Address("it has a query; give the address of the server alone"));
    }
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.contains('@') {
        return Err(SearchProblem::Address("it has a user name; put the key under `api_key`"));
    }
    let unreadable = SearchProblem::Address("its host can't be read");
    let (host, port) = parse_authority(authority).map_err(|_| unreadable.clone())?;
    let port = port.unwrap_or(scheme.default_port());
    if api_key.is_some() && scheme == Scheme::Http && !is_this_machine(&host) {
        return Err(SearchProblem::InTheClear);
    }
    let host = HostPattern::parse(&format!("{host}:{port}")).map_err(|_| unreadable)?;
    Ok(SearchConfig { provider, base_url: base_url.into(), host, api_key: api_key.map(Into::into) })
}

/// Whether what is sent to an address is read by everyone on the way.
pub(crate) fn is_in_the_clear(base_url: &str) -> bool {
    let Some((scheme, rest)) = base_url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_near = parse_authority(authority).is_ok_and(|(host, _)| is_this_machine(&host));
    scheme.eq_ignore_ascii_case("http") && !is_near
}

fn is_this_machine(host: &Host) -> bool {
    match host {
        Host::Address(address) => address.is_loopback(),
        Host::Name(_) => host.name() == Some("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_read_by_everyone_but_on_this_machine() {
        for (url, is_clear) in [
            ("https://x.org/v1", false),
            ("http://x.org/v1", true),
            ("HTTP://10.0.0.1:80", true),
            ("http://127.0.0.1:8080/v1", false),
            ("http://[::1]:1", false),
            ("http://localhost", false),
            ("http://localhost.evil.org", true),
            ("http://", true),
        ] {
            assert_eq!(is_in_the_clear(url), is_clear, "{url}");
        }
    }

    #[test]
    fn a_search_is_its_host_and_nothing_else() {
        use SearchProvider::{Brave, Searxng};
        for (provider, url, key, host) in [
            (Searxng, Some("https://searx.example.org/"), None, "searx.example.org:443"),
            (Searxng, Some("http://127.0.0.1:8888/searx"), Some("k"), "127.0.0.1:8888"),
            (Searxng, Some("http://[::1]:8888"), None, "[::1]:8888"),
            (Searxng, Some("http://localhost:8888"), Some("k"), "localhost:8888"),
            (Brave, None, Some("k"), "api.search.brave.com:443"),
        ] {
            let found = search(provider, url, key).unwrap();
            assert_eq!(found.host.to_string(), host);
            assert!(!found.base_url.ends_with('/'));
        }
        let problem = |provider, url, key| search(provider, url, key).unwrap_err();
        assert_eq!(problem(Searxng, None, None), SearchProblem::Missing("base_url"));
        assert_eq!(problem(Brave, None, None), SearchProblem::Missing("api_key"));
        let clear = problem(Searxng, Some("http://searx.org"), Some("k"));
        assert_eq!(clear, SearchProblem::InTheClear);
        for url in ["ftp://x", "https://u:p@x.org", "https://x.org/?q=", "https://", "https://a b"]
        {
            let found = problem(Searxng, Some(url), None);
            assert!(matches!(found, SearchProblem::Address(_)), "{url}: {found:?}");
        }
    }
}
