//! A source's content may be known under several hashes: facts of one file are saved with its SHA-256 here and with
//! git's id there. All hashes of one content are kept as one text, separated by spaces, which no hash contains. Hashes
//! that could not be compared have a mark: records with them are neither stale nor verified.

const UNCOMPARED: char = '?';

/// The text for hashes of one content, the first of them the one to show, and hashes that could not be compared with
/// it.
pub fn join_hashes(of_content: &[&str], uncompared: &[&str]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let marked = uncompared.iter().filter(|hash| !of_content.contains(hash)).map(|hash| format!("{UNCOMPARED}{hash}"));
    for part in of_content.iter().map(|hash| (*hash).to_owned()).chain(marked) {
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.join(" ")
}

/// Whether a record with this hash may hold: its hash is one of the content's, or could not be compared.
pub fn admits_hash(known: &str, hash: &str) -> bool {
    known == hash || known.split(' ').any(|part| part.strip_prefix(UNCOMPARED).unwrap_or(part) == hash)
}

/// Whether this is a hash of the content.
pub fn confirms_hash(known: &str, hash: &str) -> bool {
    known == hash || known.split(' ').any(|part| part == hash)
}

/// The hash to show.
pub fn shown_hash(known: &str) -> &str {
    known.split(' ').next().unwrap_or(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_content_has_many_hashes_and_those_that_could_not_be_compared_are_neither_way() {
        let known = join_hashes(&["a", "b", "a"], &["v1", "b", "v1"]);
        assert_eq!(known, "a b ?v1");
        assert_eq!(shown_hash(&known), "a");
        for (hash, is_admitted, is_confirmed) in
            [("a", true, true), ("b", true, true), ("v1", true, false), ("v2", false, false), ("a b ?v1", true, true)]
        {
            assert_eq!((admits_hash(&known, hash), confirms_hash(&known, hash)), (is_admitted, is_confirmed), "{hash}");
        }
        assert_eq!(join_hashes(&["a"], &[]), "a");
        assert!(admits_hash("a", "a") && !admits_hash("ab", "a") && !confirms_hash("a", "ab"));
    }
}
