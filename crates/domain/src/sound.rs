//! Recorded sound: what some bytes are, and how long they sound, by their own headers. Nothing is
//! decoded, and whatever a file claims costs no more than reading it once.

use std::time::Duration;

/// Sound as it is recorded for chats, or made by a program that speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoundKind {
    /// Ogg with Opus in it: what most platforms show as a voice memo.
    Opus,
    /// Ogg with something else in it.
    Ogg,
    Wav,
    Mp3,
    /// The container of MPEG-4.
    M4a,
    /// AAC without a container.
    Aac,
}

/// How long a sound can be, whatever it says: a day.
const SECONDS_MAX: u64 = 24 * 60 * 60;
/// The clock of Opus, whatever rate it was recorded at.
const OPUS_RATE: u64 = 48_000;
/// How much of a container of MPEG-4 is searched for its length, in boxes.
const BOXES_MAX: usize = 1_000;

impl SoundKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [Self::Opus, Self::Ogg, Self::Wav, Self::Mp3, Self::M4a, Self::Aac];

    /// What some bytes are; `None` for what is no sound that is known here.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [b'O', b'g', b'g', b'S', ..] => {
                Some(if opus_skip(bytes).is_some() { Self::Opus } else { Self::Ogg })
            }
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => Some(Self::Wav),
            [_, _, _, _, b'f', b't', b'y', b'p', ..] => Some(Self::M4a),
            [b'I', b'D', b'3', ..] => Some(Self::Mp3),
            // The two layers of one family: no layer at all is AAC.
            [0xff, second, ..] if second & 0xf6 == 0xf0 => Some(Self::Aac),
            bytes if mp3_frame(bytes).is_some() => Some(Self::Mp3),
            _ => None,
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Opus | Self::Ogg => "audio/ogg",
            Self::Wav => "audio/wav",
            Self::Mp3 => "audio/mpeg",
            Self::M4a => "audio/mp4",
            Self::Aac => "audio/aac",
        }
    }

    /// What names of such files end with.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Opus | Self::Ogg => "ogg",
            Self::Wav => "wav",
            Self::Mp3 => "mp3",
            Self::M4a => "m4a",
            Self::Aac => "aac",
        }
    }

    /// One with this media type, parameters aside.
    pub fn from_media_type(text: &str) -> Option<Self> {
        let plain = text.split(';').next().unwrap_or_default().trim();
        Self::ALL.into_iter().find(|kind| kind.media_type().eq_ignore_ascii_case(plain))
    }
}

/// How long a sound is, as its headers say; `None` where they do not.
pub fn length(bytes: &[u8]) -> Option<Duration> {
    let (units, rate) = match SoundKind::of(bytes)? {
        SoundKind::Opus => {
            let end = last_page(bytes)?;
            (end.saturating_sub(opus_skip(bytes)?), OPUS_RATE)
        }
        SoundKind::Ogg => (last_page(bytes)?, vorbis_rate(bytes)?),
        SoundKind::Wav => wav(bytes)?,
        SoundKind::Mp3 => mp3(bytes)?,
        SoundKind::M4a => m4a(bytes)?,
        SoundKind::Aac => aac(bytes)?,
    };
    if rate == 0 {
        return None;
    }
    let millis = u128::from(units) * 1_000 / u128::from(rate);
    let millis = millis.min(u128::from(SECONDS_MAX * 1_000));
    Some(Duration::from_millis(u64::try_from(millis).ok()?))
}

fn le16(bytes: &[u8], at: usize) -> Option<u64> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(u64::from(u16::from_le_bytes(two.try_into().ok()?)))
}

fn le32(bytes: &[u8], at: usize) -> Option<u64> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u64::from(u32::from_le_bytes(four.try_into().ok()?)))
}

fn be32(bytes: &[u8], at: usize) -> Option<u64> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u64::from(u32::from_be_bytes(four.try_into().ok()?)))
}

fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_be_bytes(eight.try_into().ok()?))
}

/// The first packet of an Ogg file.
fn first_packet(bytes: &[u8]) -> Option<&[u8]> {
    let segments = usize::from(*bytes.get(26)?);
    bytes.get(27 + segments..)
}

/// How many samples of an Opus file are not heard, if it is one.
fn opus_skip(bytes: &[u8]) -> Option<u64> {
    let packet = first_packet(bytes)?;
    if packet.starts_with(b"OpusHead") { le16(packet, 10) } else { None }
}

fn vorbis_rate(bytes: &[u8]) -> Option<u64> {
    let packet = first_packet(bytes)?;
    if packet.starts_with(b"\x01vorbis") { le32(packet, 12) } else { None }
}

/// Where the last page of an Ogg file ends, in samples. A page on which none ends says so by a
/// number that can't be one.
fn last_page(bytes: &[u8]) -> Option<u64> {
    let pages = bytes.windows(4).enumerate().rev().filter(|(_, four)| four == b"OggS");
    pages.map_while(|(at, _)| Some((at, bytes.get(at + 6..at + 14)?))).find_map(|(_, eight)| {
        let granule = u64::from_le_bytes(eight.try_into().ok()?);
        (granule != u64::MAX).then_some(granule)
    })
}

