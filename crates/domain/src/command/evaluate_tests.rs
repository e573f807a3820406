//! What a shell reads once more, and names that mean something else, are followed.

use super::act_tests::check;

#[test]
fn an_index_is_evaluated() {
    check(&[
        ("test -v 'a[$(rm -rf x)]'", "delete"),
        ("[ -v 'a[$(rm -rf x)]' ]", "delete"),
        ("[ -v 'a[`rm -rf x`]' ]", "delete"),
        ("[[ -v 'a[$(rm -rf x)]' ]]", "delete"),
        ("[[ 'a[$(rm -rf x)]' -eq 1 ]]", "delete"),
        ("let 'a[$(rm -rf x)]=1'", "delete"),
        ("printf -v 'a[$(rm -rf x)]' y", "delete"),
        ("read 'a[$(rm -rf x)]'", "delete"),
        ("declare 'a[$(rm -rf x)]=1'", "delete"),
        ("x='a[$(rm -rf y)]'; echo $((x))", "delete"),
        ("x='a[$(rm -rf y)]'; echo $(( 1 + $x ))", "delete"),
        ("x='a[$(rm -rf y)]'; ((x))", "delete"),
        ("x='a[$(rm -rf y)]'; let z=x", "delete"),
        ("x='a[$(rm -rf y)]'; [[ x -eq 1 ]]", "delete"),
        ("x='a[$(rm -rf y)]'; echo ${b[$x]}", "delete"),
        ("test -v a", ""),
        ("[ -f 'a[$(rm -rf x)]' ]", ""),
        ("let 'a[1]=1'", ""),
        ("x=5; echo $((x + 1)); ((x++)); let x+=1", ""),
        ("x='$(rm -rf y)'; echo $((x))", ""),
        ("x='a[$(rm -rf y)]'; echo \"$x\"", ""),
        ("[[ -v a[0] ]]", ""),
    ]);
}

#[test]
fn a_text_is_expanded_as_a_prompt_or_a_list_of_words() {
    check(&[
        ("x='$(rm -rf y)'; echo ${x@P}", "delete"),
        ("x='$(rm -rf y)'; echo \"${x@P}\"", "delete"),
        ("x='`rm -rf y`'; : \"${x@P}\"", "delete"),
        ("echo \"${x@P}\"", "dynamic"),
        ("x=y; echo \"${x@P}\"", ""),
        ("x='$(rm -rf y)'; echo \"${x@Q}\"", ""),
        ("compgen -C 'rm -rf x'", "delete"),
        ("compgen -W '$(rm -rf x)'", "delete"),
        ("mapfile -C 'rm -rf x' -c 1 a", "delete"),
        ("compgen -c", ""),
        ("compgen -W 'a b'", ""),
    ]);
}

#[test]
fn a_name_may_mean_another() {
    check(&[
        ("b=ls; declare -n a=b; a='rm -rf x'; $b", "dynamic"),
        ("b=ls; local -n a=b; a='rm -rf x'; $b", "dynamic"),
        ("b=ls; declare -rn a=b; $b", "dynamic"),
        ("b=ls; declare -x a=b; $b", ""),
        ("hash -p /bin/rm foo; foo -rf x", "delete"),
        ("hash -p /sbin/reboot foo; foo", "host_power"),
        ("hash -r; foo -rf x", ""),
        ("ln -s /bin/rm foo; ./foo -rf x", "delete"),
        ("ln -s /bin/rm foo; foo -rf x", "delete"),
        ("ln -s /bin/rm dir/foo && dir/foo -rf x", "delete"),
        ("cp /bin/sh foo; ./foo -c 'rm -rf x'", "delete"),
        ("/bin/cp /bin/sh foo; ./foo -c reboot", "host_power"),
        ("cp /bin/rm a; mv a b; ./b -rf x", "delete"),
        ("cp a b; cp b a; ./a -rf x", ""),
        ("ln -s ../build.sh foo; ./foo -rf x", ""),
        ("cp rm.txt foo; ./foo -rf x", ""),
        ("cp /bin/sh foo; ./bar -c 'rm -rf x'", ""),
        ("cp /bin/sh foo; ./foo -c ls", ""),
    ]);
}

#[test]
fn ids_that_a_command_prints_are_not_named() {
    check(&[
        ("kill -9 $(ps -eo pid=)", "kill"),
        ("kill $(pgrep .)", "kill"),
        ("kill `pgrep .`", "kill"),
        ("kill -s KILL \"$(pgrep .)\"", "kill"),
        ("ps -eo pid= | xargs kill", "kill"),
        ("ps -eo pid= | xargs -n1 kill -9", "kill"),
        ("ps | xargs -I% kill -9 %", "kill"),
        ("kill 1$(ls)", "kill_all"),
        ("kill $pid", ""),
        ("kill -9 \"$pid\"", ""),
        ("kill %1", ""),
        ("kill \"$!\"", ""),
        ("kill $$", ""),
        ("kill $(echo 55)", ""),
        ("kill -9 55 56", ""),
        ("kill -l $(ls)", ""),
    ]);
}

