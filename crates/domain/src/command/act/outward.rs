//! Tools that publish, destroy data elsewhere, or change what others use.

use super::super::rule::DangerRule;
use super::super::word::Arg;
use super::Act;

/// Whether a statement for a database destroys what is in it.
pub(super) fn destroys_data(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let pair = |first: &str, second: &[&str]| {
        words
            .windows(2)
            .any(|it| it[0].ends_with(first) && second.iter().any(|s| it[1].starts_with(s)))
    };
    let whole_delete = pair("delete", &["from"]) && !words.contains(&"where");
    pair(
        "drop",
        &["table", "database", "schema", "view", "index", "user", "role", "column", "collection"],
    ) || words.iter().any(|it| it.trim_start_matches(';').starts_with("truncate"))
        || whole_delete
        || ["flushall", "flushdb", "dropdatabase", "deletemany({})", ".drop()"]
            .iter()
            .any(|it| text.contains(it))
}

/// Tools that publish, or change what others use: the tool and the words that do it.
const OUTWARD: &[(&[&str], &[&str], DangerRule)] = &[
    (&["npm", "pnpm", "yarn", "bun"], &["publish", "unpublish", "deprecate"], DangerRule::Publish),
    (&["cargo"], &["publish", "yank", "owner"], DangerRule::Publish),
    (
        &["twine", "gem", "poetry", "uv", "flit", "hatch", "nuget", "mvn", "gradle"],
        &["upload", "push", "publish", "yank", "deploy"],
        DangerRule::Publish,
    ),
    (
        &["docker", "podman", "nerdctl"],
        &["push", "rm", "rmi", "prune", "kill", "stop", "down", "--privileged"],
        DangerRule::Publish,
    ),
    (
        &["kubectl", "oc", "helm", "k3s"],
        &[
            "delete",
            "apply",
            "drain",
            "cordon",
            "scale",
            "replace",
            "patch",
            "edit",
            "exec",
            "uninstall",
            "upgrade",
            "install",
            "rollback",
        ],
        DangerRule::Publish,
    ),
    (
        &["terraform", "tofu", "pulumi", "cdk", "serverless", "ansible-playbook"],
        &["apply", "destroy", "up", "deploy", "remove", "import", "taint"],
        DangerRule::Publish,
    ),
    (
        &["gh", "glab", "hub"],
        &["delete", "merge", "close", "create", "edit", "transfer", "archive"],
        DangerRule::Publish,
    ),
    (
        &[
            "gsutil", "s3cmd", "rclone", "mc", "az", "gcloud", "doctl", "heroku", "fly", "flyctl",
            "vercel", "netlify", "wrangler",
        ],
        &["rm", "rb", "delete", "del", "purge", "sync", "destroy", "deploy", "create", "update"],
        DangerRule::Publish,
    ),
    (
        &[
            "apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "pacman", "apk", "brew", "snap",
            "dpkg", "rpm", "flatpak", "port", "emerge", "nix-env",
        ],
        &[
            "install",
            "remove",
            "purge",
            "autoremove",
            "erase",
            "upgrade",
            "dist-upgrade",
            "full-upgrade",
            "del",
            "add",
            "uninstall",
            "-i",
            "-e",
            "-r",
            "-P",
            "-S",
            "-R",
            "-Rns",
            "-Rs",
            "-Syu",
            "-U",
        ],
        DangerRule::HostSettings,
    ),
];

/// Judges a tool by its words.
pub(super) fn judge(name: &str, verb: &str, act: &Act<'_>, add: &mut impl FnMut(DangerRule)) {
    if name == "aws" {
        let changes = [
            "delete",
            "terminate",
            "rm",
            "rb",
            "remove",
            "put-",
            "create-",
            "update-",
            "stop-",
            "reboot",
            "modify",
        ];
        if act.rest.iter().any(|arg| changes.iter().any(|it| arg.text.starts_with(it))) {
            add(DangerRule::Publish);
        }
        return;
    }
    let is_docker = matches!(name, "docker" | "podman" | "nerdctl");
    if is_docker
        && act.rest.iter().any(|arg| {
            arg.text.starts_with("/:")
                || arg.text.contains("docker.sock")
                || arg.text == "--pid=host"
                || arg.text == "--privileged"
        })
    {
        add(DangerRule::Privilege);
        return;
    }
    for (names, words, rule) in OUTWARD {
        let is_word = |arg: &Arg| words.contains(&&*arg.text);
        // The words of a command come first; what follows is names of things.
        let early = act
            .rest
            .iter()
            .filter(|arg| !arg.text.starts_with("--") || words.contains(&&*arg.text))
            .take(3);
        if names.contains(&name) && (words.contains(&verb) || early.clone().any(is_word)) {
            add(*rule);
        }
    }
}
