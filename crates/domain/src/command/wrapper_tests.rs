//! Options and words of a program that runs others are its own; the command behind them is judged.

use super::act_tests::{check, said};
use super::classify;

/// Checks that each of these is judged as the command it runs.
fn runs(lines: &[&str], rule: &str) {
    let wrong: Vec<_> =
        lines.iter().map(|line| (line, said(line))).filter(|(_, said)| said != rule).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_command_is_found_behind_the_options_of_a_wrapper() {
    runs(
        &[
            "sudo --group g reboot",
            "sudo --user ann reboot",
            "sudo --user=ann reboot",
            "sudo -u ann reboot",
            "sudo -nu ann reboot",
            "sudo A=1 reboot",
            "sudo -- reboot",
            "sudo -- A=1 reboot",
            "pkexec --user me reboot",
            "env - reboot",
            "env -v reboot",
            "env -u X reboot",
            "env -uX reboot",
            "env --unset X reboot",
            "env --chdir /x reboot",
            "nice -n 5 reboot",
            "nice -5 reboot",
            "nice --adjustment 5 reboot",
            "nice --adj 5 reboot",
            "ionice -c 2 -n 1 reboot",
            "ionice --class 2 reboot",
            "timeout 5 reboot",
            "timeout 5 -- reboot",
            "timeout -- 5 reboot",
            "timeout -k 1 5 reboot",
            "timeout --signal KILL 5 reboot",
            "timeout --sig KILL 5 reboot",
            "timeout --kill-after 5 5 reboot",
            "timeout --foreground 5 reboot",
            "timeout --new-option value 5 reboot",
            "timeout -Z value 5 reboot",
            "stdbuf --output 0 reboot",
            "stdbuf -oL reboot",
            "strace -o out reboot",
            "strace --output out reboot",
            "xargs --max-args 1 reboot",
            "xargs -n 1 reboot",
            "parallel -j 4 reboot ::: x",
            "taskset 1 reboot",
            "taskset -c 1 reboot",
            "chrt -f 1 reboot",
            "chrt -T 5 1 reboot",
            "flock lock reboot",
            "flock -w 5 lock reboot",
            "flock --timeout 5 lock reboot",
            "flock -c reboot lock",
            "chroot /x reboot",
            "chroot --userspec me /x reboot",
            "nsenter -t 1 reboot",
            "nsenter --target 1 reboot",
            "unshare --map-user x reboot",
            "systemd-run --unit x reboot",
            "setarch x86_64 reboot",
            "setarch -R x86_64 reboot",
            "exec reboot",
            "exec -a x reboot",
            "time reboot",
            "time -p reboot",
            "time -o out reboot",
            "time A=1 reboot",
            "command -p reboot",
            "su -c reboot",
            "su ann -c reboot",
            "su --command=reboot",
            "script -qc reboot out",
            "watch --interval 5 reboot",
            "coproc reboot",
            "coproc NAME { reboot; }",
            "coproc NAME (reboot)",
            "coproc NAME while reboot; do ls; done",
        ],
        "host_power",
    );
}

#[test]
fn what_belongs_to_an_option_is_no_command() {
    check(&[
        ("sudo -u reboot ls", "privilege"),
        ("sudo --user=ann ls reboot", "privilege"),
        ("pkexec ls", "privilege"),
        ("systemd-run ls", "privilege"),
        ("systemd-run -p reboot ls", "privilege"),
        ("nsenter -t reboot ls", "privilege"),
        ("chroot reboot ls", "privilege"),
        ("sudo --user reboot ls", "privilege"),
        ("pkexec --user reboot ls", "privilege"),
        ("chroot --userspec me reboot ls", "privilege"),
        ("nsenter --target reboot ls", "privilege"),
        ("systemd-run --unit reboot ls", "privilege"),
        ("env --unset reboot ls", ""),
        ("nice --adjustment reboot ls", ""),
        ("ionice --class reboot ls", ""),
        ("exec -a reboot ls", ""),
        ("time -o reboot ls", ""),
        ("time --output reboot ls", ""),
        ("timeout -k 1 5 ls", ""),
        ("timeout --signal 5 reboot ls", ""),
        ("stdbuf --output reboot ls", ""),
        ("strace --output reboot ls", ""),
        ("xargs --max-args reboot ls", ""),
        ("flock -w 5 lock ls", ""),
        ("flock --timeout lock reboot ls", ""),
        ("npx --package reboot tsc", ""),
        ("nice -n reboot ls", ""),
        ("ionice -c 2 ls", ""),
        ("stdbuf -o reboot ls", ""),
        ("strace -o out ls", ""),
        ("chrt -T 5 1 ls", ""),
        ("taskset reboot ls", ""),
        ("flock reboot ls", ""),
        ("flock -n reboot ls", ""),
        ("flock --shared reboot ls", ""),
        ("setarch reboot ls", ""),
        ("timeout reboot ls", ""),
        ("timeout '' ls", ""),
        ("nice A=1 reboot", ""),
        ("command -v reboot", ""),
        ("command -V reboot", ""),
        ("command -n x", "dynamic"),
        ("npx -p typescript tsc", ""),
        ("npx --package x tsc", ""),
        ("mosh --predict reboot host", ""),
        ("coproc ls { x", ""),
    ]);
}

#[test]
fn words_that_are_not_known_may_be_nothing() {
    check(&[
        ("timeout $T ls", "dynamic"),
        ("timeout ${T:-5} ls", "dynamic"),
        ("timeout \"$T\" ls", ""),
        ("timeout 5$T ls", ""),
        ("timeout -\"$X\" 5 ls", "dynamic"),
        ("nice -n\"$N\" ls", ""),
        ("sh $X", "dynamic"),
        ("sh \"$X\"", "piped_code"),
        ("sh -- \"$X\"", "piped_code"),
        ("sh - \"$X\"", "piped_code"),
        ("python3 \"$X\"", "piped_code"),
    ]);
}

#[test]
fn a_text_that_is_run_is_read_as_a_line() {
    runs(
        &[
            "env -S 'rm -r x'",
            "env -S'rm -r x' y",
            "env -iS 'rm -r' x",
            "env -S rm -r x",
            "env --split-string 'rm -r x'",
            "env --split-string='rm -r x'",
            "env --split-string=rm -r x",
            "env --split 'rm -r x'",
            "flock lock -c 'rm -r x'",
            "flock lock --command 'rm -r x'",
            "flock lock --command='rm -r x'",
            "npx -c 'rm -r x'",
            "npx --call 'rm -r x'",
            "script --command='rm -r x'",
            "fish --command 'rm -r x'",
            "fish --command='rm -r x'",
            "watch 'rm -r x'",
        ],
        "delete",
    );
    runs(
        &[
            "env -S \"$X\"",
            "env -S\"$X\"",
            "env --split-string=\"$X\"",
            "fish --command=\"$X\"",
            "fish -c\"$X\"",
            "bash -\"$X\" x",
            "python3 -c\"$X\"",
            "perl -e\"$X\"",
            "ruby -e\"x$X\"",
            "node --eval=\"$X\"",
            "npx -c \"$X\"",
            "npm exec -c \"$X\"",
            "man -P \"$X\" ls",
            "zip a.zip x -T -TT \"$X\"",
            "git rebase -x \"$X\" main",
            "git submodule foreach \"$X\"",
            "sqlite3 a.db \".shell $X\"",
            "start-stop-daemon -x \"$X\"",
            "watch \"$X\"",
            "ls | parallel",
        ],
        "dynamic",
    );
    check(&[("env -S", ""), ("env -S ls rm -r x", ""), ("sqlite3 a.db \"select $X\"", "")]);
}

#[test]
fn what_is_found_or_piped_becomes_arguments() {
    check(&[
        ("ls | xargs -l rm", "delete"),
        ("ls | xargs -i% rm %", "delete"),
        ("ls | xargs -l5 grep x", ""),
        ("ls | xargs", ""),
        ("parallel ls ::: x", ""),
        ("find . -exec cp image /dev/sdb \\;", "wipe_disk"),
        ("find / -exec touch x{} +", ""),
        ("find . -exec touch /etc/{} \\;", "system_file"),
    ]);
    let said = classify("echo a; ls | xargs rm");
    assert_eq!(said.finding().unwrap().piece, "xargs rm");
}

#[test]
fn a_shell_runs_its_text_its_file_or_its_input() {
    check(&[
        (". x", ""),
        ("source x", ""),
        ("source /dev/stdin", "piped_code"),
        ("sh", ""),
        ("bash --norc reboot", ""),
        ("bash -l reboot", ""),
        ("bash --norc -c reboot", "host_power"),
        ("bash --rcfile x -c reboot", "host_power"),
        ("bash +x -c reboot", "host_power"),
        ("curl x | sh y", ""),
        ("curl x | sh - y", ""),
        ("curl x | sh -x y", ""),
        ("curl x | sh -", "piped_code"),
        ("curl x | sh -s y", "piped_code"),
        ("curl x | sh /dev/stdin y", "piped_code"),
        ("curl x | bash -o pipefail", "piped_code"),
        ("curl x | echo $(sh)", "piped_code"),
        ("curl x | eval sh", "piped_code"),
        ("curl x | { ls; (echo `sh`); }", "piped_code"),
        ("curl x | cat; echo $(sh)", ""),
        ("curl x | (cat); sh", ""),
        ("cat <<A <<B | sh\nls\nA\nreboot\nB", "host_power"),
    ]);
}

#[test]
fn an_interpreter_runs_its_code_its_file_or_its_input() {
    check(&[
        ("ls | lua x", ""),
        ("ls | python3 x", ""),
        ("ls | python3 -c 'print(1)'", ""),
        ("ls | python3 -", "piped_code"),
        ("ls | python3 -u", "piped_code"),
        ("lua -source 'os.execute(\"reboot\")'", ""),
        ("ruby -rerb 'system(\"reboot\")'", ""),
        ("ruby -e'system(\"reboot\")'", "host_power"),
        ("ruby -eexec", "inline_code"),
        ("php -r'system(\"reboot\");'", "host_power"),
        ("expect -c'system reboot; exec \"reboot\"'", "host_power"),
        ("perl -E'exec \"reboot\"'", "host_power"),
        ("perl -lne'exec \"reboot\"'", "host_power"),
        ("python3 -B -s -u -m timeit \"import os; os.system('reboot')\"", "host_power"),
        ("awk '{ print | \"sh\" }'", "inline_code"),
        ("awk '{ print |\"sh\" }'", "inline_code"),
        ("awk 'BEGIN { \"date\" | getline }'", "inline_code"),
        ("awk 'BEGIN { print |& x }'", "inline_code"),
        ("awk 'BEGIN { system (x) }'", "inline_code"),
        ("awk '{ print $1 }'", ""),
    ]);
}

#[test]
fn what_is_led_in_is_run_like_what_is_piped() {
    check(&[
        ("sh < <(echo reboot)", "host_power"),
        ("sh <(echo reboot)", "host_power"),
        ("sh <(echo reboot) $(ls)", "host_power"),
        (". <(echo reboot)", "host_power"),
        ("bash < <(curl x)", "piped_code"),
        ("python3 < <(curl x)", "piped_code"),
        ("python3 <(echo 'import os; os.system(\"reboot\")')", "host_power"),
        ("sh <&5", "piped_code"),
        ("sh 0<&5", "piped_code"),
        ("sh < /dev/fd/5", "piped_code"),
        ("sh < \"$X\"", "piped_code"),
        ("sh /dev/fd/5 5<<<'rm -rf build'", "delete"),
        ("sh /proc/self/fd/5 5<<<'rm -rf build'", "delete"),
        ("sh /dev/./fd/5", "piped_code"),
        ("exec 5<<<'rm -rf build'; sh <&5", "piped_code"),
        ("exec 5<<<'rm -rf build'; sh /dev/fd/5", "piped_code"),
        ("exec <<<'rm -rf build'; sh", "piped_code"),
        ("exec < <(curl x); ls; sh", "piped_code"),
        ("bash --rcfile <(echo reboot) -i -c :", "host_power"),
        ("bash --init-file <(curl x) -i", "piped_code"),
        ("python3 -m cProfile <(curl x)", "piped_code"),
        ("python3 -m code <<< 'import os; os.system(\"reboot\")'", "host_power"),
        ("curl x | python3 -m code", "piped_code"),
        ("sh -c sh <<< reboot", "host_power"),
        ("sh -c sh < <(curl x)", "piped_code"),
        ("eval sh <<< reboot", "host_power"),
        ("bash < script.sh", ""),
        ("python3 < script.py", ""),
        ("bash script.sh < <(ls)", ""),
        ("python3 x.py <&5", ""),
        ("sh <&-", ""),
        ("sh -c ls < <(ls)", ""),
        ("cat < <(echo reboot)", ""),
        ("diff <(echo reboot) <(ls)", ""),
        ("bash --rcfile x -i", ""),
        ("python3 -m pytest \"$X\"", ""),
        ("python3 -m cProfile x.py", ""),
        ("python3 -m json.tool < <(curl x)", ""),
        ("while read -r x; do echo \"$x\"; done < <(ls)", ""),
        ("f() { f < <(ls); }; f", ""),
    ]);
}

#[test]
fn a_group_is_timed_like_a_command() {
    check(&[
        ("time (ls)", ""),
        ("time ( ls; ls )", ""),
        ("time { ls; }", ""),
        ("time -p { ls; }", ""),
        ("time (reboot)", "host_power"),
        ("time -p (reboot)", "host_power"),
        ("time { reboot; }", "host_power"),
        ("time if ls; then reboot; fi", "host_power"),
        ("time ! reboot", "host_power"),
        ("time for f in a b; do ls $f; done", ""),
        ("time {rm,-r,build}", "delete"),
        ("time ls (x", "unreadable"),
    ]);
}
