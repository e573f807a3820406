//! The file tools on real folders: what they answer, what they refuse, and that nothing is
//! lost when several work at once.

mod concurrent;
mod edits;
mod hostile;
mod places;
mod reading;
mod saved_output;
mod searching;
mod seated;
mod support;
