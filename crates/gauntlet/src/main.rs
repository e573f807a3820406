//! `insula-gauntlet`: attacks a daemon, prints the scoreboard, and ends with 1 if anything broke.

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use insula_domain::IntegrityProfile;
use insula_gauntlet::attempt::{Attempt, Section};
use insula_gauntlet::dojo::attacker::Attacker;
use insula_gauntlet::dojo::data::Suite;
use insula_gauntlet::dojo::integrity::measure;
use insula_gauntlet::dojo::replay::{Order, replay};
use insula_gauntlet::dojo::{report, tables};
use insula_gauntlet::runner::{self, Choice};
use insula_gauntlet::sections::SECTIONS;
use insula_gauntlet::stage::Stage;
use insula_gauntlet::{matrix, noninterference, scoreboard};
use insula_world::World;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Attacks a real daemon in fresh homes, and counts what held.
#[derive(Debug, Parser)]
#[command(name = "insula-gauntlet", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The daemon to attack.
    #[arg(long, env = "INSULA", default_value = "insula")]
    insula: PathBuf,
    /// Only these sections, such as A,B.
    #[arg(long, value_delimiter = ',')]
    section: Vec<String>,
    /// Only these rows, such as A3, or attempts, such as "C9 replayed".
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// What everything random is made from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many daemons are attacked at the same time.
    #[arg(long, default_value_t = 2, value_parser = insula_gauntlet::at_least_one)]
    at_once: usize,
    /// The scoreboard as JSON.
    #[arg(long)]
    json: bool,
    /// Say what there is to try, and try nothing.
    #[arg(long)]
    list: bool,
    /// Replay AgentDojo instead, and say call by call what came of it.
    #[arg(long)]
    agentdojo: bool,
    /// With `--agentdojo`: the attacker's calls come before the task's.
    #[arg(long, requires = "agentdojo")]
    attack_first: bool,
    /// With `--agentdojo`: without rules, with all tools, and with this profile of integrity: off,
    /// balanced or strict.
    #[arg(long, requires = "agentdojo", conflicts_with = "attack_first", value_parser = profile)]
    integrity: Option<IntegrityProfile>,
    /// With `--integrity`: only this attacker, such as known-names.
    #[arg(long, requires = "integrity", default_value = "all", value_parser = attackers)]
    attacker: Attackers,
    /// Print the isolation matrix instead.
    #[arg(long)]
    matrix: bool,
}

/// Attackers by one name.
#[derive(Debug, Clone)]
struct Attackers(Vec<Attacker>);

fn attackers(text: &str) -> Result<Attackers, String> {
    Attacker::parse(text).map(Attackers)
}

fn profile(text: &str) -> Result<IntegrityProfile, String> {
    let names = IntegrityProfile::ALL.map(IntegrityProfile::as_str).join(", ");
    IntegrityProfile::parse(text).ok_or_else(|| format!("it has to be one of {names}"))
}

/// What else there is.
#[derive(Debug, Subcommand)]
enum Command {
    /// Plays traces of one agent beside others that differ, and compares what is seen of it.
    Noninterference(noninterference::command::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let held = match &arguments.command {
        Some(Command::Noninterference(arguments)) => noninterference::command::run(arguments),
        None => run(&arguments),
    };
    match held {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether everything held.
fn run(arguments: &Arguments) -> Result<bool> {
    let choice = Choice { sections: arguments.section.clone(), only: arguments.only.clone() };
    choice.checked(SECTIONS)?;
    if arguments.list {
        list(&choice, arguments.json);
        return Ok(true);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let stage = Stage {
        insula: insula_gauntlet::machine::real(&arguments.insula)
            .with_context(|| format!("there is no daemon at {}", arguments.insula.display()))?,
        seed: arguments.seed,
        runtime: runtime.handle().clone(),
        world: World::real()?,
    };
    let version = insula_gauntlet::ground::version(&stage.insula)?;
    eprintln!("attacking {version}, seed {}", arguments.seed);
    if arguments.matrix {
        let text = matrix::print(&stage)?;
        match arguments.json {
            true => println!("{:#}", matrix::json(&text)),
            false => print!("{text}"),
        }
        return Ok(true);
    }
    if arguments.agentdojo {
        return agentdojo(arguments, &stage);
    }
    let reports = runner::run(&stage, SECTIONS, &choice, arguments.at_once, |report| {
        let (word, why) = scoreboard::words(report);
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        eprintln!(
            "{word:<8}{:>7} ms  {} {}{why}",
            report.took.as_millis(),
            report.row,
            report.variant
        );
    });
    anyhow::ensure!(!reports.is_empty(), "nothing is chosen; `--list` says what there is");
    if arguments.json {
        println!("{:#}", scoreboard::json(SECTIONS, &reports, arguments.seed));
    } else {
        print!("{}", scoreboard::table(SECTIONS, &reports));
    }
    Ok(!scoreboard::is_lost(SECTIONS, &reports))
}

/// Says what there is to try.
fn list(choice: &Choice, json: bool) {
    let all = SECTIONS.iter().flat_map(|section| {
        let wanted = section.attempts().filter(move |attempt| choice.wants(section, attempt));
        wanted.map(move |attempt| (section, attempt))
    });
    if json {
        let row = |(section, it): (&Section, &Attempt)| json!({ "section": section.id, "row": it.row, "variant": it.variant });
        println!("{:#}", all.map(row).collect::<Value>());
    } else {
        all.for_each(|(_, attempt)| println!("{} {}", attempt.row, attempt.variant));
    }
}

/// Whether no attacker's call took effect and few of the tasks' were refused.
fn agentdojo(arguments: &Arguments, stage: &Stage) -> Result<bool> {
    if let Some(profile) = arguments.integrity {
        let suites = Suite::all()?;
        let all = suites.iter().map(|it| measure(stage, it, profile, &arguments.attacker.0));
        let all = all.collect::<Result<Vec<_>>>()?;
        match arguments.json {
            true => println!("{:#}", tables::json(profile, &all)),
            false => print!("{}", tables::table(profile, &all)),
        }
        return Ok(tables::is_good(profile, &all));
    }
    let order = if arguments.attack_first { Order::AttackFirst } else { Order::TaskFirst };
    let mut scores = Vec::new();
    for suite in Suite::all()? {
        scores.push(replay(stage, &suite, order)?);
    }
    match arguments.json {
        true => println!("{:#}", report::json(&scores)),
        false => print!("{}", report::table(&scores)),
    }
    Ok(report::is_good(&scores))
}
