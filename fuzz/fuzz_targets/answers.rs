//! An answer of a provider comes to the same wherever the network cut it. The first byte says
//! which provider it is.
#![no_main]

use insula_models::fuzzing::answer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let provider = first % 3;
    let whole = answer(provider, usize::MAX, bytes);
    for piece_len in [1, 7] {
        let cut = answer(provider, piece_len, bytes);
        assert_eq!(format!("{whole:?}"), format!("{cut:?}"));
    }
});
