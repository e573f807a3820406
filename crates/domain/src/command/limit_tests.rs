//! Where the limits of the classifier lie, and what work is reckoned at.

use super::act_tests::said;
use super::{COMMAND_BYTES_MAX, DEPTH_MAX, classify_code};

/// So many commands inside of each other, the last of them this.
fn inside(depth: usize, last: &str) -> String {
    format!("{}{last}", "env ".repeat(depth))
}

#[test]
fn a_line_may_be_as_long_as_the_limit() {
    let long = "x".repeat(COMMAND_BYTES_MAX);
    assert_eq!(said(&long), "");
    assert_eq!(said(&format!("{long}x")), "too_complex");
    assert!(classify_code("python", &long).finding().is_none());
    assert!(classify_code("python", &format!("{long}x")).finding().is_some());
    assert!(super::said(&long).is_some());
    assert!(super::said(&format!("{long}x")).is_none());
}

#[test]
fn commands_may_be_as_deep_as_the_limit() {
    assert_eq!(said(&inside(DEPTH_MAX, "ls")), "");
    assert_eq!(said(&inside(DEPTH_MAX + 1, "ls")), "too_complex");
    for (open, close) in [("$(echo ", ")"), ("${a:-", "}")] {
        let nested = |depth: usize| format!("echo {}{}", open.repeat(depth), close.repeat(depth));
        // What is substituted may be one command deeper than the commands in it.
        let most = if open == "${a:-" { DEPTH_MAX + 1 } else { DEPTH_MAX };
        assert_eq!(said(&nested(most)), "", "{open}");
        assert_eq!(said(&nested(most + 1)), "too_complex", "{open}");
    }
}

#[test]
fn code_inside_of_commands_is_as_deep_as_a_command() {
    assert_eq!(said(&inside(DEPTH_MAX - 1, "python3 -c 'print(1)'")), "");
    for (depth, last) in [
        (DEPTH_MAX, "python3 -c 'print(1)'"),
        (DEPTH_MAX, "awk 'BEGIN { system(x) }'"),
        (DEPTH_MAX, "gdb -ex 'python print(1)'"),
        (DEPTH_MAX - 2, "python3 -c 'import os; os.system(\"env ls\")'"),
    ] {
        assert_eq!(said(&inside(depth, last)), "too_complex", "{last}");
    }
}

#[test]
fn what_a_command_is_handed_is_work() {
    let set = |count: usize| (0..count).map(|at| format!("v{at}=x; ")).collect::<String>();
    let named = |count: usize| (0..count).map(|at| format!("alias a{at}=ls; ")).collect::<String>();
    let long = "x".repeat(300_000);
    for (what, before) in [
        ("variables", set(1_000)),
        ("aliases", named(1_000)),
        ("letters of a variable", format!("v={long}; ")),
        ("letters of an alias", format!("alias a={long}; ")),
    ] {
        assert_eq!(
            said(&format!("{before}{}", "echo $(ls); ".repeat(2_000))),
            "too_complex",
            "{what}"
        );
    }
    for (what, line) in [
        ("few commands", format!("{}{}", set(1_000), "eval ls; ".repeat(30))),
        (
            "a long text that is run",
            format!("{}{}", set(1_000), format!("eval 'echo {}'; ", "x".repeat(1_000)).repeat(5)),
        ),
        ("many words", format!("{}echo {}", set(1_000), "x ".repeat(5_000))),
        (
            "words for what is found",
            format!("{}find . -exec echo {} +", set(1_000), "x ".repeat(5_000)),
        ),
        ("words for what is wrapped", format!("{}env echo {}", set(1_000), "x ".repeat(5_000))),
        (
            "few letters",
            format!("{}={}; {}", "v".repeat(100), "x".repeat(10_000), "echo $(ls); ".repeat(400)),
        ),
        (
            "few letters of an alias",
            format!(
                "alias {}={}; {}",
                "a".repeat(100),
                "x".repeat(10_000),
                "echo $(ls); ".repeat(400)
            ),
        ),
    ] {
        assert_eq!(said(&line), "", "{what}");
    }
}

