//! What a home is to hold before its daemon starts.

/// A plan of a home.
///
/// Texts may say `{puppet}`, `{telegram}`, `{web}`, `{web_address}`, `{home}` and `{outside}` for
/// the addresses of the servers around, the folder of the home and one beside it, and
/// `{canary:NAME}` for a canary that [`Ground::planted`](super::Ground::planted) gives by the same
/// name.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub(super) top: String,
    pub(super) agents: Vec<(String, String)>,
    pub(super) bindings: Vec<String>,
    pub(super) files: Vec<(String, String)>,
    pub(super) secrets: Vec<(Option<String>, String, String)>,
    pub(super) bots: Vec<(String, String)>,
    pub(super) channels: Vec<String>,
    pub(super) page: String,
    pub(super) follows_edits: bool,
}

impl Plan {
    /// An empty home.
    pub fn new() -> Self {
        Self { page: "a page of the web".to_owned(), ..Self::default() }
    }

    /// Lines at the top level of the configuration.
    #[must_use]
    pub fn top(mut self, lines: &str) -> Self {
        self.top += lines;
        self.top.push('\n');
        self
    }

    /// An agent whose model is the puppet of its name. `settings` is the inside of a flow
    /// mapping: `tools: coding, memory: true`.
    #[must_use]
    pub fn agent(mut self, id: &str, settings: &str) -> Self {
        self.agents.push((id.to_owned(), settings.to_owned()));
        self
    }

    /// A binding, as the inside of a flow mapping: `agent: a, telegram: -100`.
    #[must_use]
    pub fn binding(mut self, rule: &str) -> Self {
        self.bindings.push(rule.to_owned());
        self
    }

    /// A file of the home.
    #[must_use]
    pub fn file(mut self, path: &str, content: &str) -> Self {
        self.files.push((path.to_owned(), content.to_owned()));
        self
    }

    /// A secret of an agent.
    #[must_use]
    pub fn secret(mut self, agent: &str, name: &str, value: &str) -> Self {
        self.secrets.push((Some(agent.to_owned()), name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn daemon_secret(mut self, name: &str, value: &str) -> Self {
        self.secrets.push((None, name.to_owned(), value.to_owned()));
        self
    }

    /// A bot on Telegram, whose account is called by its name. `token` is `<number>:<letters>`.
    #[must_use]
    pub fn bot(mut self, token: &str, name: &str) -> Self {
        self.bots.push((token.to_owned(), name.to_owned()));
        self
    }

    /// A channel beside the bots: `web: {accounts: {site: {}}}`.
    #[must_use]
    pub fn channel(mut self, line: &str) -> Self {
        self.channels.push(line.to_owned());
        self
    }

    /// What the server on the web answers to everything.
    #[must_use]
    pub fn page(mut self, text: &str) -> Self {
        text.clone_into(&mut self.page);
        self
    }

    /// The daemon follows edits of its files.
    #[must_use]
    pub fn following_edits(mut self) -> Self {
        self.follows_edits = true;
        self
    }

    pub(super) fn config(&self, places: &PlanAddresses) -> String {
        // Nobody here says two things in one breath, and an attempt that waits for an answer
        // should not wait for more words. Whose words steer a turn is a wall of its own: it is down
        // here, so that what is attacked is the wall that an attempt is about.
        let mut text = format!(
            "providers: {{puppet: {{kind: openai, base_url: '{}'}}}}\ndefaults: {{sessions: {{quiet: 0s}}, integrity: off}}\n{}",
            places.puppets, self.top
        );
        if !self.agents.is_empty() {
            text += "agents:\n";
        }
        for (id, settings) in &self.agents {
            let comma = if settings.is_empty() { "" } else { ", " };
            text += &format!("  {id}: {{model: puppet/{id}{comma}{settings}}}\n");
        }
        if !self.bots.is_empty() || !self.channels.is_empty() {
            text += "channels:\n";
        }
        for line in &self.channels {
            text += &format!("  {line}\n");
        }
        if !self.bots.is_empty() {
            text += "  telegram:\n    accounts:\n";
        }
        for (token, name) in &self.bots {
            let url = &places.telegram;
            text += &format!("      {name}: {{token: '{token}', base_url: '{url}'}}\n");
        }
        if !self.bindings.is_empty() {
            text += "bindings:\n";
        }
        for rule in &self.bindings {
            text += &format!("  - {{{rule}}}\n");
        }
        text
    }
}

/// Where the things are that a plan can name.
pub(super) struct PlanAddresses {
    pub(super) puppets: String,
    pub(super) telegram: String,
    pub(super) web: String,
    pub(super) home: String,
    pub(super) outside: String,
}

impl PlanAddresses {
    pub(super) fn put_into(&self, text: &str) -> String {
        text.replace("{puppet}", &self.puppets)
            .replace("{telegram}", &self.telegram)
            .replace("{web}", &self.web)
            .replace("{web_address}", self.web.trim_start_matches("http://"))
            .replace("{home}", &self.home)
            .replace("{outside}", &self.outside)
    }
}
