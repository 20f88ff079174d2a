//! Lines of the access log as JSON, on their way to standard error. A line per request through the general log would cost
//! several percent of a search: it makes a map of the fields and writes each line by a system call of its own. Here a line is
//! put together in place, and lines that come soon after each other are written together.

use std::io::Write;
use std::mem;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How long a line may wait for others.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// From so many bytes on, lines wait for no others.
const ENOUGH_BYTES: usize = 64 << 10;
/// With so many bytes waiting, whoever adds a line writes them: then the log is slower than the requests, and must slow
/// them down.
const WAITING_BYTES_MAX: usize = 1 << 20;

type Out = Box<dyn Write + Send>;

/// Where the lines of the access log are gathered and written.
#[derive(Clone)]
pub struct AccessLines(Arc<Shared>);

struct Shared {
    waiting: Mutex<Waiting>,
    added: Condvar,
    out: Mutex<Out>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Somebody wants them written at once.
    is_urgent: bool,
    is_closed: bool,
}

impl AccessLines {
    /// Starts the thread that writes to standard error.
    pub fn start() -> std::io::Result<Self> {
        Self::start_with(Box::new(std::io::stderr()))
    }

    fn start_with(out: Out) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            added: Condvar::new(),
            out: Mutex::new(out),
            writer: Mutex::new(None),
        });
        let writing = Arc::clone(&shared);
        let writer =
            thread::Builder::new().name("access-log".to_owned()).spawn(move || writing.write_until_closed())?;
        *shared.writer.lock() = Some(writer);
        Ok(Self(shared))
    }

    /// Adds a line, without its end.
    pub(super) fn add(&self, is_urgent: bool, write: impl FnOnce(&mut Vec<u8>)) {
        let mut waiting = self.0.waiting.lock();
        let was_empty = waiting.bytes.is_empty();
        write(&mut waiting.bytes);
        waiting.bytes.push(b'\n');
        let is_enough = waiting.bytes.len() >= ENOUGH_BYTES;
        waiting.is_urgent |= is_urgent || is_enough;
        if waiting.bytes.len() >= WAITING_BYTES_MAX || waiting.is_closed {
            let bytes = mem::take(&mut waiting.bytes);
            drop(waiting);
            return self.0.write(&bytes);
        }
        let is_to_be_told = was_empty || waiting.is_urgent;
        drop(waiting);
        if is_to_be_told {
            self.0.added.notify_one();
        }
    }

    /// Writes what waits, and ends the thread. Later lines are written at once.
    pub fn close(&self) {
        self.0.waiting.lock().is_closed = true;
        self.0.added.notify_one();
        if let Some(writer) = self.0.writer.lock().take() {
            // It ends after its last line; if it panicked, there is nobody left to tell.
            let _ = writer.join();
        }
    }
}

impl Shared {
    fn write_until_closed(&self) {
        let mut bytes = Vec::new();
        loop {
            let mut waiting = self.waiting.lock();
            while waiting.bytes.is_empty() && !waiting.is_closed {
                self.added.wait(&mut waiting);
            }
            if !waiting.is_urgent && !waiting.is_closed {
                self.added.wait_for(&mut waiting, WAIT_MAX);
            }
            mem::swap(&mut bytes, &mut waiting.bytes);
            waiting.is_urgent = false;
            let is_closed = waiting.is_closed;
            drop(waiting);
            self.write(&bytes);
            bytes.clear();
            if is_closed {
                return;
            }
        }
    }

    /// Whole lines at a time, so that they do not mix with other lines of the log. A log that can't be written is no reason to
    /// fail a request, and there is nowhere to say so.
    fn write(&self, bytes: &[u8]) {
        let _ = self.out.lock().write_all(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_line_is_written_whole_whoever_adds_it_and_whenever() {
        let sink = Sink::default();
        let lines = AccessLines::start_with(Box::new(sink.clone())).unwrap();
        thread::scope(|scope| {
            for writer in 0..4 {
                let lines = &lines;
                scope.spawn(move || {
                    for number in 0..5_000 {
                        lines.add(number % 1_000 == 0, |line| {
                            line.extend(format!("{writer} {number} {}", "x".repeat(100)).as_bytes());
                        });
                    }
                });
            }
        });
        lines.close();
        lines.add(false, |line| line.extend(b"4 0 after the end"));
        let written = String::from_utf8(sink.0.lock().clone()).unwrap();
        let mut seen: Vec<(u32, u32)> = Vec::new();
        for line in written.lines() {
            let mut parts = line.split(' ');
            let number = |part: Option<&str>| part.and_then(|part| part.parse().ok()).unwrap();
            seen.push((number(parts.next()), number(parts.next())));
            assert!(line.ends_with(&"x".repeat(100)) || line == "4 0 after the end", "{line}");
        }
        seen.sort_unstable();
        let mut expected: Vec<(u32, u32)> = (0..4).flat_map(|w| (0..5_000).map(move |n| (w, n))).collect();
        expected.push((4, 0));
        assert_eq!(seen, expected);
    }

    /// Tells when something was written.
    struct Telling(std::sync::mpsc::Sender<Vec<u8>>);

    impl Write for Telling {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_written_soon_also_if_no_other_comes() {
        let (tell, told) = std::sync::mpsc::channel();
        let lines = AccessLines::start_with(Box::new(Telling(tell))).unwrap();
        for is_urgent in [false, true] {
            lines.add(is_urgent, |line| line.extend(b"alone"));
            assert_eq!(told.recv_timeout(Duration::from_secs(60)).as_deref(), Ok(&b"alone\n"[..]));
        }
        lines.close();
    }
}
