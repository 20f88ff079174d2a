//! Letters of other scripts that look Latin, turned back inside words that mix scripts.

use super::Disguises;
use crate::letters::is_alphabetic;

/// Rewrites look-alikes in mixed words. Whole words of another script stay: they are that language.
pub(super) fn to_latin(text: String, disguises: &mut Disguises) -> String {
    if !text.chars().any(|c| latin_twin(c).is_some()) {
        return text;
    }
    let mostly_latin = is_mostly_latin(&text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let word_end = rest.find(|c: char| !is_alphabetic(c)).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(word_end);
        if is_disguised(word, mostly_latin) {
            disguises.mixed_script_words += 1;
            out.extend(word.chars().map(|c| latin_twin(c).unwrap_or(c)));
        } else {
            out.push_str(word);
        }
        let gap_end = tail.find(is_alphabetic).unwrap_or(tail.len());
        out.push_str(&tail[..gap_end]);
        rest = &tail[gap_end..];
    }
    out
}

/// A word is disguised when it mixes Latin and look-alikes, or when it is made of look-alikes alone in a Latin text.
fn is_disguised(word: &str, mostly_latin: bool) -> bool {
    let (mut latin, mut twins, mut others) = (0, 0, 0);
    for c in word.chars() {
        if c.is_ascii_alphabetic() {
            latin += 1;
        } else if latin_twin(c).is_some() {
            twins += 1;
        } else {
            others += 1;
        }
    }
    // One foreign letter in a one-letter word is a unit or a symbol (µ, λ), not a disguise.
    twins > 0 && ((latin > 0 && latin + twins > others) || (mostly_latin && others == 0 && twins > 2))
}

fn is_mostly_latin(text: &str) -> bool {
    let (mut latin, mut foreign) = (0_usize, 0_usize);
    for c in text.chars().filter(|c| is_alphabetic(*c)) {
        if c.is_ascii() { latin += 1 } else { foreign += 1 }
    }
    latin > 2 * foreign
}

/// The Latin letter that a lower-case letter of another script is drawn like.
fn latin_twin(c: char) -> Option<char> {
    if c.is_ascii() {
        return None;
    }
    Some(match c {
        'а' | 'α' | 'ɑ' => 'a',
        'Ь' | 'ƅ' => 'b',
        'с' | 'ϲ' | 'ᴄ' => 'c',
        'ԁ' | 'ɗ' => 'd',
        'е' | 'ё' | 'є' | 'ҽ' => 'e',
        'ɡ' | 'ց' => 'g',
        'һ' | 'հ' => 'h',
        'і' | 'ї' | 'ι' | 'ı' => 'i',
        'ј' | 'ϳ' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' | 'ⅼ' | 'ǀ' => 'l',
        'м' => 'm',
        'ո' | 'п' | 'η' => 'n',
        'о' | 'ο' | 'օ' | 'σ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' | 'ᴦ' => 'r',
        'ѕ' | 'ꜱ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' | 'ц' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ѡ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' | 'ү' => 'y',
        'ᴢ' => 'z',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, plain: &str, mixed_script_words: u32) {
        let mut disguises = Disguises::default();
        assert_eq!(to_latin(text.to_owned(), &mut disguises), plain);
        assert_eq!(disguises.mixed_script_words, mixed_script_words, "{text}");
    }

    #[test]
    fn look_alikes_inside_a_latin_word_are_turned_back() {
        check("d\u{435}pl\u{43e}y the build", "deploy the build", 1);
    }

    #[test]
    fn other_languages_and_symbols_stay() {
        check("сервер базы данных", "сервер базы данных", 0);
        check("a delay of 5 µs and λ = 3", "a delay of 5 µs and λ = 3", 0);
        check("kafka топик", "kafka топик", 0);
    }
}
