//! Finds out what a file is: by its name where the name says it, else by how its content begins.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};

use crate::commands::export::HIDDEN;
use crate::transfer_arguments::ImportFormat;

/// How much of a file is looked at.
const LOOK_BYTES: u64 = 64 << 10;
/// Files of rules for assistants.
const RULES: [&str; 8] = [
    "claude.md",
    "claude.local.md",
    "agents.md",
    "gemini.md",
    "memory.md",
    ".cursorrules",
    ".windsurfrules",
    "copilot-instructions.md",
];

/// The format that was given, or the one that the file has.
pub fn of(path: &Path, given: Option<ImportFormat>) -> anyhow::Result<ImportFormat> {
    if !path.exists() {
        bail!("there is no {}", path.display());
    }
    if let Some(given) = given {
        return Ok(given);
    }
    if path.is_dir() {
        let is_own = path.join(HIDDEN).is_dir();
        return Ok(if is_own { ImportFormat::Mnemon } else { ImportFormat::Markdown });
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension).unwrap_or_default();
    if RULES.contains(&name.as_str()) || extension == "mdc" {
        return Ok(ImportFormat::Rules);
    }
    match extension {
        "md" | "markdown" | "txt" => return Ok(ImportFormat::Markdown),
        "zip" => bail!("{} is an archive; unpack it and import the files in it", path.display()),
        _ => {}
    }
    let begin = beginning(path)?;
    by_content(&begin).with_context(|| {
        format!("can't tell what {} is; name its format with --from (see `mnemon import --help`)", path.display())
    })
}

fn beginning(path: &Path) -> anyhow::Result<String> {
    let failed = || format!("can't read {}", path.display());
    let mut bytes = Vec::new();
    File::open(path).with_context(failed)?.take(LOOK_BYTES).read_to_end(&mut bytes).with_context(failed)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn by_content(begin: &str) -> Option<ImportFormat> {
    let first = begin.lines().find(|line| !line.trim().is_empty())?;
    if let Ok(line) = serde_json::from_str::<serde_json::Value>(first) {
        match line["type"].as_str() {
            Some("export" | "record" | "source" | "end") => return Some(ImportFormat::Mnemon),
            Some("entity" | "relation") => return Some(ImportFormat::MemoryServer),
            _ => {}
        }
    }
    // Whole documents are too long to parse here. These names do not occur in the others.
    let has = |name: &str| begin.contains(&format!("\"{name}\""));
    if !begin.trim_start().starts_with(['[', '{']) {
        return None;
    }
    if has("mapping") && has("create_time") {
        return Some(ImportFormat::Chatgpt);
    }
    if has("conversations_memory") || has("project_memories") || has("prompt_template") || has("chat_messages") {
        return Some(ImportFormat::Claude);
    }
    has("memory").then_some(ImportFormat::Mem0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_the_format() {
        let check = |begin: &str, format: Option<ImportFormat>| assert_eq!(by_content(begin), format, "{begin}");
        check("{\"type\":\"export\",\"format\":\"mnemon\",\"version\":1}\n", Some(ImportFormat::Mnemon));
        check("\n{\"type\":\"entity\",\"name\":\"a\"}\n", Some(ImportFormat::MemoryServer));
        check("{\"results\": [{\"id\": \"1\", \"memory\": \"likes tea\"}]}", Some(ImportFormat::Mem0));
        check("[{\"title\": \"t\", \"create_time\": 1.0, \"mapping\": {", Some(ImportFormat::Chatgpt));
        check("[{\"conversations_memory\": \"**Work**\"}]", Some(ImportFormat::Claude));
        check("name,text\na,b\n", None);
        check("{\"a\": 1}", None);
        check("", None);
    }
}
