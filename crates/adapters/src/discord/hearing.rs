//! Events, one by one: what each means for what we know, and which envelopes come of it.

use super::Discord;
use super::buttons::AtOnce;
use super::cursor::{Gap, Resumable};
use super::gateway::{Session, broken};
use super::known::Place;
use super::limits::Route;
use super::reading::{Reader, Scene, Telling, typed};
use super::types::{
    Channel, Entry, Frame, Gone, Guild, Interaction, MemberUpdate, Ready, RemoteReaction,
    ThreadList, is_id,
};
use crate::trouble::Trouble;
use insula_channel::{ConnectFault, Envelope, ReactionChange};
use tokio_util::sync::CancellationToken;

impl Discord {
    pub(super) fn reader<'a>(&'a self, us: &'a super::known::Us) -> Reader<'a> {
        Reader { platform: self.platform, account: &self.account, us }
    }

    /// What a channel is; nothing where Discord does not show it to us.
    pub(super) async fn place(
        &self,
        id: &str,
        stop: &CancellationToken,
    ) -> Result<Option<Place>, ConnectFault> {
        if !is_id(id) {
            return Ok(None);
        }
        if let Some(place) = self.known().places.get(id) {
            return Ok(Some(place.clone()));
        }
        let asked = self.api.get(Route::of("GET channel", id), format!("/channels/{id}"), stop);
        let channel: Channel = match asked.await {
            Ok(channel) => channel,
            Err(trouble) if trouble.is_no() => return Ok(None),
            Err(trouble) => return Err(trouble.into_fault()),
        };
        Ok(self.keep_place(&channel).filter(|place| &*place.id == id))
    }

    fn keep_place(&self, channel: &Channel) -> Option<Place> {
        let place = Place::of(channel).filter(|_| is_id(&channel.id))?;
        self.known().places.insert(place.id.clone(), place.clone());
        Some(place)
    }

    /// Remembers where files lie, until their addresses are no longer good.
    pub(super) fn keep_files(&self, entry: &Entry) {
        let passed = entry.message_snapshots.iter().flat_map(|it| &it.message.attachments);
        let mut known = self.known();
        for file in entry.attachments.iter().chain(passed).filter(|file| is_id(&file.id)) {
            known.files.insert(file.id.as_str().into(), file.url.as_str().into());
        }
    }
}

