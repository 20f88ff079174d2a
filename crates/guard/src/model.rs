//! How a text scores: its features, weighed by one hidden layer.
//!
//! A gram costs one look-up of sixteen bytes and one vector addition; a unit of text is a sum over its sentences.

use std::ops::Range;

use crate::asset::{AssetError, LANES, Row, Thresholds, Weights, scales};
use crate::family::Family;
use crate::features::{
    Anatomy, Grams, RULE_VALUE, Rules, Slot, TABLE_SLOTS, disguise_slots, dissect, gram_values, rule_name,
};
use crate::lexicon::{self, ClassSet, Lexicon};
use crate::markup::Frame;
use crate::normalise::{Plain, normalise};
use crate::quotes;
use crate::verdict::{Field, Verdict};

/// What hidden text scores on top; more than any learned weights can take back.
const HIDING_SCORE: f32 = 1_000.0;

/// What a mark of a turn adds to the words behind it: they need not say whom they address.
const MARK_SCORE: f32 = 2.0;

/// What made-up turns add to an order that would be doubtful: people write dialogues, too.
const TURN_SCORE: f32 = 1.0;
/// What the words around a quote may score, for the quote to count as reported. Below the threshold of doubt: "now do
/// what the quote says" is no report.
const REPORT_SCORE_MAX: f32 = -1.5;

/// A score this far below a threshold is clearly below it.
const SLIGHTLY: f32 = 0.01;

/// Weights ready for scoring.
#[derive(Debug)]
pub(crate) struct Model {
    lexicon: Lexicon,
    letters: Table,
    words: Table,
    rules: Vec<Row>,
    disguises: Vec<Row>,
    bias: Row,
    voices: Row,
    thresholds: Thresholds,
}

/// Rows rounded to steps of a size that each lane has for itself.
#[derive(Debug)]
struct Table {
    /// Two lanes in a number, the first in its lower half: so both halves of a row are added eight lanes at once.
    rows: Box<[[u16; LANES / 2]; TABLE_SLOTS]>,
    scales: Row,
}

/// Stands for a step of zero. Steps have no sign, so that a mask and a shift take the two of a pair apart.
const NO_STEP: u8 = 128;

impl Table {
    fn of(weights: &[Row]) -> Result<Table, AssetError> {
        let scales = scales(weights, 127.0);
        let step = |row: &Row, lane: usize| NO_STEP.wrapping_add_signed((row[lane] / scales[lane]).round() as i8);
        let steps =
            |row: &Row| std::array::from_fn(|pair| u16::from_le_bytes([step(row, 2 * pair), step(row, 2 * pair + 1)]));
        let rows: Vec<[u16; LANES / 2]> = weights.iter().map(steps).collect();
        let rows = rows.try_into().map_err(|_| AssetError::Shape)?;
        Ok(Table { rows, scales })
    }

    /// Adds up the rows of some grams.
    fn sum(&self, slots: &[Slot]) -> [i32; LANES] {
        /// How many bytes can be added up in a 16-bit integer.
        const SMALL_SUM_MAX: usize = 256;
        let mut total = [0_i32; LANES];
        for some in slots.chunks(SMALL_SUM_MAX) {
            let no_steps = i32::from(NO_STEP) * some.len() as i32;
            let (first, second) = self.small_sums(some);
            let sums = first.into_iter().zip(second).flat_map(|(first, second)| [first, second]);
            total.iter_mut().zip(sums).for_each(|(total, sum)| *total += i32::from(sum) - no_steps);
        }
        total
    }

    /// The sums of the first lane of each pair, and of the second. Not inlined: for the sake of what follows, the
    /// compiler would add fewer lanes at once.
    #[inline(never)]
    fn small_sums(&self, slots: &[Slot]) -> ([u16; LANES / 2], [u16; LANES / 2]) {
        let (mut first, mut second) = ([0; LANES / 2], [0; LANES / 2]);
        for slot in slots {
            for (at, pair) in self.rows[usize::from(*slot)].iter().enumerate() {
                first[at] += pair & 0xff;
                second[at] += pair >> 8;
            }
        }
        (first, second)
    }
}

