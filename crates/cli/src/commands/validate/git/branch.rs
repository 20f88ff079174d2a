//! Which branch counts, and what is checked out.

use std::path::PathBuf;

use anyhow::bail;

use super::Repository;

/// A branch as this clone knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// As people write it: `main`, `origin/main`.
    pub name: String,
    /// Its full name.
    pub reference: String,
    /// Its newest commit.
    pub commit: String,
}

/// What is checked out.
#[derive(Debug, Default)]
pub struct Head {
    /// None before the first commit.
    pub commit: Option<String>,
    /// None if a commit is checked out by itself.
    pub branch: Option<String>,
}

const REMOTE_HEAD: &str = "refs/remotes/origin/HEAD";

impl Repository {
    /// The branch whose commits count for everybody: the one that is named, else the remote's default branch, else
    /// `main` or `master`. None if there is none of these.
    pub fn branch(&self, named: Option<&str>) -> anyhow::Result<Option<Branch>> {
        let references = match named {
            Some(name) => vec![format!("refs/heads/{name}"), format!("refs/remotes/{name}")],
            None => [REMOTE_HEAD, "refs/heads/main", "refs/heads/master"].map(str::to_owned).to_vec(),
        };
        let mut arguments = vec!["for-each-ref", "--format=%(objectname) %(refname) %(symref)", "--"];
        arguments.extend(references.iter().map(String::as_str));
        let told = String::from_utf8_lossy(&self.run(&arguments)?).into_owned();
        // Git lists what begins with a name, in its own order.
        let find = |reference: &String| {
            let mut lines = told.lines().map(|line| line.split(' ').collect::<Vec<_>>());
            let line = lines.find(|words| words.get(1) == Some(&reference.as_str()))?;
            let target = line.get(2).filter(|target| !target.is_empty()).copied().unwrap_or(reference);
            let name = target.strip_prefix("refs/heads/").or_else(|| target.strip_prefix("refs/remotes/"))?;
            Some(Branch { name: name.to_owned(), reference: target.to_owned(), commit: line[0].to_owned() })
        };
        match (references.iter().find_map(find), named) {
            (None, Some(name)) => bail!("this clone has no branch '{name}'"),
            (found, _) => Ok(found),
        }
    }

    pub fn head(&self) -> Head {
        let branch = self.run(&["symbolic-ref", "--quiet", "--short", "HEAD"]).ok();
        let branch = branch.map(|told| String::from_utf8_lossy(&told).trim().to_owned());
        Head { commit: self.commit("HEAD").ok(), branch }
    }

    /// Files that git writes when a branch moves or another one is checked out.
    pub fn files_of_branches(&self, branch: Option<&Branch>) -> anyhow::Result<Vec<PathBuf>> {
        let (own, common) = (self.git_folder()?, self.common_folder()?);
        let shared = ["packed-refs", "reftable/tables.list", REMOTE_HEAD].into_iter();
        let shared = shared.chain(branch.map(|branch| branch.reference.as_str())).map(|name| common.join(name));
        Ok(shared.chain([own.join("HEAD"), own.join("logs/HEAD")]).collect())
    }
}
