//! A word of a command line, and the lists of words it is looked for in.

/// A word, without its quotes.
#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    /// Its letters. A variable stands in it as it was written.
    pub(super) text: String,
    /// Whether it is only known when it runs.
    pub(super) varies: bool,
    /// Whether a shell makes other words of it (`*`, `{a,b}`).
    pub(super) is_pattern: bool,
}

impl Word {
    /// The text of a word that is no pattern and the same whenever it runs.
    pub(super) fn plain(&self) -> Option<&str> {
        (!self.varies && !self.is_pattern).then_some(&*self.text)
    }
}

/// Whether one of a list's words is this one. `start*` stands for whatever begins so, and
/// `*part*` for whatever is no option and has it.
pub(super) fn is_in(list: &str, text: &str) -> bool {
    list.split(' ').any(|it| match it.strip_suffix('*').map(|it| (it.strip_prefix('*'), it)) {
        Some((Some(part), _)) => !text.starts_with('-') && text.contains(part),
        Some((None, start)) => text.starts_with(start),
        None => it == text && !it.is_empty(),
    })
}

/// Whether an argument is in a list, or one of its options cut short, with a value (`--rec`,
/// `--signal=9`) or among other letters (`-fR`).
pub(super) fn is_option(list: &str, text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    let letters = text.strip_prefix('-').filter(|it| !it.starts_with('-')).unwrap_or_default();
    let is = |option: &str| match option.strip_prefix('-') {
        Some(long) if long.starts_with('-') => name.len() > 3 && option.starts_with(name),
        Some(letter) => letter.len() == 1 && letters.contains(letter),
        None => false,
    };
    is_in(list, text) || list.split_whitespace().any(is)
}

/// Whether one of these options or words stands among the arguments.
pub(super) fn has_option(list: &str, args: &[Word]) -> bool {
    args.iter().any(|arg| is_option(list, &arg.text))
}

/// Arguments that are no options.
pub(super) fn names(args: &[Word]) -> impl DoubleEndedIterator<Item = &Word> {
    args.iter().filter(|arg| !arg.text.starts_with('-'))
}

/// The name of the variable, if a word sets one.
pub(super) fn assigned(source: &str) -> Option<&str> {
    let (left, _) = source.split_once('=')?;
    let left = left.strip_suffix('+').unwrap_or(left);
    let name = left.split_once('[').filter(|_| left.ends_with(']')).map_or(left, |(it, _)| it);
    let is_name = name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    let begins = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
    (is_name && begins).then_some(name)
}
