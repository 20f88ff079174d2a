//! Does a value look like a real secret, or like a word, a placeholder, a type, a hash?

use super::MARK;

/// Is it random enough to be a generated key? Words repeat letters and lack digits; `xxxx` has no entropy at all.
pub(super) fn is_random(value: &str) -> bool {
    let has_letter = value.bytes().any(|b| b.is_ascii_alphabetic());
    let has_digit = value.bytes().any(|b| b.is_ascii_digit());
    has_letter && has_digit && is_varied(value)
}

/// As [`is_random`], where a prefix already speaks for a key: three in a hundred short keys happen to have no digit.
pub(super) fn is_random_tail(value: &str) -> bool {
    let has_both_cases = value.bytes().any(|b| b.is_ascii_uppercase()) && value.bytes().any(|b| b.is_ascii_lowercase());
    (has_both_cases || value.bytes().any(|b| b.is_ascii_digit())) && is_varied(value)
}

/// As [`is_random`], where the prefix, the alphabet and the exact length speak for a key: no digit is needed at all.
pub(super) fn is_varied(value: &str) -> bool {
    entropy_bits(value) >= 2.9 && !is_sequence(value)
}

/// As [`is_random`], where the prefix also begins names: small letters, capitals and digits, and no words. In camel
/// case most letters are in runs of four and more small ones, in a random key one in ten does.
pub(super) fn is_jumbled(value: &str) -> bool {
    let runs = value.split(|c: char| !c.is_ascii_lowercase()).map(str::len);
    let in_words: usize = runs.filter(|length| *length >= 4).sum();
    is_mixed(value) && 2 * in_words <= value.len()
}

/// Small letters, capitals and digits, and enough of each other: hashes have no capitals.
pub(super) fn is_mixed(value: &str) -> bool {
    let sorts: [fn(&u8) -> bool; 3] = [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit];
    sorts.iter().all(|is_sort| value.as_bytes().iter().any(is_sort)) && is_varied(value)
}

/// Shannon entropy of the characters, in bits per character.
fn entropy_bits(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let total = value.len() as f64;
    counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total).map(|p| -p * p.log2()).sum()
}

/// `abcdef0123456789…` has much entropy and hides nothing: it is how people write an example.
fn is_sequence(value: &str) -> bool {
    let steps = value.bytes().zip(value.bytes().skip(1)).filter(|(a, b)| b.wrapping_sub(*a) == 1).count();
    steps * 2 > value.len()
}

/// Words that are written in place of a secret.
const STAND_INS: &[&str] = &[
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "your-",
    "your_",
    "redacted",
    "xxxx",
    "****",
    "....",
    "process.env",
    "os.environ",
    "getenv",
    "env.",
];

/// Words that say what a secret is, or that everybody uses for one while trying things out. They count when they
/// make up half of the value: `password1` says nothing, a long random key may contain any word by chance.
const COMMON: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "todo",
    "dummy",
    "sample",
    "insert",
    "replace",
    "undefined",
    "null",
    "none",
    "default",
    "string",
    "optional",
    "required",
    "vault",
    "keyring",
    "prompt",
    "hunter2",
    "foobar",
    "test",
    "mnemon",
    "postgres",
    "localhost",
    "user",
    "admin",
    "abc123",
    "s3cr3t",
    "p4ssw0rd",
    "passw0rd",
    "letmein",
    "canary",
];

/// Names of algorithms and formats that mix letters and digits as passwords do.
const TECHNICAL: &[&str] = &[
    "sha1", "sha2", "sha3", "sha256", "sha384", "sha512", "md5", "argon2", "pbkdf2", "bcrypt", "scrypt", "base64",
    "base32", "base62", "utf8", "utf-8", "ed25519", "rs256", "es256", "hs256", "aes", "oauth2", "x509", "pkcs", "hmac",
    "uuid", "u8", "u16", "u32", "u64", "i32", "i64", "f32", "f64", "int", "str", "vec", "v1", "v2", "v3", "ipv4",
    "ipv6", "http", "k8s", "s3", "ec2", "crc32", "size", "min", "max", "len",
];

