//! A first, small rule set: pairs of word classes close to each other, and markers of chat templates.

/// Classes are lists of words that mean the same to a rule.
const CANCEL: &[&str] = &["ignore", "disregard", "forget", "override", "bypass", "overrule"];
const ORDERS: &[&str] = &["instructions", "instruction", "guidelines", "directives", "prompt", "policies", "policy"];
const READER: &[&str] = &["assistant", "assistants", "agent", "agents", "ai", "chatbot", "llm", "you"];
const DUTY: &[&str] = &["must", "shall", "should"];
const HIDE: &[&str] = &["hide", "silently", "secretly", "conceal", "send", "forward", "reveal", "leak", "exfiltrate"];

const MARKERS: &[&str] = &["<|im_start|>", "<|system|>", "[inst]", "<<sys>>", "<system>"];

/// How far apart, in words, two classes may stand and still be one thought.
const REACH: usize = 8;

/// One point for each rule that fires.
pub(crate) fn score(text: &str) -> f32 {
    let plain: String =
        text.chars().filter(|c| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')).collect();
    let lower = plain.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut score = 0.0;
    if MARKERS.iter().any(|marker| lower.contains(marker)) {
        score += 1.0;
    }
    if near(&words, CANCEL, ORDERS) {
        score += 1.0;
    }
    if near(&words, READER, DUTY) && near(&words, DUTY, HIDE) {
        score += 1.0;
    }
    score
}

fn near(words: &[&str], first: &[&str], second: &[&str]) -> bool {
    words.iter().enumerate().filter(|(_, word)| first.contains(word)).any(|(at, _)| {
        let end = words.len().min(at + 1 + REACH);
        words[at + 1..end].iter().any(|word| second.contains(word))
    })
}