#[test]
fn where_a_redirection_stands_is_no_work_and_what_a_document_moves_is() {
    let long = format!("echo {}; ", "x".repeat(300_000));
    for (what, line) in [
        ("redirections far behind", format!("{long}{}", "ls >x; ".repeat(50))),
        ("documents far behind", format!("{long}{}", "cat <<x\ny\nx\n".repeat(100))),
        ("documents before little", format!("{}ls", "cat <<x\ny\nx\n".repeat(250))),
    ] {
        assert_eq!(said(&line), "", "{what}");
    }
    let before_much = format!("{}{long}", "cat <<x\ny\nx\n".repeat(150));
    assert_eq!(said(&before_much), "too_complex");
}

#[test]
fn what_is_looked_through_for_its_end_is_work() {
    let (long, open) = ("x".repeat(300_000), "echo $((a; ".repeat(15));
    assert_eq!(said(&format!("echo {long}; {open}")), "unreadable");
    assert_eq!(said(&format!("{open}{long}")), "too_complex");
    let groups = "{ ".repeat(20_000);
    assert_eq!(said(&format!("{groups}case x in {}", "a) ls;; ".repeat(2_000))), "too_complex");
    let words = format!("echo {{{}}}; ", vec!["aa"; 10_000].join(","));
    assert_eq!(said(&words), "");
    assert_eq!(said(&words.repeat(10)), "too_complex");
}

#[test]
fn braces_and_commands_are_counted() {
    let nested = |depth: usize| format!("echo {}x{}", "{a,".repeat(depth), "}".repeat(depth));
    assert_eq!(said(&nested(16)), "");
    assert_eq!(said(&nested(17)), "too_complex");
    assert_eq!(super::said(&"ls; ".repeat(256)).map(|all| all.len()), Some(256));
    assert_eq!(super::said(&"ls; ".repeat(257)), None);
}

#[test]
fn what_is_printed_is_known_as_long_as_it_is_short_enough() {
    let words = "x".repeat(1_000);
    assert_eq!(said(&format!("printf 'reboot # {words} %s' {words} | sh")), "host_power");
}

/// Each of these is long; whatever is said, it is said soon.
#[test]
fn what_is_looked_for_in_long_texts_is_found_soon() {
    let many = |text: &str| text.repeat(100_000 / text.len());
    let index = "a[$(ls)]";
    for (what, rule, line) in [
        ("files of awk", "", format!("awk '{}'", many(">\"x"))),
        ("commands of sed", "too_complex", format!("sed '{}'", many("1e ls\n"))),
        (
            "flags of sed",
            "inline_code",
            format!("sed 's/a/{}/{}'", "x".repeat(200_000), "e".repeat(200_000)),
        ),
        ("brackets of sed", "", format!("sed 's/{}/x/'", many("[/]"))),
        ("names in a sum", "too_complex", format!("x='{index}'; echo $(({}))", many("x+"))),
        ("long names in a sum", "too_complex", {
            let value = "x".repeat(200_000);
            format!("x='{value}'; (({}))", "x+".repeat(100_000))
        }),
        ("values of themselves", "too_complex", "x='a[$((x+x))]'; echo $((x))".to_owned()),
        ("words of let", "too_complex", format!("x='{index}'; let {}", many("x "))),
        ("copies", "too_complex", many("cp a b; ./b; ")),
        ("copies of copies", "too_complex", {
            let copies: String = (0..5_000).map(|at| format!("cp a{at} a{}; ", at + 1)).collect();
            format!("{copies} ./a5000")
        }),
        ("marks of xargs", "", format!("ls | xargs -Ix echo {}", many("x"))),
        ("files of substitutions", "piped_code", format!("sh {}", many("<(echo ls) "))),
        ("texts of make", "inline_code", format!("make --eval='{}'", many("$(shell ls)"))),
        ("options with texts", "", format!("git x {}", many("--exec=ls "))),
        ("elements", "delete", format!("rm {}", many("\"${a[@]}\" "))),
        ("loops", "delete", many("while read a b; do rm $a; done; ")),
        ("bars in code", "too_complex", format!("perl -e 'open(F,{})'", many("\"|\","))),
        (
            "texts inside of texts",
            "too_complex",
            format!("{} <<< '{}'", "eval ".repeat(30), many("x ")),
        ),
        ("timed", "", many("time ")),
        ("timed groups", "", many("time ( ")),
    ] {
        assert_eq!(said(&line), rule, "{what}");
    }
}