/// A text's score and what it comes from.
struct Worst {
    /// The score of the worst unit, less the allowance for the text's length.
    score: f32,
    rules: Rules,
    /// The classes of all words in the text.
    classes: ClassSet,
    disguises: Vec<usize>,
}

impl Model {
    pub(crate) fn from_asset(asset: &[u8]) -> Result<Model, AssetError> {
        let Weights { letters, words, rules, disguises, bias, voices, thresholds } = Weights::read(asset)?;
        let lexicon = Lexicon::parse(lexicon::SHIPPED);
        let (letters, words) = (Table::of(&letters)?, Table::of(&words)?);
        Ok(Model { lexicon, letters, words, rules, disguises, bias, voices, thresholds })
    }

    /// The verdict on a field that scores so. A NaN is a fault: only a score that is provably below a threshold passes.
    pub(crate) fn verdict(&self, field: Field, score: f32) -> Verdict {
        if score < self.caution_from(field) {
            Verdict::Pass
        } else if score < self.refuse_from(field) {
            Verdict::Caution
        } else {
            Verdict::Refuse
        }
    }

    /// From which score on a field is doubtful. Names never are: their mark would not be shown.
    pub(crate) fn caution_from(&self, field: Field) -> f32 {
        if field.is_prose() { self.thresholds.caution } else { self.thresholds.name }
    }

    /// From which score on a field is refused.
    pub(crate) fn refuse_from(&self, field: Field) -> f32 {
        if field.is_prose() { self.thresholds.refuse } else { self.thresholds.name }
    }

    /// How strongly the text looks like an instruction to an AI reader.
    pub(crate) fn score(&self, text: &str) -> f32 {
        self.worst(text).score
    }

    /// The score, and the rules and disguises that speak loudest for themselves in the worst unit.
    pub(crate) fn explain(&self, text: &str) -> (f32, Vec<(String, f32)>) {
        let Worst { score, rules, disguises, .. } = self.worst(text);
        let mut reasons: Vec<(String, f32)> = rules
            .slots()
            .map(|slot| (rule_name(slot, &self.lexicon), self.rules[slot][0]))
            .chain(disguises.into_iter().map(|slot| (format!("disguise {slot}"), self.disguises[slot][0])))
            .collect();
        reasons.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        reasons.truncate(12);
        (score, reasons)
    }

    /// What the worst unit of a text does.
    pub(crate) fn family(&self, text: &str) -> Family {
        let plain = normalise(text);
        let classes = self.worst_of(&plain).rules.classes();
        Family::of(&plain.disguises, plain.frame, classes, &self.lexicon)
    }

    fn worst(&self, text: &str) -> Worst {
        let plain = normalise(text);
        let mut worst = self.worst_of(&plain);
        let Thresholds { caution, refuse, name, .. } = self.thresholds;
        let least = match plain.frame {
            Frame::None | Frame::Shown => {
                if worst.score >= refuse && worst.score < HIDING_SCORE && self.is_report(&plain.text) {
                    worst.score = refuse - SLIGHTLY;
                }
                return worst;
            }
            Frame::Call => refuse.max(name),
            Frame::Open(at) if self.score_of(plain.text[at..].to_owned()) + MARK_SCORE >= refuse => refuse.max(name),
            Frame::Turns if worst.score + TURN_SCORE >= caution => refuse,
            Frame::Turns => return worst,
            Frame::Open(_) => caution,
        };
        if worst.score < least {
            worst.score = least;
        }
        worst
    }

    /// Does a text only report what somebody else said? Then its quotes are doubtful at most.
    fn is_report(&self, text: &str) -> bool {
        let Some(text) = quotes::without(text) else { return false };
        let around = self.worst_of(&Plain { text, ..Plain::default() });
        around.score < REPORT_SCORE_MAX
            && ["report", "about"].iter().any(|class| self.lexicon.has(around.classes, class))
    }

