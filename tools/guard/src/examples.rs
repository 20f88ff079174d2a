//! What is learned: the collected texts, pages and our own texts, each as they are and as they are met in the field.
//!
//! Attacks are also shown between harmless texts, in transcripts, behind a date or a name, and in disguise; harmless
//! texts also joined to long ones. Everything is drawn with a fixed seed.

use std::collections::BTreeMap;

use mnemon_guard::training::Specimen;

use crate::chance::Chance;
use crate::data::{ATTACKS_KIND, OWN_PLANTED_KIND, PAGES_KIND, Sample};
use crate::disguise;
use crate::fit::Lesson;
use crate::own::Own;
use crate::pages::Page;

/// How much an attack counts; a harmless text counts 1.
const ATTACK: f32 = 8.0;
/// Our own attacks are many of a kind, so each counts less; our own harmless texts are made to balance them.
const OWN_ATTACK: f32 = 4.0;
const IN_LANGUAGES: f32 = 3.5;
/// The many forms of comments and occasions, and what balances them.
const WIDE_ATTACK: f32 = 2.2;
const WIDE_HARMLESS: f32 = 2.0;
const OWN_HARMLESS: f32 = 3.0;
const DISGUISED_HARMLESS: f32 = 0.25;
/// Pages are few, and each has many sentences.
const PAGE: f32 = 6.0;
/// Requests without any mark of an attack can't be distinguished from a user's own words.
const IMPLICIT: f32 = 0.1;
/// Harmless texts in other languages balance the many attacks of our own in them.
const OTHER_LANGUAGES: f32 = 3.2;
/// Ordinary pages and paragraphs in many languages: news, encyclopedias, speeches, stories.
const PAGES_IN_LANGUAGES: f32 = 1.5;
/// Attacks of our own that are planted in other languages, those of collections, and harmless texts that look like
/// them.
const PLANTED: f32 = 1.5;
const OWN_PLANTED: f32 = 0.5;
const MULTILINGUAL: f32 = 3.0;
const PLANTED_ALIKE: f32 = 3.0;
/// Guides and runbooks tell people what to do, in the words that orders to machines use.
const DOCUMENTS: f32 = 2.0;
/// Harmless transcripts are few beside single turns.
const TRANSCRIPTS: f32 = 2.5;
/// Labels that were doubted.
const DOUBT: f32 = 0.05;
/// An attack in other surroundings.
const AGAIN: f32 = 0.8;
/// The share of attacks that is shown between harmless texts, and in the forms in which assistants save them.
const EMBEDDED: f32 = 0.5;
const WRAPPED: f32 = 0.3;
/// The share of harmless turns that is shown in these forms, too.
const WRAPPED_HARMLESS: f32 = 0.1;
/// The share of attacks that is shown in a new disguise.
const DISGUISED: f32 = 0.2;
/// How many long harmless texts are joined from short ones.
const LONG_TEXTS: usize = 2_500;
/// How many harmless transcripts are put together from single turns, and how many pages from our own harmless texts.
const TRANSCRIPTS_MADE: usize = 3_000;
const OWN_PAGES: usize = 400;
/// How many texts are made of lines that are shaped alike, and what each counts.
const ALIKE_MADE: usize = 300;
const ALIKE: f32 = 1.0;
/// What a page of our own counts.
const OWN_PAGE: f32 = 2.0;
/// One in this many of our own attacks is shown in each further form.
const OWN_EVERY: usize = 4;
/// One in this many harmless texts of our own is shown in disguise: hiding alone is no attack.
const OWN_DISGUISED_EVERY: usize = 10;

