//! The order of the periods of a switchback: quads ABBA or BAAB by a fair coin, each period of a jittered length.
//!
//! A linear drift of the machine cancels within a quad, and the coin makes every inference about the contrasts of quads
//! exact, whatever the correlation of neighbouring periods. The jitter keeps periods from beating with timers of a
//! second. A quarter of the quads, by another coin, compares the first design with itself under another number: the
//! same switches happen, and a difference there is an error of the method.
//!
//! Everything follows from the seed; no clock is read.

/// Random numbers by SplitMix64.
#[derive(Clone, Debug)]
pub struct Coin(u64);

impl Coin {
    pub fn new(seed: u64) -> Coin {
        Coin(seed ^ 0x5177_c4ba_c4b1_a9d3)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True or false, each half of the times.
    pub fn toss(&mut self) -> bool {
        self.draw() >> 63 != 0
    }
}

/// One of the two designs that a quad compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arm {
    A,
    B,
}

/// The comparison that a quad belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The two designs.
    AgainstB,
    /// The first design, and the same one under another number.
    AgainstItself,
}

/// Four periods of one comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quad {
    pub kind: Kind,
    pub arms: [Arm; 4],
    /// The length of each period in seconds.
    pub seconds: [f64; 4],
}

/// One in this many quads compares the first design with itself.
const ITSELF_ONE_IN: u64 = 4;
/// Periods are longer or shorter than asked by this part at most.
const JITTER: f64 = 0.1;

/// The quads of a run, without end.
#[derive(Clone, Debug)]
pub struct Quads {
    coin: Coin,
    period_s: f64,
}

impl Quads {
    pub fn new(seed: u64, period_s: f64) -> Quads {
        Quads { coin: Coin::new(seed), period_s }
    }
}

impl Iterator for Quads {
    type Item = Quad;

    fn next(&mut self) -> Option<Quad> {
        let kind = if self.coin.draw().is_multiple_of(ITSELF_ONE_IN) { Kind::AgainstItself } else { Kind::AgainstB };
        let arms = match self.coin.toss() {
            true => [Arm::A, Arm::B, Arm::B, Arm::A],
            false => [Arm::B, Arm::A, Arm::A, Arm::B],
        };
        let seconds = [(); 4].map(|()| self.period_s * (1.0 + JITTER * (2.0 * self.coin.unit() - 1.0)));
        Some(Quad { kind, arms, seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_order_balanced_in_every_quad() {
        let quads = |seed| Quads::new(seed, 0.1).take(4_000).collect::<Vec<_>>();
        let all = quads(7);
        assert_eq!(all, quads(7));
        assert_ne!(all, quads(8));
        for quad in &all {
            assert_eq!(quad.arms[0], quad.arms[3]);
            assert_eq!(quad.arms[1], quad.arms[2]);
            assert_ne!(quad.arms[0], quad.arms[1]);
            assert!(quad.seconds.iter().all(|s| (0.09..=0.11).contains(s)), "{quad:?}");
        }
        let share = |f: &dyn Fn(&&Quad) -> bool| all.iter().filter(f).count() as f64 / all.len() as f64;
        assert!((0.47..0.53).contains(&share(&|q| q.arms[0] == Arm::A)), "a fair coin");
        assert!((0.22..0.28).contains(&share(&|q| q.kind == Kind::AgainstItself)), "a quarter");
        let average = all.iter().flat_map(|q| q.seconds).sum::<f64>() / (4 * all.len()) as f64;
        assert!((0.099..0.101).contains(&average), "{average}");
    }
}
