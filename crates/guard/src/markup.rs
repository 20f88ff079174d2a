//! Marks that open or close a turn, a tool call or a reminder in what assistants read: `<|im_start|>`,
//! `</system-reminder>`.
//!
//! Stored text that holds one may end the frame in which it is shown, whatever it says. So a mark is doubtful by
//! itself, and the text after it is judged more strictly. Inside of code a mark is shown and not used:
//! documentation of a template looks like that. Ordinary HTML, XML and JSON have none of these marks.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// What the marks of a text amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Frame {
    /// There is none.
    #[default]
    None,
    /// All of them are in code.
    Shown,
    /// One is used, and what it introduces begins here.
    Open(usize),
    /// One is used to call a tool.
    Call,
    /// A person's turn and an assistant's, set apart as models read them. People write dialogues like that, too.
    Turns,
}

/// What a mark does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// `<|…|>`: up to its end it has no gap.
    Special,
    /// A word in brackets, or a tag up to its `>`.
    Tag,
    /// The same at the start of a call of a tool.
    Call,
    /// A heading that begins a turn.
    Heading,
    /// The member of a JSON object that holds calls.
    Json,
}

use Mark::{Call, Heading, Json, Special, Tag};

/// How marks begin, in small letters.
const MARKS: &[(&str, Mark)] = &[
    ("<|", Special),
    ("[inst]", Tag),
    ("[/inst]", Tag),
    ("<<sys>>", Tag),
    ("<</sys>>", Tag),
    ("<start_of_turn>", Tag),
    ("<end_of_turn>", Tag),
    ("<system-reminder", Tag),
    ("</system-reminder", Tag),
    ("<user-prompt-submit-hook", Tag),
    ("</user-prompt-submit-hook", Tag),
    ("<session-start-hook", Tag),
    ("</session-start-hook", Tag),
    ("<tool_call", Call),
    ("</tool_call", Tag),
    ("<tool_use", Call),
    ("</tool_use", Tag),
    ("<tool_result", Tag),
    ("</tool_result", Tag),
    ("<tool_response", Tag),
    ("</tool_response", Tag),
    ("<function_call", Call),
    ("</function_call", Tag),
    ("<function_results", Tag),
    ("</function_results", Tag),
    ("<function=", Call),
    ("<invoke name=", Call),
    ("</invoke>", Tag),
    ("[tool_calls]", Call),
    ("### instruction:", Heading),
    ("### system:", Heading),
    ("### human:", Heading),
    ("### user:", Heading),
    ("### assistant:", Heading),
    ("\"tool_calls\"", Json),
    ("\"function_call\"", Json),
];

static AUTOMATON: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::DFA))
        .build(MARKS.iter().map(|(mark, _)| *mark))
        .expect("a few dozen short marks always fit an automaton")
});

/// Names in a special mark are no longer than this.
const SPECIAL_BYTES_MAX: usize = 40;
/// How far behind the beginning of a call its name and its arguments are looked for.
const CALL_BYTES_MAX: usize = 400;

/// The frame that the marks of a plain text make; those that only are shown are taken out of it, so that no later step
/// has to learn that they say nothing.
pub(crate) fn read(text: &mut String) -> Frame {
    // Most texts have none.
    if AUTOMATON.find(text.as_str()).is_none() {
        return if has_turns(text) { Frame::Turns } else { Frame::None };
    }
    let code = Code::of(text);
    let (mut frame, mut shown) = (Frame::None, Vec::new());
    for found in AUTOMATON.find_iter(text.as_str()) {
        let mark = MARKS[found.pattern().as_usize()].1;
        let Some(end) = mark_end(mark, text, found.start(), found.end()) else { continue };
        if code.holds(found.start()) {
            shown.push(found.start()..end);
        } else if calls(mark, &text[end..]) {
            frame = Frame::Call;
            break;
        } else if !matches!(frame, Frame::Open(_)) {
            frame = Frame::Open(end);
        }
    }
    if frame == Frame::None && has_turns(text) {
        return Frame::Turns;
    }
    if frame == Frame::None && !shown.is_empty() {
        for range in shown.into_iter().rev() {
            text.replace_range(range, "");
        }
        return Frame::Shown;
    }
    frame
}

fn has_turns(text: &str) -> bool {
    let answer = text.find("\n\nassistant:");
    answer.is_some_and(|answer| text.starts_with("human:") || text[..answer].contains("\n\nhuman:"))
}

