//! Where files are on homeservers: `mxc://server/name`.

/// Whether this is an address of a file on a homeserver. It came from whoever sent the message.
pub(super) fn is_content(url: &str) -> bool {
    parts(url).is_some()
}

/// The server and the name of a file.
pub(super) fn parts(url: &str) -> Option<(&str, &str)> {
    let (server, name) = url.strip_prefix("mxc://")?.split_once('/')?;
    let of_server = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let fits = |text: &str, fits: &dyn Fn(u8) -> bool| {
        !text.is_empty() && text.len() <= 255 && text.bytes().all(fits)
    };
    (fits(server, &of_server) && fits(name, &of_name)).then_some((server, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_file_leads_nowhere_else() {
        for good in ["mxc://x.y/abc_D-1", "mxc://[::1]:8448/a", "mxc://localhost/a"] {
            assert!(is_content(good), "{good}");
        }
        let long = format!("mxc://x/{}", "a".repeat(300));
        for bad in [
            "",
            "mxc://",
            "mxc:///a",
            "mxc://x/",
            "mxc://x",
            "mxc://x/a/b",
            "mxc://x/..",
            "mxc://../a?b",
            "mxc://x/a#b",
            "https://x/a",
            "mxc://x/%2e",
            &long,
        ] {
            assert!(!is_content(bad), "{bad}");
        }
    }
}
