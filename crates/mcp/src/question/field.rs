//! One value that a form asks for: what may stand there, how it is asked for in words, and what
//! words of a person mean there.

use serde_json::{Map, Number, Value};

/// Longest name, title or description, in characters.
const TEXT_CHARS_MAX: usize = 300;
/// Most values to choose from.
const CHOICES_MAX: usize = 50;

/// Why words are no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong(pub(super) String);

/// One value of a form.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    title: Option<String>,
    description: Option<String>,
    is_needed: bool,
    kind: Kind,
    /// What the server takes where nothing is said.
    default: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Text { min: u64, max: Option<u64>, form: Option<Form> },
    Number { is_whole: bool, min: Option<f64>, max: Option<f64> },
    YesOrNo,
    One(Vec<Choice>),
    Several { of: Vec<Choice>, min: u64, max: Option<u64> },
}

/// What a text has to look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Email,
    Address,
    Date,
    Moment,
}

impl Form {
    fn read(name: &str) -> Option<Self> {
        match name {
            "email" => Some(Self::Email),
            "uri" => Some(Self::Address),
            "date" => Some(Self::Date),
            "date-time" => Some(Self::Moment),
            _ => None,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Email => "an e-mail address",
            Self::Address => "an address such as https://example.org",
            Self::Date => "a date such as 2026-01-31",
            Self::Moment => "a moment such as 2026-01-31T08:00:00Z",
        }
    }

    fn takes(self, text: &str) -> bool {
        let is_date = |text: &str| {
            let parts: Vec<&str> = text.split('-').collect();
            let lens: Vec<usize> = parts.iter().map(|it| it.len()).collect();
            lens == [4, 2, 2] && parts.iter().all(|it| it.bytes().all(|it| it.is_ascii_digit()))
        };
        let is_one_word = !text.contains(char::is_whitespace);
        match self {
            Self::Email => {
                let both = text.split_once('@').filter(|_| is_one_word);
                both.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
            }
            Self::Address => is_one_word && text.contains(':') && !text.starts_with(':'),
            Self::Date => is_date(text),
            Self::Moment => text.split_once(['T', 't']).is_some_and(|(date, time)| {
                is_date(date) && time.bytes().next().is_some_and(|it| it.is_ascii_digit())
            }),
        }
    }
}

/// A value to choose, and what people call it.
#[derive(Debug, Clone, PartialEq)]
struct Choice {
    value: String,
    title: String,
}

/// A server's text on as few characters as a person reads, without what steers a terminal.
pub(super) fn tidy(text: &str, chars_max: usize) -> String {
    let plain = |it: char| if it.is_control() && it != '\n' { ' ' } else { it };
    text.trim().chars().map(plain).take(chars_max).collect()
}

