//! A large value that the compiler takes as a whole.

use std::borrow::BorrowMut;
use std::ops::{Deref, DerefMut};

/// Keeps a value whose parts nobody has to look at to know that threads may share it.
///
/// Every future that holds a daemon or an agent across an `await` must be shown to be `Send`, and
/// the compiler shows it by going through all that is inside, again for each future and for each
/// layer around it. That was half of what checking three crates took. Here it is shown once,
/// where the value is made.
pub struct Whole<T>(Box<dyn BorrowMut<T> + Send + Sync>);

impl<T: Send + Sync + 'static> Whole<T> {
    pub fn new(value: T) -> Self {
        Self(Box::new(value))
    }
}

impl<T> Deref for Whole<T> {
    type Target = T;

    fn deref(&self) -> &T {
        (*self.0).borrow()
    }
}

impl<T> DerefMut for Whole<T> {
    fn deref_mut(&mut self) -> &mut T {
        (*self.0).borrow_mut()
    }
}