#[test]
fn one_of_many_is_many() {
    check(&[
        ("for f in build/*; do rm \"$f\"; done", "delete"),
        ("for f in \"$@\"; do rm \"$f\"; done", "delete"),
        ("for f; do rm -- \"$f\"; done", "delete"),
        ("for f in $(ls); do rm \"build/$f\"; done", "delete"),
        ("for f in *.c; do rm \"${f%.c}.o\"; done", "delete"),
        ("ls | while read f; do rm \"$f\"; done", "delete"),
        ("ls | while IFS= read -r f; do if [ -f \"$f\" ]; then rm \"$f\"; fi; done", "delete"),
        ("while true; do read f; rm \"$f\"; done", "delete"),
        ("rm \"${a[@]}\"", "delete"),
        ("rm \"$@\"", "delete"),
        ("find . -exec sh -c 'rm {}' \\;", "delete"),
        ("ls | xargs -I% sh -c 'rm %'", "delete"),
        ("truncate -s 0 build/*", "delete"),
        ("for f in *; do truncate -s 0 \"$f\"; done", "delete"),
        ("git rm -r build", "delete"),
        ("git rm -rf build", "delete"),
        ("for f in a.txt b.txt; do rm \"$f\"; done", ""),
        ("for f in \"$X\"; do rm \"$f\"; done", ""),
        ("for f in *.txt; do cat \"$f\"; done", ""),
        ("read -r f; rm \"$f\"", ""),
        ("rm \"${a[0]}\"", ""),
        ("rm \"${f%.c}.o\"", ""),
        ("rm \"$1\"", ""),
        ("echo \"${a[@]}\"", ""),
        ("truncate -s 0 x", ""),
        ("git rm x", ""),
        ("git rm -r --cached x", ""),
    ]);
}

#[test]
fn code_has_more_names_for_the_same() {
    check(&[
        ("python3 -c 'asyncio.create_subprocess_shell(\"rm -rf x\")'", "inline_code"),
        ("python3 -c 'asyncio.create_subprocess_exec(\"reboot\")'", "host_power"),
        ("node -e 'require(\"fs\").rm(\"x\", {recursive: true})'", "inline_code"),
        ("node -e 'const {rm} = require(\"node:fs/promises\"); rm(\"x\")'", "inline_code"),
        ("node -e 'require(\"fs\").rm(\"/\", {recursive: true})'", "wipe_system"),
        ("perl -MFile::Path -e 'rmtree(\"x\")'", "inline_code"),
        ("perl -MFile::Path=rmtree -e 'rmtree(\"/\")'", "wipe_system"),
        ("perl -MList::Util -e 'system(\"reboot\")'", "host_power"),
        ("perl -Ilib/e -e 'system(\"reboot\")'", "host_power"),
        ("perl -I lib -e 'system(\"reboot\")'", "host_power"),
        ("python3 -W ignore -c 'import os; os.system(\"reboot\")'", "host_power"),
        ("python3 -X dev -W ignore x.py", ""),
        ("node --require x -e 'require(\"child_process\").exec(\"reboot\")'", "host_power"),
        ("php -d x=1 -r 'system(\"reboot\");'", "host_power"),
        ("perl '-Mvars;system(\"reboot\")' -e 1", "host_power"),
        ("perl -e 'open(F,\"rm -rf x|\")'", "inline_code"),
        ("perl -e 'open(F,\"|reboot\")'", "host_power"),
        ("perl -e 'open(F, \"-|\", \"reboot\")'", "host_power"),
        ("ruby -e 'open(\"|reboot\")'", "host_power"),
        ("python3 -c 'import os; list(map(os.remove, x))'", "inline_code"),
        ("python3 -c 'from os import remove as r; r(\"x\")'", "inline_code"),
        ("python3 -c 'from os import path, remove'", "inline_code"),
        ("python3 -c 'import os; vars(os)[x](\"reboot\")'", "host_power"),
        ("python3 -c 'import os; os.__dict__[x](\"reboot\")'", "host_power"),
        ("node -e 'console.log(require(\"fs\").readFileSync(\"x\"))'", ""),
        ("node -e 'x.rm()'", ""),
        ("perl -MList::Util=sum -e 'print sum(1, 2)'", ""),
        ("perl -MPOSIX -e 'print floor(1.5)'", ""),
        ("perl -Ilib x.pl", ""),
        ("perl -e 'open(F, \"<\", \"x\"); print <F>'", ""),
        ("python3 -c 'print(\"a|\", open(\"x\"))'", ""),
        ("python3 -c 'import os; x = [1]; x.remove(1)'", ""),
        ("python3 -c 'from os import path; x.remove(1)'", ""),
        ("python3 -c 'vars = 1; print(vars)'", ""),
    ]);
}
