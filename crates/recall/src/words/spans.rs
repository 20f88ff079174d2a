//! The places in a text of the words that a query found, for marking them.

use std::collections::HashSet;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::stem::Stems;
use super::{identifiers, scripts};

/// The byte ranges of `text` whose words have one of these stems, in order and without overlap. An identifier is marked
/// as a whole where it was asked for as a whole, else by its parts.
pub fn matched_spans(text: &str, stems: &[String]) -> Vec<Range<usize>> {
    let marker = Marker { stems: Stems::new(), wanted: stems.iter().map(String::as_str).collect() };
    let mut spans = Vec::new();
    if marker.wanted.is_empty() {
        return spans;
    }
    let mut run: Vec<(usize, char)> = Vec::new();
    for (start, word) in text.unicode_word_indices() {
        let first = word.chars().next().unwrap_or(' ');
        let run_end = run.last().map_or(start, |(at, c)| at + c.len_utf8());
        if !scripts::is_unspaced(first) || start != run_end {
            marker.mark_run(&std::mem::take(&mut run), &mut spans);
        }
        if scripts::is_unspaced(first) {
            run.extend(word.char_indices().map(|(at, c)| (start + at, c)));
        } else {
            marker.mark_word(start, word, &mut spans);
        }
    }
    marker.mark_run(&run, &mut spans);
    joined(spans)
}

struct Marker<'a> {
    stems: Stems,
    wanted: HashSet<&'a str>,
}

impl Marker<'_> {
    fn is_wanted(&self, word: &str) -> bool {
        let normal: String = word.nfkc().collect();
        let mut folded = String::new();
        scripts::fold_into(&normal, &mut folded);
        self.wanted.contains(&*self.stems.stem(&folded))
    }

    fn mark_word(&self, start: usize, word: &str, spans: &mut Vec<Range<usize>>) {
        if self.is_wanted(word) {
            spans.push(start..start + word.len());
            return;
        }
        let asides = identifiers::version(word).into_iter().chain(identifiers::members(word));
        for part in identifiers::parts(word).into_iter().chain(asides).filter(|part| self.is_wanted(part)) {
            // A part is a piece of the word itself.
            let at = start + (part.as_ptr().addr() - word.as_ptr().addr());
            spans.push(at..at + part.len());
        }
    }

    /// A run of a script without spaces is indexed by its pairs, and by its single characters.
    fn mark_run(&self, run: &[(usize, char)], spans: &mut Vec<Range<usize>>) {
        for length in [1, 2] {
            for piece in run.windows(length) {
                let text: String = piece.iter().map(|(_, c)| *c).collect();
                let (first, last) = (piece[0].0, piece[length - 1]);
                if self.is_wanted(&text) {
                    spans.push(first..last.0 + last.1.len_utf8());
                }
            }
        }
    }
}

/// In order; what touches within a word or overlaps becomes one.
fn joined(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match joined.last_mut().filter(|last| span.start <= last.end) {
            Some(last) => last.end = last.end.max(span.end),
            None => joined.push(span),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_where_they_stand() {
        let check = |text: &str, stems: &[&str], expected: &[&str]| {
            let stems: Vec<String> = stems.iter().map(|&stem| stem.to_owned()).collect();
            let marked: Vec<&str> = matched_spans(text, &stems).into_iter().map(|span| &text[span]).collect();
            assert_eq!(marked, expected, "{stems:?} in {text:?}");
        };
        check("We deploy; deploying deployed it.", &["deploy"], &["deploy", "deploying", "deployed"]);
        check("Café, CAFE and cafés", &["cafe"], &["Café", "CAFE", "cafés"]);
        check("handler.setFormatter(x)", &["formatt"], &["Formatter"]);
        check("handler.setFormatter(x)", &["setformatt"], &["setFormatter"]);
        check("handler.setFormatter(x)", &["set", "formatt"], &["setFormatter"]);
        check("lib.rs and lib", &["lib.rs"], &["lib.rs"]);
        check("das 東京都 ist", &["東京", "京都"], &["東京都"]);
        check("一 東京都", &["都"], &["都"]);
        check("ﬁne print", &["fine"], &["ﬁne"]);
        check("nothing here", &["else"], &[]);
        check("", &["else"], &[]);
        check("text", &[], &[]);
    }
}