impl Session<'_> {
    /// Takes an event in.
    pub(super) async fn take_in(&mut self, frame: &Frame<'_>) -> Result<(), ConnectFault> {
        // Whatever has no number is no event of the gateway's.
        let (Some(number), Some(name)) = (frame.s, frame.t.as_deref()) else { return Ok(()) };
        if name == "READY" {
            return self.ready(frame, number).await;
        }
        self.is_live();
        match &mut self.position.session {
            // It was heard before.
            Some(session) if number <= session.number => return Ok(()),
            // Noted with what it brings, and not before that was taken.
            Some(_) => {}
            None => return Ok(()),
        }
        let was_open = self.gap.is_open(self.us.clock.elapsed());
        let envelopes = self.envelopes(name, frame, number).await?;
        if let Some(session) = &mut self.position.session {
            session.number = number;
        }
        let is_closed = was_open && !self.gap.is_open(self.us.clock.elapsed());
        match is_closed || name == "RESUMED" {
            true if envelopes.is_empty() => self.note().await,
            _ => self.hand_over(envelopes).await,
        }
    }

    /// A session begins.
    async fn ready(&mut self, frame: &Frame<'_>, number: u64) -> Result<(), ConnectFault> {
        let Some(ready) = frame.read::<Ready>() else {
            return Err(broken("the gateway begins a session that makes no sense"));
        };
        if *ready.user.id != *self.who.id {
            return Err(broken("the gateway takes us for another bot"));
        }
        self.is_live();
        let guilds = ready.guilds.into_iter().map(|guild| guild.id).filter(|id| is_id(id));
        let now = self.us.clock.elapsed();
        self.gap = Gap::begin(self.position.gap(), guilds.collect(), now);
        let (id, url) = (ready.session_id, ready.resume_gateway_url);
        self.position.session = Some(Resumable { id, url, number });
        self.catch_up_direct().await?;
        if self.gap.is_open(self.us.clock.elapsed()) {
            return Ok(());
        }
        self.note().await
    }

    /// The envelopes of an event.
    async fn envelopes(
        &mut self,
        name: &str,
        frame: &Frame<'_>,
        number: u64,
    ) -> Result<Vec<Envelope>, ConnectFault> {
        let one = match name {
            "MESSAGE_CREATE" => match frame.read::<Entry>().filter(Entry::is_sound) {
                Some(entry) => self.said(&entry).await?,
                None => None,
            },
            // Discord tells also of previews that it put below a message.
            "MESSAGE_UPDATE" => match frame.read::<Entry>().filter(Entry::is_sound) {
                Some(entry) if !entry.edited_timestamp.is_empty() => {
                    self.entry(&entry, Telling::Edited).await?
                }
                _ => None,
            },
            "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK" => return self.deleted(frame).await,
            "MESSAGE_REACTION_ADD" => self.reaction(frame, ReactionChange::Put, number).await?,
            "MESSAGE_REACTION_REMOVE" => {
                self.reaction(frame, ReactionChange::Taken, number).await?
            }
            "INTERACTION_CREATE" => {
                match frame.read::<Interaction>().filter(Interaction::is_sound) {
                    Some(interaction) => self.interaction(&interaction).await?,
                    None => None,
                }
            }
            "GUILD_CREATE" => {
                if let Some(guild) = frame.read::<Guild>().filter(|it| !it.unavailable) {
                    self.guild(guild).await?;
                }
                None
            }
            "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE" => {
                if let Some(channel) = frame.read::<Channel>() {
                    self.us.keep_place(&channel);
                }
                None
            }
            "THREAD_LIST_SYNC" => {
                if let Some(ThreadList { guild_id, threads }) = frame.read() {
                    for thread in threads {
                        let guild_id = guild_id.clone();
                        self.us.keep_place(&Channel { guild_id, ..thread });
                    }
                }
                None
            }
            "CHANNEL_DELETE" | "THREAD_DELETE" => self.gone(frame),
            "GUILD_DELETE" => return Ok(self.thrown_out(frame, number)),
            "GUILD_MEMBER_UPDATE" => {
                if let Some(update) = frame.read::<MemberUpdate>()
                    && *update.user.id == *self.who.id
                    && is_id(&update.guild_id)
                {
                    self.us.known().roles.insert(update.guild_id.into(), update.roles);
                }
                None
            }
            _ => None,
        };
        Ok(one.into_iter().collect())
    }

    /// A server tells what is on it.
    async fn guild(&mut self, guild: Guild) -> Result<(), ConnectFault> {
        if !is_id(&guild.id) {
            return Ok(());
        }
        for channel in guild.channels.iter().chain(&guild.threads) {
            let guild_id = guild.id.clone();
            self.us.keep_place(&Channel { guild_id, ..channel.clone() });
        }
        let is_us = |it: &&super::types::Member| {
            it.user.as_ref().is_some_and(|user| *user.id == *self.who.id)
        };
        if let Some(member) = guild.members.iter().find(is_us) {
            let roles = member.roles.clone();
            self.us.known().roles.insert(guild.id.as_str().into(), roles);
        }
        self.catch_up_guild(&guild).await
    }

    async fn said(&mut self, entry: &Entry) -> Result<Option<Envelope>, ConnectFault> {
        let envelope = self.entry(entry, Telling::Said).await?;
        self.position.took(&entry.id, self.us.clock.now().as_millis());
        if let Some(envelope) = &envelope
            && envelope.address.chat_type == insula_domain::ChatType::Dm
        {
            self.position.talked(&entry.channel_id);
        }
        Ok(envelope)
    }

    async fn entry(
        &self,
        entry: &Entry,
        telling: Telling,
    ) -> Result<Option<Envelope>, ConnectFault> {
        if *entry.author.id == *self.who.id && !entry.is_of_webhook() {
            return Ok(None);
        }
        let Some(place) = self.us.place(&entry.channel_id, self.stop).await? else {
            return Ok(None);
        };
        let roles = self.own_roles(&place, entry).await?;
        let scene =
            Scene { place: &place, user: Some(&entry.author), member: entry.member.as_ref() };
        self.us.keep_files(entry);
        Ok(self.us.reader(&self.who).entry(scene, entry, telling, &roles))
    }

    /// Our roles where a message mentions some.
    pub(super) async fn own_roles(
        &self,
        place: &Place,
        entry: &Entry,
    ) -> Result<Vec<String>, ConnectFault> {
        let Some(guild) = place.guild.as_deref().filter(|_| !entry.mention_roles.is_empty()) else {
            return Ok(vec![]);
        };
        if let Some(roles) = self.us.known().roles.get(guild) {
            return Ok(roles.clone());
        }
        let member = self.member(guild, &self.who.id).await?;
        let roles = member.map(|member| member.roles).unwrap_or_default();
        self.us.known().roles.insert(guild.into(), roles.clone());
        Ok(roles)
    }

    async fn deleted(&self, frame: &Frame<'_>) -> Result<Vec<Envelope>, ConnectFault> {
        let Some(gone) = frame.read::<Gone>() else { return Ok(vec![]) };
        let Some(place) = self.us.place(&gone.channel_id, self.stop).await? else {
            return Ok(vec![]);
        };
        let now = self.us.clock.now().as_millis();
        let reader = self.us.reader(&self.who);
        let all = std::iter::once(&gone.id).chain(&gone.ids).filter(|id| {
            let known = self.us.known();
            is_id(id) && known.ours.get(id.as_str()).is_none()
        });
        Ok(all.filter_map(|id| reader.deleted(&place, id, now)).collect())
    }

    async fn reaction(
        &self,
        frame: &Frame<'_>,
        change: ReactionChange,
        number: u64,
    ) -> Result<Option<Envelope>, ConnectFault> {
        let Some(reaction) = frame.read::<RemoteReaction>() else { return Ok(None) };
        if !is_id(&reaction.user_id) {
            return Ok(None);
        }
        let Some(place) = self.us.place(&reaction.channel_id, self.stop).await? else {
            return Ok(None);
        };
        // Who takes one away is told by their id alone.
        let member = reaction.member.as_ref();
        let user = member
            .and_then(|it| it.user.clone())
            .unwrap_or(super::types::User { id: reaction.user_id.clone(), ..Default::default() });
        if user.id != reaction.user_id {
            return Ok(None);
        }
        let is_ours = match self.us.known().ours.get(reaction.message_id.as_str()) {
            Some(()) => Some(true),
            None if reaction.message_author_id.is_empty() => None,
            None => Some(*reaction.message_author_id == *self.who.id),
        };
        let session = self.position.session.as_ref().map(|it| it.id.as_str()).unwrap_or_default();
        let event = format!("{session}/{number}");
        let scene = Scene { place: &place, user: Some(&user), member };
        let now = self.us.clock.now().as_millis();
        Ok(self.us.reader(&self.who).reaction(scene, &reaction, event, (change, is_ours, now)))
    }

    /// A button was pressed or a command used. Discord gives three seconds to answer that, so it is
    /// answered before anybody takes it; what comes of it comes later.
    async fn interaction(
        &mut self,
        interaction: &Interaction,
    ) -> Result<Option<Envelope>, ConnectFault> {
        let us = self.us;
        let data =
            us.marks.unmarked(&us.account, &interaction.channel_id, &interaction.data.custom_id);
        let how = match (interaction.kind, data) {
            (2, _) => AtOnce::Thinking,
            (3, Some(_)) => AtOnce::Heard,
            (3, None) => AtOnce::NoLonger,
            _ => return Ok(None),
        };
        us.answer(interaction, how).await;
        let Some(place) = us.place(&interaction.channel_id, self.stop).await? else {
            return Ok(None);
        };
        let member = interaction.member.as_ref();
        let user = member.and_then(|it| it.user.as_ref()).or(interaction.user.as_ref());
        let Some(user) = user.filter(|user| is_id(&user.id)) else { return Ok(None) };
        let scene = Scene { place: &place, user: Some(user), member };
        let reader = us.reader(&self.who);
        match (how, data) {
            (AtOnce::Thinking, _) => {
                us.echo(interaction, &self.who.application, &typed(interaction)).await;
                Ok(reader.command(scene, interaction))
            }
            (AtOnce::Heard, Some(data)) => {
                let (press, token) = (interaction.id.as_str(), interaction.token.as_str());
                us.known().presses.insert(press.into(), token.into());
                Ok(reader.press(scene, interaction, data))
            }
            _ => Ok(None),
        }
    }

    /// We are no longer on a server: in none of the places of it that we know. One that can't be
    /// reached for the time being is told of in the same way, and says so.
    fn thrown_out(&self, frame: &Frame<'_>, number: u64) -> Vec<Envelope> {
        let guild = frame.read::<Guild>().filter(|it| !it.unavailable && is_id(&it.id));
        let Some(guild) = guild else { return vec![] };
        let mut known = self.us.known();
        known.roles.remove(guild.id.as_str());
        let is_there = |place: &&Place| place.guild.as_deref() == Some(guild.id.as_str());
        let places: Vec<Place> = known.places.values().filter(is_there).cloned().collect();
        for place in &places {
            known.places.remove(&place.id);
        }
        drop(known);
        // It may happen again.
        let session = self.position.session.as_ref().map(|it| it.id.as_str()).unwrap_or_default();
        let (reader, now) = (self.us.reader(&self.who), self.us.clock.now().as_millis());
        let event = |place: &Place| format!("{}/gone/{session}/{number}", place.id);
        places.iter().filter_map(|place| reader.removed(place, event(place), now)).collect()
    }

    /// A channel or thread is gone.
    fn gone(&self, frame: &Frame<'_>) -> Option<Envelope> {
        let channel = frame.read::<Channel>()?;
        let place = self.us.known().places.remove(channel.id.as_str())?;
        self.us.reader(&self.who).gone(&place, self.us.clock.now().as_millis())
    }
}

