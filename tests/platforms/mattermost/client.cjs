// Mattermost's own client talks to the fake server: it signs in, posts, edits, reacts, hears of all
// of it, and comes back after its socket broke without missing anything. Exit code 0: all holds.
//
//   node client.cjs URL TOKEN CHANNEL
'use strict';
const { Client4, WebSocketClient } = require('@mattermost/client');
const WebSocket = require('ws');
global.WebSocket = WebSocket;
global.CloseEvent = global.CloseEvent || class CloseEvent {
    constructor(type, init) { Object.assign(this, { type }, init); }
};

const [url, token, channel] = process.argv.slice(2);
const fail = (why) => { console.error(`FAILED: ${why}`); process.exit(1); };
setTimeout(() => fail('it took too long'), 30000).unref();
const check = (holds, what) => { if (!holds) fail(what); };

(async () => {
    const client = new Client4();
    client.setUrl(url);
    client.setToken(token);
    const me = await client.getMe();
    check(me.username === 'ann', `who we are: ${JSON.stringify(me)}`);

    const events = [];
    let wanted = null;
    const look = () => { if (wanted && wanted.holds()) { const { done } = wanted; wanted = null; done(); } };
    const until = (holds) => new Promise((done) => { wanted = { holds, done }; look(); });
    const has = (name, text) => events.some((it) => it.event === name && JSON.stringify(it.data).includes(text));

    const socket = new WebSocketClient({
        minWebSocketRetryTime: 50, reconnectJitterRange: 10,
        newWebSocketFn: (address) => new WebSocket(address),
    });
    let missed = 0;
    socket.addMissedMessageListener(() => { missed += 1; });
    socket.addMessageListener((event) => { events.push(event); look(); });
    socket.initialize(`${url.replace('http', 'ws')}/api/v4/websocket`, token);
    await until(() => has('hello', 'connection_id'));

    const post = await client.createPost({ channel_id: channel, message: 'said by its own client' });
    await until(() => has('posted', 'said by its own client'));
    await client.patchPost({ id: post.id, message: 'edited by it' });
    await until(() => has('post_edited', 'edited by it'));
    await client.addReaction(me.id, post.id, 'tada');
    await until(() => has('reaction_added', 'tada'));
    await client.removeReaction(me.id, post.id, 'tada');
    await until(() => has('reaction_removed', 'tada'));
    const list = await client.getPostsSince(channel, 0);
    check(list.posts[post.id].message === 'edited by it', JSON.stringify(list));

    // What is said while the socket is gone comes when it is back, in order and once.
    socket.conn.terminate();
    await client.createPost({ channel_id: channel, message: 'while it was away' });
    await until(() => has('posted', 'while it was away'));
    check(missed === 0, 'the connection was resumed');
    const numbers = events.map((it) => it.seq);
    check(numbers.every((seq, at) => seq === at), `in order: ${numbers}`);

    let refused = null;
    try { await client.getPost('nothing'); } catch (error) { refused = error; }
    check(refused && refused.status_code === 404, `a refusal: ${refused}`);
    socket.close();
    console.log('held');
    process.exit(0);
})().catch((error) => fail(error.stack || error));
