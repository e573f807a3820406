//! Prints the moments of cron expressions, for `scripts/schedule-oracle`: lines of
//! `zone|expression|from|to` in seconds come in, a line of seconds each goes out.

use insula_domain::Zone;
use insula_schedule::CronExpression;
use jiff::Timestamp;
use std::io::{BufRead as _, Write as _};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let parts: Vec<&str> = line.split('|').collect();
        let [zone, expression, from, to] = parts[..] else { return Err("four parts".into()) };
        let zone = Zone::named(zone).ok_or("no such zone")?;
        let expression = CronExpression::parse(expression)?;
        let (mut at, to) =
            (Timestamp::from_second(from.parse()?)?, Timestamp::from_second(to.parse()?)?);
        while let Some(next) = expression.next(at, &zone).filter(|next| *next <= to) {
            write!(out, "{} ", next.as_second())?;
            at = next;
        }
        writeln!(out)?;
    }
    Ok(())
}
