// discord.js, unchanged, as a bot of the fake Discord: as client.py does with discord.py. What people
// do, the test does that started it. Exit code 0: all holds.
//
//   node client.cjs URL TOKEN CHANNEL
'use strict';
const {
    ActionRowBuilder, ButtonBuilder, ButtonStyle, Client, Events, GatewayIntentBits, MessageFlags,
} = require('discord.js');

const [url, token, place] = process.argv.slice(2);
const fail = (why) => { console.error(`FAILED: ${why && why.stack || why}`); process.exit(1); };
setTimeout(() => fail('it took too long'), 60000).unref();
process.on('unhandledRejection', fail);
const check = (holds, what) => { if (!holds) fail(what); };

const client = new Client({
    intents: [
        GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages,
        GatewayIntentBits.GuildMessageReactions, GatewayIntentBits.MessageContent,
    ],
    rest: { api: `${url}/api` },
});
let first = null;

client.once(Events.ClientReady, async () => {
    const channel = client.channels.cache.get(place);
    check(channel && channel.guild, 'the channel is not there');
    const menu = await client.application.commands.set([
        { name: 'new', description: 'Begins anew', options: [{ type: 3, name: 'text', description: 'x' }] },
    ]);
    check(menu.size === 1, 'the menu was not taken');
    first = await channel.send({ content: 'ready', nonce: '12345', enforceNonce: true });
    const again = await channel.send({ content: 'ready', nonce: '12345', enforceNonce: true });
    check(first.id === again.id, 'a key is not recognised');
});

client.on(Events.MessageCreate, async (message) => {
    if (message.author.id === client.user.id) return;
    if (message.content === 'bye') {
        await client.destroy();
        process.exit(0);
    }
    if (message.mentions.users.has(client.user.id)) {
        check(message.member.displayName === 'Annie', 'who she is is not told');
        check(message.member.roles.cache.size === 2, 'she has a role');
        await message.channel.sendTyping();
        await first.edit('ready, edited');
        await message.react('👀');
        const yes = new ButtonBuilder().setCustomId('yes').setLabel('Yes').setStyle(ButtonStyle.Primary);
        await message.reply({ content: 'heard', components: [new ActionRowBuilder().addComponents(yes)] });
        const file = { attachment: Buffer.from('of a file'), name: 'note.txt' };
        await message.channel.send({ content: 'see', files: [file] });
        return;
    }
    if (message.attachments.size) {
        const content = await (await fetch(message.attachments.first().url)).text();
        await message.channel.send(`read ${content}`);
        return;
    }
    const kind = message.channel.isThread() ? 'thread' : 'channel';
    await message.channel.send(`${kind}: ${message.content}`);
});

client.on(Events.InteractionCreate, async (interaction) => {
    if (interaction.isButton()) {
        await interaction.deferUpdate();
        await interaction.followUp({
            content: `pressed by ${interaction.user.username}`, flags: MessageFlags.Ephemeral,
        });
        return;
    }
    await interaction.deferReply({ flags: MessageFlags.Ephemeral });
    await interaction.editReply(`new ${interaction.options.getString('text')}`);
});

client.on(Events.Error, fail);
client.login(token).catch(fail);
