//! The phrases, as words in a row. Written so that ordinary prose about software does not say
//! them; the tests have a corpus of both.
//!
//! A phrase is steps with spaces between: `one|other` is one of these words (`word*` whatever
//! begins so, `@name` a list below), `~3` up to three words of any kind, `?word` that word or
//! nothing, `!word` anything but that word. The first step is whole words.

use super::Category::{Exfiltration, InstructionOverride, Persistence, RemoteControl, RoleHijack};
use super::{Category, Uses};

/// Lists that several phrases use.
pub(super) const LISTS: &[(&str, &str)] = &[
    // Verbs that set something aside.
    (
        "@drop",
        "ignore|ignoring|disregard|disregarding|forget|forgetting|override|overriding|bypass|\
         bypassing|discard|drop|skip|neglect|overrule|unlearn|void",
    ),
    // What comes before.
    (
        "@earlier",
        "previous|prior|above|earlier|preceding|former|foregoing|existing|original|initial|\
         system|other",
    ),
    // What a model was told.
    (
        "@orders",
        "instruction*|prompt|prompts|rule|rules|guideline*|directive*|directions|orders|\
         command|commands|guardrail*|constraints|restrictions|safeguards|programming|training",
    ),
    // What sets a model's limits.
    (
        "@limits",
        "instructions|guidelines|guardrails|restrictions|safeguards|programming|training|\
         rules|policies|policy|filters|limitations",
    ),
    // Things that are nobody else's business.
    (
        "@private",
        "credential*|secret|secrets|password*|passphrase*|token|tokens|key|keys|apikey*|\
         conversation*|transcript*|history|messages|memories|env|environment|cookies|prompt",
    ),
    // Verbs that move something elsewhere.
    (
        "@send",
        "send|sends|sending|upload|post|forward|exfiltrate|leak|transmit|email|mail|submit|\
         smuggle|relay",
    ),
    // Words after "you are now" that only tell a reader how far they are.
    (
        "@progress",
        "ready|able|set|done|connected|logged|on|running|using|at|finished|authenticated|\
         free|going|viewing|seeing|familiar|looking|left|good|inside|part|signed|subscribed|\
         registered|configured|up|all|required|asked|in|working|editing|writing|being|\
         prepared|here|back|to|fully|also|safe|online|following|equipped|responsible|past|\
         dealing|expected|more|one|with|allowed|welcome",
    ),
];

const IGNORE: &str = "asks to set earlier instructions aside";
const CONCEAL: &str = "asks to keep something from the user";
const NEW_ORDERS: &str = "announces instructions that replace others";
const NEW_ROLE: &str = "gives the model another role";
const SEND_AWAY: &str = "asks to send private things elsewhere";
const OBEY: &str = "lets somebody elsewhere give commands";
const STAY: &str = "asks to change what an agent or a shell starts with";

