//! Texts written for training, as templates: `own/reject.txt`, `own/accept.txt` and the words of `own/slots.txt`.
//!
//! Public collections lack what a memory service meets: notes that poison later sessions, and team rules that only
//! sound like orders to a machine. A template is one line; `{slot}` is replaced by one of the slot's fillings.

use std::collections::BTreeMap;

use mnemon_guard::training::Specimen;

use crate::chance::Chance;
use crate::disguise;
use crate::fit::Lesson;

const SLOTS: &str = include_str!("../own/slots.txt");
const REJECT: &str = include_str!("../own/reject.txt");
const ACCEPT: &str = include_str!("../own/accept.txt");

/// How many texts are made of a template that has slots.
const FILLINGS: usize = 8;
/// One rejected text in this many is also used in a disguise.
const DISGUISED_EVERY: usize = 4;
/// One rejected text in this many is also used between two accepted ones.
const EMBEDDED_EVERY: usize = 4;

/// All lessons from our own texts.
pub fn lessons() -> Vec<Lesson> {
    let mut chance = Chance::with_seed(7);
    let slots = parse_slots(SLOTS);
    let rejected = texts(REJECT, &slots, &mut chance);
    let accepted = texts(ACCEPT, &slots, &mut chance);
    let mut lessons: Vec<Lesson> = Vec::new();
    for (at, text) in rejected.iter().enumerate() {
        lessons.push(lesson(text, true));
        if at % DISGUISED_EVERY == 0 {
            lessons.push(lesson(&disguise::any(text, &mut chance), true));
        }
        if at % EMBEDDED_EVERY == 1 {
            let (before, after) = (chance.pick(&accepted), chance.pick(&accepted));
            lessons.push(lesson(&format!("{before} {text} {after}"), true));
        }
    }
    for text in &accepted {
        lessons.push(lesson(text, false));
        if chance.below(12) == 0 {
            lessons.push(lesson(&format!("value: {}", disguise::base64(text)), false));
        }
    }
    lessons
}

fn lesson(text: &str, is_malicious: bool) -> Lesson {
    Lesson { specimen: Specimen::of(text), is_malicious, weight: 0.3 }
}

type Slots = BTreeMap<String, Vec<String>>;

/// `name: filling | filling | …`, one slot per line.
fn parse_slots(text: &str) -> Slots {
    content_lines(text)
        .filter_map(|line| line.split_once(": "))
        .map(|(name, fillings)| (name.to_owned(), fillings.split(" | ").map(|f| f.trim().to_owned()).collect()))
        .collect()
}

fn texts(templates: &str, slots: &Slots, chance: &mut Chance) -> Vec<String> {
    let mut texts = Vec::new();
    for template in content_lines(templates) {
        let count = if template.contains('{') { FILLINGS } else { 1 };
        texts.extend((0..count).map(|_| fill(template, slots, chance)));
    }
    texts
}

fn content_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("# "))
}

/// Fills the slots of a template; fillings may have slots themselves. `\n` is a line break.
fn fill(template: &str, slots: &Slots, chance: &mut Chance) -> String {
    let mut text = template.replace("\\n", "\n");
    for _ in 0..24 {
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

    #[test]
    fn every_slot_that_is_named_exists() {
        let slots = parse_slots(SLOTS);
        for line in content_lines(REJECT).chain(content_lines(ACCEPT)).chain(content_lines(SLOTS)) {
            let mut rest = line;
            while let Some((start, end)) = next_slot(rest) {
                assert!(slots.contains_key(&rest[start + 1..end]), "{} in {line}", &rest[start..=end]);
                rest = &rest[end + 1..];
            }
        }
    }
}
