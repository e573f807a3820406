//! Which elements a page hides from the people who look at it, as far as a style says so
//! plainly. A page that hides by script or by colours is not found out.

use std::collections::HashSet;

/// Names a page may hide by; more is no page but an attempt.
const NAMES_MAX: usize = 2_000;

/// Classes and ids that a page's styles hide.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HiddenNames {
    names: HashSet<String>,
}

impl HiddenNames {
    /// Reads one style sheet. Rules inside `@media` and its like are for another occasion, and
    /// a selector of several parts may not apply: both are left alone.
    pub(super) fn read(&mut self, sheet: &str) {
        let mut depth = 0_usize;
        let (mut selector, mut body) = (String::new(), String::new());
        let mut chars = sheet.chars().peekable();
        while let Some(next) = chars.next() {
            match next {
                '/' if chars.peek() == Some(&'*') => {
                    let mut before = ' ';
                    chars.next();
                    for it in chars.by_ref() {
                        if before == '*' && it == '/' {
                            break;
                        }
                        before = it;
                    }
                }
                '{' => {
                    depth += 1;
                    body.clear();
                }
                '}' => {
                    if depth == 1 && hides(&body) {
                        selector.split(',').for_each(|it| self.add(it.trim()));
                    }
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        selector.clear();
                    }
                }
                ';' if depth == 0 => selector.clear(),
                it if depth == 0 => selector.push(it),
                it if depth == 1 => body.push(it),
                _ => {}
            }
        }
    }

    fn add(&mut self, selector: &str) {
        let is_name = |it: char| it.is_alphanumeric() || it == '-' || it == '_';
        let plain = selector.strip_prefix(['.', '#']).is_some_and(|it| it.chars().all(is_name));
        if plain && self.names.len() < NAMES_MAX {
            self.names.insert(selector.to_owned());
        }
    }

    /// Whether an element with this id and these classes is hidden.
    pub(super) fn hide(&self, id: &str, classes: &str) -> bool {
        let has = |kind: char, name: &str| self.names.contains(&format!("{kind}{name}"));
        !self.names.is_empty()
            && (has('#', id) || classes.split_ascii_whitespace().any(|class| has('.', class)))
    }
}

/// Whether declarations keep an element out of sight.
pub(super) fn hides(declarations: &str) -> bool {
    declarations.split(';').any(|declaration| {
        let squeezed: String = declaration.chars().filter(|it| !it.is_whitespace()).collect();
        let squeezed = squeezed.to_ascii_lowercase();
        let Some((property, value)) = squeezed.split_once(':') else { return false };
        let value = value.trim_end_matches("!important");
        match property {
            "display" => value == "none",
            "visibility" => value == "hidden" || value == "collapse",
            "content-visibility" => value == "hidden",
            "opacity" | "font-size" | "max-height" | "max-width" => is_zero(value),
            "color" | "-webkit-text-fill-color" => value == "transparent",
            "clip" => value.starts_with("rect(0") || value.starts_with("rect(1px,1px,1px"),
            "clip-path" => value == "inset(50%)" || value == "inset(100%)" || value == "circle(0)",
            "left" | "top" | "right" | "bottom" | "text-indent" | "margin-left" | "margin-top" => {
                is_far_away(value)
            }
            "transform" => value == "scale(0)" || value == "scale(0,0)",
            _ => false,
        }
    })
}

fn number(value: &str) -> Option<f32> {
    let end = value.find(|it: char| !(it.is_ascii_digit() || it == '.' || it == '-'));
    value.get(..end.unwrap_or(value.len()))?.parse().ok()
}

fn is_zero(value: &str) -> bool {
    number(value).is_some_and(|it| it.abs() < 0.05)
}

fn is_far_away(value: &str) -> bool {
    let scale = if value.ends_with("em") || value.ends_with('%') { 16.0 } else { 1.0 };
    number(value).is_some_and(|it| it * scale <= -900.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_out_of_sight_is_known() {
        for style in [
            "display:none",
            "color:red; DISPLAY : none !important",
            "visibility: hidden",
            "font-size:0px",
            "opacity: 0.0",
            "position:absolute; left:-9999px",
            "text-indent: -100em",
            "clip: rect(0 0 0 0)",
            "color: transparent",
        ] {
            assert!(hides(style), "{style}");
        }
        for style in ["display:block", "opacity:.9", "left:-3px", "font-size:0.9em", "", ":::;;"] {
            assert!(!hides(style), "{style}");
        }
    }

    #[test]
    fn names_are_taken_from_plain_rules_only() {
        let mut names = HiddenNames::default();
        names.read(
            "@import url(x); .a, #b {display:none} /* .z{display:none} */ .c{color:red}
             @media print { .d {display:none} } .e .f {display:none} p.g{display:none}
             .h{} .i{visibility:hidden",
        );
        let hidden = |class: &str| names.hide("", class);
        assert!(hidden("x a") && names.hide("b", ""));
        for class in ["b", "c", "d", "e", "f", "g", "h", "i", "z", ""] {
            assert!(!hidden(class), "{class}");
        }
    }
}
