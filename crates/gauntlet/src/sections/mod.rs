//! The sections of the specification, one folder a letter, one file a row or a few.

mod a;
mod b;
pub mod boards;
mod c;
mod d;
mod e;
mod f;
mod i;

use crate::attempt::Section;
use crate::matrix;

/// Every section, in the order of the specification.
pub const SECTIONS: &[Section] = &[
    a::SECTION,
    b::SECTION,
    c::SECTION,
    d::SECTION,
    e::SECTION,
    f::SECTION,
    crate::dojo::SECTION,
    i::SECTION,
    matrix::SECTION,
];
