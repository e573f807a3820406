//! Files that are written by options and scripts, and what a script of `sed` runs.

use super::act_tests::check;

#[test]
fn a_script_is_read_to_its_end() {
    check(&[
        ("sed 'y/ab/cd/;1e reboot' f", "host_power"),
        ("sed '1a hello\n1e reboot' f", "host_power"),
        ("sed ':a;1e reboot' f", "host_power"),
        ("sed ':a\n1e reboot' f", "host_power"),
        ("sed '/x/{b}\n1e reboot' f", "host_power"),
        ("sed 'b end;1e reboot' f", "host_power"),
        ("sed 'q 1;1e reboot' f", "host_power"),
        ("sed 'q1;1e reboot' f", "host_power"),
        ("sed 'y/a\\/b/cdef/;1e reboot' f", "host_power"),
        ("sed '/a\\/b/e reboot' f", "host_power"),
        ("sed 's/[/a b/e' f", "inline_code"),
        ("sed 's/[]/]/a b/e' f", "inline_code"),
        ("sed 's/[^]/]/a b/e' f", "inline_code"),
        ("sed 's/[[:alpha:]/]/a b/e' f", "inline_code"),
        ("sed -- p -e 'p;1e reboot'", ""),
        ("sed '1a 1e reboot' f", ""),
        ("sed '# 1e reboot' f", ""),
        ("sed -f - x", "piped_code"),
        ("sed -f /dev/stdin x", "piped_code"),
        ("sed -f \"$X\" x", "piped_code"),
        ("sed -f script x", ""),
    ]);
}

#[test]
fn a_tool_runs_what_stands_behind_its_own_word() {
    check(&[
        ("uv run reboot", "host_power"),
        ("uv -q run reboot", "host_power"),
        ("uv --directory x run reboot", "host_power"),
        ("uv pip run reboot", ""),
        ("npm --prefix x exec reboot", "host_power"),
        ("npm install exec reboot", ""),
        ("npm exec -p reboot ls", ""),
        ("npm exec --package reboot ls", ""),
        ("conda run --name reboot ls", ""),
        ("prlimit -o reboot ls", ""),
        ("prlimit --output reboot ls", ""),
        ("dumb-init --rewrite reboot ls", ""),
    ]);
}

#[test]
fn an_option_says_where_it_writes() {
    check(&[
        ("xxd in /etc/hosts", "system_file"),
        ("xxd -r in /etc/hosts", "system_file"),
        ("xxd /etc/hosts", ""),
        ("tar --get -f a -C /etc", "system_file"),
        ("tar --extract -f a -C /etc", "system_file"),
        ("tar -c -f a -C /etc .", ""),
        ("awk -i inplace '{print}' /etc/hosts", "system_file"),
        ("awk -i lib '{print}' /etc/hosts", ""),
        ("awk -v inplace '{print}' /etc/hosts", ""),
        ("git difftool -x 'rm -rf x' a", "delete"),
        ("git difftool --extcmd='rm -rf x'", "delete"),
        ("git difftool a b", ""),
    ]);
}
