//! Where a person's files belong: by the XDG specification, or by what Windows says in `APPDATA` and `LOCALAPPDATA`.

use std::ffi::OsString;
use std::path::PathBuf;

/// The directories of the current user that programs keep files in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub home: PathBuf,
    /// Where programs keep their configuration, each in a directory of its own.
    pub config: PathBuf,
    /// Where Mnemon keeps its data.
    pub data: PathBuf,
    /// Where Mnemon keeps what it can do without.
    pub state: PathBuf,
}

/// Finds them; `None` without a home directory.
pub fn find(variable: impl Fn(&str) -> Option<OsString>) -> Option<Places> {
    choose(cfg!(windows), &variable)
}

/// Where Mnemon keeps its data, which may be known without a home directory.
pub fn data(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let named = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute() && cfg!(not(windows)));
    named.map(|path| path.join("mnemon")).or_else(|| Some(find(variable)?.data).filter(|path| path.is_absolute()))
}

fn choose(is_windows: bool, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<Places> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if is_windows {
        // Shells from other systems set HOME to a place of their own.
        let home = folder("USERPROFILE").or_else(|| folder("HOME"))?;
        let local = folder("LOCALAPPDATA").unwrap_or_else(|| home.join("AppData/Local")).join("mnemon");
        let config = folder("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming"));
        return Some(Places { config, data: local.join("data"), state: local.join("state"), home });
    }
    let home = folder("HOME")?;
    // The XDG specification says to ignore relative paths.
    let based =
        |name: &str, usual: &str| folder(name).filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(usual));
    Some(Places {
        config: based("XDG_CONFIG_HOME", ".config"),
        data: based("XDG_DATA_HOME", ".local/share").join("mnemon"),
        state: based("XDG_STATE_HOME", ".local/state").join("mnemon"),
        home,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(is_windows: bool, set: &[(&str, &str)]) -> Option<[String; 4]> {
        let variable = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        let Places { home, config, data, state } = choose(is_windows, &variable)?;
        Some([home, config, data, state].map(|path| path.to_string_lossy().replace('\\', "/")))
    }

    #[test]
    fn on_windows_the_system_says_where() {
        let set = [("USERPROFILE", "C:/Users/ana"), ("HOME", "/c/Users/ana"), ("APPDATA", "D:/Roaming")];
        let local = "C:/Users/ana/AppData/Local/mnemon";
        let expected = ["C:/Users/ana".into(), "D:/Roaming".into(), format!("{local}/data"), format!("{local}/state")];
        assert_eq!(found(true, &set), Some(expected));
        assert_eq!(
            found(true, &[("LOCALAPPDATA", "D:/Local"), ("HOME", "C:/h")]).expect("a home")[2],
            "D:/Local/mnemon/data"
        );
        assert_eq!(found(true, &[]), None);
    }

    #[cfg(unix)]
    #[test]
    fn elsewhere_the_xdg_specification_says_it() {
        let set = [("HOME", "/h"), ("XDG_DATA_HOME", "/data"), ("XDG_STATE_HOME", "relative"), ("XDG_CONFIG_HOME", "")];
        let expected = ["/h", "/h/.config", "/data/mnemon", "/h/.local/state/mnemon"].map(str::to_owned);
        assert_eq!(found(false, &set), Some(expected));
        assert_eq!(found(false, &[("HOME", "")]), None);
        let without_home = |name: &str| (name == "XDG_DATA_HOME").then(|| "/data".into());
        assert_eq!(data(without_home), Some("/data/mnemon".into()), "a home is not needed for it");
        assert_eq!(data(|name| (name == "HOME").then(|| "relative".into())), None);
    }
}
