"""Matrix, encrypted: Synapse, and somebody who talks by matrix-nio over libolm, which share no line
of code with the daemon's own part of it."""

import asyncio
import hashlib
import hmac
import io
import json
import os
import pathlib
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]


def installed(*command):
    """What a script of the repository installs and prints; without it there is nothing to do."""
    done = subprocess.run([str(ROOT / command[0]), *command[1:]], capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        sys.exit(77)
    return done.stdout.strip()


try:
    import nio
except ImportError:
    # By the Python that has it.
    pins = str(ROOT / "tests/platforms/nio.txt")
    python = installed("scripts/environment", "python", "nio", pins) + "/bin/python"
    os.execv(python, [python, __file__])

import olm

from stage import WITHIN_S, Stage, get, request, until

PORT = 18_741
BASE = f"http://127.0.0.1:{PORT}"
SETTINGS = f"""
server_name: localhost
report_stats: false
listeners: [{{port: {PORT}, type: http, bind_addresses: [127.0.0.1], resources: [{{names: [client]}}]}}]
database: {{name: sqlite3, args: {{database: homeserver.db}}}}
media_store_path: media
signing_key_path: signing.key
pid_file: synapse.pid
registration_shared_secret: tests
macaroon_secret_key: tests
form_secret: tests
trusted_key_servers: []
presence: {{enabled: false}}
bcrypt_rounds: 4
rc_message: {{per_second: 1000, burst_count: 1000}}
rc_login: {{address: {{per_second: 1000, burst_count: 1000}}, account: {{per_second: 1000, burst_count: 1000}}}}
"""


def homeserver(stage):
    folder = stage.path / "synapse"
    folder.mkdir()
    (folder / "homeserver.yaml").write_text(SETTINGS)
    (folder / "signing.key").write_text("ed25519 a_test AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n")
    command = "import os, runpy, sys; os.chdir(sys.argv.pop(1)); runpy.run_module('synapse.app.homeserver', run_name='__main__')"
    python = installed("scripts/synapse")
    process = stage.start("synapse", python, "-c", command, str(folder), "-c", "homeserver.yaml")
    until(lambda: get(f"{BASE}/_matrix/client/versions")[0] == 200, process)


def register(user):
    url = f"{BASE}/_synapse/admin/v1/register"
    nonce = json.loads(get(url)[1])["nonce"]
    text = "\0".join([nonce, user, "password", "notadmin"])
    mac = hmac.new(b"tests", text.encode(), hashlib.sha1).hexdigest()
    body = {"nonce": nonce, "username": user, "password": "password", "admin": False, "mac": mac}
    status, answer = request(url, body)
    assert status == 200, answer
    return json.loads(answer)


class Ann:
    """Somebody whose client encrypts."""

    def __init__(self, folder):
        folder.mkdir()
        config = nio.AsyncClientConfig(encryption_enabled=True, store_sync_tokens=True)
        self.client = nio.AsyncClient(BASE, "@ann:localhost", store_path=str(folder), config=config)
        self.heard = []
        self.client.add_event_callback(self.hear, nio.RoomMessage)
        self.client.add_event_callback(self.hear, nio.MegolmEvent)

    def hear(self, room, event):
        self.heard.append((room.room_id, event))

    async def sync(self):
        answer = await self.client.sync(timeout=1000)
        assert isinstance(answer, nio.SyncResponse), answer
        if self.client.should_upload_keys:
            await self.client.keys_upload()
        if self.client.should_query_keys:
            await self.client.keys_query()
        if self.client.should_claim_keys:
            await self.client.keys_claim(self.client.get_users_for_key_claiming())

    async def until(self, found):
        end = asyncio.get_running_loop().time() + WITHIN_S
        while not (result := found()):
            assert asyncio.get_running_loop().time() < end, self.heard
            await self.sync()
        return result

    async def send(self, room, content):
        sent = await self.client.room_send(
            room, "m.room.message", content, ignore_unverified_devices=True
        )
        assert isinstance(sent, nio.RoomSendResponse), sent

    async def say(self, room, text):
        await self.send(room, {"msgtype": "m.text", "body": text})

    def answers(self, room, bot):
        """What the bot said, each as it reads now, without what could not be read."""
        by_id = {}
        for where, event in self.heard:
            if where == room and event.sender == bot and isinstance(event, nio.RoomMessageText):
                assert event.decrypted, event
                relation = event.source["content"].get("m.relates_to", {})
                original = relation.get("event_id") if relation.get("rel_type") == "m.replace" else None
                new = event.source["content"].get("m.new_content", event.source["content"])
                by_id[original or event.event_id] = new["body"]
        return list(by_id.values())

    def unread(self, bot):
        return [it for _, it in self.heard if isinstance(it, nio.MegolmEvent) and it.sender == bot]


LETTERS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def recovery_key():
    """A recovery key as clients show it, and what libolm opens with it."""
    secret = os.urandom(olm.pk.lib.olm_pk_private_key_length())
    drawn, olm.pk.URANDOM = olm.pk.URANDOM, lambda _: secret
    opens = olm.pk.PkDecryption()
    olm.pk.URANDOM = drawn
    key = b"\x8b\x01" + secret
    parity = 0
    for byte in key:
        parity ^= byte
    number, word = int.from_bytes(key + bytes([parity]), "big"), ""
    while number:
        number, rest = divmod(number, 58)
        word = LETTERS[rest] + word
    return " ".join(word[at : at + 4] for at in range(0, len(word), 4)), opens


def saved(token, room):
    """The keys of a room that are in the homeserver's backup, as it has them."""
    headers = {"Authorization": f"Bearer {token}"}
    status, version = request(f"{BASE}/_matrix/client/v3/room_keys/version", headers=headers)
    if status != 200:
        return []
    version = json.loads(version)["version"]
    path = f"/_matrix/client/v3/room_keys/keys/{urllib.parse.quote(room)}?version={version}"
    return list(json.loads(request(BASE + path, headers=headers)[1])["sessions"].values())


CONFIG = """
agents: {main: {default: true, tools: minimal, access: {allow: ["matrix:@ann:localhost"]}, sessions: {quiet: 0s}}}
bindings: [{agent: main, matrix: "*"}]
channels: {matrix: {accounts: {home: {homeserver: "%s", user: "%s", token: "%s", recovery_key: "%s"}}}}
"""


async def talk(stage):
    homeserver(stage)
    register("ann")
    bot = register("bot")
    user, device = bot["user_id"], bot["device_id"]
    recovery, opens = recovery_key()
    stage.daemon(CONFIG % (BASE, user, bot["access_token"], recovery))
    stage.connected()
    ann = Ann(stage.path / "ann")
    client = ann.client
    await client.login("password")
    await ann.sync()

    # A direct chat as Element begins it.
    on = {"type": "m.room.encryption", "state_key": "", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}
    made = await client.room_create(
        is_direct=True, invite=[user], preset=nio.RoomPreset.trusted_private_chat, initial_state=[on]
    )
    room = made.room_id
    await ann.until(lambda: room in client.rooms and user in client.rooms[room].users
                    and user not in client.rooms[room].invited_users)
    await ann.say(room, "hello, who are you?")
    await ann.until(lambda: len(ann.answers(room, user)) >= 1)

    # A file that the homeserver can't read.
    content = b"nobody else reads this"
    uploaded, keys = await client.upload(
        io.BytesIO(content), content_type="text/plain", filename="a.txt", encrypt=True, filesize=len(content)
    )
    file = {**keys, "url": uploaded.content_uri}
    info = {"mimetype": "text/plain", "size": len(content)}
    await ann.send(room, {"msgtype": "m.file", "body": "a.txt", "file": file, "info": info})
    await ann.until(lambda: len(ann.answers(room, user)) >= 2)
    kept = [it for it in (stage.path / "home").rglob("*") if it.is_file() and it.read_bytes() == content]
    assert kept, "the file did not arrive"

    # Killed, and spoken to meanwhile: under the key it has, and under a new one.
    for number in range(3):
        stage.kill9()
        await ann.say(room, f"are you there? {number}")
        client.invalidate_outbound_session(room)
        await ann.say(room, f"and now? {number}")
        stage.again()
        stage.connected()
        count = 4 + 2 * number
        await ann.until(lambda: len(ann.answers(room, user)) >= count)
    assert len(ann.answers(room, user)) == 8, ann.answers(room, user)
    assert not ann.unread(user), ann.unread(user)

    # Every key is in the homeserver's backup, and the recovery key opens them by libolm too: those
    # it was given, and its own of each connection.
    until(lambda: len(saved(bot["access_token"], room)) == 8)
    for key in saved(bot["access_token"], room):
        sealed = key["session_data"]
        message = olm.pk.PkMessage(sealed["ephemeral"], sealed["mac"], sealed["ciphertext"])
        opened = json.loads(opens.decrypt(message))
        assert opened["algorithm"] == "m.megolm.v1.aes-sha2", opened["algorithm"]
        olm.InboundGroupSession.import_session(opened["session_key"])

    # Nothing of it is there for others to read.
    path = f"/_matrix/client/v3/rooms/{urllib.parse.quote(room)}/messages?dir=b&limit=500"
    token = {"Authorization": f"Bearer {client.access_token}"}
    events = json.loads(request(BASE + path, headers=token)[1])["chunk"]
    kinds = {it["type"] for it in events if it["sender"] == user and "state_key" not in it}
    assert kinds == {"m.room.encrypted"}, kinds
    for file in (stage.path / "home").glob("insula.db*"):
        for word in (b'"pickle"', b"BEGIN OLM", keys["key"]["k"].encode(), recovery.encode()):
            assert word not in file.read_bytes(), (file, word)
    for file in (stage.path / "home").rglob("agent.db*"):
        assert keys["key"]["k"].encode() not in file.read_bytes(), file

    # What an operator is told, while it runs and while it does not.
    told = stage.insula("doctor").stdout
    assert "encrypted rooms work" in told and device in told, told
    whole = " ".join(told.split())
    assert "0 are yet to go there" in whole and recovery not in whole, told
    fingerprint = client.device_store[user][device].ed25519
    assert fingerprint.replace(" ", "") in told.replace(" ", ""), (fingerprint, told)
    await client.close()
    print("matrix: 8 answers in an encrypted room over 3 kills, none of them readable to the homeserver; 8 keys in its backup")


with Stage() as stage:
    asyncio.run(talk(stage))
