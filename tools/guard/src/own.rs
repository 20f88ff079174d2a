//! Texts written for training: templates in `own/` with slots that are filled by chance.
//!
//! Public collections lack what a memory service gets: notes that poison later sessions in many languages, and
//! everyday notes that only sound like orders to a machine. A template is one line; `{slot}` is replaced by one of its
//! fillings.

use std::collections::BTreeMap;

use crate::chance::Chance;

const SLOTS: &str = include_str!("../own/slots.txt");
const REJECT: [&str; 3] =
    [include_str!("../own/reject.txt"), include_str!("../own/reject-more.txt"), include_str!("../own/reject-long.txt")];
const ACCEPT: [&str; 3] =
    [include_str!("../own/accept.txt"), include_str!("../own/accept-more.txt"), include_str!("../own/accept-long.txt")];
const LANGUAGES: &str = include_str!("../own/languages.txt");
const WIDE: &str = include_str!("../own/wide.txt");
const PLANTED: &str = include_str!("../own/planted.txt");

/// A text of `planted.txt`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Planted {
    /// The language's code.
    pub language: String,
    /// Is it to be refused?
    pub is_malicious: bool,
    /// The text itself.
    pub text: String,
}

/// How many texts are made of a template that has slots.
const FILLINGS: usize = 8;

/// Texts of both sides.
#[derive(Debug, Clone, Default)]
pub struct Own {
    /// To be refused.
    pub reject: Vec<String>,
    /// To be refused as well: the sections of `languages.txt`, many texts of one pattern.
    pub in_languages: Vec<String>,
    /// To be let through.
    pub accept: Vec<String>,
    /// The sections of `wide.txt`: orders in comments and for occasions, to be refused.
    pub wide_reject: Vec<String>,
    /// And harmless texts of the same forms.
    pub wide_accept: Vec<String>,
}

/// All texts of our own; the same ones each time.
pub fn texts() -> Own {
    let mut chance = Chance::with_seed(7);
    let slots = parse_slots(content_lines(SLOTS));
    let mut own = Own::default();
    for templates in REJECT {
        own.reject.extend(filled(templates, &slots, &mut chance));
    }
    for templates in ACCEPT {
        own.accept.extend(filled(templates, &slots, &mut chance));
    }
    own.in_languages = in_languages(&slots, &mut chance);
    own.wide_reject = wide("[reject ", &slots);
    own.wide_accept = wide("[accept ", &slots);
    own
}

/// The texts of `planted.txt`, each once.
pub fn planted() -> Vec<Planted> {
    let mut chance = Chance::with_seed(10);
    let common = parse_slots(content_lines(SLOTS));
    let lines: Vec<&str> = content_lines(PLANTED).collect();
    let mut planted = Vec::new();
    for section in lines.chunk_by(|_, next| !next.starts_with('[')) {
        let Some((language, side)) = section[0].trim_matches(['[', ']']).split_once(' ') else { continue };
        for text in of_section(&section[1..], &common, &mut chance) {
            planted.push(Planted { language: language.to_owned(), is_malicious: side == "reject", text });
        }
    }
    planted.sort();
    planted.dedup();
    planted
}

type Slots = BTreeMap<String, Vec<String>>;

/// `name: filling | filling | …`, one slot per line.
fn parse_slots<'t>(lines: impl Iterator<Item = &'t str>) -> Slots {
    lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, fillings)| (name.to_owned(), fillings.split(" | ").map(str::to_owned).collect()))
        .collect()
}

fn filled(templates: &str, slots: &Slots, chance: &mut Chance) -> Vec<String> {
    let mut texts = Vec::new();
    for template in content_lines(templates) {
        let count = if template.contains('{') { FILLINGS } else { 1 };
        texts.extend((0..count).map(|_| fill(template, slots, chance)));
    }
    texts
}

/// The sections of `languages.txt`: `[language]`, its slots, and patterns behind the number of texts that are made of
/// each.
fn in_languages(common: &Slots, chance: &mut Chance) -> Vec<String> {
    let mut texts = Vec::new();
    let lines: Vec<&str> = content_lines(LANGUAGES).collect();
    for section in lines.split(|line| line.starts_with('[')).skip(1) {
        texts.extend(of_section(section, common, chance));
    }
    texts.sort();
    texts.dedup();
    texts
}

/// The texts of one section: its slots, and patterns behind the number of texts that are made of each.
fn of_section(section: &[&str], common: &Slots, chance: &mut Chance) -> Vec<String> {
    let mut slots = common.clone();
    slots.extend(parse_slots(section.iter().copied().filter(|line| pattern(line).is_none())));
    let patterns = section.iter().filter_map(|line| pattern(line));
    patterns.flat_map(|(count, pattern)| vec![pattern; count]).map(|pattern| fill(pattern, &slots, chance)).collect()
}

