//! The words that say when, by language. `assets/time_words.txt` lists them.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::calendar::Unit;
use super::tokens::{Kind, Token, tokens};

/// What a word says about time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    /// A day, counted from today.
    Day(i32),
    /// The night before today.
    Night,
    Last,
    Past,
    This,
    Next,
    Unit(Unit),
    Number(i32),
    /// "Third".
    Ordinal(i32),
    Month(i32),
    /// From Monday, 1.
    Weekday(i32),
    /// From spring, 0.
    Season(i32),
    /// A letter before the number of a quarter.
    Q,
    /// Before the number of a week.
    WeekNo,
    /// Behind an amount: "3 days ago".
    Ago,
    /// Before an amount: "vor 3 Tagen".
    AgoBefore,
    /// Behind an amount: "3 gün sonra".
    Hence,
    /// Before an amount: "dans 3 jours".
    HenceBefore,
    /// Before an amount, where it also stands before a month: "in 3 days".
    InFuture,
    Bound(Bound),
    /// The same, behind its date.
    BoundBehind(Bound),
    Between,
    BetweenBehind,
    And,
    From,
    FromBehind,
    To,
    /// "in", "on": makes a date of a month or a weekday alone.
    In,
    InBehind,
    /// A part of a month: 0 its begin, 1 its middle, 2 its end.
    Part(i32),
    PartBehind(i32),
    /// Behind numbers: 2026年6月3日.
    YearMark,
    MonthMark,
    DayMark,
    /// Articles and the like: they may stand in between.
    Skip,
    /// Says that what is asked about is to come.
    Ahead,
    /// Says nothing beside a time: "what happened last week?"
    Filler,
    /// A word of the language that says nothing about time.
    Other,
}

/// On which side of a date a window lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Since,
    After,
    Until,
    Before,
}

/// How a word says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Plain,
    /// It is a common word, too.
    Weak,
    /// It has its "in" within.
    At,
}

/// One thing that some words mean: several senses are several words in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) language: usize,
    pub(super) manner: Manner,
    pub(super) senses: SmallVec<[Sense; 1]>,
}

/// Words by their first token.
pub(super) struct Vocabulary {
    by_first: FxHashMap<String, Vec<Entry>>,
    /// Their names, in the order of the list.
    pub(super) languages: Vec<&'static str>,
}

struct Entry {
    /// The tokens behind the first.
    rest: Vec<Kind>,
    meaning: Meaning,
}

static VOCABULARY: LazyLock<Vocabulary> =
    LazyLock::new(|| Vocabulary::parse(include_str!("../../assets/time_words.txt")));

impl Vocabulary {
    pub(super) fn shipped() -> &'static Self {
        &VOCABULARY
    }

    /// What the tokens at a place mean in some language, with their number.
    pub(super) fn meanings<'v>(&'v self, tokens: &'v [Token]) -> impl Iterator<Item = (&'v Meaning, usize)> + 'v {
        let first = match tokens.first().map(|token| &token.kind) {
            Some(Kind::Word(word)) => self.by_first.get(word),
            _ => None,
        };
        let fits = |entry: &&Entry| is_begin(&entry.rest, &tokens[1..]);
        first.into_iter().flatten().filter_map(move |entry| {
            let length = fits(&entry)?;
            Some((&entry.meaning, length + 1))
        })
    }

    fn parse(lines: &'static str) -> Self {
        let mut languages: Vec<&'static str> = Vec::new();
        let mut by_first: FxHashMap<String, Vec<Entry>> = FxHashMap::default();
        for line in lines.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let mut fields = line.split(' ');
            let (language, meaning) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
            if languages.last() != Some(&language) {
                languages.push(language);
            }
            let (manner, senses) = senses(meaning);
            let meaning = Meaning { language: languages.len() - 1, manner, senses };
            for word in fields {
                let mut kinds = tokens(&word.replace('_', " ")).into_iter().map(|token| token.kind);
                if let Some(Kind::Word(first)) = kinds.next() {
                    let entry = Entry { rest: kinds.collect(), meaning: meaning.clone() };
                    by_first.entry(first).or_default().push(entry);
                }
            }
        }
        Self { by_first, languages }
    }
}

