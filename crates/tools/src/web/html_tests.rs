//! Pages as people see them, and pages that want to be seen otherwise.

use super::*;
use proptest::prelude::*;

fn text(html: &str) -> String {
    read(html, Some(&Url::parse("https://site.org/dir/page?q=1").unwrap())).text
}

#[test]
fn a_page_becomes_markdown() {
    let reading = read(
        r##"<!doctype html><html><head><title> A &amp; B
           </title><style>p{color:red}</style><script>if (a<b) {"<p>no</p>"}</script></head>
        <body><h1>Head<em>line</em></h1><p>One &eacute; &#x2014; <b>two</b>
          three<br>four</p><p>Unclosed<ul><li>a<li>b<ol><li>c<li>d</ol></ul>
        <table><tr><th>k<th>v<tr><td>1<td>2</table>
        <blockquote><p>said</p><p>more</p></blockquote>
        <pre>fn main() {
    x
}</pre><p>Use <code>let</code> here.<hr>
        <a href="../other#x">a link</a>, <a href='//cdn.org/x'>b</a>, <a href="javascript:x()">c</a>,
        <a href="#top">d</a>, <a href="mailto:x@y">e</a> <a href="/img"><img src=x alt="no"></a></body></html>"##,
        Some(&Url::parse("https://site.org/dir/page").unwrap()),
    );
    assert_eq!(reading.title.as_deref(), Some("A & B"));
    assert_eq!(
        reading.text,
        "# Headline\n\nOne é — two three\nfour\n\nUnclosed\n\n- a\n- b\n  1. c\n  2. d\n\nk | v\n1 | 2\n\n\
         > said\n\n> more\n\n```\nfn main() {\n    x\n}\n```\n\nUse `let` here.\n\n---\n\n\
         [a link](https://site.org/other#x), [b](https://cdn.org/x), c, d, e"
    );
    assert!(!reading.is_cut);
}

#[test]
fn what_people_do_not_see_is_not_read() {
    for html in [
        "<p>seen</p><p hidden>SECRET</p>",
        "<p>seen<!-- SECRET --></p>",
        "<p>seen</p><div style='color:red;display: none'><div>SECRET</div>SECRET</div>",
        "<p>seen</p><div aria-hidden=true>SECRET</div>",
        "<style>.x, #y {display:none}</style><p>seen</p><b class='a x'>SECRET</b><i id=y>SECRET</i>",
        "<p>seen</p><i class=late>SECRET</i><style>.late{visibility:hidden}</style>",
        "<p>seen</p><template>SECRET</template><noscript>SECRET</noscript>",
        "<p>seen</p><textarea>SECRET</textarea><select><option>SECRET</select>",
        "<p>seen</p><img alt=SECRET title=SECRET><input value=SECRET type=hidden>",
        "<p>seen</p><svg><text>SECRET</text><style/><title>SECRET</title></svg>",
        "<p>seen</p><dialog>SECRET</dialog>",
        // Trees that browsers build otherwise than the tags say.
        "<p>seen</p><div hidden><table><tr><td></div>SECRET</table></div>",
        "<p>seen</p><span hidden><div></span>SECRET</div></span>",
        "<p>seen</p><div hidden></p></span></b>SECRET",
        "<p>seen</p><div hidden/>SECRET",
        "<p>s\u{200b}ee\u{2060}n</p>",
        "<p>se&#8203;en&#x202e;</p>",
    ] {
        assert_eq!(text(html), "seen", "{html}");
    }
}

#[test]
fn the_end_of_what_is_hidden_is_its_end() {
    assert_eq!(text("<p hidden>no<p>yes"), "yes");
    assert_eq!(text("<ul><li hidden>no<li>yes</ul>"), "- yes");
    assert_eq!(text("<div hidden>no</div><span style='display:none'>no</span>yes"), "yes");
}

#[test]
fn the_content_is_read_and_not_what_stands_around_it() {
    let long = "word ".repeat(60);
    let page = format!(
        "<header>Brand</header><nav><a href=/>Home</a></nav><p>teaser</p>\
         <main><header><h1>Title</h1></header><p>{long}</p><nav>inner</nav></main>\
         <aside>ads</aside><footer>©</footer>"
    );
    assert_eq!(text(&page), format!("# Title\n\n{}", long.trim()));
    // A main part of a few words is not where the text is.
    assert_eq!(text("<nav>x</nav><main>short</main><p>and more"), "short\n\nand more");
    // A page that is nothing else is read all the same.
    assert_eq!(text("<nav><a href=/x>Only</a></nav>"), "[Only](https://site.org/x)");
    assert_eq!(text("<nav hidden>Only</nav>"), "");
}

#[test]
fn links_follow_the_base_of_the_page() {
    let page = "<base href='https://other.net/a/'><a href=b>x</a>";
    assert_eq!(text(page), "[x](https://other.net/a/b)");
    assert_eq!(text(&format!("<a href='/{}'>x</a>", "y".repeat(1_000))), "x");
    assert_eq!(
        text("<a href=/a><div>one</div><div>two</div></a>"),
        "[one](https://site.org/a)\n\ntwo"
    );
}

#[test]
fn a_page_made_to_hurt_ends_soon_and_stays_small() {
    let deep = format!("{}deep", "<div>".repeat(100_000));
    assert!(read(&deep, None).is_cut);
    let strays = format!("{}{}", "<b>".repeat(500), "</x>".repeat(400_000));
    assert!(read(&strays, None).is_cut);
    let long = "x".repeat(4 << 20);
    let reading = read(&long, None);
    assert!(reading.is_cut && reading.text.len() < 5 << 20);
    let attributes = format!("<p {}>x", "a ".repeat(1_000_000));
    assert_eq!(text(&attributes), "x");
    assert_eq!(text(&"<a href=/>".repeat(5_000)), "");
}

#[test]
fn a_snippet_is_plain_text() {
    assert_eq!(
        plain("the <strong>best</strong>\n &amp; <script>x</script>only"),
        "the best & only"
    );
}

proptest! {
    #[test]
    fn nothing_makes_it_panic_or_swell(html in "(<(/?(p|div|a|li|table|td|b|pre|svg|x)( hidden| href=/a| style=\"display:none\")?/?>)?|[a-z<>&\"' é]{0,3}|<!--|-->){0,40}") {
        let reading = read(&html, None);
        prop_assert!(reading.text.len() <= html.len() * 4 + 64);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        read(&String::from_utf8_lossy(&bytes), None);
    }

    #[test]
    fn text_in_a_hidden_element_never_shows(inner in "(<(/?(p|span|a|li|td|b|pre|i|x|table|tr|ul)( href=/a)?/?>)|[a-z ]{0,3}){0,20}") {
        // Whatever is inside, up to an end tag of the hidden element itself.
        let page = format!("<p>seen</p><section hidden>{inner}SECRET</section>");
        prop_assert!(!read(&page, None).text.contains("SECRET"));
    }
}
