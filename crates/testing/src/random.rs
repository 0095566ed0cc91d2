//! Random numbers that depend on a seed only, so that a failure can be repeated.

/// A generator of numbers: SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators").
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed. Seeds that differ in one bit give different numbers.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number, of all 64 bits.
    #[allow(clippy::should_implement_trait)] // It has no end.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, of its type; 0 when `n` is 0.
    ///
    /// # Panics
    /// `n` is negative.
    pub fn below<N: TryInto<u64> + TryFrom<u64>>(&mut self, n: N) -> N {
        let n = n.try_into().ok().expect("a number of choices");
        N::try_from(self.next() % n.max(1)).ok().expect("less than the number of choices")
    }

    /// One of the items.
    ///
    /// # Panics
    /// There are none.
    pub fn of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// True in `percent` of 100 times.
    ///
    /// # Panics
    /// `percent` is negative.
    pub fn percent<N: TryInto<u64>>(&mut self, percent: N) -> bool {
        self.below(100) < percent.try_into().ok().expect("a percentage")
    }

    /// Brings the items into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// As many bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    /// A number from 0 to 1, without both.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    /// The first numbers of the published program for the seed 1234567.
    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        let numbers = [0; 3].map(|_| random.next());
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn numbers_keep_to_their_range_and_reach_all_of_it() {
        let mut random = Random::new(7);
        let mut seen = [false; 10];
        for _ in 0..1000 {
            seen[random.below(10usize)] = true;
            assert!((0.0..1.0).contains(&random.unit()));
        }
        assert_eq!(seen, [true; 10]);
        assert_eq!((random.below(0), random.below(0usize), random.bytes(3).len()), (0, 0, 3));
        let mut items = [0, 1, 2, 3, 4, 5, 6, 7];
        random.shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert_eq!(items, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(random.percent(100) && !random.percent(0) && random.one_in(1));
    }
}