/// Is it a stand-in for a secret, or a word about one?
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_one_letter = value.bytes().all(|b| Some(b) == value.bytes().next());
    is_one_letter
        || STAND_INS.iter().any(|word| lower.contains(word))
        || COMMON.iter().any(|word| 2 * word.len() >= lower.len() && lower.contains(word))
        || TECHNICAL.iter().any(|word| 2 * word.len() >= lower.len() && lower.starts_with(word))
}

/// Is it a word about a secret and another one, as people put passwords together? `password1` and `my-secret` are not.
pub(super) fn is_of_two_words(value: &str) -> bool {
    let is_plain = value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_!".contains(&b));
    let has_digit = value.bytes().any(|b| b.is_ascii_digit());
    if !is_plain || !has_digit {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    let rest = |word: &&str| lower.find(*word).map(|at| [&lower[..at], &lower[at + word.len()..]].concat());
    let is_word = |rest: String| rest.bytes().filter(u8::is_ascii_alphabetic).count() >= 4;
    let is_stand_in = STAND_INS.iter().chain(TECHNICAL).any(|word| lower.contains(word));
    !is_stand_in && COMMON.iter().filter_map(rest).all(is_word)
}

/// Calls, variables, paths, markup, placeholders, and what was redacted already.
pub(super) fn is_harmless(text: &str) -> bool {
    text.starts_with(MARK)
        || text.starts_with(['$', '<', '‹', '{', '[', '(', '/', '~', '&', '*', '%', '#', '@'])
        || text.starts_with("./")
        || text.contains("://")
        || text.contains("::")
        || text.contains("${")
        || text.contains("{{")
        || text.contains('(')
        || is_placeholder(text)
}

/// Words joined by signs (`next-release-2024`, `config.auth.v2`) are names, however long.
pub(super) fn is_readable(text: &str) -> bool {
    let mut words = 0;
    for part in text.split(['-', '_', '.', '/']).filter(|part| !part.is_empty()) {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_word = letters.len() <= 20 && letters.bytes().all(|b| b.is_ascii_alphabetic()) && is_one_case(letters);
        if !is_word || part.len() - letters.len() > 4 {
            return false;
        }
        words += 1;
    }
    words >= 2
}

/// All small or all large, but for the first letter.
fn is_one_case(word: &str) -> bool {
    let mut rest = word.bytes().skip(1);
    rest.clone().all(|b| b.is_ascii_lowercase()) || rest.all(|b| b.is_ascii_uppercase())
}

/// `8-4-4-4-12` hexadecimal digits.
pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// How many sorts of characters a value mixes: lower, upper, digits, signs.
pub(super) fn character_sorts(value: &str) -> usize {
    let sorts: [fn(&u8) -> bool; 4] =
        [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit, |byte| !byte.is_ascii_alphanumeric()];
    sorts.iter().filter(|is_sort| value.as_bytes().iter().any(is_sort)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_keys_are_random_and_examples_are_not() {
        assert!(is_random("q8Zk2LmX0aVb7Rt5"));
        assert!(is_random("3f786850e387550fdab836ed7e6dc881"));
        for text in
            ["xxxxxxxxxxxxxxxx", "abcdefghijklmnop", "abcdef0123456789", "aaaaaaaa11111111", "distributed-systems"]
        {
            assert!(!is_random(text), "{text}");
        }
    }

    #[test]
    fn names_are_not_jumbled() {
        assert!(is_jumbled("q8Zk2LmX0aVb7Rt5Wy3N"));
        for text in ["export_types_2_of_module", "ExportTypesAndValuesOfModule1", "bold2xlResponsiveUtility", "11y"] {
            assert!(!is_jumbled(text), "{text}");
        }
    }

    #[test]
    fn one_common_word_says_nothing_and_two_are_a_password() {
        assert!(!is_of_two_words("password1") && !is_of_two_words("my-secret-1"));
        assert!(is_of_two_words(&["hunter2", "secret"].concat()));
    }

    #[test]
    fn a_uuid_is_known() {
        assert!(is_uuid("0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6a7b"));
        assert!(!is_uuid("0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6a7"));
    }
}