/// How many tokens a word takes that begins here, hyphens and apostrophes between its parts among them.
fn is_begin(rest: &[Kind], tokens: &[Token]) -> Option<usize> {
    let mut at = 0;
    for wanted in rest {
        while matches!(tokens.get(at)?.kind, Kind::Mark('-' | '\'' | '’')) {
            at += 1;
        }
        if tokens.get(at)?.kind != *wanted {
            return None;
        }
        at += 1;
    }
    Some(at)
}

fn senses(meaning: &str) -> (Manner, SmallVec<[Sense; 1]>) {
    let (manner, meaning) = match meaning.split_once(':') {
        Some(("weak", meaning)) => (Manner::Weak, meaning),
        Some(("at", meaning)) => (Manner::At, meaning),
        _ => (Manner::Plain, meaning),
    };
    let sense = |name: &str| sense(name).unwrap_or_else(|| panic!("the shipped list has no meaning {name:?}"));
    (manner, meaning.split('+').map(sense).collect())
}

fn sense(name: &str) -> Option<Sense> {
    use Bound::{After, Before, Since, Until};
    let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<i32>().ok();
    Some(match name {
        "night" => Sense::Night,
        "last" => Sense::Last,
        "past" => Sense::Past,
        "this" => Sense::This,
        "next" => Sense::Next,
        "unit:hour" => Sense::Unit(Unit::Hour),
        "unit:day" => Sense::Unit(Unit::Day),
        "unit:week" => Sense::Unit(Unit::Week),
        "unit:weekend" => Sense::Unit(Unit::Weekend),
        "unit:month" => Sense::Unit(Unit::Month),
        "unit:quarter" => Sense::Unit(Unit::Quarter),
        "unit:year" => Sense::Unit(Unit::Year),
        "q" => Sense::Q,
        "kw" => Sense::WeekNo,
        "ago" => Sense::Ago,
        "ago-before" => Sense::AgoBefore,
        "hence" => Sense::Hence,
        "hence-before" => Sense::HenceBefore,
        "in-future" => Sense::InFuture,
        "since" => Sense::Bound(Since),
        "after" => Sense::Bound(After),
        "until" => Sense::Bound(Until),
        "before" => Sense::Bound(Before),
        "since-behind" => Sense::BoundBehind(Since),
        "after-behind" => Sense::BoundBehind(After),
        "until-behind" => Sense::BoundBehind(Until),
        "before-behind" => Sense::BoundBehind(Before),
        "between" => Sense::Between,
        "between-behind" => Sense::BetweenBehind,
        "and" => Sense::And,
        "from" => Sense::From,
        "from-behind" => Sense::FromBehind,
        "to" => Sense::To,
        "in" => Sense::In,
        "in-behind" => Sense::InBehind,
        "begin" => Sense::Part(0),
        "middle" => Sense::Part(1),
        "end" => Sense::Part(2),
        "begin-behind" => Sense::PartBehind(0),
        "middle-behind" => Sense::PartBehind(1),
        "end-behind" => Sense::PartBehind(2),
        "yearmark" => Sense::YearMark,
        "monthmark" => Sense::MonthMark,
        "daymark" => Sense::DayMark,
        "skip" => Sense::Skip,
        "ahead" => Sense::Ahead,
        "filler" => Sense::Filler,
        "none" => Sense::Other,
        _ => {
            let day = || number("day").map(Sense::Day);
            let others = || number("n").map(Sense::Number).or_else(|| number("m").map(Sense::Month));
            let rest = || number("d").map(Sense::Weekday).or_else(|| number("s").map(|s| Sense::Season(s - 1)));
            day().or_else(others).or_else(rest).or_else(|| number("o").map(Sense::Ordinal))?
        }
    })
}
