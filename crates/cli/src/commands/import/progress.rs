//! How far an import is: shown at a terminal, and said when somebody stops it.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The exit code of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Counts what is done. Clones share the count.
#[derive(Debug, Clone)]
pub struct Progress {
    done: Arc<AtomicU64>,
    /// How many there are, if they were counted.
    total: Option<u64>,
    began: Instant,
    is_shown: bool,
    is_dry_run: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self { done: Arc::default(), total: None, began: Instant::now(), is_shown: false, is_dry_run: false }
    }
}

impl Progress {
    pub fn begin(total: Option<u64>, is_dry_run: bool) -> Self {
        Self { total, is_shown: is_shown(), is_dry_run, ..Self::default() }
    }

    /// From now on, Ctrl-C says how far it came before it ends the program.
    pub fn tell_when_interrupted(&self) -> anyhow::Result<()> {
        let progress = self.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                progress.say("");
                let _ = writeln!(std::io::stderr(), "{}", progress.stopped());
                std::process::exit(INTERRUPTED);
            }
        });
        Ok(())
    }

    pub fn add(&self, count: u64) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// What a person who starts it again should know.
    pub fn stopped(&self) -> String {
        let of = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let done = self.done();
        if self.is_dry_run {
            return format!("The check stopped after {done}{of} records; nothing was changed");
        }
        format!("The import stopped after {done}{of} records, which stay. Run the same command again to continue")
    }

    pub fn show(&self, refused: u64) {
        self.say(&line(self.done(), self.total, refused, self.began.elapsed()));
    }

    /// One line that the next one replaces; only at a terminal.
    pub fn say(&self, text: &str) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[2K{text}");
        }
    }
}

/// Whether anybody sees how far it is.
pub fn is_shown() -> bool {
    std::io::stderr().is_terminal()
}

fn line(done: u64, total: Option<u64>, refused: u64, since: Duration) -> String {
    let refused = if refused > 0 { format!(", {refused} not taken") } else { String::new() };
    let Some(total) = total.filter(|total| *total > 0) else { return format!("importing: {done} records{refused}") };
    let percent = 100 * done / total;
    let left = since.as_secs_f64() / done.max(1) as f64 * total.saturating_sub(done) as f64;
    format!("importing: {done} of {total} records ({percent} %{refused}), about {} left", span(left))
}

fn span(seconds: f64) -> String {
    match seconds.ceil() as u64 {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_total_and_the_time_left_where_they_are_known() {
        let second = Duration::from_secs(1);
        assert_eq!(line(500, Some(2_000), 0, second), "importing: 500 of 2000 records (25 %), about 3 s left");
        assert_eq!(line(5, Some(5), 2, second), "importing: 5 of 5 records (100 %, 2 not taken), about 0 s left");
        assert_eq!(line(1, Some(101), 0, second), "importing: 1 of 101 records (0 %), about 2 min left");
        assert_eq!(line(7, None, 0, second), "importing: 7 records");
    }
}