/// Lessons from collected texts, with the family that each belongs to.
pub fn of_samples(samples: &[Sample]) -> Vec<(String, Lesson)> {
    let mut chance = Chance::with_seed(5);
    let surroundings = Surroundings::of(samples);
    let mut lessons = Vec::new();
    let mut in_languages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.kind == PAGES_KIND) {
        in_languages.entry(&sample.lang).or_default().push(&sample.text);
    }
    for sample in samples {
        let weight = weight(sample);
        let mut add = |text: &str, weight: f32| {
            lessons.push((sample.family().to_owned(), lesson(text, sample.is_malicious(), weight)));
        };
        add(&sample.text, weight);
        if sample.kind == "chat" && chance.happens(WRAPPED_HARMLESS) {
            add(&surroundings.wrap(&sample.text, &mut chance), weight);
        }
        if !sample.is_malicious() || sample.kind == "implicit" {
            continue;
        }
        let is_planted = matches!(sample.kind.as_str(), ATTACKS_KIND | OWN_PLANTED_KIND);
        if let Some(pages) = in_languages.get(sample.lang.as_str()).filter(|_| is_planted) {
            let page = pages[chance.below(pages.len())];
            add(&inside_page(&sample.text, page, &mut chance), AGAIN * weight);
        }
        if sample.text.len() < 600 && chance.happens(EMBEDDED) {
            add(&surroundings.embed(&sample.text, &mut chance), AGAIN * weight);
        }
        if sample.text.len() < 800 && chance.happens(WRAPPED) {
            add(&surroundings.wrap(&sample.text, &mut chance), AGAIN * weight);
        }
        if sample.text.len() < 800 && sample.kind != "obf" && chance.happens(DISGUISED) {
            add(&disguise::any(&sample.text, &mut chance), AGAIN * weight);
        }
    }
    lessons.extend(long_texts(samples, &mut chance));
    lessons.extend(transcripts(samples, &mut chance));
    lessons.extend(alike(samples));
    lessons
}

/// Lessons from pages.
pub fn of_pages(pages: &[Page]) -> Vec<Lesson> {
    pages.iter().map(|page| lesson(&page.text, false, PAGE)).collect()
}

/// Lessons from our own texts; `samples` surround some of them.
pub fn of_own(own: &Own, samples: &[Sample], pages: &[Page]) -> Vec<Lesson> {
    let mut chance = Chance::with_seed(6);
    let surroundings = Surroundings::of(samples);
    let mut lessons = Vec::new();
    let in_languages = own.in_languages.iter().map(|text| (text, IN_LANGUAGES));
    let foreign: Vec<&str> = samples
        .iter()
        .filter(|sample| sample.kind == PAGES_KIND && sample.text.len() < 1_500)
        .map(|sample| sample.text.as_str())
        .collect();
    let abroad = Surroundings { texts: foreign, turns: surroundings.turns.clone() };
    let wide = own.wide_reject.iter().map(|text| (text, WIDE_ATTACK));
    let rejected = own.reject.iter().map(|text| (text, OWN_ATTACK)).chain(in_languages).chain(wide);
    let is_abroad = own.reject.len()..own.reject.len() + own.in_languages.len();
    for (at, (text, weight)) in rejected.enumerate() {
        let mut add = |text: &str| lessons.push(lesson(text, true, weight));
        add(text);
        match at % OWN_EVERY {
            0 => add(&disguise::any(text, &mut chance)),
            1 | 3 if is_abroad.contains(&at) && !abroad.texts.is_empty() => add(&abroad.embed(text, &mut chance)),
            1 => add(&surroundings.embed(text, &mut chance)),
            2 => add(&surroundings.wrap(text, &mut chance)),
            _ if at % (5 * OWN_EVERY) == 3 && !pages.is_empty() => {
                add(&inside_page(text, &chance.pick(pages).text.clone(), &mut chance))
            }
            _ => {}
        }
    }
    for (at, text) in own.accept.iter().enumerate() {
        lessons.push(lesson(text, false, OWN_HARMLESS));
        if at % OWN_DISGUISED_EVERY == 0 {
            lessons.push(lesson(&format!("value: {}", disguise::base64(text)), false, DISGUISED_HARMLESS));
            lessons.push(lesson(&chance.pick(disguise::NEW).1(text), false, DISGUISED_HARMLESS));
        }
    }
    for (at, text) in own.wide_accept.iter().enumerate() {
        let mut add = |text: &str| lessons.push(lesson(text, false, WIDE_HARMLESS));
        add(text);
        match at % (2 * OWN_EVERY) {
            1 => add(&surroundings.embed(text, &mut chance)),
            2 => add(&surroundings.wrap(text, &mut chance)),
            _ => {}
        }
    }
    for _ in 0..OWN_PAGES {
        lessons.push(lesson(&own_page(&own.accept, &mut chance), false, OWN_PAGE));
    }
    lessons
}

/// Harmless texts of our own, one after the other: a reference, a list, a page of notes.
fn own_page(texts: &[String], chance: &mut Chance) -> String {
    let gap = *chance.pick(&["\n", "\n\n", "\n- "]);
    let count = 8 + chance.below(40);
    // Texts of one kind stay together, as templates of one kind do.
    let first = chance.below(texts.len().saturating_sub(4 * count).max(1));
    (0..count)
        .map(|_| &texts[(first + chance.below(4 * count)) % texts.len()])
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(gap)
}

fn lesson(text: &str, is_malicious: bool, weight: f32) -> Lesson {
    Lesson { specimen: Specimen::of(text), is_malicious, weight }
}

