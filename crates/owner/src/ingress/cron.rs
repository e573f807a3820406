//! `/cron`: what somebody in a chat has the agent do by the clock.

use super::typed::{Clerk, Typing};
use insula_registry::jobs::JobWish;
use serde_json::{Map, Value};

const HOW: &str = "/cron list, /cron add WHEN | WHAT, /cron run|pause|resume|remove JOB; WHEN is for example `every weekday at 8:30`, `every 2h` or `tomorrow at 9`";

impl Clerk<'_> {
    /// Carries it out; what is said to whoever typed it.
    pub async fn cron(&self, cx: &Typing<'_>, argument: &str) -> String {
        let (agent, who) = (cx.agent, &cx.who);
        let (verb, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
        let rest = rest.trim();
        let wish = match verb {
            "" | "list" => None,
            "add" => {
                let Some((when, what)) = rest.split_once('|') else { return HOW.to_owned() };
                // What a guest wants done again and again, an admin agrees to: by the tool.
                if !cx.is_admin {
                    return "only an admin may use /cron add; ask me, and an admin is asked".into();
                }
                let mut settings = Map::new();
                settings.insert("schedule".to_owned(), Value::from(when.trim()));
                settings.insert("prompt".to_owned(), Value::from(what.trim()));
                let by = (who, cx.is_chat.then_some(cx.address));
                let added = self.jobs.add_told(agent, by, (None, settings)).await;
                return added.unwrap_or_else(|error| error.to_string());
            }
            "run" => Some(JobWish::Run),
            "pause" => Some(JobWish::Pause),
            "resume" => Some(JobWish::Resume),
            "remove" => Some(JobWish::Remove),
            _ => return HOW.to_owned(),
        };
        let done = match wish {
            None => self.jobs.told(agent, who).await,
            Some(_) if rest.is_empty() => return HOW.to_owned(),
            Some(wish) => self.jobs.do_told(agent, who, (rest, wish)).await,
        };
        done.unwrap_or_else(|error| error.to_string())
    }
}
