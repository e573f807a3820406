//! What a program does is told from what it only looks at, one table for each.

use super::classify;

fn said(line: &str) -> String {
    classify(line).finding().map(|it| it.rule.as_str().to_owned()).unwrap_or_default()
}

fn check(lines: &[(&str, &str)]) {
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
        ("vim x", ""),
        ("chmod 666 x", "permissions"),
        ("chmod 4755 x", "permissions"),
        ("chmod u+s x", "permissions"),
        ("chmod o+w x", "permissions"),
        ("chmod 644 x", ""),
        ("chmod u+w x", ""),
        ("chmod 644 /etc/hosts", "system_file"),
        ("chown me x", "permissions"),
        ("zip -m a.zip x", "delete"),
        ("zip -rm a.zip dir", "delete"),
        ("zip --move a.zip x", "delete"),
        ("zip -qrm a.zip /", "wipe_system"),
        ("zip -r a.zip dir", ""),
        ("zip a.zip x -T -TT 'rm -rf x'", "delete"),
        ("rm /etc/hosts", "system_file"),
        ("rm x", ""),
    ]);
}

#[test]
fn work_is_kept_or_thrown_away() {
    check(&[
        ("git tag -d v1", "history"),
        ("git tag v1", ""),
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
        ("socat TCP-LISTEN:80 -", "remote_shell"),
        ("nc host 80", ""),
        ("dropdb x", "database"),
        ("mysqladmin drop x", "database"),
        ("mysqladmin status", ""),
        ("docker run --pid=host x", "privilege"),
        ("docker run --privileged x", "privilege"),
        ("docker run -v /:/host x", "privilege"),
        ("docker rm x", "publish"),
        ("docker ps", ""),
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
