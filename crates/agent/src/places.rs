//! Where things are on this machine, read from the environment once and passed around.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::private;

/// The environment at program start.
pub type Environment = HashMap<String, OsString>;

/// The directories that the agent reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub home: PathBuf,
    /// Where other programs keep their configuration.
    pub config_home: PathBuf,
    pub settings_file: PathBuf,
    /// Where the agent keeps its own state. Nothing of a service is in it, so it can be deleted.
    pub state: PathBuf,
    pub claude: PathBuf,
    pub claude_file: PathBuf,
    pub codex: PathBuf,
    pub copilot: PathBuf,
    /// Where Cline reads its MCP servers from.
    pub cline_file: PathBuf,
}

/// What is taken over. Consent comes last: without it nothing is uploaded, even if the move stops halfway.
const STATE: [&str; 4] = ["sessions", "last-sync.json", "installed", "consent.toml"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("can't find the home directory; set HOME")]
pub struct NoHome;

impl Places {
    /// Finds the directories. `CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `COPILOT_HOME` and `CLINE_MCP_SETTINGS_PATH` are
    /// respected, and what the system says.
    pub fn find(environment: &Environment) -> Result<Self, NoHome> {
        let folder = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = mnemon_platform::places::find(|name| environment.get(name).cloned()).ok_or(NoHome)?;
        let (home, config_home) = (usual.home, usual.config);
        let own_claude = folder("CLAUDE_CONFIG_DIR");
        Ok(Self {
            settings_file: config_home.join("mnemon/agent.toml"),
            state: usual.state,
            claude_file: own_claude.as_deref().unwrap_or(&home).join(".claude.json"),
            claude: own_claude.unwrap_or_else(|| home.join(".claude")),
            codex: folder("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
            copilot: folder("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot")),
            cline_file: folder("CLINE_MCP_SETTINGS_PATH")
                .unwrap_or_else(|| home.join(".cline/data/settings/cline_mcp_settings.json")),
            config_home,
            home,
        })
    }

    /// Takes over the state from where earlier versions kept it: in the folder of the service's data.
    pub fn take_over_state(&self, environment: &Environment) -> std::io::Result<()> {
        let data_home = environment.get("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let former = data_home.unwrap_or_else(|| self.home.join(".local/share")).join("mnemon");
        for name in STATE {
            let (from, to) = (former.join(name), self.state.join(name));
            if from.try_exists()? && !to.try_exists()? {
                private::make_folder(&self.state)?;
                std::fs::rename(from, to)?;
            }
        }
        Ok(())
    }

    /// The path as shown to people, with `~` for the home directory.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(inner) => format!("~/{}", inner.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect()
    }

    #[test]
    fn the_usual_folders_are_under_home() {
        let places = Places::find(&environment(&[("HOME", "/home/ana")])).unwrap();
        assert_eq!(places.settings_file, Path::new("/home/ana/.config/mnemon/agent.toml"));
        assert_eq!(places.state, Path::new("/home/ana/.local/state/mnemon"));
        assert_eq!(places.claude_file, Path::new("/home/ana/.claude.json"));
        assert_eq!(places.codex, Path::new("/home/ana/.codex"));
        assert_eq!(places.shown(&places.codex), "~/.codex");
    }

    #[test]
    fn the_environment_moves_them() {
        let pairs = [
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_STATE_HOME", "relative"),
            ("CLAUDE_CONFIG_DIR", "/cl"),
            ("CODEX_HOME", "/co"),
        ];
        let places = Places::find(&environment(&pairs)).unwrap();
        assert_eq!(places.settings_file, Path::new("/c/mnemon/agent.toml"));
        assert_eq!(places.state, Path::new("/h/.local/state/mnemon"), "a relative path is not a base directory");
        assert_eq!((&*places.claude, &*places.claude_file), (Path::new("/cl"), Path::new("/cl/.claude.json")));
        assert_eq!(places.codex, Path::new("/co"));
        assert_eq!(Places::find(&environment(&[("HOME", "")])), Err(NoHome));
    }

    #[test]
    fn state_from_an_earlier_version_is_taken_over_and_the_service_s_data_stays() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::from([("HOME".to_owned(), home.path().into())]);
        let places = Places::find(&environment).unwrap();
        let former = home.path().join(".local/share/mnemon");
        places.take_over_state(&environment).unwrap();
        assert!(!places.state.exists(), "there is nothing to take");
        std::fs::create_dir_all(former.join("sessions")).unwrap();
        for (name, text) in [("consent.toml", "yes"), ("sessions/a.json", "{}"), ("mnemon.db", "records")] {
            std::fs::write(former.join(name), text).unwrap();
        }
        for _ in 0..2 {
            places.take_over_state(&environment).unwrap();
            let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).ok();
            assert_eq!(read(&places.state, "consent.toml").as_deref(), Some("yes"));
            assert_eq!(read(&places.state, "sessions/a.json").as_deref(), Some("{}"));
            assert_eq!(read(&former, "mnemon.db").as_deref(), Some("records"));
            assert_eq!((read(&former, "consent.toml"), read(&places.state, "mnemon.db")), (None, None));
        }
    }
}