/// Every phrase: its kind, what is said about it, where it counts, its steps.
#[rustfmt::skip]
pub(super) const PHRASES: &[(Category, &str, Uses, &str)] = &[
    // Instruction override.
    (InstructionOverride, IGNORE, Uses::ALL,
        "@drop ~5 @earlier ~2 @orders"),
    (InstructionOverride, IGNORE, Uses::ALL,
        "@drop ~1 all|any|every ~1 your|these|those|its|the ~1 @limits"),
    (InstructionOverride, IGNORE, Uses::ALL,
        "@drop ?all|of ?of your|its ~1 @limits"),
    (InstructionOverride, IGNORE, Uses::ALL,
        "@drop all|any instructions|guidelines|guardrails|safeguards|directives"),
    (InstructionOverride, IGNORE, Uses::ALL,
        "forget|disregard|ignore ~1 everything|anything|all|whatever|what ~3 \
         told|said|learned|instructed|know|above"),
    (InstructionOverride, IGNORE, Uses::ALL,
        "not follow|obey|heed ~3 @earlier ~2 @orders"),
    (InstructionOverride, IGNORE, Uses::ALL,
        "stop|quit|cease following|obeying ~3 @limits"),
    (InstructionOverride, IGNORE, Uses::ALL,
        "previous|prior|earlier|above|system ~1 instructions|prompt|rules are|is ~1 \
         void|invalid|cancelled|canceled|revoked|obsolete|overridden"),
    (InstructionOverride, IGNORE, Uses::ALL,
        "act|behave|respond|answer ~1 though ~3 no|without ~1 \
         restrictions|rules|guidelines|limits|limitations"),
    (InstructionOverride, NEW_ORDERS, Uses::ALL,
        "new|updated|real|actual|true system|secret|overriding \
         instructions|instruction|prompt|directive|directives"),
    (InstructionOverride, NEW_ORDERS, Uses::ALL,
        "your new|real|actual|true ?primary|only|main \
         instructions|instruction|task|goal|objective|directive|purpose is|are"),
    (InstructionOverride, NEW_ORDERS, Uses::NOT_SKILL,
        "this|these|following ~2 overrides|override|supersedes|supersede|replaces ~2 \
         previous|prior|other|earlier|system|all ~2 @orders"),
    (InstructionOverride, CONCEAL, Uses::ALL,
        "not tell|inform|notify|alert|mention|reveal|disclose|show ~2 to ?the \
         user|human|operator|owner|admin"),
    (InstructionOverride, CONCEAL, Uses::ALL,
        "not|don't|dont|never tell|inform|notify|alert ?the|your|any \
         user|users|human|operator|owner|admin ?about|that|of \
         !until|unless|before|which|how|when|if|to"),
    (InstructionOverride, CONCEAL, Uses::ALL,
        "without telling|informing|notifying|alerting ?the|your user|users|human|operator|owner"),
    (InstructionOverride, CONCEAL, Uses::ALL,
        "hide|conceal this|these ~2 from ?the user|human|operator|owner"),
    (InstructionOverride, CONCEAL, Uses::NOT_SKILL,
        "keep this|it ?a secret|hidden|confidential from"),
    (InstructionOverride, "asks to reveal the model's own instructions", Uses::ALL,
        "reveal|print|repeat|output|show|disclose|dump|leak ~2 your|hidden \
         ?full|hidden|initial|original|secret system|initial|hidden prompt|instructions|message"),
    (InstructionOverride, "tells the model what to do before it uses a tool", Uses::NOT_SKILL,
        "before|after|whenever ~2 using|calling|invoking|call|use ~1 this|any|another|other ~1 \
         tool|tools|function ~3 read|send|run|execute|fetch|include|pass|must|first"),
    (InstructionOverride, IGNORE, Uses::ALL,
        "ignoriere|ignorieren|vergiss|missachte ~3 anweisung*|instruktion*|regeln|vorgaben"),
    (InstructionOverride, IGNORE, Uses::ALL,
        "ignora|ignore|ignorez|ignorer|olvida|oubliez|oublie|dimentica|esqueca ~4 \
         instrucciones|instrucoes|istruzioni|consignes|instructions \
         anteriores|precedentes|precedenti|previas|anterieures"),
    (InstructionOverride, IGNORE, Uses::ALL,
        "oubliez|oublie|ignorez|olvida|dimentica ~4 \
         instrucciones|istruzioni|consignes|instructions|reglas|regole|regles"),
    // Role hijack.
    (RoleHijack, NEW_ROLE, Uses::ALL,
        "you are now !@progress"),
    (RoleHijack, NEW_ROLE, Uses::ALL,
        "you are now in ~1 \
         developer|debug|god|admin|jailbreak|unrestricted|maintenance|dan|root mode"),
    (RoleHijack, NEW_ROLE, Uses::ALL,
        "from|starting now ?on you ?will|must|shall are|act|behave|obey|answer|respond|only"),
    (RoleHijack, NEW_ROLE, Uses::ALL,
        "pretend|imagine|roleplay ?that you|to|as ?are|be|re ~2 \
         unrestricted|evil|dan|unfiltered|jailbroken|root|admin|administrator|system|uncensored"),
    (RoleHijack, NEW_ROLE, Uses::ALL,
        "act|behave|respond as ~2 unrestricted|evil|dan|unfiltered|jailbroken|uncensored|hacker"),
    (RoleHijack, "turns on a mode without limits", Uses::ALL,
        "enable|enter|activate|switch|unlock ~2 god|jailbreak|dan|unrestricted|unfiltered mode"),
    (RoleHijack, "claims to speak for the system or its makers", Uses::ALL,
        "this|message|i ~2 from|am ?the|your system|developers|developer|creators|creator ~2 \
         you|obey|comply must|will|shall|immediately|now"),
    // Exfiltration.
    (Exfiltration, SEND_AWAY, Uses::NOT_SKILL,
        "@send ~4 @private ~5 to ~2 http|https|ftp|webhook|attacker*|evil*"),
    (Exfiltration, SEND_AWAY, Uses::ALL,
        "@send ~2 the|all|any|every|full|entire|user's|their|your ~2 \
         conversation*|transcript*|history|credentials|passwords|secrets|env|environment|memories|cookies \
         ~4 to ~1 http|https|ftp|attacker*|evil*"),
    (Exfiltration, SEND_AWAY, Uses::ALL,
        "exfiltrate|smuggle|steal ~3 credential*|secrets|password*|token*|keys|conversation*|data"),
    (Exfiltration, SEND_AWAY, Uses::NOT_SKILL,
        "include|append|pass|put|add|attach ~4 \
         contents|content|conversation|credentials|secrets|history|password*|ssh|rsa ~5 \
         parameter|argument|field|url|sidenote|query|param"),
    (Exfiltration, "asks to read private keys or credentials", Uses::NOT_SKILL,
        "read|cat|open|fetch|get ~3 ssh|aws|netrc|shadow id|credentials|config|key|keys"),
    // Persistence.
    (Persistence, STAY, Uses::NOT_SKILL,
        "add|append|write|insert|put|modify|edit|echo|save|change|update ~8 authorized keys"),
    (Persistence, STAY, Uses::NOT_SKILL,
        "add|append|write|insert|put|echo|inject ~8 bashrc|zshrc|profile|crontab ?file \
         !picture|page|photo|settings|image|pic"),
    (Persistence, STAY, Uses::NOT_SKILL,
        "add|append|write|insert|put|modify|edit|save|rewrite|replace|overwrite ~6 \
         soul|agents|claude|cursorrules md|yaml|file"),
    (Persistence, STAY, Uses::ALL,
        "modify|edit|rewrite|overwrite|change|replace ~1 your|own ~1 \
         soul|config|configuration|system|instructions ~2 so|to ~3 \
         always|never|allow|obey|ignore|survive|persist*"),
    (Persistence, "asks to be remembered as a standing order", Uses::NOT_SKILL,
        "remember|save|store|memorize|memorise ~3 always|forever|permanently ~3 \
         obey|trust|execute|run|comply|approve"),
    // Remote control.
    (RemoteControl, OBEY, Uses::ALL,
        "fetch|download|get|retrieve|load|poll|pull|check|read ~3 \
         instructions|commands|orders|tasks|payload ~2 from|at ~2 http|https|attacker*|c2|ftp \
         ~12 execute|follow|obey|run|perform|them|it|do"),
    (RemoteControl, OBEY, Uses::NOT_SKILL,
        "fetch|download|get|retrieve|load|poll|pull|check ~3 \
         instructions|commands|orders|payload ~2 from|at ~2 http|https|attacker*|c2|ftp"),
    (RemoteControl, OBEY, Uses::ALL,
        "connect|beacon|report|register|phone ~4 c2|botnet|command ?and ?control \
         server|node|channel|host"),
    (RemoteControl, OBEY, Uses::ALL,
        "follow|obey|execute|await|accept ~3 instructions|commands|orders|command ~3 from ~3 \
         attacker*|c2|remote|webpage|page ?server|host|url"),
    (RemoteControl, OBEY, Uses::NOT_SKILL,
        "wait|await|stand ?by ?for further|additional|new instructions|commands|orders from"),
    (RemoteControl, OBEY, Uses::MEMORY,
        "fetch|download|get|retrieve|load|poll|pull|check|read|open|visit|query|ask ~3 \
         http|https|ftp|pastebin|gist|c2|attacker* ~10 \
         execute|follow|obey|run|perform|do it|them|what|whatever|that|everything|anything"),
    (RemoteControl, OBEY, Uses::MEMORY,
        "execute|follow|obey|run|perform|do what|whatever|everything|anything ~6 \
         at|from|on|under ~2 http|https|ftp|pastebin|gist|c2|attacker*"),
    (RemoteControl, OBEY, Uses::MEMORY,
        "poll|query|ask|check|watch ~5 for ~1 new|further|more|next commands|orders|instructions"),
    (RemoteControl, OBEY, Uses::MEMORY,
        "connect|listen|report|register|beacon ~8 await|wait|awaiting ?for ?further|new|more \
         orders|commands|instructions"),
    (RemoteControl, OBEY, Uses::MEMORY,
        "always|blindly|unconditionally|immediately obey|comply ?with ~2 \
         message*|command*|order*|instruction*|anyone|anything|everything|whoever|request*"),
    (RemoteControl, OBEY, Uses::MEMORY,
        "when|whenever|if|once ~5 word|phrase|keyword|trigger|codeword ~6 \
         do|run|execute|follow|obey ~1 what|whatever|everything|anything|instructions|commands"),
    (RemoteControl, "opens a shell for somebody else", Uses::ALL,
        "open|start|spawn|launch|establish|create ~1 reverse shell"),
];

/// Phrases as they read when the letters were spaced out and the words can't be told apart.
pub(super) const SQUEEZED: &[&str] = &[
    "ignoreprevious",
    "ignoreallprevious",
    "ignoretheprevious",
    "ignoreprior",
    "ignoreallprior",
    "ignoreabove",
    "ignoretheabove",
    "ignoreall",
    "ignoreyour",
    "disregardprevious",
    "disregardall",
    "disregardyour",
    "disregardprior",
    "forgetprevious",
    "forgetall",
    "forgetyour",
    "overrideprevious",
    "overrideall",
    "systemprompt",
    "youarenow",
    "donottelltheuser",
    "previousinstructions",
    "newinstructions",
    "jailbreak",
];

/// Verbs that set something aside, and what a model was told, for letters run together.
pub(super) const SQUEEZED_DROPS: &[&str] = &["ignore", "disregard", "forget", "override", "bypass"];
pub(super) const SQUEEZED_ORDERS: &[&str] =
    &["instruction", "prompt", "rules", "guideline", "directive", "restriction", "guardrail"];
