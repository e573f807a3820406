//! Fields of a platform's answer that may be `null` where others leave them out.

use serde::{Deserialize, Deserializer};

/// What is there, or nothing. Beside `#[serde(default)]`, which is for a field that is left out.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}
