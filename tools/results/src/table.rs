//! Figures and tables for the page.

/// 100754 as 100,754. Fractions stay as they are.
pub(crate) fn grouped(number: impl ToString) -> String {
    let number = number.to_string();
    let (sign, digits) = number.split_at(number.len() - number.trim_start_matches(['-', '+']).len());
    if digits.len() < 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return number;
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

/// A figure without its fraction.
pub(crate) fn integer(figure: f64) -> String {
    grouped(format!("{figure:.0}"))
}

/// A table of the page. Figures are aligned right.
pub(crate) fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let is_figure = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit() || "+-−".contains(c));
    let align = |column: usize| {
        let is_right = column > 0 && rows.iter().all(|row| row.get(column).is_none_or(|cell| is_figure(cell)));
        if is_right { "---:" } else { "---" }
    };
    let mut out = line(heads.to_vec());
    out.push_str(&line((0..heads.len()).map(align).collect()));
    for row in &rows {
        out.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_grouped() {
        for (from, to) in
            [("100754", "100,754"), ("999", "999"), ("1000", "1,000"), ("6206.0", "6206.0"), ("+1124", "+1,124")]
        {
            assert_eq!(grouped(from), to);
        }
    }
}
