//! How much memory this process may have: the machine's, or less where its control group is limited (a container, a
//! systemd unit).

use std::path::{Path, PathBuf};

/// The memory that this process may use; 4 GiB if it can't be determined.
pub fn machine_memory_bytes() -> usize {
    let all = mnemon_platform::system::memory_bytes().unwrap_or(4 << 30);
    group_limit(Path::new("/proc/self/cgroup"), Path::new("/sys/fs/cgroup")).map_or(all, |limit| limit.min(all))
}

/// The default for the memory of search indexes: a quarter of what is left beside the service itself. With the caches
/// of storage and the allocator's reserve, an index takes up to twice its bytes.
pub(super) fn index_memory_bytes(machine: usize) -> usize {
    /// The program, its models, connections and caches.
    const SERVICE_BYTES: usize = 256 << 20;
    machine.saturating_sub(SERVICE_BYTES).max(machine / 4) / 4
}

/// The smallest limit of the control groups that the process is in. A group is limited by those above it, too.
fn group_limit(groups: &Path, mounted_at: &Path) -> Option<usize> {
    let groups = std::fs::read_to_string(groups).ok()?;
    groups.lines().flat_map(|line| limits_of(line, mounted_at)).min()
}

/// The limits on the way up from one line of `/proc/self/cgroup`: `0::/path` in version 2, `4:memory:/path` in version
/// 1.
fn limits_of(line: &str, mounted_at: &Path) -> Vec<usize> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (root, file) = if controllers.is_empty() {
        (mounted_at.to_owned(), "memory.max")
    } else if controllers.split(',').any(|controller| controller == "memory") {
        (mounted_at.join("memory"), "memory.limit_in_bytes")
    } else {
        return Vec::new();
    };
    // In a container the path may name a group outside of it, which is not there. Its own is then the one at the root.
    let group = root.join(path.trim_start_matches('/'));
    let on_the_way_up = group.ancestors().take_while(|folder| folder.starts_with(&root));
    on_the_way_up.filter_map(|folder| read_limit(folder.join(file))).collect()
}

/// `max` in version 2, and a number that no machine has in version 1, mean that there is no limit.
fn read_limit(file: PathBuf) -> Option<usize> {
    const NO_LIMIT_FROM: usize = 1 << 60;
    let limit = std::fs::read_to_string(file).ok()?.trim().parse().ok()?;
    (limit < NO_LIMIT_FROM).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;

    /// What is found with these lines in `/proc/self/cgroup`, and these files below `/sys/fs/cgroup`.
    fn limit(groups: &str, files: &[(&str, &str)]) -> Option<usize> {
        let place = tempfile::tempdir().unwrap();
        let (listed, mounted_at) = (place.path().join("cgroup"), place.path().join("sys"));
        std::fs::write(&listed, groups).unwrap();
        for (name, text) in files {
            let file = mounted_at.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        group_limit(&listed, &mounted_at)
    }

    #[test]
    fn the_smallest_limit_on_the_way_up_counts() {
        let files = [
            ("system.slice/mnemon.service/memory.max", "max\n"),
            ("system.slice/memory.max", "536870912\n"),
            ("memory.max", "1073741824\n"),
        ];
        assert_eq!(limit("0::/system.slice/mnemon.service\n", &files), Some(512 * MB));
        assert_eq!(limit("0::/\n", &files), Some(1024 * MB));
        assert_eq!(limit("0::/system.slice/mnemon.service\n", &files[..1]), None);
    }

    #[test]
    fn the_first_version_of_control_groups_is_read_too() {
        let files = [
            ("memory/docker/abc/memory.limit_in_bytes", "268435456\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        assert_eq!(limit("5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n", &files), Some(256 * MB));
        assert_eq!(limit("5:cpu:/docker/abc\n", &files), None);
        assert_eq!(limit("4:memory:/\n", &files), None, "a number that no machine has is no limit");
    }

    #[test]
    fn a_container_that_does_not_see_its_group_by_name_finds_it_at_the_root() {
        assert_eq!(limit("0::/../outside\n", &[("memory.max", "268435456\n")]), Some(256 * MB));
        assert_eq!(limit("4:memory:/docker/abc\n", &[("memory/memory.limit_in_bytes", "1000\n")]), Some(1_000));
    }

    #[test]
    fn indexes_get_a_quarter_of_what_the_service_leaves() {
        let sizes = [128 * MB, 512 * MB, 2_048 * MB, 65_536 * MB].map(index_memory_bytes);
        assert_eq!(sizes, [8 * MB, 64 * MB, 448 * MB, 16_320 * MB]);
    }

    #[test]
    fn without_control_groups_there_is_no_limit() {
        assert_eq!(group_limit(Path::new("/nowhere"), Path::new("/nowhere")), None);
        assert!(machine_memory_bytes() > 0);
    }
}
