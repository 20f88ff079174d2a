//! What an embedding costs, by language.

use mnemon_recall::Model;

use super::data::Facts;
use crate::recall_speed::cpu_seconds;

/// How long the texts are, in characters.
const LENGTH: usize = 200;
/// How often all texts of a language are embedded; the fastest round counts, for others use the machine too.
const ROUNDS: usize = 40;
const MICROS_MAX: f64 = 25.0;

pub(super) fn print(facts: &Facts) {
    println!("\nprocessor time of an embedding of {LENGTH} characters, the fastest of {ROUNDS} rounds, µs\n");
    let mut slow = Vec::new();
    for language in facts.languages() {
        let micros = measure(&texts(facts, language));
        println!("{language:6}  {micros:5.1}");
        if micros > MICROS_MAX {
            slow.push(language);
        }
    }
    let verdict = if slow.is_empty() { "PASS" } else { "MISS" };
    println!("\n{verdict} above {MICROS_MAX} µs: {}", if slow.is_empty() { "none".to_owned() } else { slow.join(" ") });
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
