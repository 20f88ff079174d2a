//! A source's content may be known under several hashes: facts of one file are saved with its SHA-256 here and with
//! git's id there. All hashes of one content are kept as one text, separated by spaces, which no hash contains. Hashes
//! that could not be compared have a mark: records with them are neither stale nor verified.

const UNCOMPARED: char = '?';

/// Algorithms by the length of their digests in hexadecimal digits. Git's ids are as long as SHA-1 or SHA-256.
const ALGORITHMS: [(&str, usize); 4] = [("md5", 32), ("sha1", 40), ("sha256", 64), ("sha512", 128)];

/// The algorithm and the digits of a hash that is a digest, and whether it names the algorithm.
fn digest(hash: &str) -> Option<(&'static str, &str, bool)> {
    let (name, digits) = hash.split_once(':').map_or((None, hash), |(name, digits)| (Some(name), digits));
    let (algorithm, _) = ALGORITHMS.iter().find(|(_, length)| *length == digits.len())?;
    let is_named_so = name.is_none_or(|name| name.replace('-', "").eq_ignore_ascii_case(algorithm));
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_named_so && is_hex).then_some((algorithm, digits, name.is_some()))
}

/// A hash as it is stored: digests in small letters.
pub fn plain_hash(hash: &str) -> String {
    match digest(hash) {
        Some((algorithm, digits, true)) => format!("{algorithm}:{}", digits.to_ascii_lowercase()),
        Some((_, digits, false)) => digits.to_ascii_lowercase(),
        None => hash.to_owned(),
    }
}

/// A hash as it is stored, then the other way to write it.
fn spellings(hash: &str) -> impl Iterator<Item = String> {
    let plain = plain_hash(hash);
    let other = match digest(&plain) {
        Some((_, digits, true)) => Some(digits.to_owned()),
        Some((algorithm, digits, false)) => Some(format!("{algorithm}:{digits}")),
        None => other_tag(&plain),
    };
    std::iter::once(plain).chain(other)
}

/// An entity tag as a weak one if it is strong, and the other way round: with the same text they mean the same page.
fn other_tag(tag: &str) -> Option<String> {
    let weak = tag.strip_prefix("W/");
    let quoted = weak.unwrap_or(tag);
    let is_tag = quoted.len() >= 2 && quoted.starts_with('"') && quoted.ends_with('"');
    is_tag.then(|| weak.map_or_else(|| format!("W/{tag}"), str::to_owned))
}

/// Those of the hashes that are digests, as `hash` is, but of another algorithm.
pub fn of_other_kinds<'a>(hash: &str, among: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let Some((own, ..)) = digest(hash) else { return Vec::new() };
    among.filter(|other| digest(other).is_some_and(|(algorithm, ..)| algorithm != own)).collect()
}

/// The text for hashes of one content, the first of them the one to show, and hashes that could not be compared with
/// it.
pub fn join_hashes(of_content: &[&str], uncompared: &[&str]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in of_content.iter().flat_map(|hash| spellings(hash)) {
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    for part in uncompared.iter().flat_map(|hash| spellings(hash)) {
        let marked = format!("{UNCOMPARED}{part}");
        if !parts.contains(&part) && !parts.contains(&marked) {
            parts.push(marked);
        }
    }
    parts.join(" ")
}

/// What is known of a source after a save with this hash. One that is known already says nothing new about the others.
/// A new one says nothing about what was known by other algorithms.
pub fn known_after_save(known: Option<&str>, hash: &str) -> String {
    match known {
        Some(known) if admits_hash(known, hash) => known.to_owned(),
        _ => {
            let before = known.unwrap_or_default().split(' ').map(unmarked);
            join_hashes(&[hash], &of_other_kinds(hash, before))
        }
    }
}

fn unmarked(part: &str) -> &str {
    part.strip_prefix(UNCOMPARED).unwrap_or(part)
}

/// Whether a record with this hash may hold: its hash is one of the content's, or could not be compared.
pub fn admits_hash(known: &str, hash: &str) -> bool {
    known == hash || known.split(' ').any(|part| unmarked(part) == hash)
}

/// Whether this is a hash of the content. Of several joined ones all have to be.
pub fn confirms_hash(known: &str, hash: &str) -> bool {
    known == hash || hash.split(' ').all(|wanted| known.split(' ').any(|part| part == wanted))
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
        assert!(confirms_hash(&known, "b a") && !confirms_hash(&known, "a v1") && !confirms_hash(&known, "a c"));
        assert_eq!(join_hashes(&["a"], &[]), "a");
        assert!(admits_hash("a", "a") && !admits_hash("ab", "a") && !confirms_hash("a", "ab"));
    }

    #[test]
    fn a_digest_is_the_same_with_its_algorithm_s_name_and_without_in_small_letters_and_capitals() {
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let ways = [
            digits.to_owned(),
            digits.to_uppercase(),
            format!("sha256:{digits}"),
            format!("SHA256:{digits}"),
            format!("sha-256:{}", digits.to_uppercase()),
        ];
        for saved in &ways {
            for seen in &ways {
                let known = join_hashes(&[seen], &[]);
                assert!(confirms_hash(&known, &plain_hash(saved)), "{saved} {seen}");
                assert_eq!(shown_hash(&known), plain_hash(seen));
                assert_eq!(known_after_save(Some(&known), &plain_hash(saved)), known, "nothing new");
            }
            let other = join_hashes(&[&digits.replace('b', "c")], &[]);
            assert!(!admits_hash(&other, &plain_hash(saved)), "{saved}");
        }
        // What is no digest is taken as it is.
        for hash in ["v1.2.3", "\"", "W/33A64DF5", "sha256:AB", "AB12", &format!("md5:{digits}"), &"G".repeat(64)] {
            assert_eq!(join_hashes(&[hash], &[]), hash);
        }
    }

    #[test]
    fn a_weak_entity_tag_is_the_same_as_the_strong_one_with_its_text() {
        let (weak, strong) = ("W/\"33A64DF5\"", "\"33A64DF5\"");
        for seen in [weak, strong] {
            let known = join_hashes(&[seen], &[]);
            assert_eq!((plain_hash(seen).as_str(), shown_hash(&known)), (seen, seen), "it is kept as it came");
            assert!([weak, strong].into_iter().all(|saved| confirms_hash(&known, saved)), "{known}");
            assert!(!admits_hash(&known, "W/\"33a64df5\"") && !admits_hash(&known, "33A64DF5"), "{known}");
        }
    }

    #[test]
    fn digests_of_different_algorithms_are_never_called_different() {
        let (sha, git, later) = ("a".repeat(64), "b".repeat(40), "c".repeat(64));
        let known = known_after_save(Some(&join_hashes(&[&git, "v7"], &[])), &sha);
        assert_eq!(known, format!("{sha} sha256:{sha} ?{git} ?sha1:{git}"));
        assert!(admits_hash(&known, &git) && !confirms_hash(&known, &git));
        assert!(!admits_hash(&known, "v7"), "another kind of text is taken for a change");
        let known = known_after_save(Some(&known), &later);
        assert!(!admits_hash(&known, &sha) && admits_hash(&known, &git));
        assert_eq!(known_after_save(Some("a"), "b"), "b");
        assert_eq!(known_after_save(None, "b"), "b");
        assert_eq!(of_other_kinds(&sha, [git.as_str(), "v7", &later].into_iter()), [&git]);
        assert_eq!(of_other_kinds("v7", [git.as_str()].into_iter()), Vec::<&str>::new());
    }
}
