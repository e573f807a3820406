//! The environment that the daemon was started with.

use insula_vault::Secret;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// The variables of the environment, as they were at the start. Cheap to clone.
#[derive(Clone)]
pub struct Environment(Arc<BTreeMap<String, String>>);

impl Environment {
    pub(crate) fn new(variables: BTreeMap<String, String>) -> Self {
        Self(Arc::new(variables))
    }

    /// What `~` stands for; `None` where the process was started without a home.
    pub fn user_home(&self) -> Option<&str> {
        self.0.get("HOME").map(String::as_str)
    }

    /// A variable that holds a secret, or what to do about its absence.
    pub(crate) fn secret(&self, name: &str) -> Result<Secret, String> {
        self.0.get(name).map(|value| Secret::new(value.as_str())).ok_or_else(|| {
            format!("`{name}` is not in the environment: set it before the daemon starts")
        })
    }
}

impl Deref for Environment {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}
