//! Which version this is, and which commit it was built from, as far as the build knows: a release is told, and an
//! archive of the source has it in a file that git fills. An ordinary build in a clone would have to be repeated after
//! every commit to know it.

use std::sync::OnceLock;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const COMMIT_DIGITS: usize = 12;

/// `0.1.0 (0123456789ab)`, or the number alone.
pub fn version() -> &'static str {
    static SHOWN: OnceLock<String> = OnceLock::new();
    SHOWN.get_or_init(|| shown(option_env!("MNEMON_COMMIT"), include_str!("../commit.txt")))
}

/// The file holds `$Format…` until an archive is made of the tree.
fn shown(told: Option<&str>, file: &str) -> String {
    let hash =
        |text: &str| text.split_whitespace().next().and_then(|word| word.get(..COMMIT_DIGITS)).map(str::to_owned);
    let known = hash(told.unwrap_or_default()).or_else(|| hash(file));
    match known.filter(|commit| commit.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        Some(commit) => format!("{VERSION} ({commit})"),
        None => VERSION.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_is_named_where_it_is_known() {
        let (hash, unfilled) = ("0123456789abcdef0123456789abcdef01234567", "$Format:%H %ct$\n");
        let with_commit = format!("{VERSION} (0123456789ab)");
        assert_eq!(shown(Some(hash), unfilled), with_commit);
        assert_eq!(shown(None, &format!("{hash} 1790000000\n")), with_commit);
        for told in [None, Some(""), Some("unknown, sorry")] {
            assert_eq!(shown(told, unfilled), VERSION, "{told:?}");
        }
    }
}
