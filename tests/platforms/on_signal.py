"""Signal: crabline plays an account; signal-cli itself has none, and says so."""

import json

from stage import MODULES, Stage, get, recorded, request, until

ANN = "0b0b0b0b-0000-4000-8000-000000000042"
GROUP = "Z3JvdXAtb2Ytc21va2U="


def with_crabline():
    with Stage() as stage:
        server = stage.crabline("signal")
        stage.daemon(
            f"""
agents: {{main: {{default: true, tools: minimal, access: {{allow: ["signal:{ANN}"]}}, group: {{respond: all}}}}}}
bindings: [{{agent: main, signal: "*"}}]
channels: {{signal: {{accounts: {{main: {{number: "{server["account"]}", base_url: "{server["baseUrl"]}"}}}}}}}}
"""
        )
        stage.connected()

        def say(text, **fields):
            body = {"text": text, "sourceUuid": ANN, "sourceName": "Ann", **fields}
            headers = {"Authorization": f"Bearer {server['adminToken']}"}
            status, answer = request(server["endpoints"]["adminInboundUrl"], body, headers)
            assert status == 200, (status, answer)

        def sent():
            calls = [it.get("body") or {} for it in recorded(server["recorderPath"])]
            return [it["params"] for it in calls if it.get("method") == "send"]

        say("hello, who are you?")
        until(lambda: any(it.get("recipient") == [ANN] for it in sent()))
        say("and in a group?", groupId=GROUP)
        until(lambda: any(it.get("groupId") == GROUP for it in sent()))
        texts = [it["message"] for it in sent()]
        assert all(text.strip() for text in texts), texts
        print(f"signal: crabline: {len(texts)} answers, in a direct chat and in a group")


def with_signal_cli():
    with Stage() as stage:
        port = 18_731
        program = MODULES / "signal-cli/signal-cli/bin/signal-cli"
        process = stage.start(
            "signal-cli", "sh", str(program), "--config", str(stage.path / "cli"), "daemon",
            "--http", f"127.0.0.1:{port}", "--receive-mode", "on-connection",
        )
        base = f"http://127.0.0.1:{port}"
        until(lambda: get(f"{base}/api/v1/check")[0] == 200, process)
        # What the daemon says, as our table has it.
        ask = {"jsonrpc": "2.0", "id": "1", "method": "listGroups", "params": {"account": "+4915100000001"}}
        answer = json.loads(request(f"{base}/api/v1/rpc", ask)[1])
        assert answer["error"]["code"] == -32602, answer
        assert get(f"{base}/api/v1/events?account=%2B4915100000001")[0] == 400
        stage.daemon(
            f"""
agents: {{main: {{default: true, tools: minimal}}}}
bindings: [{{agent: main, signal: "*"}}]
channels: {{signal: {{accounts: {{main: {{number: "+4915100000001", base_url: "{base}"}}}}}}}}
"""
        )

        def refused():
            status = json.loads(stage.insula("status", "--json").stdout or "{}")
            reasons = [it["reason"] or "" for it in status.get("accounts", [])]
            return any("link or register" in it for it in reasons)

        until(refused)
        told = stage.insula("channels", "test", "signal")
        assert told.returncode == 1 and "is too old" in told.stdout, told
        print("signal: signal-cli 0.13.19: no account and an old version, both told")


with_crabline()
with_signal_cli()