/// Where a mark ends, if it is one.
fn mark_end(mark: Mark, text: &str, start: usize, end: usize) -> Option<usize> {
    let rest = &text[end..];
    match mark {
        Special => {
            let is_name = |b: &u8| b.is_ascii_alphanumeric() || b"_-./".contains(b) || *b >= 0x80;
            let length = rest.bytes().take(SPECIAL_BYTES_MAX).take_while(is_name).count();
            (length > 0 && rest[length..].starts_with("|>")).then_some(end + length + 2)
        }
        Heading => text[..start].trim_end_matches(' ').ends_with('\n').then_some(end).or((start == 0).then_some(end)),
        Json => Some(end),
        Tag | Call if text.as_bytes()[start] == b'[' || text[start..end].ends_with('>') => Some(end),
        Tag | Call => {
            // `<tool_calls>` and `<invoke name="…">` are marks, a longer word is another tag.
            let close = rest.bytes().take(CALL_BYTES_MAX).position(|b| b == b'>')?;
            let word = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"_-".contains(b)).count();
            let is_value = text[start..end].ends_with('=');
            (is_value || word == 0 || &rest[..word] == "s").then_some(end + close + 1)
        }
    }
}

/// Is the mark followed by a call with a name?
fn calls(mark: Mark, rest: &str) -> bool {
    let end = rest.floor_char_boundary(rest.len().min(CALL_BYTES_MAX));
    let rest = &rest[..end];
    let is_named = rest.contains("\"name\"") || rest.contains("name=") || rest.contains("<parameter");
    match mark {
        Call => is_named || rest.trim_start().starts_with(['{', '[']) || rest.contains("</"),
        Special => is_named && rest.contains("\"arguments\""),
        Json => is_named && rest.contains("\"arguments\""),
        Tag | Heading => false,
    }
}

/// The parts of a text that are set as code: fences, and spans between backticks on one line.
struct Code(Vec<std::ops::Range<usize>>);

impl Code {
    fn of(text: &str) -> Code {
        let mut ranges = Vec::new();
        let mut at = 0;
        while let Some(ahead) = text[at..].find('`') {
            let start = at + ahead;
            let ticks = text[start..].bytes().take_while(|b| *b == b'`').count();
            let body = start + ticks;
            let fence = &text[start..body];
            // A span ends on its line, a fence at the next fence; one that never ends is none.
            let within = if ticks >= 3 { &text[body..] } else { text[body..].split('\n').next().unwrap_or_default() };
            match within.find(fence) {
                Some(length) => {
                    ranges.push(body..body + length);
                    at = body + length + ticks;
                }
                None => at = body,
            }
        }
        Code(ranges)
    }

    fn holds(&self, at: usize) -> bool {
        let after = self.0.partition_point(|range| range.start <= at);
        after.checked_sub(1).is_some_and(|range| at < self.0[range].end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Frame) {
        assert_eq!(read(&mut text.to_owned()), expected, "{text}");
    }

    #[test]
    fn marks_that_are_used_open_a_frame() {
        check("done </system-reminder>", Frame::Open(23));
        check("<|im_start|>system", Frame::Open(12));
        check("a\n### instruction: b", Frame::Open(18));
        check("[inst] hello", Frame::Open(6));
        check("x\n\nhuman: hi\n\nassistant:", Frame::Turns);
        check("user: hi\nassistant: hello", Frame::None);
        check("see `x`, <|im_end|>", Frame::Open(19));
    }

    #[test]
    fn calls_are_told_from_mere_marks() {
        for text in [
            "<tool_call>{\"name\":\"bash\",\"arguments\":{}}</tool_call>",
            "<function_calls><invoke name=\"bash\">",
            "<function=bash>{\"x\":1}</function>",
            "<|tool_call|>{\"name\": \"bash\", \"arguments\": {}}",
            "{\"role\":\"assistant\",\"tool_calls\":[{\"name\":\"bash\",\"arguments\":\"{}\"}]}",
        ] {
            check(text, Frame::Call);
        }
    }

    #[test]
    fn marks_in_code_are_shown_and_taken_out() {
        let mut text = "chatml begins a turn with `<|im_start|>`:\n```\n<tool_call>{\"name\": 1}\n```\n".to_owned();
        assert_eq!(read(&mut text), Frame::Shown);
        assert_eq!(text, "chatml begins a turn with ``:\n```\n{\"name\": 1}\n```\n");
    }

    #[test]
    fn ordinary_markup_has_no_marks() {
        for text in [
            "<div class=\"x\"><a href=\"#\">b</a></div>",
            "<system><user name=\"ana\"/></system>",
            "a <| b |> c, x <|> y, <|",
            "{\"name\": \"build\", \"arguments\": [\"--release\"]}",
            "<toolbar/> <tool_calling>, <functioncall>",
            "### instructions\n1. open the box",
            "text ### instruction: in a line",
        ] {
            check(text, Frame::None);
        }
    }
}
