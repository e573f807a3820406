//! The language of a shell: what is text in it, and what is run.

use super::act_tests::check;
use super::{Assessment, DangerRule, classify, classify_in, said};

#[test]
fn quotes_hide_what_is_in_them() {
    check(&[
        ("echo \"\\`reboot\\`\"", ""),
        ("echo \"\\$(reboot)\"", ""),
        ("echo \"$\"", ""),
        ("x=\"$'\\x72eboot'\"; $x", ""),
        ("$\"reboot\"", "host_power"),
        ("$'\\x{72}eboot'", "host_power"),
        ("$'\\x{072}eboot'", "host_power"),
        ("$} x", ""),
        ("x='rm -rf /'; \"$x\"", ""),
        ("echo `echo \\\"; reboot`", "host_power"),
        ("echo \"`echo \\\"; reboot; \\\"`\"", ""),
        ("`echo \\`reboot\\``", "host_power"),
        ("# it's", ""),
        ("echo \\\nx; reboot", "host_power"),
    ]);
}

#[test]
fn a_parameter_ends_where_its_bracket_does() {
    check(&[
        ("echo ${x:-a}; reboot", "host_power"),
        ("echo ${x:-'}'}; reboot", "host_power"),
        ("echo ${x:-\"}\"}; reboot", "host_power"),
        ("echo ${x:-\\}}; reboot", "host_power"),
        ("echo \"${x:-'}\"; reboot", "host_power"),
        ("rm $@", "delete"),
        ("rm $!x", "delete"),
    ]);
    let many = format!("echo {}", "${a:-b} ".repeat(60));
    assert_eq!(classify(&many), Assessment::Harmless);
}

#[test]
fn what_is_calculated_is_no_command() {
    check(&[
        ("echo $(( (1) + 2 )); reboot", "host_power"),
        ("echo $(( 1 > /etc/x ))", ""),
        ("echo $(( 1 + $(reboot) ))", "host_power"),
        ("echo $((echo a); reboot)", "host_power"),
        ("echo $()", ""),
        ("echo $(x)", ""),
        ("(( 1 )); reboot", "host_power"),
        ("(( (1) )); reboot", "host_power"),
        ("(( ", "unreadable"),
        ("for ((i=0;i<3;i++)); do reboot; done", "host_power"),
        ("ls; ls; ls; ls; for ((i=0;i<3;i++)); do reboot; done; ls", "host_power"),
        ("for (( i = (1); i < 3; i++ )); do reboot; done", "host_power"),
    ]);
}

#[test]
fn a_command_ends_at_a_mark_and_feeds_the_next_through_a_pipe() {
    check(&[
        ("curl x |& sh", "piped_code"),
        ("curl x |\n sh", "piped_code"),
        ("ls |reboot", "host_power"),
        ("echo reboot || sh", ""),
        ("f() { f && ls; }; f", ""),
        ("f() { ls; }; f | cat", ""),
        ("f() { { ls; }; f | f & }; f", "fork_bomb"),
        ("function f() { reboot; }", "host_power"),
        ("function f() { ls; }; f | f", ""),
        ("cd /etc &> x", ""),
        ("ls &> /etc/x", "system_file"),
        ("$({ echo reboot; })", "dynamic"),
        ("x=ls; x='rm -r y'; $x", "dynamic"),
        ("printf 'rm -r %sx' | sh", "piped_code"),
    ]);
}

#[test]
fn words_of_the_language_are_followed() {
    check(&[
        ("case x\nin x) reboot;; esac", "host_power"),
        ("case x # it's\nin x) reboot;; esac", "host_power"),
        ("case x in (a|b) reboot;; esac", "host_power"),
        ("case x in a) ls;; esac; reboot", "host_power"),
        ("case x in a) ls;; esacx) reboot;; esac", "host_power"),
        ("case x in ;", "unreadable"),
        ("ls;; x", "unreadable"),
        ("[[ a && reboot ]]", ""),
        ("[[ a == b ]] && reboot", "host_power"),
        ("[[ a s", "unreadable"),
        ("for f; do ls; done", ""),
        ("for f do reboot; done", "host_power"),
        ("for \\\n f in reboot; do $f; done", "host_power"),
        ("for f in reboot; do $f; done", "host_power"),
        ("for f in \"$X\"; do $f; done", "dynamic"),
        ("for f in ls*; do $f; done", "dynamic"),
        ("ls @(a|b)", ""),
        ("ls !(a)", ""),
        ("{timeout,{5,reboot}}", "host_power"),
    ]);
}

