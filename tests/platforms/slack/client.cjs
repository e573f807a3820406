// Slack's own SDK for Node talks to the fake workspace: it asks who it is, says, edits, reacts, gives a
// file, hears by Socket Mode, and goes to another socket when it is told. Exit code 0: all holds.
//
//   node client.cjs URL BOT_TOKEN APP_TOKEN CHANNEL
'use strict';
const { SocketModeClient } = require('@slack/socket-mode');
const { WebClient, LogLevel } = require('@slack/web-api');

const [url, token, appToken, channel] = process.argv.slice(2);
const fail = (why) => { console.error(`FAILED: ${why}`); process.exit(1); };
const heard = [];
setTimeout(() => fail(`it took too long: ${JSON.stringify(heard)}`), 60000).unref();
const check = (holds, what) => { if (!holds) fail(what); };
const slackApiUrl = `${url}/`;

(async () => {
    const web = new WebClient(token, { slackApiUrl, logLevel: LogLevel.ERROR });
    const us = await web.auth.test();
    check(us.user_id === 'U0BOT' && us.bot_id === 'B0BOT', `who we are: ${JSON.stringify(us)}`);
    check(us.response_metadata.scopes.includes('chat:write'), 'the scopes are told');

    const blocks = [
        { type: 'section', text: { type: 'mrkdwn', text: 'may *I*?' } },
        { type: 'actions', elements: [{ type: 'button', action_id: 'a', value: 'v', text: { type: 'plain_text', text: 'Yes' } }] },
    ];
    const root = await web.chat.postMessage({ channel, text: 'may I?', blocks });
    check(root.message.blocks.length === 2, JSON.stringify(root));
    const reply = await web.chat.postMessage({ channel, text: 'in the thread', thread_ts: root.ts });
    const replies = await web.conversations.replies({ channel, ts: reply.ts });
    check(replies.messages[0].thread_ts === root.ts, JSON.stringify(replies));
    const changed = await web.chat.update({ channel, ts: root.ts, text: 'said', blocks: [] });
    check(changed.text === 'said', JSON.stringify(changed));
    await web.reactions.add({ channel, timestamp: root.ts, name: 'eyes' });
    await web.reactions.remove({ channel, timestamp: root.ts, name: 'eyes' });
    const given = await web.filesUploadV2({
        channel_id: channel, filename: 'a.txt', file: Buffer.from('content of it'), initial_comment: 'see',
    });
    const [file] = given.files[0].files;
    const info = await web.files.info({ file: file.id });
    check(info.file.size === 13, JSON.stringify(info));
    const refusal = await web.users.info({ user: 'UNOBODY' }).catch((error) => error);
    check(refusal.data && refusal.data.error === 'user_not_found', `a refusal: ${refusal}`);

    const socket = new SocketModeClient({ appToken, logLevel: LogLevel.ERROR, clientOptions: { slackApiUrl } });
    const over = new Promise((done) => {
        const take = (kind) => async ({ body, ack }) => {
            await ack();
            const event = body.event || body;
            heard.push(`${kind}: ${event.text || event.command || body.type}`);
            if (event.text === 'that was all') done();
        };
        for (const kind of ['message', 'app_mention', 'reaction_added', 'reaction_removed']) socket.on(kind, take(kind));
        socket.on('interactive', take('interactive'));
        socket.on('slash_commands', take('slash_commands'));
    });
    await socket.start();
    await over;
    const wanted = [
        'message: <@U0BOT> hello', 'app_mention: <@U0BOT> hello', 'interactive: block_actions',
        'slash_commands: new', 'message: by another socket',
    ];
    for (const one of wanted) {
        check(heard.filter((it) => it === one).length === 1, `heard once: ${one} in ${JSON.stringify(heard)}`);
    }
    await socket.disconnect();
    console.log('held');
    process.exit(0);
})().catch((error) => fail(error.stack || error));
