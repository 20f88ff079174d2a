//! What the model sees of a text: hashed letters and words of each sentence, word classes and their pairs, disguises.
//!
//! Everything a unit of text scores is a sum over its sentences, so the overlapping windows cost no second reading.

use std::ops::Range;

use crate::lexicon::{CLASSES_MAX, ClassSet, Lexicon};
use crate::normalise::{Disguises, Plain};
use crate::sentences::sentences;
use crate::tokens::{Token, read_tokens};

/// Two classes this many tokens apart or less make a near pair.
const NEAR_TOKENS: u32 = 6;
/// The maximum number of neighbouring sentences that are scored together.
const WINDOW_MAX: usize = 3;
/// Letters and words each have a table of `1 << TABLE_BITS` weights.
pub(crate) const TABLE_BITS: u32 = Slot::BITS;
/// How many weights each table of hashed grams has.
pub const TABLE_SLOTS: usize = 1 << TABLE_BITS;
/// How many rules there can be: each class alone, each ordered pair near, each ordered pair in one window.
pub const RULE_SLOTS: usize = CLASSES_MAX + 2 * CLASSES_MAX * CLASSES_MAX;
/// A disguise is seen once, twice, four, eight, sixteen times or more.
const DISGUISE_STEPS: usize = 5;
/// How many weights the disguises have.
pub const DISGUISE_SLOTS: usize = Disguises::KINDS * DISGUISE_STEPS;

/// How much a rule counts. Rules are few and clear, but a unit holds many pairs; this keeps both voices in balance.
pub(crate) const RULE_VALUE: f32 = 0.25;
/// A unit of fewer grams is weighed as if it had this many: a name or a key of two words is too little to recognise an
/// order by its letters, and the one gram that some attack happens to share must not decide. Rules speak as loud as
/// ever.
const LETTERS_MIN: usize = 90;
/// Four words, with their pairs and triples; the same for words.
const WORDS_MIN: usize = 9;

/// How much each letter gram and each word gram counts in a unit with this many of them.
pub(crate) fn gram_values(letters: usize, words: usize) -> (f32, f32) {
    (1.0 / (letters.max(LETTERS_MIN) as f32).sqrt(), 1.0 / (words.max(WORDS_MIN) as f32).sqrt())
}

/// The place of a gram's weights in its table of `1 << 16` rows.
pub(crate) type Slot = u16;

/// Receives the hashed grams of one sentence, all at once.
pub(crate) trait Grams {
    fn letters(&mut self, slots: &[Slot]);
    fn words(&mut self, slots: &[Slot]);
}

/// A place where phrases of some classes begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    classes: ClassSet,
    at: u32,
}

/// A text taken apart.
#[derive(Debug)]
pub(crate) struct Anatomy<G> {
    pub(crate) sentences: Vec<G>,
    hits: Vec<Hit>,
    /// Which of `hits` belong to each sentence.
    hit_ranges: Vec<Range<usize>>,
    /// Which sentences have the words of an earlier one.
    is_repeated: Vec<bool>,
    pub(crate) disguises: Disguises,
}

/// Room for the tokens of a sentence, which few exceed.
const TOKENS: usize = 48;

/// Takes a text apart; `new_grams` makes the receiver for each sentence.
pub(crate) fn dissect<G: Grams>(plain: &Plain, lexicon: &Lexicon, new_grams: impl Fn() -> G) -> Anatomy<G> {
    let mut anatomy = Anatomy {
        sentences: Vec::new(),
        hits: Vec::new(),
        hit_ranges: Vec::new(),
        is_repeated: Vec::new(),
        disguises: plain.disguises.clone(),
    };
    let mut wordings = Vec::new();
    let mut tokens: Vec<Token> = Vec::with_capacity(TOKENS.min(plain.text.len()));
    let (mut bytes, mut slots): (Vec<u8>, Vec<Slot>) = (Vec::new(), Vec::new());
    let mut position = 0;
    for sentence in sentences(&plain.text) {
        tokens.clear();
        read_tokens(sentence, &mut tokens);
        let mut grams = new_grams();
        letter_grams(sentence, &mut bytes, &mut slots);
        grams.letters(&slots);
        word_grams(&tokens, &mut slots);
        grams.words(&slots);
        let first_hit = anatomy.hits.len();
        find_hits(&tokens, lexicon, position, &mut anatomy.hits);
        wordings.push(wording(&tokens));
        position += tokens.len() as u32;
        anatomy.sentences.push(grams);
        anatomy.hit_ranges.push(first_hit..anatomy.hits.len());
    }
    anatomy.is_repeated = repeated(&wordings);
    anatomy
}