/// Bytes of sound, and bytes of a second.
fn wav(bytes: &[u8]) -> Option<(u64, u64)> {
    let (mut at, mut rate) = (12, None);
    while let (Some(name), Some(length)) = (bytes.get(at..at + 4), le32(bytes, at + 4)) {
        let length = usize::try_from(length).ok()?;
        if name == b"fmt " {
            rate = le32(bytes, at + 16);
        }
        if name == b"data" {
            // A program that did not know yet how much would come wrote more than there is.
            let there = bytes.len().saturating_sub(at + 8);
            return Some((length.min(there) as u64, rate?));
        }
        at = at.checked_add(8)?.checked_add(length)?.checked_add(length % 2)?;
    }
    None
}

/// A frame of MPEG sound at the beginning of some bytes.
struct Mp3Frame {
    length: usize,
    samples: u64,
    rate: u64,
}

/// Kilobits a second, by the index in a frame of the third layer: version 1, and later ones.
const KBITS: [[usize; 15]; 2] = [
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

fn mp3_frame(bytes: &[u8]) -> Option<Mp3Frame> {
    let &[first, second, third, ..] = bytes else { return None };
    // The third layer alone: nobody records the others.
    if first != 0xff || second & 0xe6 != 0xe2 {
        return None;
    }
    let (is_first, halved) = match (second >> 3) & 3 {
        3 => (true, 0),
        2 => (false, 1),
        0 => (false, 2),
        _ => return None,
    };
    let rate = [44_100_u64, 48_000, 32_000].get(usize::from((third >> 2) & 3))? >> halved;
    let kbits = *KBITS[usize::from(!is_first)].get(usize::from(third >> 4))?;
    if kbits == 0 {
        return None;
    }
    let samples = if is_first { 1_152 } else { 576 };
    let padding = usize::from((third >> 1) & 1);
    let length = samples / 8 * kbits * 1_000 / usize::try_from(rate).ok()? + padding;
    Some(Mp3Frame { length, samples: samples as u64, rate })
}

/// Samples of all frames, and those of a second.
fn mp3(bytes: &[u8]) -> Option<(u64, u64)> {
    let mut at = 0;
    if bytes.starts_with(b"ID3") {
        let size = bytes.get(6..10)?;
        at = 10 + size.iter().fold(0_usize, |all, byte| all << 7 | usize::from(byte & 0x7f));
    }
    let (mut samples, mut rate) = (0, None);
    while let Some(frame) = bytes.get(at..).and_then(mp3_frame) {
        samples += frame.samples;
        rate = rate.or(Some(frame.rate));
        at += frame.length.max(1);
    }
    Some((samples, rate?))
}

/// Samples of all frames of bare AAC, and those of a second.
fn aac(bytes: &[u8]) -> Option<(u64, u64)> {
    const RATES: [u64; 13] = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025,
        8_000, 7_350,
    ];
    let (mut at, mut samples, mut rate) = (0, 0, None);
    while let Some(&[0xff, second, third, fourth, fifth, sixth, seventh]) = bytes.get(at..at + 7) {
        if second & 0xf6 != 0xf0 {
            break;
        }
        rate = rate.or(RATES.get(usize::from((third >> 2) & 15)).copied());
        let length =
            usize::from(fourth & 3) << 11 | usize::from(fifth) << 3 | usize::from(sixth >> 5);
        samples += 1_024 * (u64::from(seventh & 3) + 1);
        at += length.max(7);
    }
    Some((samples, rate?))
}

/// The length of a container of MPEG-4, and its clock: from the header of the film that a
/// recording is.
fn m4a(bytes: &[u8]) -> Option<(u64, u64)> {
    let film = boxed(bytes, b"moov")?;
    let header = boxed(film, b"mvhd")?;
    match header.first()? {
        0 => Some((be32(header, 16)?, be32(header, 12)?)),
        1 => Some((be64(header, 24)?, be32(header, 20)?)),
        _ => None,
    }
}

/// What the first box of this name holds.
fn boxed<'b>(bytes: &'b [u8], name: &[u8; 4]) -> Option<&'b [u8]> {
    let mut at = 0_usize;
    for _ in 0..BOXES_MAX {
        let (head, length) = match be32(bytes, at)? {
            0 => (8, bytes.len() - at),
            1 => (16, usize::try_from(be64(bytes, at + 8)?).ok()?),
            length => (8, usize::try_from(length).ok()?),
        };
        let end = at.checked_add(length)?;
        if bytes.get(at + 4..at + 8)? == name {
            return bytes.get(at + head..end.min(bytes.len()));
        }
        if length < head {
            return None;
        }
        at = end;
    }
    None
}

#[cfg(test)]
#[path = "sound_tests.rs"]
mod sound_tests;