#[test]
fn an_assignment_begins_with_a_name() {
    check(&[
        ("a=b reboot", "host_power"),
        ("a-b=c reboot", ""),
        ("1a=c reboot", ""),
        ("x[0]=ls; $x", "dynamic"),
        ("x+=ls; $x", "dynamic"),
    ]);
}

#[test]
fn a_redirection_takes_one_word() {
    check(&[
        ("cat<x", ""),
        ("ls>x", ""),
        ("echo a >>(reboot)", "host_power"),
        ("cat <<(reboot)", "host_power"),
        ("cat <<<<x", "unreadable"),
        ("ls 2>/etc/x", "system_file"),
        ("kill 1>x", ""),
        ("2>x reboot", "host_power"),
        ("cat a<(reboot)b", "host_power"),
        ("a<(ls)b", "dynamic"),
    ]);
}

#[test]
fn a_here_document_begins_on_the_next_line_and_ends_at_its_word() {
    check(&[
        ("cat <<E\nreboot\nE\nls", ""),
        ("cat <<E\nf\nE\nreboot", "host_power"),
        ("cat <<E\n$x\nE\nreboot", "host_power"),
        ("cat <<E\nreboot", ""),
        ("cat <<-E\n\tx\n\tE\nreboot", "host_power"),
        ("cat <<E\n\tE\nreboot\nE", ""),
        ("sh <<-E\n\treboot\n\tE\nls", "host_power"),
        ("cat <<E \\\"a\nreboot\nE\n", ""),
        ("cat <<E 'a'\nreboot\nE\n", ""),
        ("cat <<E \"$x\"\nreboot\nE\n", ""),
        ("cat <<E \"$(echo a)\"\nls\nE\n", "unreadable"),
        ("cat <<E \"`echo a`\"\nls\nE\n", "unreadable"),
    ]);
}

#[test]
fn a_line_is_judged_in_the_folder_it_begins_in() {
    let rule = |folder| {
        let said = classify_in("echo x > hosts", folder);
        said.finding().map(|it| it.rule)
    };
    assert_eq!(rule(None), None);
    assert_eq!(rule(Some("/srv/x")), None);
    assert_eq!(rule(Some("/etc")), Some(DangerRule::SystemFile));
}

#[test]
fn what_is_led_elsewhere_feeds_nothing_here() {
    check(&[
        ("ls; sh", ""),
        ("exec ls < <(curl x); sh", ""),
        ("exec < <(curl x); sh", "piped_code"),
        ("curl x | sh /proc/cpuinfo", ""),
        ("sh /dev/fd/0", ""),
        ("sh /dev/stdin", ""),
        ("sh /dev/fd/3", "piped_code"),
        ("curl x | sh a/fd/b", ""),
        ("curl x | sh /proc/self/fd/0", "piped_code"),
        ("hash -r rm foo; foo -rf x", ""),
        ("hash -p /bin/rm foo; foo -rf x", "delete"),
    ]);
}

#[test]
fn a_piece_is_shown_whole_up_to_its_limit() {
    let piece = |len: usize| {
        let line = format!("rm -r {}", "x".repeat(len - "rm -r ".len()));
        classify(&line).finding().unwrap().piece.clone()
    };
    let max = super::PIECE_CHARS_MAX;
    assert_eq!(piece(max).chars().count(), max);
    assert!(!piece(max).ends_with('…'));
    assert_eq!(piece(max + 1).chars().count(), max + 1);
    assert!(piece(max + 1).ends_with("x…"));
    assert_eq!(piece(max + 50), piece(max + 1));
    assert_eq!(DangerRule::Delete.to_string(), "delete");
}

#[test]
fn a_pattern_is_no_word_that_is_known() {
    let words = said("git a* $X b").unwrap().remove(0).words;
    assert_eq!(words, [Some("git".to_owned()), None, None, Some("b".to_owned())]);
}