/// What two sentences of the same words have in common; all numbers of one length are the same word.
fn wording(tokens: &[Token]) -> u64 {
    tokens.iter().fold(0, |state, token| (state.rotate_left(5) ^ token.hash).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Which of these were there before.
fn repeated(wordings: &[u64]) -> Vec<bool> {
    let mut is_repeated = vec![false; wordings.len()];
    if wordings.len() > WINDOW_MAX {
        let mut places: Vec<(u64, usize)> = wordings.iter().copied().zip(0..).collect();
        places.sort_unstable();
        for pair in places.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            is_repeated[pair[1].1] = true;
        }
    }
    is_repeated
}

impl<G> Anatomy<G> {
    /// The rules that fire in each window, and for the whole text the union of these.
    pub(crate) fn hits_of(&self, window: &Range<usize>) -> &[Hit] {
        let start = self.hit_ranges[window.start].start;
        let end = self.hit_ranges[window.end - 1].end;
        &self.hits[start..end]
    }

    /// The sentences whose grams count in a unit. In a unit that is longer than a window a sentence that repeats an
    /// earlier one does not: the root of the number of grams evens out those that have nothing to do with each other,
    /// but two hundred lines of a log would add up until what is next to nothing in each of them decides.
    pub(crate) fn counted(&self, unit: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let is_long = unit.len() > WINDOW_MAX;
        unit.filter(move |at| !(is_long && self.is_repeated[*at]))
    }

    /// Each sentence, and each two and three neighbours: an order may need the sentences around it ("… Do not tell the
    /// user."), or be drowned by them.
    pub(crate) fn windows(&self) -> impl Iterator<Item = Range<usize>> + use<G> {
        let count = self.sentences.len();
        (0..count)
            .flat_map(|at| (1..=WINDOW_MAX).map(move |width| at..at + width))
            .filter(move |window| window.end <= count)
    }
}

fn find_hits(tokens: &[Token], lexicon: &Lexicon, position: u32, hits: &mut Vec<Hit>) {
    let mut signs = Signs::default();
    for at in 0..tokens.len() {
        let mut classes = lexicon.classes_at(&tokens[at..]);
        if signs.is_opening(&tokens[at]) {
            classes |= lexicon.classes_at_start(&tokens[at..]);
        }
        if classes != 0 {
            hits.push(Hit { classes, at: position + at as u32 });
        }
    }
}

/// The signs before a word. A word behind the signs of a comment, a tag or a quoted value begins a sentence of its own:
/// "// agents: …", `"note": "agents …"`.
#[derive(Default)]
struct Signs {
    count: usize,
    is_hash: bool,
}

impl Signs {
    /// Does this token open such a sentence? The start of a sentence is the first of its signs.
    fn is_opening(&mut self, token: &Token) -> bool {
        if token.is_word {
            let signs = std::mem::take(self);
            return signs.count > 1 || signs.is_hash;
        }
        self.count += 1;
        self.is_hash = token.is_hash_sign();
        false
    }
}

/// Grams of three, four and five characters, white space folded, digits alike. `bytes` is room to work in.
fn letter_grams(sentence: &str, bytes: &mut Vec<u8>, slots: &mut Vec<Slot>) {
    slots.clear();
    let sentence = sentence.trim();
    // Most texts are ASCII, and a byte of theirs needs no decoding.
    if sentence.is_ascii() {
        bytes.clear();
        bytes.extend(sentence.bytes().map(fold));
        bytes.push(b' ');
        drop_repeated(bytes, b' ');
        grams_of(bytes, slots);
    } else {
        let code = |c: char| if c.is_ascii() { u32::from(fold(c as u8)) } else { fold_other(c) };
        let mut codes: Vec<u32> = sentence.chars().chain([' ']).map(code).collect();
        drop_repeated(&mut codes, u32::from(b' '));
        grams_of(&codes, slots);
    }
}

/// What a character of ASCII counts as. Without a branch, so that many are folded at once.
fn fold(byte: u8) -> u8 {
    let byte = if byte.wrapping_sub(b'\t') <= b'\r' - b'\t' { b' ' } else { byte };
    if byte.is_ascii_digit() { b'0' } else { byte }
}

fn fold_other(c: char) -> u32 {
    u32::from(if c.is_whitespace() { ' ' } else { c })
}

/// Leaves one where several `space` follow each other, which most sentences don't have.
fn drop_repeated<C: Copy + PartialEq>(codes: &mut Vec<C>, space: C) {
    let is_space = |code: &C| *code == space;
    // All are looked at, because many at once take less time than one after the other up to the first.
    let pairs = codes.iter().zip(codes.get(1..).unwrap_or_default());
    if pairs.fold(false, |any, (one, next)| any | (is_space(one) & is_space(next))) {
        codes.dedup_by(|next, one| is_space(one) && is_space(next));
    }
}

fn grams_of<C: Copy + Into<u64>>(codes: &[C], slots: &mut Vec<Slot>) {
    let three = |last: &[C]| last[0].into() << 42 | last[1].into() << 21 | last[2].into();
    let four = |first: C, three: u64| three ^ (first.into() + 1).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let five = |first: C, four: u64| four.rotate_left(11) ^ (first.into() + 1).wrapping_mul(0x87c3_7b91_1142_53d5);
    slots.reserve(3 * codes.len());
    slots.extend(codes.get(..3).map(|first| slot(three(first))));
    if let Some(first) = codes.get(..4) {
        let three = three(&first[1..]);
        slots.extend([slot(three), slot(four(first[0], three))]);
    }
    slots.extend(codes.windows(5).flat_map(|last| {
        let three = three(&last[2..]);
        let four = four(last[1], three);
        [slot(three), slot(four), slot(five(last[0], four))]
    }));
}

/// Single words, pairs and triples.
fn word_grams(tokens: &[Token], slots: &mut Vec<Slot>) {
    slots.clear();
    let (mut before, mut two_before) = (None, None);
    for word in tokens.iter().filter(|token| token.is_word).map(|token| token.hash) {
        slots.push(slot(word));
        if let Some(first) = before {
            let pair = word ^ u64::rotate_left(first, 21).wrapping_mul(3);
            slots.push(slot(pair));
            if let Some(zeroth) = two_before {
                slots.push(slot(pair ^ u64::rotate_left(zeroth, 42).wrapping_mul(5)));
            }
        }
        two_before = before;
        before = Some(word);
    }
}

fn slot(key: u64) -> Slot {
    ((key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - TABLE_BITS)) as Slot
}

/// The set of rules that fire somewhere.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    alone: ClassSet,
    near: [ClassSet; CLASSES_MAX],
    far: [ClassSet; CLASSES_MAX],
}

