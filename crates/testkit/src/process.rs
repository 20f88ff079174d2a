//! What the system says about a process: the CPU time it used and the memory it holds.

use std::io;
use std::time::Duration;

/// On every Linux, the kernel reports CPU time in ticks of a hundredth of a second.
const TICK: Duration = Duration::from_millis(10);

/// CPU time of a process so far: user and system, all threads.
pub fn cpu_time(pid: u32) -> io::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the program's name in brackets, which may contain anything; the others are plain numbers.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_ascii_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u32>().ok());
    Ok(TICK * ticks.sum::<u32>())
}

/// Resident memory of a process in bytes.
pub fn resident_bytes(pid: u32) -> io::Result<u64> {
    memory_bytes(pid, "VmRSS:")
}

/// The peak resident memory of a process, in bytes.
pub fn resident_peak_bytes(pid: u32) -> io::Result<u64> {
    memory_bytes(pid, "VmHWM:")
}

fn memory_bytes(pid: u32, name: &str) -> io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")).and_then(|digits| digits.trim().parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| io::Error::other("the process has ended"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_takes_time_and_memory() {
        let own = std::process::id();
        let before = cpu_time(own).unwrap();
        let mut sum = 0_u64;
        for round in 0..200_000_000_u64 {
            sum = std::hint::black_box(sum ^ round);
            if round % 1_000_000 == 0 && cpu_time(own).unwrap() > before {
                break;
            }
        }
        assert!(cpu_time(own).unwrap() > before);
        assert!(resident_bytes(own).unwrap() > 100_000);
    }
}
