//! Who is who: a user is a UUID, and the number that some people show is another name for it.

use insula_domain::UserId;

/// An id that is longer is none of Signal's.
const ID_LEN_MAX: usize = 80;

/// Our own account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Us {
    pub(super) number: Option<Box<str>>,
    /// Known once signal-cli has told it.
    pub(super) uuid: Option<Box<str>>,
    /// What people see.
    pub(super) name: Box<str>,
}

impl Us {
    /// The account that the settings name, by number or UUID.
    pub(super) fn named(id: &str) -> Self {
        let id = Some(normal(id).into());
        match is_number(id.as_deref().unwrap_or_default()) {
            true => Self { number: id, ..Self::default() },
            false => Self { uuid: id, ..Self::default() },
        }
    }

    /// Whether this is us.
    pub(super) fn is(&self, person: &Person) -> bool {
        person.ids().any(|id| {
            let is_id = |known: &Option<Box<str>>| known.as_deref() == Some(id);
            is_id(&self.number) || is_id(&self.uuid)
        })
    }
}

/// Somebody, by what the platform calls them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Person {
    /// The UUID; the number of somebody whose UUID is not told.
    pub(super) id: Box<str>,
    /// The number, where the UUID is told too.
    pub(super) number: Option<Box<str>>,
}

impl Person {
    /// Somebody with these ids, if there is one that is an id.
    pub(super) fn new(uuid: Option<&str>, number: Option<&str>) -> Option<Self> {
        let usable = |id: &&str| !id.trim().is_empty() && id.len() <= ID_LEN_MAX;
        let uuid = uuid.filter(usable).map(normal);
        let number = number.filter(usable).map(normal).filter(|id| is_number(id));
        match (uuid, number) {
            (Some(uuid), number) => Some(Self { id: uuid.into(), number: number.map(Into::into) }),
            (None, Some(number)) => Some(Self { id: number.into(), number: None }),
            (None, None) => None,
        }
    }

    pub(super) fn user(&self) -> Option<UserId> {
        UserId::new(&*self.id).ok()
    }

    /// Their other ids.
    pub(super) fn also(&self) -> Vec<UserId> {
        self.number.iter().filter_map(|number| UserId::new(&**number).ok()).collect()
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.id).chain(self.number.as_deref())
    }
}

/// Whether a text has the form of a number: a plus and digits.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default();
    (5..=20).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// An id as it is compared: UUIDs are written in both cases.
fn normal(id: &str) -> String {
    id.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "0F0E0D0C-0000-4000-8000-000000000001";

    #[test]
    fn the_uuid_comes_first_and_the_number_is_another_name() {
        let both = Person::new(Some(UUID), Some("+4915112345")).unwrap();
        assert_eq!(&*both.id, UUID.to_ascii_lowercase());
        assert_eq!(both.also()[0].as_str(), "+4915112345");
        let number = Person::new(None, Some("+4915112345")).unwrap();
        assert_eq!((&*number.id, number.also().len()), ("+4915112345", 0));
        let uuid = Person::new(Some(UUID), Some(UUID)).unwrap();
        assert!(uuid.number.is_none(), "what is no number is no number");
        for nobody in [(None, None), (Some(""), Some(" ")), (None, Some("Ann"))] {
            assert_eq!(Person::new(nobody.0, nobody.1), None, "{nobody:?}");
        }
    }

    #[test]
    fn we_are_known_by_either() {
        let mut us = Us::named("+4915100000");
        let by = |uuid: Option<&str>, number| Person::new(uuid, number).unwrap();
        assert!(us.is(&by(None, Some("+4915100000"))));
        assert!(!us.is(&by(Some(UUID), None)));
        us.uuid = Some(UUID.to_ascii_lowercase().into());
        assert!(us.is(&by(Some(UUID), None)));
        assert!(us.is(&by(Some(UUID), Some("+4915199999"))));
        assert!(Us::named(UUID).is(&by(Some(UUID), None)));
    }
}
