//! What the lexer takes for words and commands.

use super::line::read;

/// The words of each command, and how many parts could not be looked at.
fn check(line: &str, expected: &[&[&str]], unseen: usize) {
    let lexer = read(line, None);
    let words = |it: &super::line::Simple<'_>| {
        it.words.iter().map(|word| word.text.clone()).collect::<Vec<_>>()
    };
    let commands: Vec<Vec<String>> = lexer.read.commands.iter().map(words).collect();
    let is_same = commands.iter().map(Vec::as_slice).eq(expected.iter().copied());
    assert!(is_same && lexer.unseen.len() == unseen, "{line}: {commands:?} {:?}", lexer.unseen);
}

#[test]
fn words_are_read_without_their_quotes() {
    check(r#"a 'b c' "d e" f\ g"#, &[&["a", "b c", "d e", "f g"]], 0);
    check(r#"a"b"'c'd ''"#, &[&["abcd", ""]], 0);
    check(r#"a "\"\$\x" \\"#, &[&["a", "\"$\\x", "\\"]], 0);
    check("a '$(x)' \"\\`x\\`\"", &[&["a", "$(x)", "`x`"]], 0);
    check("a b#c #d\ne", &[&["a", "b#c"], &["e"]], 0);
    check("a \\\n b", &[&["a", "b"]], 0);
    check("a $x ${y:-\"}\"} \"$z\" $", &[&["a", "$x", "${y:-\"}\"}", "$z", "$"]], 0);
    check("a \"${x:-'}\" b", &[&["a", "${x:-'}", "b"]], 0);
    check("a ${x:-'}'} b", &[&["a", "${x:-'}'}", "b"]], 0);
}

#[test]
fn operators_and_reserved_words_end_commands() {
    check(
        "a;b&&c||d|e|&f&g\nh",
        &[&["a"], &["b"], &["c"], &["d"], &["e"], &["f"], &["g"], &["h"]],
        0,
    );
    check(
        "if a; then { b; }; elif ! c; then (d); else e; fi",
        &[&["a"], &["b"], &["c"], &["d"], &["e"]],
        0,
    );
    check("for x in a b; do c $x; done; echo done", &[&["c", "$x"], &["echo", "done"]], 0);
    check("case x in a|b) c;; (d) e;& *) f; esac; g", &[&["c"], &["e"], &["f"], &["g"]], 0);
    check("case x in esac; a", &[&["a"]], 0);
    check("[[ a < b && (c) ]]; ((x = (1 > 2))); d", &[&["d"]], 0);
    check("echo if then", &[&["echo", "if", "then"]], 0);
    check("'if' a", &[&["if", "a"]], 0);
    check("f() { a; }", &[&["a"]], 1);
    check("function f() { a; }", &[&["a"]], 1);
}

#[test]
fn what_is_substituted_is_read_and_noted() {
    check("a $(b; (c)) d", &[&["b"], &["c"], &["a", "$(…)", "d"]], 1);
    check("a \"$(b \"$(c)\")\"", &[&["c"], &["b", "$(…)"], &["a", "$(…)"]], 2);
    check("a $(case x in b) c;; esac) d", &[&["c"], &["a", "$(…)", "d"]], 1);
    check("a `b \\` c` d", &[&["a", "$(…)", "d"]], 1);
    check("a $((1 + (2))) b", &[&["a", "$((1 + (2)))", "b"]], 0);
    check("a ${x:-$(b)}", &[&["b"], &["a", "${x:-$(b)}"]], 1);
}

#[test]
fn redirections_are_no_words() {
    check("a >b 2>&1 <c 3<>d >>e >|f &>g <<<h i", &[&["a", "i"]], 0);
    check("a <<X b\n$x 'y\nX\nc", &[&["a", "b"], &["c"]], 0);
    check("a <<-'X'; b <<Y\n$(z)\n\tX\ny\nY\nc", &[&["a"], &["b"], &["c"]], 0);
    check("a <<X\n$(b)\nX", &[&["a"]], 1);
    check("a <<X\nnever ended", &[&["a"]], 0);
    let files = |line: &'static str| {
        let lexer = read(line, None);
        let all = lexer.read.commands.iter().flat_map(|it| it.files.clone());
        all.map(|(word, writes)| (word.text, writes)).collect::<Vec<_>>()
    };
    assert_eq!(files("a 2>b <c"), [("b".to_owned(), true), ("c".to_owned(), false)]);
    assert_eq!(files("a >&b 2>&1 >&-"), [("b".to_owned(), true)]);
}

#[test]
fn variables_before_a_command_are_no_words() {
    let names = |line: &'static str| read(line, None).read.commands.remove(0).assignments;
    assert_eq!(names("A=1 B+='x y' C[0]=$z cmd D=4"), ["A", "B", "C"]);
    assert_eq!(names("a=(b 'c d' $(e)) f"), ["a"; 0]);
    assert_eq!(names("'A'=1 x"), [""; 0]);
    assert_eq!(names("1A=1 x"), [""; 0]);
    check("a=(b c\n d) e", &[&["e"]], 0);
}
