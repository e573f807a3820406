"""Discord: crabline plays its API and its gateway; people speak by its own door."""

import json

from stage import Stage, recorded, request, until

ANN = "100000000000000042"

with Stage() as stage:
    server = stage.crabline("discord")
    place = server["fixture"]
    stage.daemon(
        f"""
agents: {{main: {{default: true, tools: minimal, access: {{allow: ["discord:{ANN}"]}}}}}}
bindings: [{{agent: main, discord: {{guild: "{place["guildId"]}"}}}}]
channels:
  discord:
    accounts:
      main: {{token: "{server["botToken"]}", base_url: "{server["baseUrl"]}"}}
"""
    )
    stage.connected()
    headers = {"Authorization": f"Bearer {server['adminToken']}"}

    def say(text, sender=ANN, **more):
        said = {"channelId": place["channelId"], "guildId": place["guildId"], "senderId": sender, "senderName": "Ann", "content": text, **more}
        status, answer = request(server["endpoints"]["adminInboundUrl"], said, headers)
        assert status == 200, (status, answer)
        return json.loads(answer)["message"]["id"]

    def asked(method, end):
        events = recorded(server["recorderPath"])
        here = f"/channels/{place['channelId']}/{end}"
        return [it for it in events if it.get("method") == method and it.get("path", "").endswith(here)]

    say("to somebody else")
    question = say(f"<@{server['botUserId']}> hello, who are you?")
    answers = until(lambda: asked("POST", "messages"))
    body = answers[0]["body"]
    assert body["content"].strip(), body
    assert body["allowed_mentions"] == {"parse": [], "replied_user": False}, body
    assert body["enforce_nonce"] is True and len(body["nonce"]) <= 25, body
    assert body["message_reference"]["message_id"] == question, body
    say(f"<@{server['botUserId']}> let me in", sender="100000000000000043")
    say(f"<@{server['botUserId']}> and again?")
    until(lambda: len(asked("POST", "messages")) >= 2)
    texts = [it["body"]["content"] for it in asked("POST", "messages")]
    print(f"discord: crabline: connected, {len(texts)} messages of ours, typing {len(asked('POST', 'typing'))} times")
