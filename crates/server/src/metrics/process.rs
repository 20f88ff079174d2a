//! What Linux says about this process, under the names that Prometheus clients share. Other systems have none.

use std::fmt::Write;
use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Name, type, help and value.
type Figure = (&'static str, &'static str, &'static str, f64);

pub(super) fn write(page: &mut String) {
    for (name, kind, help, value) in figures().into_iter().flatten() {
        let name = format!("process_{name}");
        let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }
}

fn figures() -> Option<[Figure; 7]> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program comes first and may contain anything. `proc(5)` counts from 1; its field 3 follows here.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    let system = fs::read_to_string("/proc/stat").ok()?;
    let booted_at: f64 = system.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()?;
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let open_fds = fs::read_dir("/proc/self/fd").ok()?.count();
    let max_fds = getrlimit(Resource::Nofile).current.map_or(f64::INFINITY, |max| max as f64);
    let counter = "cpu_seconds_total";
    Some([
        (counter, "counter", "Processor time used, in seconds.", cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9),
        ("open_fds", "gauge", "Open file descriptors.", open_fds as f64),
        ("max_fds", "gauge", "File descriptors that may be open.", max_fds),
        ("virtual_memory_bytes", "gauge", "Virtual memory, in bytes.", field(23)?),
        ("resident_memory_bytes", "gauge", "Resident memory, in bytes.", field(24)? * page_size() as f64),
        ("threads", "gauge", "Threads.", field(20)?),
        (
            "start_time_seconds",
            "gauge",
            "Start, in seconds since 1970.",
            booted_at + field(22)? / clock_ticks_per_second() as f64,
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu_seconds() -> f64 {
        figures().expect("Linux has these files")[0].3
    }

    #[test]
    fn processor_time_is_shown_in_fractions_of_a_second() {
        let before = cpu_seconds();
        while cpu_seconds() == before {}
        let used = cpu_seconds() - before;
        assert!(used > 0.0 && used < 1.0, "{used}");
    }

    #[test]
    fn the_figures_are_those_of_this_process() {
        let mut page = String::new();
        write(&mut page);
        let value = |name: &str| {
            let line = page.lines().find_map(|line| line.strip_prefix(&format!("process_{name} ")));
            line.unwrap().parse::<f64>().unwrap()
        };
        assert!(value("resident_memory_bytes") < value("virtual_memory_bytes"), "{page}");
        assert!(value("open_fds") >= 3.0 && value("open_fds") < value("max_fds"), "{page}");
        assert!(value("threads") >= 1.0 && value("start_time_seconds") > 1_700_000_000.0, "{page}");
    }
}
