"""Slack: crabline plays a workspace; its events are signed and brought here as Slack does."""

import hashlib
import hmac
import json
import time
import urllib.parse

from stage import Stage, recorded, request, until

ANN = "U0000000042"
DIRECT = "D0000000042"
TOWN = "C0000000007"

with Stage() as stage:
    server = stage.crabline("slack")
    daemon = stage.daemon(
        f"""
agents: {{main: {{default: true, tools: minimal, access: {{allow: ["slack:{ANN}"]}}}}}}
bindings: [{{agent: main, slack: "*"}}]
channels:
  slack:
    accounts:
      main:
        mode: webhook
        token: "{server["botToken"]}"
        secret: "{server["signingSecret"]}"
        base_url: "{server["endpoints"]["apiRoot"]}"
"""
    )
    stage.connected()
    hook = f"{daemon}/hooks/slack/main"

    def call(body, at=None, kind="application/json"):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        moment = str(int(time.time()) if at is None else at)
        tag = hmac.new(server["signingSecret"].encode(), b"v0:" + moment.encode() + b":" + body, hashlib.sha256)
        headers = {
            "X-Slack-Request-Timestamp": moment,
            "X-Slack-Signature": f"v0={tag.hexdigest()}",
            "Content-type": kind,
        }
        return request(hook, body, headers)

    def say(channel, text, **fields):
        body = {"channel": channel, "user": ANN, "text": text, **fields}
        headers = {"Authorization": f"Bearer {server['adminToken']}"}
        status, answer = request(server["endpoints"]["adminInboundUrl"], body, headers)
        assert status == 200, (status, answer)
        return json.loads(answer)["event"]

    def sent(channel):
        calls = [it for it in recorded(server["recorderPath"]) if it.get("path", "").endswith("chat.postMessage")]
        return [it["body"] for it in calls if it["body"].get("channel") == channel]

    status, answer = call({"type": "url_verification", "challenge": "4711"})
    assert (status, answer) == (200, b"4711"), (status, answer)

    event = say(DIRECT, "hello, who are you?")
    assert request(hook, event)[0] == 401, "it is not signed"
    assert call(event, at=int(time.time()) - 400)[0] == 401, "it is old"
    assert call(event)[0] == 200
    assert call(event)[0] == 200, "it comes twice"
    until(lambda: sent(DIRECT))
    assert sent(DIRECT)[0]["text"].strip()

    bot = event["authorizations"][0]["user_id"]
    mention = say(TOWN, f"<@{bot}> and in a channel?")
    twin = {**mention, "event_id": "Ev1", "event": {**mention["event"], "type": "app_mention"}}
    assert call(mention)[0] == 200 and call(twin)[0] == 200
    until(lambda: sent(TOWN))
    root = mention["event"]["ts"]
    reply = say(TOWN, f"<@{bot}> and in its thread?", thread_ts=root)
    assert call(reply)[0] == 200
    until(lambda: any(it.get("thread_ts") == root for it in sent(TOWN)))
    form = urllib.parse.urlencode(
        {"command": "/insula", "text": "status", "user_id": ANN, "channel_id": DIRECT,
         "team_id": event["team_id"], "trigger_id": "1.1"}
    )
    assert call(form.encode(), kind="application/x-www-form-urlencoded")[0] == 200
    until(lambda: len(sent(DIRECT)) >= 2)
    counts = len(sent(DIRECT)), len(sent(TOWN))
    assert counts == (2, 2), f"what came twice was answered once: {counts}"
    print(f"slack: crabline: challenge, signature, thread, command, {sum(counts)} answers")
