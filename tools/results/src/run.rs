//! A recorded run: a head that says how it was made, and what the bench printed.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// The file's name without its ending.
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) machine: String,
    pub(crate) date: String,
    pub(crate) commit: String,
    pub(crate) notes: Vec<String>,
    pub(crate) body: String,
    /// The same figures as JSON, if the bench wrote them.
    figures: Option<String>,
}

impl Run {
    /// The head is the lines `# key: value` at the top. A run without all of it can't be judged by a reader.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Run> {
        let head: Vec<(&str, &str)> =
            text.lines().map_while(|line| line.strip_prefix("# ")?.split_once(": ")).collect();
        let body: String = text.split_inclusive('\n').skip(head.len()).collect();
        let one = |key: &str| match head.iter().filter(|(found, _)| *found == key).collect::<Vec<_>>()[..] {
            [(_, value)] => Ok((*value).to_owned()),
            _ => bail!("bench/runs/{name}.txt must begin with exactly one line `# {key}: …`"),
        };
        if let Some((key, _)) =
            head.iter().find(|(key, _)| !["command", "machine", "date", "commit", "note"].contains(key))
        {
            bail!("bench/runs/{name}.txt: unknown line `# {key}: …` in its head");
        }
        let notes = head.iter().filter(|(key, _)| *key == "note").map(|(_, value)| (*value).to_owned()).collect();
        Ok(Run {
            name: name.to_owned(),
            command: one("command")?,
            machine: one("machine")?,
            date: one("date")?,
            commit: one("commit")?,
            notes,
            body: body.trim_matches('\n').to_owned(),
            figures: None,
        })
    }

    /// What the bench wrote as JSON.
    pub(crate) fn figures<T: DeserializeOwned>(&self) -> Result<T> {
        let name = &self.name;
        let text = self.figures.as_deref().with_context(|| format!("bench/runs/{name}.json is missing"))?;
        serde_json::from_str(text).with_context(|| format!("bench/runs/{name}.json"))
    }
}

/// All recorded runs by name.
pub(crate) struct Runs(pub(crate) BTreeMap<String, Run>);

impl Runs {
    pub(crate) fn read(folder: &Path) -> Result<Runs> {
        let mut runs = BTreeMap::new();
        for entry in std::fs::read_dir(folder).with_context(|| format!("{} can't be read", folder.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "txt") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let run = Run::parse(&name, &std::fs::read_to_string(&path)?)?;
                let figures = path.with_extension("json");
                let figures = figures.exists().then(|| std::fs::read_to_string(&figures)).transpose()?;
                runs.insert(name, Run { figures, ..run });
            }
        }
        Ok(Runs(runs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# command: bench x\n# machine: two cores\n# date: 2026-11-16\n# commit: abc\n";

    #[test]
    fn a_head_is_read_and_the_rest_is_the_body() {
        let run = Run::parse("x", &format!("{HEAD}# note: first: with a colon\n\n# a title\nfigure 7\n")).unwrap();
        assert_eq!((run.command.as_str(), run.date.as_str()), ("bench x", "2026-11-16"));
        assert_eq!(run.notes, ["first: with a colon"]);
        assert_eq!(run.body, "# a title\nfigure 7");
    }

    #[test]
    fn a_run_that_does_not_say_how_it_was_made_is_refused() {
        for missing in ["command", "machine", "date", "commit"] {
            let without: String =
                HEAD.split_inclusive('\n').filter(|line| !line.starts_with(&format!("# {missing}"))).collect();
            let error = Run::parse("x", &format!("{without}\n7\n")).unwrap_err().to_string();
            assert!(error.contains(&format!("`# {missing}: …`")), "{error}");
        }
        assert!(Run::parse("x", &format!("{HEAD}# speed: 7\n")).is_err(), "an unknown key");
    }
}
