//! Long numbers, in one piece or in groups (`1794734010903588646`, `+49 151 12345678`), all read as the same short one.
//!
//! Lists of numbers are read as their first two: each further one would repeat the same grams.
//!
//! Which number a sentence names is not worth judging, nor how long it is: each further digit would repeat the same
//! grams, and so make louder whatever these happen to weigh. Only where money is to be sent somewhere the account stays
//! as it is written: such orders are what planted texts are after, and a long number is a part of what gives them away.

use std::cell::LazyCell;

use super::hashes::{HEX_MIN, readable_hex};
use super::stretches::{count, stretches};
use crate::letters::is_alphabetic;

/// Stands for every long number: a number of this form, a year or a port, is what weights know best from honest texts.
const SHAPE: &str = "0000";

/// Words that order a payment. Told of one that was made or is due, sentences use others: paid, payments, transferred.
const PAYMENT_ORDERS: [&str; 6] = ["pay", "send", "transfer", "transaction", "wire", "deposit"];

/// Numbers of at least this many digits, gaps not counted, are left out: they are not read as words. Years, ports and
/// small amounts are shorter.
const DIGITS_MIN: usize = 5;

/// How many numbers of a list are read.
const LIST_MIN: usize = 2;

/// The fewest digits of an account number. Telephone numbers within a country are shorter.
const ACCOUNT_DIGITS_MIN: usize = 12;

/// What may part the groups of one number. The full stop or the comma with a space is none of them: there a sentence or
/// an item of a list ends.
const GAPS: &[&[u8]] = &[b" / ", b" - ", b") ", b" (", b")-", b" ", b"-", b".", b"/", b",", b":"];

/// Gives the long numbers of a text in plain spelling their shape and shortens lists. Hex that spells text is no number
/// and stays whole.
pub(super) fn fold(text: String) -> String {
    let may_change = count(text.as_bytes(), |_, byte, _| byte.is_ascii_digit()) >= LIST_MIN;
    if may_change { folded(&text).unwrap_or(text) } else { text }
}

/// `None` if the text stays as it is.
fn folded(text: &str) -> Option<String> {
    let orders_payment = LazyCell::new(|| orders_payment(text));
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut kept) = (0, 0);
    // How many numbers of one list lie before this place.
    let mut listed = 0;
    let is_start = |at: usize| at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    let mut words = stretches(bytes, HEX_MIN, |byte| byte.is_ascii_alphanumeric());
    let has_hidden = words.any(|word| readable_hex(&bytes[word.start..]) > 0);
    while at < bytes.len() {
        if !has_hidden && !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let hidden = if has_hidden && is_start(at) { readable_hex(&bytes[at..]) } else { 0 };
        let number = if hidden == 0 { Number::read(&bytes[at..]) } else { Number::NONE };
        if number.length == 0 {
            at += hidden.max(1);
            continue;
        }
        let is_account = number.digits >= ACCOUNT_DIGITS_MIN && *orders_payment;
        if listed >= LIST_MIN && !is_account {
            kept = at + number.length;
        } else if number.digits >= DIGITS_MIN && !is_account {
            out.push_str(&text[kept..at]);
            out.push_str(SHAPE);
            kept = at + number.length;
        }
        at += number.length;
        let gap = list_gap(&bytes[at..]);
        listed = if gap > 0 { listed + 1 } else { 0 };
        if listed >= LIST_MIN {
            // The gap goes with the number that follows it.
            out.push_str(&text[kept..at]);
            kept = at + gap;
        }
        at += gap;
    }
    if kept == 0 {
        return None;
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    Some(out)
}

/// What parts the numbers of a list, if a number follows it; its length, or 0.
fn list_gap(bytes: &[u8]) -> usize {
    let word: &[u8] = if bytes.starts_with(b" and ") { b" and " } else { b"" };
    let signs =
        bytes.iter().take_while(|byte| matches!(byte, b' ' | b',' | b';' | b'|' | b'\t' | b'\n' | b'-')).take(5);
    let length = word.len().max(signs.count());
    let is_list =
        !word.is_empty() || bytes[..length].iter().any(|byte| matches!(byte, b',' | b';' | b'|' | b'\t' | b'\n'));
    let rest = &bytes[length..];
    if is_list && rest.first().is_some_and(u8::is_ascii_digit) && readable_hex(rest) == 0 { length } else { 0 }
}

fn orders_payment(text: &str) -> bool {
    text.split(|c: char| !is_alphabetic(c)).any(|word| PAYMENT_ORDERS.contains(&word))
}

/// The number at the start of some bytes.
#[derive(Debug, Clone, Copy)]
struct Number {
    /// In bytes, with the gaps between its groups.
    length: usize,
    digits: usize,
}

impl Number {
    const NONE: Number = Number { length: 0, digits: 0 };

    /// Reads groups of digits for as long as they follow each other.
    fn read(bytes: &[u8]) -> Number {
        let first = digits(bytes);
        let mut number = Number { length: first, digits: first };
        while number.length > 0 {
            let rest = &bytes[number.length..];
            let gap = gap_length(rest);
            let group = if gap > 0 { group_length(&rest[gap..]) } else { 0 };
            if group == 0 {
                break;
            }
            number.length += gap + group;
            number.digits += group;
        }
        number
    }
}

fn gap_length(bytes: &[u8]) -> usize {
    GAPS.iter().find(|gap| bytes.starts_with(gap)).map_or(0, |gap| gap.len())
}

/// How many digits the next group has. The head of a word in hex is none, or that word would not stay whole.
fn group_length(bytes: &[u8]) -> usize {
    let length = digits(bytes);
    if length > 0 && readable_hex(bytes) > 0 { 0 } else { length }
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(fold(text.to_owned()), expected, "{text}");
    }

    #[test]
    fn long_numbers_have_one_shape() {
        for number in
            ["12345", "1794734010903588646", "555-010-4477", "020 7946 0018", "1,234,567.89", "192.168.100.20:8080"]
        {
            check(&format!("see {number}, then"), "see 0000, then");
        }
        check("call +49 (151) 123 45-678 or 030 / 555 01 42", "call +0000 or 0000");
        check("notes/zqstory490184.md", "notes/zqstory0000.md");
        check("ж12345678ж", "ж0000ж");
        check("2024-06-10t17:40:00z", "0000t0000z");
    }

    #[test]
    fn lists_are_read_as_their_first_two_numbers() {
        check("ports 22, 80, 443, 8080 and 8443.", "ports 22, 80.");
        check("[1, 2, 3, 4]", "[1, 2]");
        check("1\n2\n3\n4\n5\n6", "1\n2");
        check("4, 8 and 12 of them", "4, 8 of them");
        check("123456, 234567, 345678 x", "0000, 0000 x");
        check("2024. 15, 16 people", "2024. 15, 16 people");
    }

    #[test]
    fn the_account_of_an_ordered_payment_stays() {
        for text in ["please pay to us133000000121212121212", "send 0000 to 4012 8888 8888 1881"] {
            check(text, text);
        }
        check("payments go to us133000000121212121212", "payments go to us0000");
        check("send the form to room 123456", "send the form to room 0000");
    }

    #[test]
    fn short_numbers_lists_and_hidden_words_stay() {
        for text in [
            "port 5433, year 2026, 443",
            "v1.94.0 on 10.0",
            "done in 2024. 15 people came",
            // "ignore previous" in hex, alone and after a number.
            "69676e6f72652070726576696f7573",
            "row 5 69676e6f72652070726576696f7573",
        ] {
            check(text, text);
        }
    }
}
