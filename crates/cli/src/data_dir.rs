//! The default place for data: one per person, wherever the service is started.

use std::path::{Path, PathBuf};

/// Where earlier versions kept it: in the working directory.
const FORMER: &str = "mnemon-data";
/// The file that makes a directory a data directory.
const DATABASE: &str = "mnemon.db";

/// The usual data directory, and what a person has to know about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Usual {
    pub path: PathBuf,
    pub advice: Option<String>,
}

/// The current user's default data directory.
pub fn usual() -> Usual {
    let working_dir = std::env::current_dir().unwrap_or_default();
    choose(&working_dir, std::env::var_os("XDG_DATA_HOME").map(Into::into), std::env::var_os("HOME").map(Into::into))
}

/// `$XDG_DATA_HOME/mnemon`, else `~/.local/share/mnemon`. Data that an earlier version left in the working directory is
/// used as long as there is none at the new place. Without a home the working directory has to do.
fn choose(working_dir: &Path, data_home: Option<PathBuf>, home: Option<PathBuf>) -> Usual {
    let former = working_dir.join(FORMER);
    let data_home = data_home.filter(|path| path.is_absolute());
    let home = home.filter(|path| path.is_absolute()).map(|home| home.join(".local/share"));
    let Some(place) = data_home.or(home).map(|place| place.join("mnemon")) else {
        return Usual { path: former, advice: None };
    };
    let (old, new) = (former.display(), place.display());
    match (has_data(&former), has_data(&place)) {
        (true, false) => {
            let advice = format!(
                "using the data in {old}, where earlier versions kept it. The usual place is now {new}: stop the service and \
                 move the directory there, or keep it with --data-dir {old}"
            );
            Usual { path: former, advice: Some(advice) }
        }
        (true, true) => {
            let advice = format!(
                "using the data in {new}. There is also data of an earlier version in {old}; to use that, pass --data-dir {old}"
            );
            Usual { path: place, advice: Some(advice) }
        }
        (false, _) => Usual { path: place, advice: None },
    }
}

fn has_data(folder: &Path) -> bool {
    folder.join(DATABASE).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(folder: &Path) {
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(folder.join(DATABASE), "").expect("a file");
    }

    #[test]
    fn there_is_one_place_per_person() {
        let here = tempfile::tempdir().expect("a folder");
        let chosen = |data_home: Option<&str>, home: Option<&str>| {
            choose(here.path(), data_home.map(Into::into), home.map(Into::into)).path
        };
        assert_eq!(chosen(Some("/data"), Some("/home/ana")), Path::new("/data/mnemon"));
        assert_eq!(chosen(None, Some("/home/ana")), Path::new("/home/ana/.local/share/mnemon"));
        assert_eq!(chosen(Some(""), Some("/home/ana")), Path::new("/home/ana/.local/share/mnemon"));
        assert_eq!(chosen(Some("relative"), Some("/home/ana")), Path::new("/home/ana/.local/share/mnemon"));
        assert_eq!(chosen(None, None), here.path().join(FORMER), "without a home");
    }

    #[test]
    fn data_of_an_earlier_version_is_used_or_mentioned() {
        let here = tempfile::tempdir().expect("a folder");
        let (former, home) = (here.path().join(FORMER), here.path().join("home"));
        let place = home.join(".local/share/mnemon");
        let chosen = || choose(here.path(), None, Some(home.clone()));
        std::fs::create_dir_all(&former).expect("a folder");
        assert_eq!(chosen(), Usual { path: place.clone(), advice: None }, "an empty folder holds no data");
        fill(&former);
        let used = chosen();
        assert_eq!(used.path, former);
        assert!(used.advice.is_some_and(|advice| advice.contains(&place.display().to_string())));
        fill(&place);
        let both = chosen();
        assert_eq!(both.path, place);
        assert!(both.advice.is_some_and(|advice| advice.contains(&former.display().to_string())));
    }
}