fn weight(sample: &Sample) -> f32 {
    let kind: f32 = match sample.kind.as_str() {
        "implicit" | "redteam-request" | "memory-subtle" => IMPLICIT,
        "docs" | "agents" | "secdocs" | "runbook" | "adr" if !sample.is_malicious() => DOCUMENTS,
        "docs-ml" => OTHER_LANGUAGES,
        PAGES_KIND => PAGES_IN_LANGUAGES,
        ATTACKS_KIND if !sample.is_malicious() => PLANTED_ALIKE,
        ATTACKS_KIND => PLANTED,
        OWN_PLANTED_KIND if !sample.is_malicious() => PLANTED_ALIKE,
        OWN_PLANTED_KIND => OWN_PLANTED,
        "multilingual" => MULTILINGUAL,
        "chat" if sample.text.contains('\n') => TRANSCRIPTS,
        _ => 1.0,
    };
    let sure = if sample.doubt { kind.min(DOUBT) } else { kind };
    if sample.is_malicious() { ATTACK * sure } else { sure }
}

/// Harmless texts to put attacks between.
struct Surroundings<'s> {
    texts: Vec<&'s str>,
    turns: Vec<&'s str>,
}

const NAMES: &[&str] = &["Anna", "Tim", "Maria", "John", "Wei", "Priya", "Lukas", "Sofia", "Omar", "Yuki"];
const MONTHS: &[&str] = &["January", "March", "May", "June", "October"];

