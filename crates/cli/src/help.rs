//! What `--help` shows beside the arguments themselves: the commands in groups, and an example for each.

use clap::builder::Styles;
use clap::{Command, CommandFactory};

use crate::arguments::Arguments;

/// The commands, by what a person wants to do.
pub const GROUPS: [(&str, &[&str]); 6] = [
    ("Memory", &["remember", "search", "forget", "context", "record", "workspace"]),
    ("Files and sources", &["validate", "hash", "export", "import"]),
    ("Assistants and keys", &["agent", "login", "logout", "whoami", "session", "connection", "console"]),
    (
        "People and projects",
        &["project", "department", "member", "key", "integration", "guard", "audit", "usage", "apply"],
    ),
    ("The service", &["serve", "doctor", "health", "config", "backup", "restore", "transfer", "selftest"]),
    ("Operator, and this shell", &["account", "plan", "node", "compact", "completions", "man"]),
];

/// One example for each command, by its path below `mnemon`.
pub const EXAMPLES: [(&str, &str); 107] = [
    ("", "mnemon remember We deploy on Tuesdays\n  mnemon search when do we deploy"),
    ("serve", "mnemon serve --listen 7676"),
    ("remember", "mnemon remember We deploy on Tuesdays --source-id release.md --fact-key deploy-day"),
    ("search", "mnemon search when do we deploy --exclude-stale"),
    ("context", "mnemon context --query 'which day is the release'"),
    ("forget", "mnemon forget --source-id release.md --workspace shop"),
    ("validate", "mnemon validate docs --fail-on stale,gone"),
    ("hash", "mnemon hash release.md"),
    ("agent", "mnemon agent install --client claude-code --hooks"),
    ("agent install", "mnemon agent install --client codex --hooks --dry-run"),
    ("agent hook", "mnemon agent hook < event.json"),
    ("agent consent", "mnemon agent consent"),
    ("agent revoke", "mnemon agent revoke --delete-uploaded"),
    ("agent status", "mnemon agent status"),
    ("agent sync", "mnemon agent sync --dry-run --lines"),
    ("login", "mnemon login https://memory.example.com --profile work"),
    ("logout", "mnemon logout --profile work"),
    ("export", "mnemon export notes --format markdown --workspace shop"),
    ("import", "mnemon import notes.jsonl CLAUDE.md --workspace shop --dry-run"),
    ("apply", "mnemon apply team.toml --dry-run"),
    ("transfer", "mnemon transfer --from sqlite:/var/lib/mnemon --to postgres://mnemon@db/mnemon"),
    ("backup", "mnemon backup /var/backups/mnemon/ --rate 20"),
    ("restore", "mnemon restore mnemon-2026-11-19.db --data-dir /var/lib/mnemon"),
    ("config", "mnemon config check --config mnemon.toml"),
    ("config check", "mnemon config check --config mnemon.toml"),
    ("config print", "mnemon config print --config mnemon.toml"),
    ("doctor", "mnemon doctor --url https://memory.example.com"),
    ("health", "mnemon health --live"),
    ("completions", "mnemon completions bash > ~/.local/share/bash-completion/completions/mnemon"),
    ("man", "mnemon man ~/.local/share/man/man1"),
    ("selftest", "mnemon selftest isolation --cases 1000"),
    ("selftest isolation", "mnemon selftest isolation --cases 1000 --seed 7"),
    ("account", "mnemon account create 'Example Ltd' --plan pro"),
    ("account create", "mnemon account create 'Example Ltd' --plan pro --paid-until 2027-12-31T00:00:00Z"),
    ("account list", "mnemon account list"),
    ("account show", "mnemon account show 'Example Ltd'"),
    ("account suspend", "mnemon account suspend 'Example Ltd'"),
    ("account resume", "mnemon account resume 'Example Ltd'"),
    ("plan", "mnemon plan show"),
    ("plan set", "mnemon plan set 'Example Ltd' pro --paid-until 2027-12-31T00:00:00Z"),
    ("plan show", "mnemon plan show 'Example Ltd'"),
    ("project", "mnemon project list"),
    ("project create", "mnemon project create Website"),
    ("project list", "mnemon project list --account 'Example Ltd'"),
    ("project show", "mnemon project show Website"),
    ("project change", "mnemon project change Website --tool-names underscores"),
    ("project delete", "mnemon project delete Website"),
    ("department", "mnemon department list"),
    ("department create", "mnemon department create Support --parent Engineering"),
    ("department list", "mnemon department list"),
    ("department show", "mnemon department show Support"),
    ("department change", "mnemon department change Support --name Help --top"),
    ("department delete", "mnemon department delete Support"),
    ("member", "mnemon member create Ben --with-key laptop"),
    ("member create", "mnemon member create Ben --department Support --with-key laptop"),
    ("member invite", "mnemon member invite Ben --department Support --label laptop"),
    ("member list", "mnemon member list"),
    ("member show", "mnemon member show Ben"),
    ("member change", "mnemon member change Ben --role head --department Support"),
    ("member delete", "mnemon member delete Ben --hand-over-to Ana"),
    ("key", "mnemon key list --mine"),
    ("key create", "mnemon key create --member Ben --project Website --label laptop --access read"),
    ("key change", "mnemon key change 01a1f16a-2bda-7861-a146-6d7c95bbd619 --access read"),
    ("key list", "mnemon key list --project Website"),
    ("key revoke", "mnemon key revoke 01a1f16a-2bda-7861-a146-6d7c95bbd619"),
    ("connection", "mnemon connection list"),
    ("connection list", "mnemon connection list --project Website"),
    ("connection revoke", "mnemon connection revoke 01a1f16a-2bda-7861-a146-6d7c95bbd619"),
    ("console", "mnemon console list"),
    ("console list", "mnemon console list --project Website"),
    ("console end", "mnemon console end 01a1f16a-2bda-7861-a146-6d7c95bbd619"),
    ("integration", "mnemon integration add --preset github --bearer-stdin < token"),
    ("integration add", "mnemon integration add tracker --endpoint https://tracker.example.com/mcp --allow 'get_*'"),
    ("integration change", "mnemon integration change tracker --title 'Issue tracker'"),
    ("integration list", "mnemon integration list"),
    ("integration test", "mnemon integration test github"),
    ("integration tools", "mnemon integration tools github"),
    ("integration accept", "mnemon integration accept github get_me"),
    ("integration enable", "mnemon integration enable github"),
    ("integration disable", "mnemon integration disable github"),
    ("integration remove", "mnemon integration remove github"),
    ("integration rotate-key", "mnemon integration rotate-key"),
    ("workspace", "mnemon workspace list"),
    ("workspace list", "mnemon workspace list --deleted"),
    ("workspace delete", "mnemon workspace delete shop"),
    ("workspace restore", "mnemon workspace restore shop"),
    ("record", "mnemon record list --status stale"),
    ("record list", "mnemon record list --status stale --workspace shop"),
    ("record show", "mnemon record show 01a1f16a-2bda-7861-a146-6d7c95bbd619"),
    ("record keep", "mnemon record keep 01a1f16a-2bda-7861-a146-6d7c95bbd619"),
    ("record forget", "mnemon record forget 01a1f16a-2bda-7861-a146-6d7c95bbd619"),
    ("record restore", "mnemon record restore 01a1f16a-2bda-7861-a146-6d7c95bbd619"),
    ("record purge", "mnemon record purge 01a1f16a-2bda-7861-a146-6d7c95bbd619"),
    ("session", "mnemon session list"),
    ("session list", "mnemon session list --project Website"),
    ("session delete", "mnemon session delete 01a1f16a-2bda-7861-a146-6d7c95bbd619"),
    ("audit", "mnemon audit --member Ben --action key"),
    ("usage", "mnemon usage Website --days 7"),
    ("whoami", "mnemon whoami"),
    ("guard", "mnemon guard rejections"),
    ("guard show", "mnemon guard show"),
    ("guard set", "mnemon guard set 'Example Ltd' report"),
    ("guard rejections", "mnemon guard rejections --limit 20"),
    ("guard release", "mnemon guard release Website e2d9a3425bf67e08"),
    ("node", "mnemon node list"),
    ("node list", "mnemon node list"),
    ("compact", "mnemon compact"),
];