    fn score_of(&self, text: String) -> f32 {
        self.worst_of(&Plain { text, ..Plain::default() }).score
    }

    fn worst_of(&self, plain: &Plain) -> Worst {
        let anatomy = dissect(plain, &self.lexicon, || Weighed { model: self, sums: Sums::default() });
        let disguises: Vec<usize> = disguise_slots(&anatomy.disguises).collect();
        let mut base = self.bias;
        disguises.iter().for_each(|slot| add(&mut base, &self.disguises[*slot], 1.0));
        // A text without any sentence scores what an empty one does.
        let mut worst = (self.voice(&base), Rules::default());
        let mut whole = Rules::default();
        let mut consider = |score: f32, rules: &Rules| {
            if score > worst.0 || score.is_nan() {
                worst = (score, rules.clone());
            }
        };
        for window in anatomy.windows() {
            let mut rules = Rules::default();
            rules.add(anatomy.hits_of(&window));
            whole.merge(&rules);
            consider(self.unit_score(base, &anatomy, window, &rules), &rules);
        }
        let sentences = anatomy.sentences.len();
        if sentences > 2 {
            consider(self.unit_score(base, &anatomy, 0..sentences, &whole), &whole);
        }
        let hiding = if anatomy.disguises.is_hiding() { HIDING_SCORE } else { 0.0 };
        let score = worst.0 + hiding - self.thresholds.allowance(sentences);
        Worst { score, rules: worst.1, classes: whole.classes(), disguises }
    }

    fn unit_score(&self, base: Row, anatomy: &Anatomy<Weighed<'_>>, unit: Range<usize>, rules: &Rules) -> f32 {
        let mut sums = Sums::default();
        anatomy.counted(unit).for_each(|at| sums.add(&anatomy.sentences[at].sums));
        let (letter_value, word_value) = gram_values(sums.letter_count, sums.word_count);
        let mut lanes = base;
        for (lane, weight) in lanes.iter_mut().enumerate() {
            *weight += sums.letters[lane] as f32 * self.letters.scales[lane] * letter_value
                + sums.words[lane] as f32 * self.words.scales[lane] * word_value;
        }
        rules.slots().for_each(|slot| add(&mut lanes, &self.rules[slot], RULE_VALUE));
        self.voice(&lanes)
    }

    /// The first lane, and what the hidden units make of the others.
    fn voice(&self, lanes: &Row) -> f32 {
        let hidden = lanes.iter().zip(&self.voices).skip(1).map(|(lane, voice)| voice * lane.max(0.0));
        // `max` would turn a NaN into zero; a fault must stay one.
        if lanes.iter().any(|lane| lane.is_nan()) { f32::NAN } else { lanes[0] + hidden.sum::<f32>() }
    }
}

fn add(lanes: &mut Row, row: &Row, value: f32) {
    lanes.iter_mut().zip(row).for_each(|(lane, weight)| *lane += weight * value);
}

/// Sums the rows of a sentence's grams while it is read.
struct Weighed<'m> {
    model: &'m Model,
    sums: Sums,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    letters: [i32; LANES],
    letter_count: usize,
    words: [i32; LANES],
    word_count: usize,
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        for lane in 0..LANES {
            self.letters[lane] += other.letters[lane];
            self.words[lane] += other.words[lane];
        }
        self.letter_count += other.letter_count;
        self.word_count += other.word_count;
    }
}

impl Grams for Weighed<'_> {
    fn letters(&mut self, slots: &[Slot]) {
        self.sums.letters = self.model.letters.sum(slots);
        self.sums.letter_count = slots.len();
    }

    fn words(&mut self, slots: &[Slot]) {
        self.sums.words = self.model.words.sum(slots);
        self.sums.word_count = slots.len();
    }
}
