#!/bin/sh
# Stands for the `insula` binary in the tests of the daemon's helper:
#   --home HOME up …     behaves as the file HOME/behave says: serve, late, crash
#   --home HOME ARGS…    prints its arguments as JSON and ends with the code in HOME/code
home=$2
shift 2
if [ "$1" != up ]; then
    printf '{"args": "%s", "environment": %s}\n' "$*" "$(env | wc -l)"
    echo "a word on stderr" >&2
    exit "$(cat "$home/code")"
fi
announce() {
    mkdir -p "$home/run"
    printf '{"pid": %s, "listen": "127.0.0.1:4711"}' "$$" >"$home/run/daemon.json"
}
trap 'echo draining; exit 0' TERM
trap 'echo reloaded' HUP
case $(cat "$home/behave") in
serve)
    announce
    echo "ready on 127.0.0.1:4711" >&2
    ;;
late)
    echo "ready on 127.0.0.1:4711" >&2
    announce
    ;;
crash)
    echo "error: no such thing" >&2
    exit 2
    ;;
esac
# Waits for a signal: `read` from a pipe that nobody writes to, which a trap interrupts.
mkfifo "$home/never"
exec 3<>"$home/never"
while :; do read -r _ <&3; done