impl Discord {
    /// Who we are, asking Discord.
    pub(super) async fn learn_us(
        &self,
        stop: &CancellationToken,
    ) -> Result<(super::known::Us, super::types::Application), Trouble> {
        let route = Route::of("GET me", "");
        let me: super::types::User = self.api.get(route, "/users/@me".to_owned(), stop).await?;
        let asked = self.application("/applications/@me", stop).await;
        let application = match asked {
            // Who plays Discord may know the older name alone.
            Err(trouble) if trouble.is_no() => {
                self.application("/oauth2/applications/@me", stop).await?
            }
            asked => asked?,
        };
        if !is_id(&me.id) || !is_id(&application.id) {
            let what = "Discord does not say who we are".to_owned();
            return Err(Trouble::Wire(insula_wire::WireFault::Garbage { what }));
        }
        let us = super::known::Us {
            id: me.id.into(),
            username: me.username.into(),
            application: application.id.as_str().into(),
            hears_content: application.flags & super::MAY_HEAR_CONTENT != 0,
        };
        self.known().us = Some(us.clone());
        Ok((us, application))
    }

    async fn application(
        &self,
        path: &str,
        stop: &CancellationToken,
    ) -> Result<super::types::Application, Trouble> {
        self.api.get(Route::of("GET application", ""), path.to_owned(), stop).await
    }
}
