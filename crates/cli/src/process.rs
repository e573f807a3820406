//! What the process was started with: read here, once, and passed on as values.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "start-up: the one place that reads the environment and the process itself, and starts what a person asks for"
)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The environment the process was started with.
#[derive(Debug, Clone)]
pub struct Environment {
    pub variables: BTreeMap<String, String>,
    /// Its process id.
    pub pid: u32,
    /// The program that runs. Read at the start: an upgrade puts another one there.
    pub program: PathBuf,
}

/// Reads the environment. Variables that are not UTF-8 can't be named in a configuration,
/// so they are left out.
pub fn environment() -> Environment {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("insula"));
    Environment { variables: variables.collect(), pid: std::process::id(), program }
}

/// What was typed after the program's name, as it was typed.
pub fn arguments() -> impl Iterator<Item = std::ffi::OsString> {
    std::env::args_os().skip(1)
}

/// Whether an answer for programs is asked for, in words that can't be understood otherwise.
pub fn asks_for_json() -> bool {
    arguments().take_while(|word| word != "--").any(|word| word == "--json")
}

/// Whether somebody typed which home it is, and not the environment alone says so.
pub fn names_home() -> bool {
    let is_home = |word: &OsStr| {
        word == "--home" || word.to_str().is_some_and(|word| word.starts_with("--home="))
    };
    arguments().take_while(|word| word != "--").any(|word| is_home(&word))
}

/// A path that stays the same wherever the process goes.
pub fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    std::path::absolute(path)
}

/// Makes a folder that is outside the home, with those above it, where it is missing.
pub fn make_folder(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(path)
}

/// The programs of a gauntlet's run: this one, and the one that attacks, if it lies beside it.
pub fn gauntlet(program: &Path) -> insula_http::Programs {
    insula_http::Programs {
        insula: program.to_owned(),
        gauntlet: program.with_file_name("insula-gauntlet"),
        is_root: rustix::process::geteuid().is_root(),
    }
}

/// Raises the limit on open files as far as it goes: every open database needs three.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // What can't be raised stays as it is; `insula doctor` tells.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Asks at the terminal for a line that is not shown while it is typed. The terminal is set
/// back whatever happens; Ctrl-C gives up.
pub fn ask_hidden(prompt: &str) -> std::io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    use std::io::{Error, ErrorKind, Read as _, Write as _};
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut hidden = before.clone();
    // Keys one by one and no signals: a signal would end the process with the terminal mute.
    hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    let mut told = std::io::stderr();
    write!(told, "{prompt}")?;
    told.flush()?;
    tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    let mut line = Vec::new();
    let typed = loop {
        let mut key = [0];
        match stdin.lock().read(&mut key) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
            Ok(0) => break Ok(()),
            Ok(_) => match key[0] {
                b'\n' | b'\r' | 0x04 => break Ok(()),
                0x03 => break Err(Error::new(ErrorKind::Interrupted, "given up; nothing was set")),
                // A whole character, not its last byte.
                0x08 | 0x7f => while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
                key => line.push(key),
            },
        }
    };
    tcsetattr(&stdin, OptionalActions::Now, &before)?;
    writeln!(told)?;
    typed?;
    String::from_utf8(line).map_err(|_| Error::new(ErrorKind::InvalidData, "that is not text"))
}

/// Ends the process at once. What is durable is durable; the system lets go of the rest.
pub fn end(code: u8) -> ! {
    std::process::exit(i32::from(code))
}

/// What a daemon is told by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    Stop,
    Restart,
}

/// Tells the daemon with this process id.
pub fn signal(pid: u32, told: Told) -> std::io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = match told {
        Told::Stop => Signal::TERM,
        Told::Restart => Signal::USR2,
    };
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| std::io::Error::other("that is no process id"))?;
    Ok(kill_process(pid, signal)?)
}

/// Becomes the program at this path, with what was typed. Comes back only where it can't.
pub fn begin_anew(program: &Path) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;
    std::process::Command::new(program).args(arguments()).exec()
}

/// Opens the log file of the daemon.
pub fn open_log(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// The whole lines of a file from a place on, at most a mebibyte of them, and where they end. A file
/// that became shorter was begun anew.
pub fn read_from(path: &Path, from: u64) -> std::io::Result<(String, u64)> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    const BYTES_MAX: u64 = 1024 * 1024;
    let mut file = std::fs::File::open(path)?;
    let from = if file.metadata()?.len() < from { 0 } else { from };
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    let is_full = bytes.len() as u64 == BYTES_MAX;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    // A line longer than that is given in pieces, or nobody would get past it.
    bytes.truncate(if whole == 0 && is_full { bytes.len() } else { whole });
    let end = from + bytes.len() as u64;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), end))
}

/// Makes a file that only its owner can read. One that is there is left as it is.
pub fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file =
        std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The lines of a file that somebody gave, none of them longer than this.
pub fn lines(
    path: &Path,
    bytes_max: usize,
) -> std::io::Result<impl Iterator<Item = std::io::Result<String>> + use<>> {
    use std::io::{BufRead as _, Error, ErrorKind, Read as _};
    let mut file = std::io::BufReader::new(std::fs::File::open(path)?);
    Ok(std::iter::from_fn(move || {
        let mut line = Vec::new();
        let part = file.by_ref().take(bytes_max as u64 + 1).read_until(b'\n', &mut line);
        if let Err(error) = part {
            return Some(Err(error));
        }
        if line.is_empty() {
            return None;
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() > bytes_max {
            return Some(Err(Error::new(ErrorKind::InvalidData, "a line of it is too long")));
        }
        let no_text = |_| Error::new(ErrorKind::InvalidData, "it is no text");
        Some(String::from_utf8(line).map_err(no_text))
    }))
}

/// A path without the links in it, where there is something.
pub fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether there is a folder.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// The program of that name that a shell would start.
pub fn program(environment: &Environment, name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let folders = environment.variables.get("PATH")?;
    let mut places = std::env::split_paths(folders).map(|folder| folder.join(name));
    places.find(|place| {
        let found = std::fs::metadata(place);
        place.is_absolute()
            && found.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    })
}

/// A program that goes on when this one ends.
pub struct Beside(std::process::Child);

impl Beside {
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        let ended = self.0.try_wait().ok().flatten();
        ended.map(|status| status.to_string())
    }
}

/// Starts a program that a person asked for, beside this one: with nothing but these variables,
/// and what it prints in a file.
pub fn start_beside(
    program: &Path,
    arguments: &[String],
    variables: impl Iterator<Item = (String, String)>,
    log: &Path,
) -> std::io::Result<Beside> {
    use std::os::unix::process::CommandExt as _;
    let log = open_log(log)?;
    let mut command = std::process::Command::new(program);
    command.args(arguments).env_clear().envs(variables);
    command.stdin(std::process::Stdio::null()).stdout(log.try_clone()?).stderr(log);
    // Ctrl-C here is not meant for it.
    Ok(Beside(command.process_group(0).spawn()?))
}

/// Programs that show a page in the browser of whoever sits here.
const BROWSERS: [&str; 2] = ["xdg-open", "open"];

/// Shows a page in the browser of whoever sits here, if there is one.
pub fn show_page(url: &str) {
    use std::process::{Command, Stdio};
    BROWSERS.iter().find(|program| {
        let mut command = Command::new(program);
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    });
}
