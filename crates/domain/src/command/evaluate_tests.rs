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
