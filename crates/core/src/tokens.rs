//! How many tokens of a language model a text takes, without any model's tables.

/// An estimate that rather says too much than too little: words in pieces of four letters, numbers in pieces of three
/// digits, every other character one. Spaces between words are free, as tokenizers attach them to the word.
pub fn estimate_tokens(text: &str) -> usize {
    let (mut tokens, mut letters, mut digits) = (0, 0, 0);
    for character in text.chars() {
        let (was_letters, was_digits) = (letters, digits);
        (letters, digits) = match character {
            'a'..='z' | 'A'..='Z' => (letters + 1, 0),
            '0'..='9' => (0, digits + 1),
            _ => (0, 0),
        };
        if letters == 0 {
            tokens += usize::div_ceil(was_letters, 4);
        }
        if digits == 0 {
            tokens += usize::div_ceil(was_digits, 3);
        }
        tokens += usize::from(letters == 0 && digits == 0 && character != ' ');
    }
    tokens + letters.div_ceil(4) + digits.div_ceil(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_other_characters_count_by_their_length() {
        for (text, expected) in [
            ("", 0),
            ("word", 1),
            ("words", 2),
            ("two words", 3),
            ("123", 1),
            ("1234", 2),
            ("a1b2", 4),
            ("a, b.", 4),
            ("line\nline", 3),
            ("ключ", 4),
            ("  ", 0),
        ] {
            assert_eq!(estimate_tokens(text), expected, "{text:?}");
        }
    }
}
