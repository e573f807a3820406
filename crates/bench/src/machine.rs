//! The machine under the measurement: its clock, its threads, what `/proc` says of a process,
//! how long its disk takes to keep something.
#![expect(
    clippy::disallowed_methods,
    reason = "a measuring program: the clock, threads, /proc, and a file to flush"
)]

use anyhow::{Context as _, Result};
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// Flushes that the figure of the disk is drawn from.
const FLUSHES: usize = 200;
/// Ticks of processor time in a second: what Linux tells programs on every platform we run.
const TICKS_PER_SECOND: f64 = 100.0;

/// Now.
pub fn now() -> Instant {
    Instant::now()
}

/// Since then.
pub fn since(begun: Instant) -> Duration {
    begun.elapsed()
}

/// The time of day, in milliseconds since 1970.
pub fn unix_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|it| i64::try_from(it.as_millis()).ok()).unwrap_or_default()
}

/// Waits.
pub fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

/// Waits, without keeping the thread.
pub async fn rest(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Runs work on a thread that ends with it, or with the program.
pub fn thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<std::thread::JoinHandle<T>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).ok()
}

/// Runs a future on this thread alone.
pub fn block_on<T>(future: impl Future<Output = T>) -> T
where
    T: Default,
{
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(future),
        Err(_) => T::default(),
    }
}

/// A process, as `/proc` shows it.
#[derive(Debug, Clone, Copy)]
pub struct Process(pub u32);

/// What a process weighs, in MB of 10^6 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weight {
    pub resident_mb: f64,
    /// Resident at most.
    pub peak_mb: f64,
}

impl Process {
    /// What it weighs.
    pub fn weight(self) -> Result<Weight> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0))?;
        let mb = |name: &str| -> Result<f64> {
            let line =
                status.lines().find(|line| line.starts_with(name)).context("no such field")?;
            let kib: f64 = line.split_whitespace().nth(1).context("no value")?.parse()?;
            Ok(kib * 1024.0 / 1e6)
        };
        Ok(Weight { resident_mb: mb("VmRSS:")?, peak_mb: mb("VmHWM:")? })
    }

    /// Files, sockets and the like that it has open.
    pub fn descriptors(self) -> Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.0))?.count())
    }

    /// The processor time it has used, its own and the kernel's for it, in milliseconds.
    pub fn cpu_ms(self) -> Result<f64> {
        self.ticks_ms(2)
    }

    /// The same with what the processes used that it started and that have ended.
    pub fn cpu_with_children_ms(self) -> Result<f64> {
        self.ticks_ms(4)
    }

    /// The first fields of those that count ticks: its own two, then its children's two.
    fn ticks_ms(self, fields_len: usize) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0))?;
        // The name in brackets may hold anything; what follows it does not.
        let (_, fields) = stat.rsplit_once(") ").context("not a line of /proc/PID/stat")?;
        let ticks: f64 = fields
            .split(' ')
            .skip(11)
            .take(fields_len)
            .map(|field| field.parse::<f64>().unwrap_or(f64::NAN))
            .sum();
        Ok(ticks * 1e3 / TICKS_PER_SECOND)
    }
}

/// How long it takes to overwrite 4 KiB in `folder` and have it kept, in milliseconds: the
/// median, and what one in a hundred takes.
pub fn flush_ms(folder: &Path) -> Result<(f64, f64)> {
    let mut file = std::fs::File::create(folder.join("flush"))?;
    let mut took = Vec::with_capacity(FLUSHES);
    for number in 0..FLUSHES {
        let begun = Instant::now();
        file.seek(std::io::SeekFrom::Start(0))?;
        file.write_all(&[number as u8; 4096])?;
        file.sync_data()?;
        took.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    took.sort_by(f64::total_cmp);
    Ok((took[FLUSHES / 2], took[FLUSHES * 99 / 100]))
}

/// The line every figure stands under.
pub fn line() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let kib = memory.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = read("/proc/loadavg");
    format!(
        "machine: {cores} cores, {} MB memory, Linux {}, load {}",
        kib.unwrap_or(0) / 1024,
        read("/proc/sys/kernel/osrelease").trim(),
        load.split(' ').next().unwrap_or("?"),
    )
}
