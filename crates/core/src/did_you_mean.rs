//! What somebody probably meant: the known name that is nearest to a misspelt one.

/// A longer name is no slip of the keyboard, and comparing it costs the product of both lengths.
const CHARS_MAX: usize = 64;

/// The known name that differs least, in at most a third of its letters, rounded up.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = folded(name)?;
    let far = |known: &'a str| Some((distance(&name, &folded(known)?), known));
    let near = |(slips, known): &(usize, &str)| *slips <= known.chars().count().div_ceil(3);
    known.into_iter().filter_map(far).filter(near).min_by_key(|(slips, _)| *slips).map(|(_, known)| known)
}

fn folded(name: &str) -> Option<Vec<char>> {
    let letters: Vec<char> = name.chars().flat_map(char::to_lowercase).take(CHARS_MAX + 1).collect();
    (letters.len() <= CHARS_MAX).then_some(letters)
}

/// How many letters are missing, added, changed or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    // Row `i` holds the distances of the first `i` letters of `a` from every beginning of `b`.
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_leads_to_the_nearest_name_and_another_word_to_none() {
        let known = ["workspace", "source_id", "state", "before", "limit"];
        let check = |name: &str, expected: Option<&str>| assert_eq!(nearest(name, known), expected, "{name}");
        check("statuz", Some("state"));
        check("satte", Some("state"));
        check("Limit", Some("limit"));
        check("limits", Some("limit"));
        check("workspce", Some("workspace"));
        check("sourceid", Some("source_id"));
        check("colour", None);
        check("x", None);
        check("", None);
        assert_eq!(nearest("limit", []), None);
    }

    #[test]
    fn a_third_of_the_letters_may_differ() {
        assert_eq!(nearest("abcxyz", ["abcdef"]), None);
        assert_eq!(nearest("abcdxy", ["abcdef"]), Some("abcdef"));
    }

    #[test]
    fn very_long_names_are_not_compared() {
        let (long, longer) = ("a".repeat(CHARS_MAX), "a".repeat(CHARS_MAX + 1));
        assert_eq!(nearest(&long, [long.as_str()]), Some(long.as_str()));
        assert_eq!(nearest(&longer, [long.as_str()]), None);
        assert_eq!(nearest(&long, [longer.as_str()]), None);
    }
}