impl<'s> Surroundings<'s> {
    fn of(samples: &'s [Sample]) -> Surroundings<'s> {
        // Pages in other languages surround attacks of their own language.
        let is_foreign =
            |sample: &&Sample| matches!(sample.kind.as_str(), PAGES_KIND | ATTACKS_KIND | OWN_PLANTED_KIND);
        let harmless = samples.iter().filter(|sample| !sample.is_malicious() && !is_foreign(sample));
        let is_turn =
            |sample: &&Sample| sample.kind == "chat" && sample.text.len() < 400 && !sample.text.contains('\n');
        Surroundings {
            texts: harmless.clone().filter(|sample| sample.text.len() < 1_500).map(|s| s.text.as_str()).collect(),
            turns: harmless.filter(is_turn).map(|sample| sample.text.as_str()).collect(),
        }
    }

    fn embed(&self, text: &str, chance: &mut Chance) -> String {
        let (before, after) = (chance.pick(&self.texts), chance.pick(&self.texts));
        match chance.below(4) {
            0 => format!("{before}\n{text}\n{after}"),
            1 => format!("{before} {text}"),
            2 => format!("{before} {text} {after}"),
            _ => format!("{text}\n\n{after}"),
        }
    }

    /// The text as assistants save it: with a date, a name, or inside a transcript.
    fn wrap(&self, text: &str, chance: &mut Chance) -> String {
        let name = chance.pick(NAMES);
        let (year, month, day) = (2022 + chance.below(5), chance.pick(MONTHS), 1 + chance.below(28));
        let (hour, minute) = (1 + chance.below(12), chance.below(60));
        let (asked, answered) = (chance.pick(&self.turns), chance.pick(&self.turns));
        match chance.below(6) {
            0 => format!("[{hour}:{minute:02} pm on {day} {month}, {year}] {name}: {text}"),
            1 => format!("{name}: {text}"),
            2 => format!("User: {text}"),
            3 => format!("User: {asked}\nAssistant: {answered}\nUser: {text}"),
            4 => format!("User: {asked}\nAssistant: {text}"),
            _ => format!("[{year}-{:02}-{day:02}] {text}", 1 + chance.below(12)),
        }
    }
}

/// The text as a paragraph of a page.
fn inside_page(text: &str, page: &str, chance: &mut Chance) -> String {
    let mut breaks: Vec<usize> = page.match_indices("\n\n").map(|(at, _)| at).collect();
    if breaks.is_empty() {
        breaks = page.match_indices(['.', '।', '。', '\n']).map(|(at, end)| at + end.len()).collect();
    }
    let at = if breaks.is_empty() { page.len() } else { *chance.pick(&breaks) };
    format!("{}\n\n{text}\n{}", &page[..at], &page[at..])
}

/// Harmless transcripts, put together from turns, questions and requests of one source.
fn transcripts(samples: &[Sample], chance: &mut Chance) -> Vec<(String, Lesson)> {
    const SPEAKERS: &[[&str; 2]] = &[["User", "Assistant"], ["User", "Assistant"], ["Human", "AI"], ["Q", "A"]];
    let is_turn = |sample: &&Sample| {
        let is_talk = matches!(sample.kind.as_str(), "chat" | "request" | "issue");
        is_talk && !sample.is_malicious() && sample.text.len() < 500 && !sample.text.contains('\n')
    };
    let mut by_source: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
    for sample in samples.iter().filter(is_turn) {
        by_source.entry(&sample.source).or_default().push(sample);
    }
    let sources: Vec<Vec<&Sample>> = by_source.into_values().filter(|turns| turns.len() > 100).collect();
    if sources.is_empty() {
        return Vec::new();
    }
    let made = |_| {
        let source = chance.pick(&sources);
        let speakers = chance.pick(SPEAKERS);
        let turns = 2 + chance.below(7);
        let turn = |at: usize| format!("{}: {}", speakers[at % 2], chance.pick(source).text);
        let text = (0..turns).map(turn).collect::<Vec<_>>().join("\n");
        (source[0].family().to_owned(), lesson(&text, false, 1.0))
    };
    (0..TRANSCRIPTS_MADE).map(made).collect()
}

/// Long harmless texts, each joined from short ones of one source: the worst of many windows must still be harmless.
fn long_texts(samples: &[Sample], chance: &mut Chance) -> Vec<(String, Lesson)> {
    let is_joinable = |sample: &&Sample| {
        let is_odd = matches!(
            sample.kind.as_str(),
            "hardneg" | "notinject" | "chat-adv" | PAGES_KIND | ATTACKS_KIND | OWN_PLANTED_KIND
        ) || sample.kind.ends_with("-persona");
        !sample.is_malicious() && !is_odd && sample.text.len() < 1_500
    };
    let mut by_source: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
    for sample in samples.iter().filter(is_joinable) {
        by_source.entry(&sample.source).or_default().push(sample);
    }
    let sources: Vec<Vec<&Sample>> = by_source.into_values().filter(|texts| texts.len() > 100).collect();
    if sources.is_empty() {
        return Vec::new();
    }
    let joined = |_| {
        let source = chance.pick(&sources);
        let length = 1_000 + chance.below(7_000);
        let gap = *chance.pick(&[" ", "\n", "\n\n"]);
        let mut text = String::new();
        while text.len() < length {
            text.push_str(&chance.pick(source).text);
            text.push_str(gap);
        }
        (source[0].family().to_owned(), lesson(&text, false, 1.0))
    };
    (0..LONG_TEXTS).map(joined).collect()
}

/// Logs, diaries, lists: one harmless line again and again with other numbers, or a few of them by turns.
fn alike(samples: &[Sample]) -> Vec<(String, Lesson)> {
    let mut chance = Chance::with_seed(9);
    let is_line = |sample: &&Sample| {
        let is_plain =
            matches!(sample.kind.as_str(), "docs" | "docs-ml" | "commit" | "note" | "memory" | "chat" | "agents");
        is_plain && !sample.is_malicious() && !sample.text.contains('\n') && (20..200).contains(&sample.text.len())
    };
    let lines: Vec<&Sample> = samples.iter().filter(is_line).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let made = |_| {
        let shapes: Vec<&Sample> = (0..1 + chance.below(3)).map(|_| *chance.pick(&lines)).collect();
        // Short texts and long ones in equal parts: from 300 characters on, doubled up to five times.
        let length = (300 + chance.below(300)) << chance.below(6);
        let form = chance.below(5);
        let mut text = String::new();
        for n in 1.. {
            let line = with_other_digits(&shapes[n % shapes.len()].text, &mut chance);
            let (hour, minute) = (chance.below(24), chance.below(60));
            text += &match form {
                0 => format!("{n}. {line}\n"),
                1 => format!("[{hour:02}:{minute:02}] {}: {line}\n", chance.pick(NAMES)),
                2 => format!("{} {n}: {line}\n", chance.pick(MONTHS)),
                3 => format!("| {n} | {line} | {} |\n", chance.below(1_000)),
                _ => format!("{line} {}.{}\n", chance.below(100), chance.below(100)),
            };
            if text.len() >= length {
                break;
            }
        }
        (shapes[0].family().to_owned(), lesson(&text, false, ALIKE))
    };
    (0..ALIKE_MADE).map(made).collect()
}

fn with_other_digits(line: &str, chance: &mut Chance) -> String {
    let digit = |c: char| if c.is_ascii_digit() { char::from(b'0' + chance.below(10) as u8) } else { c };
    line.chars().map(digit).collect()
}
