//! What the first start writes into an empty home.

/// The files, by their paths below the home.
pub fn files() -> &'static [(&'static str, &'static str)] {
    &[
        ("config.yaml", include_str!("starter/config.yaml")),
        ("agents/main/SOUL.md", include_str!("starter/main.md")),
        ("agents/coder/SOUL.md", include_str!("starter/coder.md")),
        ("agents/family/SOUL.md", include_str!("starter/family.md")),
    ]
}
