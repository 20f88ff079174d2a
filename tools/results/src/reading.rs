//! Figures out of printed lines, and tables for the page.

use anyhow::{Context, Result};

/// Every number of a line, in order. A number that is part of a word or a name (`p50`, `R@10`) is none.
pub(crate) fn numbers(line: &str) -> Vec<f64> {
    words(line).filter_map(|word| word.parse().ok()).collect()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "[](),;:%|–".contains(c);
    line.split(ends).map(|word| word.trim_end_matches(['x', '/', 's'])).filter(|word| !word.is_empty())
}

/// The number at a place of a line, as it was printed.
pub(crate) fn number(line: &str, at: usize) -> Result<&str> {
    let mut numbers = words(line).filter(|word| word.parse::<f64>().is_ok());
    numbers.nth(at).with_context(|| format!("no number at place {} of `{line}`", at + 1))
}

/// The number directly before a word: 18.3 of `18.3 KiB each` before `KiB each`.
pub(crate) fn before<'a>(line: &'a str, word: &str) -> Result<&'a str> {
    let found = line.match_indices(word).find_map(|(at, _)| {
        let last = line[..at].trim_end().rsplit([' ', '+']).next()?;
        last.parse::<f64>().is_ok().then_some(last)
    });
    found.with_context(|| format!("no number before `{word}` in `{line}`"))
}

/// 100754 as 100,754. Fractions stay as they are.
pub(crate) fn grouped(number: &str) -> String {
    let (sign, digits) = number.split_at(number.len() - number.trim_start_matches(['-', '+']).len());
    if digits.len() < 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_owned();
    }
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{sign}{out}")
}

/// A table of the page. Figures are aligned right.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let is_figure = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit() || "+-−".contains(c));
    let align = |column: usize| {
        let is_right = column > 0 && rows.iter().all(|row| row.get(column).is_none_or(|cell| is_figure(cell)));
        if is_right { "---:" } else { "---" }
    };
    let mut out = line(heads.to_vec());
    out.push_str(&line((0..heads.len()).map(align).collect()));
    for row in rows {
        out.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_and_names_are_not() {
        let line = "search         8      5708      1325 |     62840       16.2 |  0.09x 19.28x";
        assert_eq!(numbers(line), [8.0, 5708.0, 1325.0, 62840.0, 16.2, 0.09, 19.28]);
        assert_eq!(number(line, 3).unwrap(), "62840");
        assert!(number(line, 7).is_err());
        assert_eq!(
            numbers("  search, whole ranking  41.2 µs mean, 37.1 p50, 93.0 p99   (9.0 hits)"),
            [41.2, 37.1, 93.0, 9.0]
        );
    }

    #[test]
    fn the_number_before_a_word_is_found() {
        assert_eq!(before("10000 idle connections open, 18.3 KiB each", "KiB each").unwrap(), "18.3");
        assert_eq!(before("memory at most +14340 KiB, last", "KiB").unwrap(), "14340");
        assert!(before("none here", "KiB").is_err());
    }

    #[test]
    fn long_numbers_are_grouped() {
        for (from, to) in
            [("100754", "100,754"), ("999", "999"), ("1000", "1,000"), ("6206.0", "6206.0"), ("+1124", "+1,124")]
        {
            assert_eq!(grouped(from), to);
        }
    }
}
