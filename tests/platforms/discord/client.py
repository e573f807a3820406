"""discord.py, unchanged, as a bot of the fake Discord: it signs in, offers a command, hears, answers
with a button, reacts, edits, sends a file, answers a press and a command, and comes back after its
socket broke and after the gateway asked it to, without missing anything. What people do, the test
does that started it. Exit code 0: all holds.

    client.py URL TOKEN CHANNEL
"""

import asyncio
import io
import sys

import discord
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route

URL, TOKEN, CHANNEL = sys.argv[1:]
Route.BASE = f"{URL}/api/v10"
DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(URL.replace("http", "ws"))


class View(discord.ui.View):
    @discord.ui.button(label="Yes", custom_id="yes")
    async def yes(self, interaction, _):
        await interaction.response.defer()
        await interaction.followup.send(f"pressed by {interaction.user.name}", ephemeral=True)


class Bot(discord.Client):
    def __init__(self):
        intents = discord.Intents(
            guilds=True, messages=True, reactions=True, message_content=True
        )
        super().__init__(intents=intents)
        self.tree = app_commands.CommandTree(self)
        self.first = None
        self.is_over = False

    async def setup_hook(self):
        @self.tree.command(name="new", description="Begins anew")
        async def new(interaction: discord.Interaction, text: str = ""):
            await interaction.response.defer(ephemeral=True)
            await interaction.edit_original_response(content=f"new {text}")

        assert [it.name for it in await self.tree.sync()] == ["new"]

    async def on_ready(self):
        if self.first is not None:
            return
        channel = self.get_channel(int(CHANNEL))
        assert channel is not None and channel.guild.me.id == self.user.id
        self.first = await channel.send("ready", nonce=12345)
        assert self.first.author == self.user

    async def on_message(self, message):
        if message.author == self.user:
            return
        if message.content == "bye":
            self.is_over = True
            return await self.close()
        if self.user in message.mentions:
            assert message.author.display_name == "Annie", message.author
            assert [it.id for it in message.author.roles[1:]], "she has a role"
            async with message.channel.typing():
                await self.first.edit(content="ready, edited")
            await message.add_reaction("👀")
            await message.reply("heard", view=View())
            file = discord.File(io.BytesIO(b"of a file"), "note.txt")
            return await message.channel.send("see", file=file)
        if message.attachments:
            content = await message.attachments[0].read()
            return await message.channel.send(f"read {content.decode()}")
        kind = "thread" if isinstance(message.channel, discord.Thread) else "channel"
        await message.channel.send(f"{kind}: {message.content}")

    async def on_error(self, event, *_):
        await super().on_error(event)
        sys.exit(f"FAILED: in {event}")


async def main():
    discord.utils.setup_logging()
    bot = Bot()
    async with asyncio.timeout(50):
        await bot.start(TOKEN)
    assert bot.is_over, "it ended before it was told to"


asyncio.run(main())
