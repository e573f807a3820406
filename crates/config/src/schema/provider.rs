//! The keys of a model provider, and of one of its models.

use crate::rules;
use crate::shape::{Field, Object, Problem, Shape, Shape::*, TextRule};

/// The name of a model as its provider knows it.
static MODEL_NAME: TextRule = TextRule {
    what: "the name of a model",
    pattern: "^\\S+$",
    check: |text| match text.is_empty() || text.len() > 200 || text.contains(char::is_whitespace) {
        true => Err(Problem::new("expected the name of a model, without blanks")
            .help("write it as it stands after `provider/`")),
        false => Ok(()),
    },
};

/// A model provider of the house. One that is not built in has to say its kind.
pub static PROVIDER: Object = Object { required: &[], fields: &FIELDS };

/// A model provider of one agent, which nobody else uses.
pub static PROVIDER_OF_AGENT: Object = Object { required: &[], fields: &FIELDS_OF_AGENT };

/// One of its models: what is set here comes before what is set for all.
static MODEL: Object = Object { required: &[], fields: &OF_A_MODEL };

static MODEL_SHAPE: Shape = Object(&MODEL);
static HEADER_SHAPE: Shape = Text(&rules::HEADER_VALUE);
static AGENT_SHAPE: Shape = Text(&rules::AGENT);

const KIND: Field = Field::new(
    "kind",
    Choice(&["openai", "anthropic", "ollama", "rehearsal"]),
    "Which protocol it speaks.",
)
.default("that of a built-in provider; others need it");
const BASE_URL: Field = Field::new("base_url", Text(&rules::URL), "Where it is.")
    .default("the address of a built-in provider");
const MODELS: Field = Field::new(
    "models",
    Map { keys: &MODEL_NAME, values: &MODEL_SHAPE },
    "Settings of some of its models, by name: any key below. They come before those of the provider.",
);

const OWN: [Field; 5] = [
    KIND,
    BASE_URL,
    Field::new("api_key", Text(&rules::LINE), "`${secret:NAME}`, in the daemon's namespace.")
        .default("of a built-in provider at its own address: `${secret:ANTHROPIC_API_KEY}`, `GOOGLE_API_KEY`, `OPENAI_API_KEY` or `OPENROUTER_API_KEY`"),
    Field::new(
        "agents",
        List(&AGENT_SHAPE),
        "Agents that may use it, their children included; `[]` is nobody.",
    )
    .default("every agent"),
    MODELS,
];

const OWN_OF_AGENT: [Field; 4] = [
    KIND,
    BASE_URL,
    Field::new(
        "api_key",
        Text(&rules::LINE),
        "`${secret:NAME}`, in the agent's namespace. It needs no grant under `secrets`: the agent's programs never see it.",
    )
    .default("of a built-in provider at its own address: the agent's own `ANTHROPIC_API_KEY`, `GOOGLE_API_KEY`, `OPENAI_API_KEY` or `OPENROUTER_API_KEY`"),
    MODELS,
];

const OF_A_MODEL: [Field; 18] = [
    Field::new(
        "headers",
        Map { keys: &rules::HEADER, values: &HEADER_SHAPE },
        "Headers sent to it, beside those of its protocol or in their place; `${secret:NAME}`, in the namespace of whose provider it is.",
    ),
    Field::new(
        "extra_body",
        Map { keys: &rules::LINE, values: &Anything },
        "Members of the JSON of each request, beside ours or in their place; objects are put into objects. Not `model`, `messages`, `system`, `tools` or `stream`, and no secrets.",
    ),
    Field::new("timeout", Object(&TIMEOUT), "How long to wait for it."),
    Field::new(
        "max_tokens",
        Integer { min: 1, max: 10_000_000 },
        "The most tokens of an answer, thoughts included.",
    )
    .default("8192, less for a small window; more for models that think"),
    Field::new(
        "context_window",
        Integer { min: 512, max: 100_000_000 },
        "Tokens that a model can be shown and say at once.",
    )
    .default("what the server tells (llama.cpp, vLLM, Ollama up to 16384, LM Studio), else what is known of the name"),
    Field::new("sees_images", Bool, "Whether it can be shown pictures; else it is told of them.")
        .default("what the server tells, else what is known of the name"),
    Field::new(
        "parallel_calls",
        Bool,
        "Whether one answer may ask for several tools at once. Calls of the past are shown one by one where not.",
    )
    .default("left to the model"),
    Field::new(
        "tool_calls",
        Choice(&["auto", "native", "text"]),
        "How its models call tools: as the protocol has it; as text, with the tools described in words, for a server that knows none; or as the protocol has it and, where the host is not known to read its models' calls itself, as text.",
    )
    .default("`auto`"),
    Field::new(
        "constrained",
        Bool,
        "Whether answers are held to a JSON schema, one call or one reply, where the server does that: llama.cpp, vLLM, LM Studio, Ollama.",
    )
    .default("`false`"),
    Field::new(
        "reasoning_effort",
        Choice(&["off", "low", "medium", "high"]),
        "How hard it thinks before it answers.",
    )
    .default("left to the provider"),
    Field::new("temperature", Amount, "Sampling, 0 to 2.").default("left to the provider"),
    Field::new("top_p", Amount, "Sampling, 0 to 1.").default("left to the provider"),
    Field::new("top_k", Integer { min: 0, max: 1_000_000 }, "Sampling, where it is known.")
        .default("left to the provider"),
    Field::new("min_p", Amount, "Sampling, 0 to 1, where it is known.")
        .default("left to the provider"),
    Field::new("presence_penalty", Amount, "Sampling, 0 to 2, where it is known.")
        .default("left to the provider"),
    Field::new("frequency_penalty", Amount, "Sampling, 0 to 2, where it is known.")
        .default("left to the provider"),
    Field::new(
        "repeat_penalty",
        Amount,
        "Sampling, 0 to 2, as llama.cpp, LM Studio and Ollama call it.",
    )
    .default("left to the provider"),
    Field::new("seed", Integer { min: 0, max: 4_294_967_295 }, "Sampling, where it is known.")
        .default("left to the provider"),
];

const FIELDS: [Field; 23] = joined(&OWN, &OF_A_MODEL);
const FIELDS_OF_AGENT: [Field; 22] = joined(&OWN_OF_AGENT, &OF_A_MODEL);

/// Two lists of keys as one.
const fn joined<const N: usize>(first: &[Field], second: &[Field]) -> [Field; N] {
    assert!(first.len() + second.len() == N);
    let mut all = [first[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}

static TIMEOUT: Object = Object {
    required: &[],
    fields: &[
        Field::new("connect", Text(&rules::DURATION), "For a connection.").default("`10s`"),
        Field::new(
            "first_byte",
            Text(&rules::DURATION),
            "From the question to the beginning of the answer: a local model reads a long prompt for minutes.",
        )
        .default("`5m`"),
        Field::new("idle", Text(&rules::DURATION), "Between two pieces of an answer.")
            .default("`2m`"),
    ],
};
