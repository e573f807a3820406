//! What a program does is told from what it only looks at, one table for each.

use super::{classify, classify_code};

pub(super) fn said(line: &str) -> String {
    classify(line).finding().map(|it| it.rule.as_str().to_owned()).unwrap_or_default()
}

pub(super) fn check(lines: &[(&str, &str)]) {
    let wrong: Vec<_> = lines
        .iter()
        .map(|(line, rule)| (line, rule, said(line)))
        .filter(|(_, rule, said)| *rule != said)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_machine_is_looked_at_or_changed() {
    check(&[
        ("service nginx restart", "host_settings"),
        ("service nginx status", ""),
        ("mount /dev/cdrom x", "host_settings"),
        ("mount", ""),
        ("sysctl -w a=1", "host_settings"),
        ("sysctl kernel.x=1", "host_settings"),
        ("sysctl kernel.x", ""),
        ("setcap cap_net_raw+ep x", "privilege"),
        ("systemctl list-units", ""),
        ("systemctl is-active x", ""),
        ("systemctl get-default", ""),
        ("systemctl restart x", "host_settings"),
        ("fuser -k 80/tcp", "kill"),
        ("fuser 80/tcp", ""),
        ("pkill -0 x", ""),
        ("killall5", "kill_all"),
        ("kill -9 123", ""),
        ("kill -l", ""),
        ("kill 0", ""),
        ("kill -1 5", ""),
        ("kill -l 1", ""),
        ("kill -s KILL -1", "kill_all"),
        ("kill -s 1 5", ""),
        ("kill -- -1", "kill_all"),
        ("kill -9 0", ""),
        ("init 3", ""),
        ("init 6", "host_power"),
        ("wipefs -l /dev/sda", ""),
        ("wipefs /dev/sda", "wipe_disk"),
        ("mkswap file", "host_settings"),
    ]);
}

#[test]
fn files_are_read_or_written() {
    check(&[
        ("sed -i s/a/b/ /etc/hosts", "system_file"),
        ("sed s/a/b/ /etc/hosts", ""),
        ("sed s/a/b/e x", "inline_code"),
        ("sed '1e ls' x", "inline_code"),
        ("curl -o /etc/hosts http://a.org", "system_file"),
        ("curl -o out http://a.org", ""),
        ("mv /etc/hosts x", "system_file"),
        ("cp /etc/hosts x", ""),
        ("cp --target-directory=/etc/x y", "system_file"),
        ("rsync --delete a b", "delete"),
        ("rsync a b", ""),
        ("mv / x", "wipe_system"),
        ("vim -c '!ls' x", "inline_code"),
        ("vim +shell", "inline_code"),
        ("vim x", ""),
        ("bc <<< '!reboot'", "host_power"),
        ("lldb -o 'script import os; os.system(\"reboot\")'", "host_power"),
        ("m4 x", ""),
        ("chmod 666 x", "permissions"),
        ("chmod 4755 x", "permissions"),
        ("chmod u+s x", "permissions"),
        ("chmod o+w x", "permissions"),
        ("chmod --silent 666 x", "permissions"),
        ("chmod --verbose 666 x", "permissions"),
        ("chmod -- -w,o+w x", "permissions"),
        ("chmod -w x", ""),
        ("chmod 644 /dev/sda", "system_file"),
        ("chmod 644 x", ""),
        ("chmod 7 x", "permissions"),
        ("chmod 4 x", ""),
        ("chmod 0 x", ""),
        ("chmod 8 x7", ""),
        ("chmod g=s x", "permissions"),
        ("chmod a=rw x", "permissions"),
        ("chmod u+w x", ""),
        ("chmod 644 /etc/hosts", "system_file"),
        ("chown me x", "permissions"),
        ("zip -m a.zip x", "delete"),
        ("zip -rm a.zip dir", "delete"),
        ("zip --move a.zip x", "delete"),
        ("zip -qrm a.zip /", "wipe_system"),
        ("zip -Rm a.zip /", "wipe_system"),
        ("zip -r a.zip dir", ""),
        ("zip a.zip x -T -TT 'rm -rf x'", "delete"),
        ("rm /etc/hosts", "system_file"),
        ("rm x", ""),
        ("rm \"$x\"", ""),
        ("rm $x", "delete"),
    ]);
}

#[test]
fn a_path_is_what_it_leads_to() {
    check(&[
        ("cd /tmp; rm -rf ../../etc", "wipe_system"),
        ("rm -rf a/../../x", "delete"),
        ("rm -rf /home/ann", "wipe_system"),
        ("rm -rf /home/ann/*", "wipe_system"),
        ("rm -rf /home/ann/x", "delete"),
        ("touch /home/ann/.bashrc", "system_file"),
        ("rm -rf /var/*", "wipe_system"),
        ("rm -r /dev/*", "wipe_system"),
        ("rm -r '/dev/*'", "delete"),
        ("rm -rf ~$X", "delete"),
        ("touch /dev", "system_file"),
        ("touch ../.bashrc", "system_file"),
        ("touch x/../.bashrc", "system_file"),
        ("touch ../x", ""),
        ("touch /etc/$X", "system_file"),
        ("touch /etcetera/$X", ""),
        ("touch /var/lib", "system_file"),
        ("touch .bashrc/../x", ""),
        ("cd /; rm -rf '*'", "delete"),
        ("touch /tmp", ""),
        ("cd /etc; touch x", "system_file"),
        ("cd /etc; touch ~/x", ""),
        ("cd; rm -rf .", "wipe_system"),
        ("cd -; rm -rf *", "delete"),
        ("cd /; cd $X; rm -rf .", "delete"),
        ("cat < /etc/hosts", ""),
        ("alias l='rm'; l *", "delete"),
        ("alias l='rm -r'; l '/*'", "delete"),
    ]);
}

#[test]
fn what_a_line_sets_or_prints_is_followed() {
    check(&[
        ("export x=/; rm -rf $x", "wipe_system"),
        ("x=ls; read x; $x", "dynamic"),
        ("x=ls; printf -v x reboot; $x", "dynamic"),
        ("\"$X\" reboot", "dynamic"),
        ("echo -n reboot | sh", "host_power"),
        ("echo -x reboot | sh", "piped_code"),
        ("cat <<E | sh\nreboot\nE", "host_power"),
        ("cat - <<E | sh\nreboot\nE", "piped_code"),
        ("echo a<(reboot)", "host_power"),
    ]);
}

#[test]
fn code_is_judged_by_its_names_and_strings() {
    for (language, code, rule) in [
        ("python", "open('/etc/hosts', 'w')", "system_file"),
        ("python", "open('/etc/hosts')", ""),
        ("python", "f = open('/dev/sda', 'r'); f.writelines('x')", "wipe_disk"),
        ("python", "import os; os.system('x /dev/sda')", "inline_code"),
        ("python", "print('/dev/sda')", ""),
        ("python", "open('/proc/sysrq-trigger', 'w').write('b')", "host_power"),
        ("python", "open('/proc/sysrq-trigger').read()", ""),
        ("python", "os.remove('/etc')", "wipe_system"),
        ("python", "import shutil; shutil.rmtree('/*')", "wipe_system"),
        ("python", "import shutil; shutil.rmtree('x')", "inline_code"),
        ("python", "import os; os.system(\"\"\"rm -rf /\"\"\")", "wipe_system"),
        ("python", "x = \"\"; import os; os.system(\"reboot\")", "host_power"),
        ("python", "x = '''a'''; import os; os.system('reboot')", "host_power"),
        ("python", "subprocess.run([\"rm\", \"-rf\", \"/\"])", "wipe_system"),
        ("python", "subprocess.run([\"rm\"] + [\"-rf\", \"/\"])", "inline_code"),
        ("python", "eval", "inline_code"),
        ("python", "from os import *\nremove('x')", "inline_code"),
        ("python", "from os import (remove)\nremove('x')", "inline_code"),
        ("python", "from os import remove\nremove('x')", "inline_code"),
        ("python", "from os import path\npath.join('x')", ""),
        ("python", "`rm -rf /`", ""),
        ("ruby", "`rm -rf /`", "wipe_system"),
        ("perl", "qx{rm -rf /}", "wipe_system"),
        ("python", "qx{rm -rf /}", "inline_code"),
        ("ruby", "loop { fork }", "fork_bomb"),
        ("ruby", "loop { fork; wait }", "inline_code"),
        ("node", "require('child_process')", "inline_code"),
        ("node", "require('node:child_process').x('rm -rf /')", "wipe_system"),
    ] {
        let said = classify_code(language, code);
        let said = said.finding().map(|it| it.rule.as_str()).unwrap_or_default();
        assert_eq!(said, rule, "{language}: {code}");
    }
}

#[test]
fn work_is_kept_or_thrown_away() {
    check(&[
        ("git tag -d v1", "history"),
        ("git tag v1", ""),
        ("git push --force-with-lease", "history"),
        ("git push -d o x", "history"),
        ("git push --delete o x", "history"),
        ("git push --mirror", "history"),
        ("git push --prune o", "history"),
        ("git push origin :x", "history"),
        ("git reset --hard", "history"),
        ("git reset --merge", "history"),
        ("git reset --keep x", "history"),
        ("git reset x", ""),
        ("git filter-branch x", "history"),
        ("git prune", "history"),
        ("git checkout .", "history"),
        ("git checkout --force x", "history"),
        ("git checkout -- x", "history"),
        ("git bisect start rm -rf x", ""),
        ("git submodule add rm -rf x", ""),
        ("git -C hook status", ""),
        ("git branch -D x", "history"),
        ("git branch --delete --force x", "history"),
        ("git branch --delete x", ""),
        ("git clean -fd", "history"),
        ("git clean -n", ""),
        ("git clean -fn", ""),
        ("git checkout -f main", "history"),
        ("git checkout -- .", "history"),
        ("git checkout main", ""),
        ("git restore x", "history"),
        ("git restore --staged x", ""),
        ("git restore --staged --worktree x", "history"),
        ("git stash drop", "history"),
        ("git stash", ""),
        ("git reflog expire --all", "history"),
        ("git reflog", ""),
        ("git gc --prune=now", "history"),
        ("git gc", ""),
        ("git update-ref -d x", "history"),
        ("git worktree remove x", "history"),
        ("git worktree list", ""),
        ("git rebase -x 'rm -rf x' main", "delete"),
        ("git rebase main", ""),
        ("git submodule foreach rm -rf x", "delete"),
        ("git submodule update", ""),
        ("git bisect run rm -rf x", "delete"),
        ("git bisect start", ""),
        ("git config alias.x '!ls'", "inline_code"),
        ("git config core.pager less", "inline_code"),
        ("git config user.name x", ""),
        ("git config alias.x", ""),
        ("git config --get core.editor", ""),
        ("git config --global core.sshcommand 'rm -rf x'", "delete"),
        ("git config --add alias.x '!rm -rf x'", "delete"),
        ("git -c core.editor='rm -rf x' commit", "delete"),
        ("git -c core.pager='rm -rf x' log", "delete"),
        ("git -c Core.SshCommand='rm -rf x' fetch", "delete"),
        ("git -c alias.x='!rm -rf x' x", "delete"),
        ("git -c sequence.editor='rm -rf x' rebase -i main", "delete"),
        ("git --config-env=core.editor=X commit", "inline_code"),
        ("git --config-env alias.x=X x", "inline_code"),
        ("git -c user.name=x commit", ""),
        ("history -c", "history"),
        ("history", ""),
    ]);
}

#[test]
fn what_is_outside_is_asked_or_changed() {
    check(&[
        ("nc -l 80", "remote_shell"),
        ("nc -e sh host 1", "remote_shell"),
        ("nc -c sh host 1", "remote_shell"),
        ("ncat --exec x host 1", "remote_shell"),
        ("ncat --sh-exec x host 1", "remote_shell"),
        ("socat TCP-LISTEN:80 -", "remote_shell"),
        ("socat - EXEC:sh", "remote_shell"),
        ("socat - system:sh", "remote_shell"),
        ("nc host 80", ""),
        ("dropdb x", "database"),
        ("mysqladmin drop x", "database"),
        ("mysqladmin status", ""),
        ("docker run --pid=host x", "privilege"),
        ("docker run --privileged x", "privilege"),
        ("docker run -v /:/host x", "privilege"),
        ("docker rm x", "publish"),
        ("docker ps", ""),
        ("kubectl get pods -n x delete", ""),
        ("kubectl -n x delete pod", "publish"),
        ("kubectl --context prod delete pod", "publish"),
    ]);
}

#[test]
fn a_variable_that_names_a_command_is_that_command() {
    let names = ["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "PAGER"];
    let more = ["GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "LESSOPEN", "BROWSER", "MANPAGER"];
    for name in names.into_iter().chain(more) {
        for (value, rule) in [("rm -rf x", "delete"), ("rm -rf /", "wipe_system")] {
            for line in [
                format!("{name}='{value}' git commit"),
                format!("env {name}='{value}' git commit"),
                format!("env -i A=1 {name}='{value}' git commit"),
                format!("export {name}='{value}'; git commit"),
                format!("declare -x {name}='{value}'"),
                format!("{name}='{value}'; export {name}; git commit"),
                format!("X='{value}'; {name}=$X git commit"),
            ] {
                assert_eq!(said(&line), rule, "{line}");
            }
        }
    }
    check(&[
        ("EDITOR=vim git commit", ""),
        ("PAGER=cat git log", ""),
        ("PAGER='less -R' git log", ""),
        ("PAGER= git log", ""),
        ("export EDITOR=nano", ""),
        ("EDITOR='sed -i s/pick/drop/' git rebase -i main", ""),
        ("PAGER=sh git log", "piped_code"),
        ("EDITOR=\"$X\" git commit", "dynamic"),
        ("export EDITOR=$(cat x)", "dynamic"),
        ("LESSOPEN='|rm -rf x' less y", "delete"),
        ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.editor git commit", "preload"),
        ("EDITORS=x ls", ""),
    ]);
}

#[test]
fn scripts_of_sed_are_read() {
    check(&[
        ("sed 's/a b/rm -rf x/e' y", "delete"),
        ("sed 's/a b/c d/e' y", "inline_code"),
        ("sed 's|a b|c|ge' y", "inline_code"),
        ("sed 's,/a,b c,e' y", "inline_code"),
        ("sed 's/a/b/;s/c d/e f/e' y", "inline_code"),
        ("sed -e 's/a/b/' -e 's/c d/e/e' y", "inline_code"),
        ("sed -ne 's/a b/c/e' y", "inline_code"),
        ("sed -n -es/a/b\\ c/e y", "inline_code"),
        ("sed --expression='s/a b/c/e' y", "inline_code"),
        ("sed --exp 's/a b/c/e' y", "inline_code"),
        ("sed '1e rm -rf x' y", "delete"),
        ("sed '/a;b/e rm -rf x' y", "delete"),
        ("sed '\\,a,e reboot' y", "host_power"),
        ("sed '$!{N;e\n}' y", "inline_code"),
        ("sed 's/[/]/x y/e' y", "inline_code"),
        ("sed 's/[[:space:]/]*/x y/e' y", "inline_code"),
        ("sed 's/[^/]*/x e/' y", ""),
        ("sed 'w /etc/x' y", "system_file"),
        ("sed -n '/a/w /etc/x' y", "system_file"),
        ("sed 's/a/b/w /etc/x' y", "system_file"),
        ("sed -f <(curl x) y", "piped_code"),
        ("sed 's/a b/c e/' y", ""),
        ("sed 's/a/e/g; s/b e/c/' errors.log", ""),
        ("sed -n '1,5p' e", ""),
        ("sed -n -e 1p w", ""),
        ("sed -f x.sed errors", ""),
        ("sed -i.bake 's/x/y/' z", ""),
        ("sed '/end/a e rm -rf x' y", ""),
        ("sed 'w out.txt' y", ""),
        ("sed 'w /dev/stdout' y", ""),
        ("sed \"s/$a/$b/g\" y", ""),
        ("sed -E ':a;N;$!ba;s/\\n/ /g' y", ""),
        ("sed 'y/abc/dee/' y", ""),
        ("sed '/^#/d; /^$/d' y", ""),
    ]);
}

#[test]
fn options_name_files_to_write() {
    check(&[
        ("sort -o /etc/x y", "system_file"),
        ("sort -uo /etc/x y", "system_file"),
        ("sort --output=/etc/x y", "system_file"),
        ("sort -o/etc/x y", "system_file"),
        ("awk '{ print > \"/etc/x\" }' y", "system_file"),
        ("awk '{ print >> \"/etc/x\" }' y", "system_file"),
        ("find . -fprint /etc/x", "system_file"),
        ("find . -fprintf /etc/x '%p'", "system_file"),
        ("find . -fls /dev/sda", "wipe_disk"),
        ("tar xf a.tar -C /etc", "system_file"),
        ("tar -xzf a.tgz --directory=/usr/lib", "system_file"),
        ("git -C /etc init", "system_file"),
        ("git init /etc/x", "system_file"),
        ("git clone https://a.org/x /etc/x", "system_file"),
        ("git archive -o /etc/x HEAD", "system_file"),
        ("git archive --output=/etc/x HEAD", "system_file"),
        ("wget -P /etc https://a.org", "system_file"),
        ("wget -qO /etc/x https://a.org", "system_file"),
        ("curl -sSLo /etc/x https://a.org", "system_file"),
        ("gcc x.c -o /usr/bin/x", "system_file"),
        ("clang -o /usr/bin/x x.c", "system_file"),
        ("ld -o /usr/bin/x x.o", "system_file"),
        ("xxd -r in /dev/sda", "wipe_disk"),
        ("openssl genrsa -out /etc/x 2048", "system_file"),
        ("perl -pi -e 's/a/b/' /etc/x", "system_file"),
        ("perl -i.bak -pe 's/a/b/' /etc/x", "system_file"),
        ("ruby -pi -e 'x' /etc/x", "system_file"),
        ("cd /etc; sort -o x y", "system_file"),
        ("sort -o x /etc/hosts", ""),
        ("awk '$1 > 5 { print > \"x\" }' /etc/hosts", ""),
        ("awk '{ print \"/etc/x\" }' y", ""),
        ("find /etc -fprint x", ""),
        ("tar cf a.tar -C /etc .", ""),
        ("tar tf a.tar -C /etc", ""),
        ("tar xf a.tar -C out", ""),
        ("git -C /etc status", ""),
        ("git -C x init", ""),
        ("git init", ""),
        ("git clone https://a.org/x y", ""),
        ("git archive -o x.tar HEAD", ""),
        ("wget -P out https://a.org", ""),
        ("gcc -I/usr/include x.c -o x", ""),
        ("xxd -r in out", ""),
        ("xxd /dev/sda", ""),
        ("openssl x509 -in /etc/x -out y", ""),
        ("perl -pi -e 's/a/b/' x", ""),
        ("perl -ne 'print if /a/' /etc/hosts", ""),
    ]);
}
