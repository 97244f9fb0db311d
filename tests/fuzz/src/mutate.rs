//! Makes inputs: seeds with words put in, pieces moved, doubled, cut and spliced, the same in every run.

/// Random numbers that are the same in every run (xorshift).
pub struct Random(u64);

impl Random {
    /// Returns a source of them; another seed gives others.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        // The first numbers of neighbouring seeds are alike.
        for _ in 0..8 {
            random.below(2);
        }
        random
    }

    /// Returns a number below a limit, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % limit.max(1) as u64) as usize
    }
}

/// Makes one input after the other.
pub struct Mutator {
    random: Random,
    seeds: Vec<Vec<u8>>,
    words: &'static [&'static str],
}

/// How long an input gets.
const LONGEST: usize = 4096;

impl Mutator {
    /// Returns one that begins with these seeds.
    #[must_use]
    pub fn new(seed: u64, seeds: Vec<Vec<u8>>, words: &'static [&'static str]) -> Mutator {
        Mutator { random: Random::new(seed), seeds, words }
    }

    /// Returns the next input: of seeds, of words alone, seldom of bytes alone.
    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = match self.random.below(8) {
            0 => (0..self.random.below(24)).map(|_| self.random.below(256) as u8).collect(),
            1..=3 => (0..self.random.below(12)).flat_map(|_| self.word()).collect(),
            _ => self.seed(),
        };
        for _ in 0..self.random.below(6) {
            self.mutate(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let at = self.random.below(input.len() + 1);
        let to = (at + self.random.below(16)).min(input.len());
        let piece = match self.random.below(6) {
            0 => vec![self.random.below(256) as u8],
            1 => Vec::new(),
            2 => input[at..to].repeat(1 + self.random.below(4)),
            3 => {
                let other = self.seed();
                let from = self.random.below(other.len() + 1);
                other[from..(from + self.random.below(32)).min(other.len())].to_vec()
            }
            _ => self.word(),
        };
        // In the place of what is there, or before it.
        let end = if self.random.below(2) == 0 { to } else { at };
        input.splice(at..end, piece);
    }

    fn word(&mut self) -> Vec<u8> {
        let at = self.random.below(self.words.len());
        self.words.get(at).copied().unwrap_or_default().into()
    }

    fn seed(&mut self) -> Vec<u8> {
        let at = self.random.below(self.seeds.len());
        self.seeds.get(at).cloned().unwrap_or_default()
    }
}
