//! `insula stop` and `insula restart`: the daemon of this home ends in order, or begins anew.

use crate::failure::Failure;
use crate::output;
use crate::process;
use crate::reach::{Occupied, Running, occupied};
use crate::setting::{Answer, Setting};
use serde_json::json;
use std::time::Duration;

/// How long the daemon may take: what it gives requests under way, and then some.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// When whoever waits is told what for.
const TELL_AFTER: Duration = Duration::from_secs(1);

/// Ends the daemon. None running is what was asked for.
pub async fn stop(setting: &Setting) -> Result<u8, Failure> {
    let Setting { home, answer, .. } = setting;
    let Some(running) = daemon(setting).await? else {
        let path = home.root().display().to_string();
        answer.give(&json!({ "stopped": false, "pid": null }), |_| {
            output::line(&format!("no daemon runs in {path}"));
        });
        return Ok(0);
    };
    process::signal(running.pid, process::Told::Stop)?;
    let freed = || Ok(home.try_lock()?.is_some());
    wait(setting, &running, "the daemon ends what is under way", freed).await?;
    answer.give(&json!({ "stopped": true, "pid": running.pid }), |_| {
        output::line(&format!("stopped the daemon, pid {}", running.pid));
    });
    Ok(0)
}

/// Ends the daemon and begins it anew: the same process with the program that is installed now.
pub async fn restart(setting: &Setting) -> Result<u8, Failure> {
    let Setting { home, answer, .. } = setting;
    let Some(running) = daemon(setting).await? else {
        let path = home.root().display();
        return Err(Failure::Failed(format!("no daemon runs in {path}; `insula up` starts one")));
    };
    let now = begin_anew(setting, &running).await?;
    let told = json!({ "pid": now.pid, "listen": now.listen.to_string() });
    answer.give(&told, |_| {
        output::line(&format!("restarted the daemon, pid {}, at http://{}", now.pid, now.listen));
    });
    Ok(0)
}

/// Has a daemon begin anew, and waits until it has.
pub(super) async fn begin_anew(setting: &Setting, running: &Running) -> Result<Running, Failure> {
    let home = &setting.home;
    if !running.restarts {
        return Err(Failure::Failed(format!(
            "the daemon, pid {}, is of a version that can't begin anew; `insula stop` ends it and `insula up` starts it",
            running.pid
        )));
    }
    // Every start makes a new one.
    let before = home.read(&home.admin_token_file())?;
    process::signal(running.pid, process::Told::Restart)?;
    let begun = || {
        let now = home.read(&home.admin_token_file())?;
        Ok(now.is_some() && now != before && home.read(&home.daemon_file())?.is_some())
    };
    wait(setting, running, "the daemon ends what is under way and begins anew", begun).await?;
    daemon(setting).await?.ok_or_else(|| {
        Failure::Failed("the daemon ended and did not come back; its log says why".to_owned())
    })
}

async fn daemon(setting: &Setting) -> Result<Option<Running>, Failure> {
    Ok(match occupied(&setting.home, &setting.world).await? {
        Occupied::Daemon(running) => Some(running),
        Occupied::Free(_) => None,
    })
}

/// Looks until it is so.
async fn wait(
    setting: &Setting,
    running: &Running,
    what: &str,
    is_so: impl Fn() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let clock = &setting.world.clock;
    let start = clock.elapsed();
    let mut told = setting.answer == Answer::Json;
    while !is_so()? {
        let waited = clock.elapsed() - start;
        if waited > PATIENCE {
            return Err(Failure::Failed(format!(
                "the daemon, pid {}, did not within {} s; its log says what it does",
                running.pid,
                PATIENCE.as_secs()
            )));
        }
        if waited > TELL_AFTER && !told {
            told = true;
            output::notice(&format!("{what} …"));
        }
        clock.sleep(LOOK_EVERY).await;
    }
    Ok(())
}