impl Field {
    /// A value by its name and its schema; `None` where it is none that words can give.
    pub(super) fn read(name: &str, schema: &Value, is_needed: bool) -> Option<Self> {
        let text = |member: &str| {
            let text = schema.get(member).and_then(Value::as_str)?;
            Some(tidy(text, TEXT_CHARS_MAX).replace('\n', " "))
        };
        let is_name = |it: char| !it.is_control() && it != ':' && it != '`';
        if name.trim().is_empty() || name.len() > TEXT_CHARS_MAX || !name.chars().all(is_name) {
            return None;
        }
        let whole = |member: &str| schema.get(member).and_then(Value::as_u64);
        let kind = match schema.get("type").and_then(Value::as_str)? {
            "string" => match choices(schema)? {
                some if !some.is_empty() => Kind::One(some),
                _ => Kind::Text {
                    min: whole("minLength").unwrap_or(0),
                    max: whole("maxLength"),
                    form: schema.get("format").and_then(Value::as_str).and_then(Form::read),
                },
            },
            "array" => {
                let of = choices(schema.get("items")?)?;
                if of.is_empty() {
                    return None;
                }
                let min = whole("minItems").unwrap_or(0);
                Kind::Several { of, min, max: whole("maxItems") }
            }
            "boolean" => Kind::YesOrNo,
            kind @ ("number" | "integer") => {
                let limit = |member: &str| schema.get(member).and_then(Value::as_f64);
                let is_whole = kind == "integer";
                Kind::Number { is_whole, min: limit("minimum"), max: limit("maximum") }
            }
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            title: text("title"),
            description: text("description"),
            is_needed,
            kind,
            default: schema.get("default").filter(|it| !it.is_null()).cloned(),
        })
    }

    /// All words of it that a person is shown.
    pub(super) fn texts(&self) -> Vec<String> {
        let choices = match &self.kind {
            Kind::One(of) | Kind::Several { of, .. } => of.as_slice(),
            _ => &[],
        };
        let said = [Some(&self.name), self.title.as_ref(), self.description.as_ref()];
        let said = said.into_iter().flatten();
        said.chain(choices.iter().flat_map(|it| [&it.value, &it.title])).cloned().collect()
    }

    pub(super) fn in_words(&self) -> String {
        let listed = |of: &[Choice]| {
            let shown = of.iter().map(|it| match it.title == it.value {
                true => it.value.clone(),
                false => format!("{} ({})", it.value, it.title),
            });
            shown.collect::<Vec<_>>().join(", ")
        };
        let between = |min: Option<String>, max: Option<String>| match (min, max) {
            (Some(min), Some(max)) => format!(" from {min} to {max}"),
            (Some(min), None) => format!(" of at least {min}"),
            (None, Some(max)) => format!(" of at most {max}"),
            (None, None) => String::new(),
        };
        let kind = match &self.kind {
            Kind::Text { form: Some(form), .. } => form.in_words().to_owned(),
            Kind::Text { max: Some(max), .. } => format!("text, {max} characters at the most"),
            Kind::Text { .. } => "text".to_owned(),
            Kind::Number { is_whole, min, max } => {
                let what = if *is_whole { "whole number" } else { "number" };
                let range = between(min.map(|it| it.to_string()), max.map(|it| it.to_string()));
                format!("{what}{range}")
            }
            Kind::YesOrNo => "yes or no".to_owned(),
            Kind::One(of) => format!("one of: {}", listed(of)),
            Kind::Several { of, .. } => format!("some of, with commas between: {}", listed(of)),
        };
        let title = self.title.as_ref().filter(|title| **title != self.name);
        let about = [title, self.description.as_ref()].into_iter().flatten();
        let about: Vec<&str> = about.map(String::as_str).collect();
        let about =
            if about.is_empty() { String::new() } else { format!(": {}", about.join("; ")) };
        // What is sent where nothing is said is no surprise.
        let may = match (&self.default, self.is_needed) {
            (Some(default), _) => format!(", else {}", tidy(&default.to_string(), TEXT_CHARS_MAX)),
            (None, true) => String::new(),
            (None, false) => ", may be left out".to_owned(),
        };
        format!("- `{}` ({kind}{may}){about}", self.name)
    }

    fn is_called(&self, name: &str) -> bool {
        let name = name.trim().trim_start_matches(['-', '*', ' ']).trim_matches('`');
        let title = self.title.as_deref().unwrap_or(&self.name);
        self.name.eq_ignore_ascii_case(name) || title.eq_ignore_ascii_case(name)
    }

    /// The value that words mean here.
    fn value(&self, said: &str) -> Result<Value, Wrong> {
        let said = said.trim();
        let wrong = |why: String| Err(Wrong(format!("`{}` {why}", self.name)));
        match &self.kind {
            Kind::Text { form: Some(form), .. } if !form.takes(said) => {
                wrong(format!("has to be {}", form.in_words()))
            }
            Kind::Text { min, max, .. } => {
                let count = said.chars().count() as u64;
                match max {
                    _ if count < (*min).max(1) => {
                        wrong(format!("needs {} characters at least", (*min).max(1)))
                    }
                    Some(max) if count > *max => wrong(format!("has {max} characters at the most")),
                    _ => Ok(said.into()),
                }
            }
            Kind::Number { is_whole, min, max } => {
                let number = match is_whole {
                    true => said.parse::<i64>().ok().map(Number::from),
                    false => said.parse().ok().and_then(Number::from_f64),
                };
                let Some(number) = number else {
                    let what = if *is_whole { "a whole number" } else { "a number" };
                    return wrong(format!("has to be {what}"));
                };
                let at = number.as_f64().unwrap_or_default();
                if min.is_some_and(|min| at < min) {
                    return wrong(format!("is {} at least", min.unwrap_or_default()));
                }
                if max.is_some_and(|max| at > max) {
                    return wrong(format!("is {} at the most", max.unwrap_or_default()));
                }
                Ok(Value::Number(number))
            }
            Kind::YesOrNo => match said.trim_end_matches(['.', '!']).to_lowercase().as_str() {
                "yes" | "y" | "true" | "ok" | "okay" => Ok(true.into()),
                "no" | "n" | "false" => Ok(false.into()),
                _ => wrong("is yes or no".to_owned()),
            },
            Kind::One(of) => match chosen(of, said) {
                Some(choice) => Ok(choice.value.clone().into()),
                None => wrong("is one of those that are named".to_owned()),
            },
            Kind::Several { of, min, max } => {
                let mut values: Vec<Value> = Vec::new();
                for said in said.split([',', '\n']).filter(|it| !it.trim().is_empty()) {
                    let Some(choice) = chosen(of, said) else {
                        return wrong("are some of those that are named".to_owned());
                    };
                    let value = Value::from(choice.value.clone());
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                let count = values.len() as u64;
                match max {
                    _ if count < *min => wrong(format!("are {min} at least")),
                    Some(max) if count > *max => wrong(format!("are {max} at the most")),
                    _ => Ok(values.into()),
                }
            }
        }
    }
}

