//! The story in `docs/guides/freshness.md`: its commands are typed into a shell, and what appears is what the page
//! shows.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{Done, Place, Service};

const PAGE: &str = include_str!("../../../../docs/guides/freshness.md");

/// A command of the page, and what it prints there.
struct Step {
    command: String,
    shown: String,
}

/// The steps of all console blocks, in order. `$ ` begins a command, `> ` continues it, the rest is output.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_inside) {
            steps.push(Step { command: command.to_owned(), shown: String::new() });
        } else if let Some(step) = steps.last_mut().filter(|_| is_inside) {
            let (part, text) = match line.strip_prefix("> ").or((line == ">").then_some("")) {
                Some(more) => (&mut step.command, format!("\n{more}")),
                None => (&mut step.shown, format!("{line}\n")),
            };
            part.push_str(&text);
        }
    }
    steps
}

fn type_in(place: &Place, service: &Service, command: &str) -> Done {
    let program = Path::new(env!("CARGO_BIN_EXE_mnemon")).parent().expect("a program lies in a folder");
    // The shell's own path has the other programs.
    let script = format!("PATH=\"{}:$PATH\"\n{command}", program.display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(place.path()).env_clear().stdin(Stdio::null());
    shell.env("MNEMON_URL", &service.url).env("MNEMON_API_KEY", service.key());
    Done::of(shell.output().expect("a shell runs"))
}

fn is_id(word: &str) -> bool {
    word.len() == 36 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn is_moment(word: &str) -> bool {
    word.len() == 20 && word.ends_with('Z') && word.as_bytes()[10] == b'T'
}

fn is_day(word: &str) -> bool {
    word.len() == 10 && word.starts_with("20") && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

fn is_score(word: &str) -> bool {
    word.len() == 4 && word.parse::<f64>().is_ok_and(|score| (0.0..=1.0).contains(&score))
}

/// The words of a text between which only spaces, commas and line ends stand.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty())
}

/// The text with each id under the number of its first appearance, and without moments and scores.
fn shape(text: &str, ids: &mut Vec<String>) -> String {
    let mut shape = text.to_owned();
    for word in words(text) {
        if is_id(word) {
            let number = ids.iter().position(|id| id == word).unwrap_or_else(|| {
                ids.push(word.to_owned());
                ids.len() - 1
            });
            shape = shape.replace(word, &format!("<id {number}>"));
        } else if is_moment(word) {
            shape = shape.replace(word, "<moment>");
        } else if is_day(word) {
            shape = shape.replace(word, "<day>");
        } else if is_score(word) {
            shape = shape.replace(word, "<score>");
        }
    }
    shape
}

#[test]
fn the_page_on_freshness_shows_what_its_commands_print() {
    let steps = steps(PAGE);
    assert!(steps.len() > 6, "the page has a story: {}", steps.len());
    let place = Place::new();
    let service = place.serve(&[]);
    let (mut shown_ids, mut seen_ids) = (Vec::new(), Vec::new());
    for step in &steps {
        // Ids that the page showed before are those that this run has seen in their places.
        let known: HashMap<&String, &String> = shown_ids.iter().zip(&seen_ids).collect();
        let command = known.iter().fold(step.command.clone(), |command, (shown, seen)| command.replace(*shown, seen));
        let done = type_in(&place, &service, &command);
        assert_eq!(done.err, "", "{command}");
        let (expected, found) = (shape(&step.shown, &mut shown_ids), shape(&done.out, &mut seen_ids));
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn other_ids_times_and_scores_have_the_same_shape_and_other_words_do_not() {
    let page = "0.93  stale  01a1e0ed-e1fc-7379-947e-a5b4b38284da\n      at 2026-11-15T20:37:30Z\n";
    let run = "0.87  stale  01b2e0ed-e1fc-7379-947e-a5b4b38284da\n      at 2027-01-02T03:04:05Z\n";
    assert_eq!(shape(page, &mut Vec::new()), shape(run, &mut Vec::new()));
    assert_ne!(shape(page, &mut Vec::new()), shape(&run.replace("stale", "verified"), &mut Vec::new()));
    let swapped = "01b2e0ed-e1fc-7379-947e-a5b4b38284da";
    let mut known = vec![swapped.to_owned(), "01a1e0ed-e1fc-7379-947e-a5b4b38284da".to_owned()];
    assert_eq!(shape("01a1e0ed-e1fc-7379-947e-a5b4b38284da", &mut known), "<id 1>");
}