/// The sections of `wide.txt` whose heading begins so. Their slots hold for all of them.
fn wide(heading: &str, common: &Slots) -> Vec<String> {
    let mut chance = Chance::with_seed(8);
    let mut slots = common.clone();
    slots.extend(parse_slots(content_lines(WIDE).filter(|line| pattern(line).is_none())));
    let mut texts = Vec::new();
    let mut is_wanted = false;
    for line in content_lines(WIDE) {
        match pattern(line) {
            Some((count, pattern)) if is_wanted => {
                texts.extend((0..count).map(|_| fill(pattern, &slots, &mut chance)));
            }
            None if line.starts_with('[') => is_wanted = line.starts_with(heading),
            _ => {}
        }
    }
    texts.sort();
    texts.dedup();
    texts
}

/// `<count> <pattern>`.
fn pattern(line: &str) -> Option<(usize, &str)> {
    let (count, pattern) = line.split_once(' ')?;
    Some((count.parse().ok()?, pattern))
}

fn content_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("## "))
}

/// Fills the slots of a template; fillings may have slots themselves. `\n` is a line break.
fn fill(template: &str, slots: &Slots, chance: &mut Chance) -> String {
    let mut text = template.replace("\\n", "\n");
    for _ in 0..48 {
        let Some((start, end)) = next_slot(&text) else { break };
        let filling = slots.get(&text[start + 1..end]).map_or("", |fillings| chance.pick(fillings).as_str());
        text.replace_range(start..=end, filling);
    }
    text
}

fn next_slot(text: &str) -> Option<(usize, usize)> {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    text.match_indices('{').find_map(|(start, _)| {
        let end = start + text[start..].find('}')?;
        is_name(&text[start + 1..end]).then_some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_slots(lines: &[&str], slots: &Slots) {
        for line in lines {
            let mut rest = *line;
            while let Some((start, end)) = next_slot(rest) {
                assert!(slots.contains_key(&rest[start + 1..end]), "{} in {line}", &rest[start..=end]);
                rest = &rest[end + 1..];
            }
        }
    }

    #[test]
    fn every_slot_that_is_named_exists() {
        let slots = parse_slots(content_lines(SLOTS));
        for templates in REJECT.into_iter().chain(ACCEPT).chain([SLOTS]) {
            check_slots(&content_lines(templates).collect::<Vec<_>>(), &slots);
        }
        let lines: Vec<&str> = content_lines(LANGUAGES).chain(content_lines(PLANTED)).collect();
        for section in lines.split(|line| line.starts_with('[')) {
            let mut slots = slots.clone();
            slots.extend(parse_slots(section.iter().copied().filter(|line| pattern(line).is_none())));
            check_slots(section, &slots);
        }
        let lines: Vec<&str> = content_lines(WIDE).collect();
        let mut slots = slots;
        slots.extend(parse_slots(lines.iter().copied().filter(|line| pattern(line).is_none())));
        check_slots(&lines, &slots);
    }

    #[test]
    fn texts_are_the_same_each_time() {
        assert_eq!(texts().reject, texts().reject);
    }

    #[test]
    fn no_text_of_the_bench_is_trained_on() {
        let own = texts();
        let planted: Vec<String> = planted().into_iter().map(|planted| planted.text).collect();
        for tested in [
            include_str!("../../../bench/data/guard/everyday.txt"),
            include_str!("../../../bench/data/guard/code-comments.txt"),
            include_str!("../../../bench/data/guard/triggers.txt"),
            include_str!("../../../bench/data/guard/fresh-everyday.txt"),
            include_str!("../../../bench/data/guard/fresh-code-comments.txt"),
            include_str!("../../../bench/data/guard/fresh-triggers.txt"),
            include_str!("../../../bench/data/guard/third-everyday.txt"),
            include_str!("../../../bench/data/guard/third-code-comments.txt"),
            include_str!("../../../bench/data/guard/third-triggers.txt"),
            include_str!("../../../bench/data/guard/fourth-everyday.txt"),
            include_str!("../../../bench/data/guard/fourth-code-comments.txt"),
            include_str!("../../../bench/data/guard/fourth-triggers.txt"),
            include_str!("../../../bench/data/guard/about-attacks.txt"),
            include_str!("../../../bench/data/guard/quoted-attacks.txt"),
            include_str!("../../../bench/data/guard/planted.txt"),
        ] {
            for line in tested.lines().filter(|line| !line.starts_with("## ")) {
                let line = line.replace("\\n", "\n");
                for texts in [&own.reject, &own.accept, &own.wide_reject, &own.wide_accept, &planted] {
                    assert!(!texts.contains(&line), "{line}");
                }
            }
        }
    }
}
