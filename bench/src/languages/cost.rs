//! What an embedding costs, by language.

use mnemon_recall::Model;
use serde::Serialize;

use super::data::Facts;
use super::told;
use crate::figures::Verdict;
use crate::recall_speed::cpu_seconds;

/// How long the texts are, in characters.
const LENGTH: usize = 200;
/// How often all texts of a language are embedded; the fastest round counts, for others use the machine too.
const ROUNDS: usize = 40;
const MICROS_MAX: f64 = 25.0;

#[derive(Serialize)]
pub(super) struct Embedding {
    language: String,
    cpu_us: f64,
}

pub(super) fn measure_all(facts: &Facts) -> Vec<Embedding> {
    let measured =
        |language: &str| Embedding { language: language.to_owned(), cpu_us: measure(&texts(facts, language)) };
    facts.languages().map(measured).collect()
}

pub(super) fn print(embeddings: &[Embedding]) -> Verdict {
    println!("\nprocessor time of an embedding of {LENGTH} characters, the fastest of {ROUNDS} rounds, µs\n");
    embeddings.iter().for_each(|one| println!("{:6}  {:5.1}", one.language, one.cpu_us));
    let slow = embeddings.iter().filter(|one| one.cpu_us > MICROS_MAX);
    let slow: Vec<&str> = slow.map(|one| one.language.as_str()).collect();
    println!();
    let named = if slow.is_empty() { "none".to_owned() } else { slow.join(" ") };
    told(slow.is_empty(), format!("above {MICROS_MAX} µs: {named}"))
}

/// Facts and questions of a language, one behind the other, cut to equal lengths.
fn texts(facts: &Facts, language: &str) -> Vec<String> {
    let all: Vec<char> = facts
        .of(language)
        .flat_map(|fact| format!("{} {} ", fact.fact, fact.question).chars().collect::<Vec<_>>())
        .collect();
    all.chunks_exact(LENGTH).map(|chars| chars.iter().collect()).collect()
}

fn measure(texts: &[String]) -> f64 {
    let model = Model::shipped();
    let round = || {
        let before = cpu_seconds();
        for _ in 0..100 {
            texts.iter().for_each(|text| _ = std::hint::black_box(model.encode(text)));
        }
        (cpu_seconds() - before) * 1e6 / (100 * texts.len()) as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::MAX, f64::min)
}
