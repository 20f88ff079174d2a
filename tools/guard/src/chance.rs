//! Repeatable chance: a small generator with a fixed seed, so that the same data make the same weights.

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Chance {
    state: u64,
}

impl Chance {
    /// The same seed gives the same sequence, on every machine.
    pub fn with_seed(seed: u64) -> Chance {
        Chance { state: seed }
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `bound`; 0 if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound.max(1) as u64) as usize
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A number from 0 up to, but not including, 1.
    pub fn unit(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// Does something happen that happens with this probability?
    pub fn happens(&mut self, probability: f32) -> bool {
        self.unit() < probability
    }

    /// A quick source of yes and no: no with probability `dropped`.
    pub fn keeper(&mut self, dropped: f32) -> impl FnMut() -> bool + use<> {
        let threshold = (f64::from(dropped) * f64::from(u32::MAX)) as u64;
        let mut state = self.next_u64() | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 32 >= threshold
        }
    }

    /// Puts `items` in a new order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
