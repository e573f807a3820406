"""Slack's own SDK for Python talks to the fake workspace, as client.cjs does, and checks a signature.

    python client.py URL BOT_TOKEN APP_TOKEN CHANNEL SECRET TIMESTAMP SIGNATURE BODY
"""

import logging
import sys
import threading

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import Clock, SignatureVerifier
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

url, token, app_token, channel, secret, timestamp, signature, body = sys.argv[1:]
logging.disable(logging.CRITICAL)


class Then(Clock):
    def now(self):
        return float(timestamp)


verifier = SignatureVerifier(secret, clock=Then())
assert verifier.is_valid(body, timestamp, signature)
assert not verifier.is_valid(body + " ", timestamp, signature)
assert not verifier.is_valid(body, str(int(timestamp) - 301), signature)

web = WebClient(token=token, base_url=f"{url}/")
us = web.auth_test()
assert us["user_id"] == "U0BOT" and "chat:write" in us.headers["x-oauth-scopes"], us
section = {"type": "section", "text": {"type": "mrkdwn", "text": "may *I*?"}}
root = web.chat_postMessage(channel=channel, text="may I?", blocks=[section])
assert root["message"]["blocks"] == [section], root
reply = web.chat_postMessage(channel=channel, text="in the thread", thread_ts=root["ts"])
replies = web.conversations_replies(channel=channel, ts=reply["ts"])
assert replies["messages"][0]["thread_ts"] == root["ts"], replies
assert web.chat_update(channel=channel, ts=root["ts"], text="said", blocks=[])["text"] == "said"
web.reactions_add(channel=channel, timestamp=root["ts"], name="eyes")
web.reactions_remove(channel=channel, timestamp=root["ts"], name="eyes")
given = web.files_upload_v2(channel=channel, filename="a.txt", content="content of it", initial_comment="see")
assert web.files_info(file=given["files"][0]["id"])["file"]["size"] == 13
try:
    web.users_info(user="UNOBODY")
    raise AssertionError("nobody was found")
except SlackApiError as error:
    assert error.response["error"] == "user_not_found", error

heard, over = [], threading.Event()


def take(client, request):
    client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
    event = request.payload.get("event") or request.payload
    heard.append(f"{event.get('type') or request.type}: {event.get('text') or ''}")
    if event.get("text") == "that was all":
        over.set()


socket = SocketModeClient(app_token=app_token, web_client=WebClient(base_url=f"{url}/"), ping_interval=5)
socket.socket_mode_request_listeners.append(take)
socket.connect()
assert over.wait(60), f"it took too long: {heard}"
for wanted in (
    "message: <@U0BOT> hello",
    "app_mention: <@U0BOT> hello",
    "block_actions: ",
    "slash_commands: new",
    "message: by another socket",
):
    assert heard.count(wanted) == 1, f"heard once: {wanted} in {heard}"
socket.close()
print("held")
