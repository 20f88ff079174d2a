//! The default place for data: one per person, wherever the service is started.

use std::path::PathBuf;

/// The current user's default data directory: the place that the system has for it. Without a home, a folder in the
/// working directory has to do.
pub fn usual() -> PathBuf {
    choose(mnemon_platform::places::data(|name| std::env::var_os(name)))
}

fn choose(place: Option<PathBuf>) -> PathBuf {
    place.unwrap_or_else(|| std::env::current_dir().unwrap_or_default().join("mnemon-data"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn there_is_one_place_per_person() {
        assert_eq!(choose(Some(PathBuf::from("/home/ana/data"))), Path::new("/home/ana/data"));
        assert!(choose(None).ends_with("mnemon-data"), "without a home");
    }
}
