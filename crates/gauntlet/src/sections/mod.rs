//! The sections of the specification, one folder a letter, one file a row or a few.

mod a;
mod b;

use crate::attempt::Section;

/// Every section, in the order of the specification.
pub const SECTIONS: &[Section] = &[a::SECTION, b::SECTION];