fn chosen<'c>(of: &'c [Choice], said: &str) -> Option<&'c Choice> {
    let said = said.trim().trim_matches('`');
    of.iter().find(|it| it.value == said).or_else(|| {
        let is = |it: &&Choice| {
            it.value.eq_ignore_ascii_case(said) || it.title.eq_ignore_ascii_case(said)
        };
        of.iter().find(is)
    })
}

/// What may be chosen by a schema; nothing where anything may stand there, `None` where it can't
/// be told or is too much.
fn choices(schema: &Value) -> Option<Vec<Choice>> {
    let text = |it: &Value| Some(tidy(it.as_str()?, TEXT_CHARS_MAX).replace('\n', " "));
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    if let Some(titled) = titled.filter(|it| it.len() <= CHOICES_MAX) {
        let read = |it: &Value| {
            let value = it.get("const")?.as_str()?.to_owned();
            let title = it.get("title").and_then(text).unwrap_or_else(|| value.clone());
            Some(Choice { value, title })
        };
        return titled.iter().map(read).collect();
    }
    if titled.is_some() {
        return None;
    }
    let Some(values) = schema.get("enum") else { return Some(Vec::new()) };
    let values = values.as_array().filter(|it| it.len() <= CHOICES_MAX)?;
    let titles = schema.get("enumNames").and_then(Value::as_array);
    let read = |(at, value): (usize, &Value)| {
        let value = value.as_str()?.to_owned();
        let title = titles.and_then(|it| it.get(at)).and_then(text);
        Some(Choice { title: title.unwrap_or_else(|| value.clone()), value })
    };
    values.iter().enumerate().map(read).collect()
}

/// The values that a person's words give to fields.
pub(super) fn values(fields: &[Field], said: &str) -> Result<Map<String, Value>, Wrong> {
    let mut given = Map::new();
    for (field, said) in parted(fields, said)? {
        given.insert(field.name.clone(), field.value(&said)?);
    }
    for field in fields.iter().filter(|it| !given.contains_key(&it.name)).collect::<Vec<_>>() {
        match &field.default {
            Some(default) => drop(given.insert(field.name.clone(), default.clone())),
            None if field.is_needed => return Err(Wrong(format!("`{}` is missing", field.name))),
            None => {}
        }
    }
    Ok(given)
}

/// A line cut before every name that stands behind a comma: people write them beside each other as
/// well. What else has commas in it, such as a list, stays whole.
fn one_each(line: &str, is_named: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    if is_named(line) {
        for (at, mark) in line.match_indices([',', ';']) {
            let behind = at + mark.len();
            if is_named(&line[behind..]) {
                pieces.push(&line[from..at]);
                from = behind;
            }
        }
    }
    pieces.push(&line[from..]);
    pieces
}

/// The only field that has to be given, of several.
pub(super) fn only_needed(fields: &[Field]) -> Option<&Field> {
    let mut needed = fields.iter().filter(|field| field.is_needed && field.default.is_none());
    needed.next().filter(|_| needed.next().is_none())
}

/// Which words are for which field.
fn parted<'f>(fields: &'f [Field], said: &str) -> Result<Vec<(&'f Field, String)>, Wrong> {
    let named = |line: &str| {
        line.match_indices([':', '=']).find_map(|(at, mark)| {
            let field = fields.iter().find(|field| field.is_called(&line[..at]))?;
            Some((field, line[at + mark.len()..].trim().to_owned()))
        })
    };
    if let [one] = fields {
        // By its name or without: a time has a colon as well.
        return Ok(vec![named(said).unwrap_or_else(|| (one, said.to_owned()))]);
    }
    if let Some(only) = only_needed(fields)
        && !said.lines().any(|line| named(line).is_some())
    {
        return Ok(vec![(only, said.to_owned())]);
    }
    let mut parted: Vec<(&Field, String)> = Vec::new();
    let lines = said.lines().flat_map(|line| one_each(line, |piece| named(piece).is_some()));
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let named = named(line);
        let twice =
            named.as_ref().filter(|(it, _)| parted.iter().any(|(of, _)| of.name == it.name));
        if let Some((field, _)) = twice {
            return Err(Wrong(format!("`{}` is there twice", field.name)));
        }
        match (named, parted.last_mut()) {
            (Some(some), _) => parted.push(some),
            // A text may go on in the next line.
            (None, Some((field, text))) if matches!(field.kind, Kind::Text { .. }) => {
                text.push('\n');
                text.push_str(line.trim());
            }
            (None, _) => {
                let names: Vec<String> = fields.iter().map(|it| format!("`{}`", it.name)).collect();
                let line: String = line.chars().take(60).collect();
                return Err(Wrong(format!(
                    "`{line}` is no line `name: value` of {}",
                    names.join(", ")
                )));
            }
        }
    }
    // What nothing is said of is left out.
    parted.retain(|(field, text)| field.is_needed || !text.is_empty());
    Ok(parted)
}
