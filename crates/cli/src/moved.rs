//! A home that was copied or moved since it last ran: two daemons with the same accounts would
//! take each other's messages.

use crate::failure::Failure;
use insula_registry::Home;
use insula_registry::home::FileMode;
use std::path::PathBuf;

/// Where the home was when it last ran, below `run`.
const PLACE: &str = "place";

/// Notes where a home was that was made of a backup: the other one may still be there.
pub fn was_at(home: &Home, before: &str) -> Result<(), Failure> {
    Ok(home.write(&home.run().join(PLACE), before.as_bytes(), FileMode::Private)?)
}

/// Notes where the home is; what to say where it was elsewhere before.
pub fn note_place(home: &Home) -> Result<Option<String>, Failure> {
    let file = home.run().join(PLACE);
    let now = home.real_root();
    let Some(text) = now.to_str() else { return Ok(None) };
    let before = home.read(&file)?.map(PathBuf::from).filter(|before| *before != now);
    home.write(&file, text.as_bytes(), FileMode::Private)?;
    Ok(before.and_then(|before| {
        let there = Home::new(&before);
        let place = before.display();
        if !there.is_file(&there.config()) {
            // Moved: nobody is left behind.
            return None;
        }
        let runs = matches!(there.try_lock(), Ok(None));
        Some(match runs {
            true => format!("this home is a copy of {place}, where a daemon runs now: both take messages of the same accounts and tokens; stop one, or give one accounts of its own"),
            false => format!("this home is a copy of {place}; run one of them only, or give one accounts of its own"),
        })
    }))
}