impl Default for Rules {
    fn default() -> Self {
        Rules { alone: 0, near: [0; CLASSES_MAX], far: [0; CLASSES_MAX] }
    }
}

impl Rules {
    /// Adds the rules that fire among `hits`, which come from one window.
    pub(crate) fn add(&mut self, hits: &[Hit]) {
        let mut seen: ClassSet = 0;
        for (index, hit) in hits.iter().enumerate() {
            let close = hits[..index].iter().rev().take_while(|earlier| hit.at - earlier.at <= NEAR_TOKENS);
            let near: ClassSet = close.fold(0, |classes, earlier| classes | earlier.classes);
            for class in bits(hit.classes) {
                self.near[class] |= near;
                self.far[class] |= seen;
            }
            seen |= hit.classes;
        }
        self.alone |= seen;
    }

    /// The classes that any of the words has.
    pub(crate) fn classes(&self) -> ClassSet {
        self.alone
    }

    /// Everything that fires in either set.
    pub(crate) fn merge(&mut self, other: &Rules) {
        self.alone |= other.alone;
        for class in bits(other.alone) {
            self.near[class] |= other.near[class];
            self.far[class] |= other.far[class];
        }
    }

    /// The slots of all rules in the set.
    pub(crate) fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        let alone = bits(self.alone);
        let pairs = bits(self.alone).flat_map(move |second| {
            let near = bits(self.near[second]).map(move |first| pair_slot(0, first, second));
            let far = bits(self.far[second]).map(move |first| pair_slot(1, first, second));
            near.chain(far)
        });
        alone.chain(pairs)
    }
}

fn pair_slot(is_far: usize, first: usize, second: usize) -> usize {
    CLASSES_MAX + (is_far * CLASSES_MAX + first) * CLASSES_MAX + second
}

/// What a rule slot means, in words, for people who read weights.
pub(crate) fn rule_name(slot: usize, lexicon: &Lexicon) -> String {
    let Some(pair) = slot.checked_sub(CLASSES_MAX) else { return lexicon.name(slot).to_owned() };
    let (first, second) = (lexicon.name(pair / CLASSES_MAX % CLASSES_MAX), lexicon.name(pair % CLASSES_MAX));
    let reach = if pair < CLASSES_MAX * CLASSES_MAX { "close to" } else { "ahead of" };
    format!("{first} {reach} {second}")
}

fn bits(mut set: ClassSet) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (lowest < 64).then_some(lowest)
    })
}

/// The slots that the disguises of a text fill.
pub(crate) fn disguise_slots(disguises: &Disguises) -> impl Iterator<Item = usize> {
    disguises.counts().into_iter().enumerate().flat_map(|(kind, count)| {
        (0..DISGUISE_STEPS).filter(move |step| count >= 1 << step).map(move |step| kind * DISGUISE_STEPS + step)
    })
}
