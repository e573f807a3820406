"""WhatsApp: crabline plays the Cloud API; its events are signed and brought here as Meta does."""

import hashlib
import hmac
import json

from stage import Stage, get, recorded, request, until

SECRET = "the-app-secret"
WORD = "the-word"
ANN = "4915100000042"

with Stage() as stage:
    server = stage.crabline("whatsapp")
    daemon = stage.daemon(
        f"""
agents: {{main: {{default: true, tools: minimal, access: {{allow: ["whatsapp:{ANN}"]}}}}}}
bindings: [{{agent: main, whatsapp: "*"}}]
channels:
  whatsapp:
    accounts:
      main:
        phone_number_id: "{server["phoneNumberId"]}"
        token: "{server["accessToken"]}"
        secret: "{SECRET}"
        verify_token: "{WORD}"
        base_url: "{server["baseUrl"]}"
"""
    )
    stage.connected()
    hook = f"{daemon}/hooks/whatsapp/main"

    asked = f"{hook}?hub.mode=subscribe&hub.challenge=4711&hub.verify_token="
    assert get(asked + WORD) == (200, b"4711"), get(asked + WORD)
    assert get(asked + "wrong")[0] == 401

    def call(event):
        body = json.dumps(event).encode()
        tag = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        return request(hook, body, {"X-Hub-Signature-256": f"sha256={tag}"})[0]

    said = {"chatJid": f"{ANN}@s.whatsapp.net", "senderJid": f"{ANN}@s.whatsapp.net", "text": "hello, who are you?", "pushName": "Ann"}
    headers = {"Authorization": f"Bearer {server['adminToken']}"}
    status, answer = request(server["endpoints"]["adminInboundUrl"], said, headers)
    assert status == 200, (status, answer)
    event = json.loads(answer)["webhook"]
    assert request(hook, json.dumps(event).encode())[0] == 401, "it is not signed"
    assert call(event) == 200
    assert call(event) == 200, "it comes twice"

    def sent():
        bodies = [it.get("body") or {} for it in recorded(server["recorderPath"])]
        return [it for it in bodies if it.get("type") == "text" and it.get("to") == ANN]

    until(sent)
    message = json.loads(answer)["webhook"]["entry"][0]["changes"][0]["value"]["messages"][0]
    one = sent()[0]
    assert one["text"]["body"].strip() and one["biz_opaque_callback_data"], one
    later = {**said, "text": "and again?"}
    status, answer = request(server["endpoints"]["adminInboundUrl"], later, headers)
    assert status == 200 and call(json.loads(answer)["webhook"]) == 200, answer
    until(lambda: len(sent()) >= 2)
    assert len(sent()) == 2, "what came twice was answered once"
    print(f"whatsapp: crabline: challenge, signature, {len(sent())} answers to {message['from']}")
