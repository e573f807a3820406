//! Programs that run the command after their own options, and what these options are.

use super::super::rule::DangerRule;
use super::super::word::Arg;

/// A program that runs the command after its own options.
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    /// Short options without a value, and those with one.
    pub(super) flags: &'static str,
    pub(super) valued: &'static str,
    /// Short options whose value, if they have one, stands in the same word.
    pub(super) attached: &'static str,
    /// Long options with a value in the next word.
    pub(super) long: &'static [&'static str],
    /// Words of its own before the command.
    pub(super) operands: usize,
    pub(super) rule: Option<DangerRule>,
}

const fn plain(names: &'static [&'static str], flags: &'static str) -> Wrapper {
    Wrapper { names, flags, valued: "", attached: "", long: &[], operands: 0, rule: None }
}

const PRIVILEGE: Option<DangerRule> = Some(DangerRule::Privilege);

pub(super) const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        valued: "CDghpRrTtUuc",
        long: &["user", "group", "host", "prompt", "chdir", "role", "type", "other-user"],
        rule: PRIVILEGE,
        ..plain(&["sudo", "doas", "sudoedit"], "ABbEHiKklnPSsVvN")
    },
    Wrapper { long: &["user"], rule: PRIVILEGE, ..plain(&["pkexec"], "") },
    Wrapper { valued: "uCS", long: &["unset", "chdir", "split-string"], ..plain(&["env"], "i0v") },
    Wrapper { valued: "n", long: &["adjustment"], ..plain(&["nice"], "0123456789") },
    Wrapper { valued: "cnpPu", long: &["class", "classdata"], ..plain(&["ionice"], "t") },
    plain(&["nohup", "setsid", "unbuffer", "catchsegv", "fakeroot", "caffeinate"], "cfwdims"),
    plain(&["builtin", "command", "busybox", "toybox"], "pvV"),
    Wrapper { valued: "a", ..plain(&["exec"], "cl") },
    Wrapper { valued: "fo", long: &["format", "output"], ..plain(&["time"], "apqvV") },
    Wrapper {
        valued: "ks",
        long: &["kill-after", "signal"],
        operands: 1,
        ..plain(&["timeout"], "v")
    },
    Wrapper { valued: "ioe", long: &["input", "output", "error"], ..plain(&["stdbuf"], "") },
    Wrapper {
        valued: "aEeIOoPSsuXb",
        long: &["output"],
        ..plain(&["strace", "ltrace"], "cCdfFhiknqrtTvVwxyzDYZ")
    },
    Wrapper {
        valued: "aEILnPsdSj",
        attached: "eil",
        long: &[
            "arg-file",
            "delimiter",
            "max-lines",
            "max-args",
            "max-procs",
            "max-chars",
            "replace",
            "process-slot-var",
        ],
        ..plain(&["xargs", "parallel"], "0oprtxk")
    },
    Wrapper { operands: 1, ..plain(&["taskset"], "acp") },
    Wrapper { valued: "TPD", operands: 1, ..plain(&["chrt"], "abfiorRmpv") },
    Wrapper {
        valued: "wEx",
        long: &["timeout", "wait", "conflict-exit-code"],
        operands: 1,
        ..plain(&["flock"], "senoFuc")
    },
    Wrapper {
        long: &["userspec", "groups"],
        operands: 1,
        rule: PRIVILEGE,
        ..plain(&["chroot"], "")
    },
    Wrapper {
        valued: "SGRwt",
        long: &["target", "setuid", "setgid", "root", "wd", "map-user", "map-group"],
        rule: PRIVILEGE,
        ..plain(&["unshare", "nsenter", "setpriv", "runcon"], "munipUCTfrcFaZe")
    },
    Wrapper {
        valued: "pMCEH",
        long: &["property", "unit", "uid", "gid", "slice", "setenv", "machine"],
        rule: PRIVILEGE,
        ..plain(&["systemd-run"], "Gdqrt")
    },
    Wrapper { operands: 1, ..plain(&["setarch"], "RBFILSTXZv3") },
    plain(&["x86_64", "i386", "i486", "i586", "i686", "uname26", "aarch64"], "RBFILSTXZv3"),
    Wrapper {
        valued: "po",
        attached: "cdefilmnqrstuvxy",
        long: &["pid", "output"],
        ..plain(&["prlimit"], "")
    },
    Wrapper { valued: "pe", ..plain(&["tini", "docker-init", "catatonit"], "sgvwP") },
    Wrapper { valued: "r", long: &["rewrite"], ..plain(&["dumb-init"], "cv") },
    Wrapper { operands: 1, rule: PRIVILEGE, ..plain(&["gosu", "su-exec"], "") },
    plain(
        &["linux32", "linux64", "valgrind", "proot", "eatmydata", "torsocks", "proxychains"],
        "qv",
    ),
    Wrapper {
        valued: "p",
        long: &["package", "from", "with", "python"],
        ..plain(&["npx", "bunx", "pipx", "uvx"], "yqc")
    },
    // The loader runs the program that it is given.
    plain(&["ld.so", "ld-linux.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"], ""),
];

/// Programs that run the command behind one of their own words, as in `poetry run`.
pub(super) const BEHIND: &[(&[&str], Wrapper)] = &[
    (
        &["run"],
        Wrapper {
            valued: "mpwifPC",
            long: &["with", "python", "extra", "group", "package", "project", "directory"],
            ..plain(&["uv"], "qvnUsh")
        },
    ),
    (&["run"], plain(&["poetry", "pipenv", "pdm", "hatch", "rye", "pixi"], "qvnh")),
    (&["exec"], plain(&["bundle", "rbenv", "pyenv", "mise", "asdf", "direnv"], "")),
    (
        &["run"],
        Wrapper {
            valued: "np",
            long: &["name", "prefix", "cwd"],
            ..plain(&["conda", "mamba", "micromamba"], "vh")
        },
    ),
    (
        &["exec", "x", "dlx", "run"],
        Wrapper {
            valued: "pwCF",
            long: &["package", "workspace", "filter", "dir", "prefix"],
            ..plain(&["npm", "pnpm", "yarn"], "cyrsqT")
        },
    ),
];

/// The wrapper that this program is by one of its words, and what stands behind that.
pub(super) fn behind<'a>(name: &str, rest: &'a [Arg]) -> Option<(&'static Wrapper, &'a [Arg])> {
    let (verbs, wrapper) = BEHIND.iter().find(|(_, it)| it.names.contains(&name))?;
    let at = rest.iter().position(|arg| verbs.contains(&&*arg.text))?;
    // Before it only options stand, and their values.
    let is_option = |at: usize| rest[at].text.starts_with('-');
    let is_own = |at: usize| is_option(at) || at > 0 && is_option(at - 1);
    (0..at).all(is_own).then(|| (wrapper, &rest[at + 1..]))
}