/// The command line with all of it.
pub fn command() -> Command {
    let command = with_examples(Arguments::command(), "");
    let groups = groups(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{}\n{{options}}{{after-help}}",
        heading("Options")
    ))
}

/// The example of a command.
pub fn example(path: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(of, _)| *of == path).map(|(_, example)| *example)
}

fn with_examples(command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |inner| with_examples(inner, path.trim_start()))
    });
    match example(path) {
        Some(example) => command.after_help(format!("{}\n  {example}", heading("Example"))),
        None => command,
    }
}

fn heading(text: &str) -> String {
    let styles = Styles::styled();
    let header = styles.get_header();
    format!("{header}{text}:{header:#}")
}

/// Each group with the first sentence about each of its commands.
fn groups(command: &Command) -> String {
    let line = |name: &&str| {
        let about = command.find_subcommand(name).and_then(|found| found.get_about()).map(ToString::to_string);
        let about = about.unwrap_or_default();
        let first = about.split_once(". ").map_or(about.as_str(), |(first, _)| first);
        format!("  {name:<13}{}\n", first.trim_end_matches('.'))
    };
    let group = |(title, names): &(&str, &[&str])| {
        format!("{}\n{}\n", heading(title), names.iter().map(line).collect::<String>())
    };
    GROUPS.iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command with its path, but those that clap makes and those that are hidden.
    fn all(command: &Command, path: &str, found: &mut Vec<String>) {
        found.push(path.to_owned());
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            all(inner, format!("{path} {}", inner.get_name()).trim_start(), found);
        }
    }

    #[test]
    fn every_command_has_an_example_that_calls_it() {
        let command = command();
        let mut paths = Vec::new();
        all(&command, "", &mut paths);
        for path in &paths {
            let example = example(path).unwrap_or_else(|| panic!("`mnemon {path}` has no example; add one above"));
            for line in example.lines() {
                let line = line.split(['<', '>']).next().unwrap_or_default().trim();
                let words: Vec<String> = words(line);
                let starts = format!("mnemon {path}");
                assert!(line.starts_with(starts.trim()), "{line} is no example of {starts}");
                let parsed = command.clone().try_get_matches_from(&words);
                parsed.unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
        let known = EXAMPLES.iter().all(|(path, _)| paths.iter().any(|known| known == path));
        assert!(known && EXAMPLES.len() == paths.len(), "each example is of one command that exists");
    }

    /// The words of a line; single quotes hold several together.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate();
        let words = parts.flat_map(|(n, part)| match n % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.collect()
    }

    #[test]
    fn every_command_is_in_one_group_and_its_line_fits() {
        let command = command();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let mut names: Vec<&str> =
            command.get_subcommands().map(Command::get_name).filter(|name| *name != "help").collect();
        names.sort_unstable();
        assert_eq!(grouped, names);
        let help = command.clone().term_width(100).render_long_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}
