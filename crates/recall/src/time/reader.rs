//! Finds dates in a row of words, read in one language: "3 March", "last week", "vor zwei Tagen". What is around a date
//! ("since", "between … and …") is the business of `phrase.rs`.

mod fixed;
mod relative;

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::calendar::{Day, Days, Unit};
use super::tokens::{Kind, Token};
use super::vocabulary::{Manner, Sense, Vocabulary};

/// One word of a language, or a number or mark.
#[derive(Debug, Clone)]
pub(super) struct Lexeme {
    pub(super) at: Range<usize>,
    digits: Option<(u32, usize)>,
    mark: Option<char>,
    senses: SmallVec<[(Sense, Manner); 2]>,
}

/// A row of words in one language, on one day.
pub(super) struct Reader {
    pub(super) lexemes: Vec<Lexeme>,
    now: Day,
    /// Whether what is asked about is to come: a month without a year is the next one then.
    is_ahead: bool,
    /// Whether "last" may stand behind its word: "semaine dernière".
    is_postposing: bool,
    /// Whether "in" needs no number: "через неделю".
    is_bare_amount: bool,
    /// How many words are of this language.
    pub(super) votes: usize,
}

/// Some days that words name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) days: Days,
    /// Behind its last word.
    pub(super) end: usize,
    pub(super) has_year: bool,
}

/// The languages that put "last" behind its word, and those that count without a number.
const POSTPOSING: [&str; 4] = ["fr", "es", "pt", "it"];
const BARE_AMOUNTS: [&str; 3] = ["ru", "uk", "pl"];

impl Reader {
    /// Reads tokens in a language; `text` is what they were cut from.
    pub(super) fn new(text: &str, tokens: &[Token], language: usize, now: Day) -> Self {
        let vocabulary = Vocabulary::shipped();
        let (mut lexemes, mut votes, mut at) = (Vec::new(), 0, 0);
        while at < tokens.len() {
            let token = &tokens[at];
            let own = || vocabulary.meanings(&tokens[at..]).filter(|(meaning, _)| meaning.language == language);
            let length = own().map(|(_, length)| length).max();
            let span = token.at.start..tokens[at + length.unwrap_or(1) - 1].at.end;
            let is_name = at > 0 && text[span.clone()].starts_with(char::is_uppercase);
            let manner = |manner: Manner| if manner == Manner::Weak && is_name { Manner::Plain } else { manner };
            let longest = || own().filter(|(_, known)| Some(*known) == length).map(|(meaning, _)| meaning);
            if let Some(row) = longest().find(|meaning| meaning.senses.len() > 1) {
                let one = |&sense: &Sense| Lexeme::word(span.clone(), smallvec![(sense, row.manner)]);
                lexemes.extend(row.senses.iter().map(one));
            } else {
                let senses = longest().map(|meaning| (meaning.senses[0], manner(meaning.manner))).collect();
                let mut lexeme = Lexeme::word(span, senses);
                match token.kind {
                    Kind::Number(value, digits) => lexeme.digits = Some((value, digits)),
                    Kind::Mark(mark) => lexeme.mark = Some(mark),
                    Kind::Word(_) => votes += usize::from(length.is_some()),
                }
                lexemes.push(lexeme);
            }
            at += length.unwrap_or(1);
        }
        let is_ahead = lexemes.iter().any(|lexeme| lexeme.has(Sense::Ahead));
        let name = vocabulary.languages[language];
        let (is_postposing, is_bare_amount) = (POSTPOSING.contains(&name), BARE_AMOUNTS.contains(&name));
        Self { lexemes, now, is_ahead, is_postposing, is_bare_amount, votes }
    }

