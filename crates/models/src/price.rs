//! What tokens cost. Defaults for well-known models; an operator's own table comes first.
//!
//! The figures are list prices per million tokens as published in November 2025. They age:
//! a home that counts money sets its own.

use crate::event::Usage;

/// Micro-dollars: millionths of a US dollar.
pub type Micros = u64;

/// Tokens a price is given for.
const TOKENS_PRICED: u128 = 1_000_000;

/// The price of one model, in micro-dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Tokens of the question.
    pub input: Micros,
    /// Tokens of the question that came from the provider's cache.
    pub cached_input: Micros,
    /// Tokens of the question that were written to the provider's cache.
    pub cache_write: Micros,
    /// Tokens of the answer.
    pub output: Micros,
}

/// Dollars and cents per million tokens, as price lists print them.
const fn cents(input: u64, cached_input: u64, cache_write: u64, output: u64) -> Price {
    const MICROS: u64 = 10_000;
    Price {
        input: input * MICROS,
        cached_input: cached_input * MICROS,
        cache_write: cache_write * MICROS,
        output: output * MICROS,
    }
}

/// Prices by the beginning of the model's name. The longest beginning counts.
const DEFAULTS: &[(&str, Price)] = &[
    ("claude-opus-4-5", cents(500, 50, 625, 2500)),
    ("claude-opus-4", cents(1500, 150, 1875, 7500)),
    ("claude-sonnet-4", cents(300, 30, 375, 1500)),
    ("claude-haiku-4", cents(100, 10, 125, 500)),
    ("gpt-5", Price { cached_input: 125_000, ..cents(125, 0, 125, 1000) }),
    ("gpt-5-mini", Price { cached_input: 25_000, ..cents(25, 0, 25, 200) }),
    ("gpt-5-nano", Price { cached_input: 5_000, ..cents(5, 0, 5, 40) }),
    ("gpt-4.1", cents(200, 50, 200, 800)),
    ("gpt-4.1-mini", cents(40, 10, 40, 160)),
    ("gpt-4.1-nano", Price { cached_input: 25_000, ..cents(10, 0, 10, 40) }),
    ("gpt-4o", cents(250, 125, 250, 1000)),
    ("gpt-4o-mini", Price { cached_input: 75_000, ..cents(15, 0, 15, 60) }),
    ("gemini-2.5-pro", Price { cached_input: 125_000, ..cents(125, 0, 125, 1000) }),
    ("gemini-2.5-flash", cents(30, 3, 30, 250)),
    ("gemini-2.5-flash-lite", cents(10, 1, 10, 40)),
    ("gemini-3-pro", cents(200, 20, 200, 1200)),
    ("gemini-3-flash", cents(50, 5, 50, 300)),
    ("rehearsal", cents(0, 0, 0, 0)),
];

/// The default price of a model, by its name with or without a provider, as in
/// `openrouter/anthropic/claude-sonnet-4.5`. `None` when it is not a well-known one.
pub fn default_price(model: &str) -> Option<Price> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    // Some write the version with a dot.
    let name = if name.starts_with("claude") { name.replace('.', "-") } else { name };
    let fits = DEFAULTS.iter().filter(|(begin, _)| {
        // `gpt-5` is not the beginning of `gpt-50`.
        name.strip_prefix(begin).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    fits.max_by_key(|(begin, _)| begin.len()).map(|(_, price)| *price)
}

/// What `usage` costs, rounded up to the next micro-dollar once, at the end.
pub fn cost(usage: &Usage, price: &Price) -> Micros {
    let cached = usage.cached_input.min(usage.input);
    let written = usage.cache_write.min(usage.input - cached);
    let fresh = usage.input - cached - written;
    let parts = [
        (fresh, price.input),
        (cached, price.cached_input),
        (written, price.cache_write),
        (usage.output, price.output),
    ];
    let total: u128 = parts
        .iter()
        .map(|&(tokens, micros)| u128::from(tokens) * u128::from(micros))
        .fold(0, u128::saturating_add);
    u64::try_from(total.div_ceil(TOKENS_PRICED)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_of_the_name_counts() {
        let input = |model: &str| default_price(model).map(|price| price.input);
        for (model, expected) in [
            ("claude-sonnet-4-5-20250929", Some(3_000_000)),
            ("anthropic/claude-opus-4-1", Some(15_000_000)),
            ("openrouter/anthropic/claude-opus-4.5", Some(5_000_000)),
            ("gpt-5-mini-2025-08-07", Some(250_000)),
            ("gpt-5", Some(1_250_000)),
            ("gpt-50", None),
            ("openai/gpt-4o-mini", Some(150_000)),
            ("gemini-2.5-flash-lite", Some(100_000)),
            ("rehearsal/rehearsal", Some(0)),
            ("llama-3", None),
        ] {
            assert_eq!(input(model), expected, "{model}");
        }
    }

    #[test]
    fn a_cost_is_exact_and_rounded_up_once() {
        let price = Price { input: 3, cached_input: 1, cache_write: 4, output: 15 };
        let usage = Usage { input: 1_000_000, output: 0, ..Usage::default() };
        assert_eq!(cost(&usage, &price), 3);
        let usage = Usage { input: 1, output: 1, ..Usage::default() };
        assert_eq!(cost(&usage, &price), 1, "18 millionths are not nothing");
        let usage = Usage {
            input: 3_000_000,
            cached_input: 1_000_000,
            cache_write: 1_000_000,
            output: 1_000_000,
            reasoning: 500_000,
        };
        assert_eq!(cost(&usage, &price), 3 + 1 + 4 + 15);
        assert_eq!(cost(&Usage::default(), &price), 0);
        let most = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
        let dear = Price { input: u64::MAX, output: u64::MAX, ..price };
        assert_eq!(cost(&most, &dear), u64::MAX);
        let odd = Usage { input: 1, cached_input: 9, cache_write: 9, ..Usage::default() };
        assert_eq!(cost(&odd, &price), 1, "parts above the whole are cut to it");
    }
}
