//! Real recordings of a tone, as encoders of the kinds that chats know wrote them.

/// Three seconds of Opus in Ogg: what most platforms send as a voice memo.
pub const OPUS: &[u8] = include_bytes!("../sounds/opus.ogg");
/// Two seconds of Vorbis in Ogg.
pub const VORBIS: &[u8] = include_bytes!("../sounds/vorbis.ogg");
/// One second and a half.
pub const WAV: &[u8] = include_bytes!("../sounds/tone.wav");
/// Two seconds.
pub const MP3: &[u8] = include_bytes!("../sounds/tone.mp3");
/// Four seconds.
pub const M4A: &[u8] = include_bytes!("../sounds/tone.m4a");
/// Two seconds of AAC without a container.
pub const AAC: &[u8] = include_bytes!("../sounds/tone.aac");