    /// Where a date or a phrase can begin: most words say nothing about time.
    pub(super) fn starts(&self) -> impl Iterator<Item = usize> + '_ {
        let is_start = |lexeme: &Lexeme| !lexeme.senses.is_empty() || lexeme.digits.is_some() || lexeme.mark.is_some();
        (0..self.lexemes.len()).filter(move |&at| is_start(&self.lexemes[at]))
    }

    /// The longest date that begins here. `is_led`: something before it says that it is one, as "in" does before
    /// "June".
    pub(super) fn point(&self, at: usize, is_led: bool) -> Option<Point> {
        let found = [
            self.numeric(at),
            self.day_of_month(at, is_led),
            self.month(at, is_led),
            self.relative(at),
            self.amount(at),
            self.weekday(at, is_led),
            self.season(at, is_led),
            self.quarter(at),
            self.numbered_week(at),
            self.year(at, is_led),
            self.day(at),
            self.part(at),
        ];
        let longest = found.into_iter().flatten().reduce(|best, next| if next.end > best.end { next } else { best })?;
        Some(self.part_behind(longest).unwrap_or(longest))
    }

    /// Where words are that say nothing beside a time.
    pub(super) fn fillers(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.lexemes.iter().filter(|lexeme| lexeme.has(Sense::Filler)).map(|lexeme| lexeme.at.clone())
    }

    /// The next word that means what is looked for; articles before it are passed.
    pub(super) fn eat<T>(&self, mut at: usize, wanted: impl Fn(Sense, Manner) -> Option<T>) -> Option<(T, usize)> {
        loop {
            let lexeme = self.lexemes.get(at)?;
            if let Some(found) = lexeme.senses.iter().find_map(|&(sense, manner)| wanted(sense, manner)) {
                return Some((found, at + 1));
            }
            if !lexeme.is_passed() {
                return None;
            }
            at += 1;
        }
    }

    /// Behind the next word, if it means this.
    pub(super) fn eat_one(&self, at: usize, wanted: Sense) -> Option<usize> {
        self.eat(at, |sense, _| (sense == wanted).then_some(())).map(|(_, end)| end)
    }

    fn eat_digits(&self, mut at: usize, is_it: impl Fn(u32, usize) -> bool) -> Option<(i32, usize)> {
        loop {
            let lexeme = self.lexemes.get(at)?;
            if let Some((value, digits)) = lexeme.digits {
                return is_it(value, digits).then_some((value as i32, at + 1));
            }
            if !lexeme.is_passed() && !matches!(lexeme.mark, Some(',' | '-' | '.' | '/')) {
                return None;
            }
            at += 1;
        }
    }

    /// A number in digits or words.
    pub(super) fn eat_number(&self, at: usize) -> Option<(i32, usize)> {
        if let Some((value, _)) = self.lexemes.get(at)?.digits {
            return (1..=400).contains(&value).then_some((value as i32, at + 1));
        }
        let number = |sense, _| if let Sense::Number(number) = sense { Some(number) } else { None };
        self.eat(at, number).or_else(|| self.lexemes[at].is_passed().then(|| self.eat_number(at + 1))?)
    }

    pub(super) fn eat_unit(&self, at: usize) -> Option<(Unit, usize)> {
        self.eat(at, |sense, _| if let Sense::Unit(unit) = sense { Some(unit) } else { None })
    }

    fn eat_month(&self, at: usize) -> Option<((i32, Manner), usize)> {
        self.eat(at, |sense, manner| if let Sense::Month(month) = sense { Some((month, manner)) } else { None })
    }

    /// Last, this or next, as steps; "past" is none of them.
    fn eat_step(&self, at: usize) -> Option<(i32, usize)> {
        self.eat(at, |sense, _| match sense {
            Sense::Last => Some(-1),
            Sense::This => Some(0),
            Sense::Next => Some(1),
            _ => None,
        })
    }

    /// Whether nothing is between a lexeme and the one before.
    fn is_glued(&self, at: usize) -> bool {
        at > 0 && self.lexemes[at].at.start == self.lexemes[at - 1].at.end
    }

    fn eat_weekday(&self, at: usize) -> Option<((i32, Manner), usize)> {
        self.eat(at, |sense, manner| if let Sense::Weekday(day) = sense { Some((day, manner)) } else { None })
    }

    fn eat_season(&self, at: usize) -> Option<((i32, Manner), usize)> {
        self.eat(at, |sense, manner| if let Sense::Season(season) = sense { Some((season, manner)) } else { None })
    }
}

impl Lexeme {
    fn word(at: Range<usize>, senses: SmallVec<[(Sense, Manner); 2]>) -> Self {
        Self { at, digits: None, mark: None, senses }
    }

    pub(super) fn has(&self, wanted: Sense) -> bool {
        self.senses.iter().any(|(sense, _)| *sense == wanted)
    }

    /// Whether it says nothing between two words of a date.
    fn is_passed(&self) -> bool {
        self.has(Sense::Skip) || matches!(self.mark, Some('\'' | '’'))
    }
}
