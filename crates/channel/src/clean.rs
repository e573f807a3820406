//! What platforms hand over, without what no reader sees.

use crate::envelope::{Envelope, Happening, Message};
use insula_domain::clean::{self, Removed};
use std::borrow::Cow;

impl Envelope {
    /// Makes all that somebody outside wrote into it clean; what was taken out. Ids and handles
    /// are the platform's, and stay.
    pub fn clean(&mut self) -> Removed {
        let mut removed = Removed::default();
        name(&mut self.sender.name, &mut removed);
        if let Happening::Said(message) | Happening::Edited(message) = &mut self.what {
            message.clean(&mut removed);
        }
        if let Happening::Reacted(reaction) = &mut self.what {
            name(&mut reaction.sign, &mut removed);
        }
        removed
    }
}

impl Message {
    fn clean(&mut self, removed: &mut Removed) {
        self.words.clean(removed);
        for attachment in &mut self.attachments {
            name(&mut attachment.name, removed);
            name(&mut attachment.media_type, removed);
        }
        if let Some(quoted) = &mut self.quoted {
            clean::replace(&mut quoted.text, removed);
        }
    }
}

fn name(text: &mut Box<str>, removed: &mut Removed) {
    if let Cow::Owned(cleaned) = clean::clean(text, removed) {
        *text = cleaned.into();
    }
}
