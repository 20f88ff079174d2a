//! Log levels and filters. The library that filters takes any word for the name of a module, so a misspelt level would
//! be accepted and silence the log.

use mnemon_core::nearest;

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// What is wrong with a level or filter such as `info,mnemon_engine=debug`. Only words that can't be meant are found:
/// the rest is left to the library.
pub(super) fn wrong_level(filter: &str) -> Option<String> {
    let filter = filter.trim();
    if filter.is_empty() {
        return Some(format!("must not be empty; use {}", choices()));
    }
    filter.split(',').map(str::trim).find_map(wrong_word)
}

fn wrong_word(word: &str) -> Option<String> {
    let is_level = |word: &str| LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level));
    // A span in brackets may hold anything.
    if word.contains(['[', ']', '{', '}']) {
        return None;
    }
    let (wrong, is_wrong) = match word.split_once('=') {
        Some((_, level)) => (level, !is_level(level)),
        // A module's name covers everything that it logs.
        None => (word, !is_level(word) && !word.contains("::") && !word.starts_with("mnemon")),
    };
    let meant = nearest(&wrong.to_ascii_lowercase(), LEVELS);
    let advice = meant.map_or_else(|| format!("use {}", choices()), |meant| format!("did you mean '{meant}'?"));
    is_wrong.then(|| format!("'{word}' is not a level; {advice}"))
}

fn choices() -> &'static str {
    "error, warn, info, debug or trace, or a filter such as \"info,mnemon_engine=debug\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        for good in
            ["info", "WARN", "off", "info,mnemon_engine=debug", "mnemon_store", "mnemon::access=info", "[span]=trace"]
        {
            assert_eq!(wrong_level(good), None, "{good}");
        }
        let wrong = wrong_level("loud").unwrap();
        assert!(wrong.starts_with("'loud' is not a level; use error, warn, info"), "{wrong}");
        assert_eq!(wrong_level("debg").unwrap(), "'debg' is not a level; did you mean 'debug'?");
        assert!(wrong_level("info,mnemon_engine=loud").is_some());
        assert!(wrong_level("hyper").is_some(), "a module needs a level");
        assert!(wrong_level(" ").is_some());
    }
}
