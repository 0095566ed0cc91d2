//! Published statements, with the rules by which a run decides whether they were reproduced.
//!
//! The rules stand in the manifest before a run. A rule compares two measured cells, so that it does not depend on the
//! speed of the machine, or gives the range of a measured figure, or states an exact count.

use serde::{Deserialize, Serialize};

use crate::results::GENERATIONS;

/// A published statement and its rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The short name of the source; `lab reproduce` takes it.
    pub source: String,
    /// The statement, in the laboratory's words.
    pub says: String,
    /// The published figures of the statement.
    pub published: String,
    /// Processors that the published machine had to have for the statement; with fewer it is not tested.
    #[serde(default)]
    pub processors: usize,
    /// The verdict that Latchwork must reach at least; [`Expected::Direction`] if it is not given.
    #[serde(default)]
    pub expect: Expected,
    /// The reason why a verdict differs, for the reader.
    #[serde(default)]
    pub note: String,
    #[serde(default)]
    pub count: Option<ExactCount>,
    #[serde(default)]
    pub ratio: Option<RatioRule>,
    #[serde(default)]
    pub figure: Option<FigureRule>,
}

/// The least verdict that is no regression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    Reproduced,
    #[default]
    Direction,
    NotReproduced,
}

/// A count of an operation that the source publishes exactly.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExactCount {
    pub variant: String,
    pub generation: String,
    /// The title of the law that counts it.
    pub law: String,
    pub is: f64,
}

/// A cell and one of its figures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    pub variant: String,
    #[serde(default = "own")]
    pub generation: String,
    #[serde(default = "one")]
    pub sessions: u32,
    #[serde(default)]
    pub figure: FigureName,
    /// The latch of `gets`, `misses` and `sleeps`, by one of its names; the event of `wait`.
    #[serde(default)]
    pub of: String,
}

fn own() -> String {
    "latchwork".into()
}

fn one() -> u32 {
    1
}

/// A figure of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureName {
    /// Operations a second.
    #[default]
    Rate,
    /// Per cent of linear.
    Linear,
    /// Gets of a latch for an operation.
    Gets,
    /// Misses of a latch for a get, with half a miss added, so that none has a logarithm.
    Misses,
    /// Sleeps of a latch for a miss, with half a sleep added.
    Sleeps,
    /// Misses of a latch for an operation, with half a miss added.
    MissesOfOperation,
    /// Milliseconds of an event for a wait.
    Wait,
    /// The share of sessions that ended while a latch was held by hand.
    Passed,
    /// Bytes of page tables of all processes.
    PageTables,
    /// Seconds of a connection by a new program.
    Connect,
}

impl FigureName {
    /// The unit, for tables.
    pub fn unit(self) -> &'static str {
        match self {
            FigureName::Rate => "/s",
            FigureName::Linear => "% of linear",
            FigureName::Gets => "gets an operation",
            FigureName::Misses => "misses a get",
            FigureName::Sleeps => "sleeps a miss",
            FigureName::MissesOfOperation => "misses an operation",
            FigureName::Wait => "ms a wait",
            FigureName::Passed => "of the sessions",
            FigureName::PageTables => "bytes of page tables",
            FigureName::Connect => "s a connection",
        }
    }

    fn is_of_latch(self) -> bool {
        matches!(self, FigureName::Gets | FigureName::Misses | FigureName::Sleeps | FigureName::MissesOfOperation)
    }
}

/// The side of 1 on which a published ratio lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Above,
    Below,
    /// The source calls both equal: there is no direction.
    Level,
}

/// `of` divided by `to`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatioRule {
    pub of: Point,
    pub to: Point,
    /// The published ratio.
    pub published: f64,
    pub side: Side,
    /// The measured ratios that count as reproduced.
    pub within: (f64, f64),
}

/// A figure that must lie in a range.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureRule {
    pub at: Point,
    pub published: f64,
    pub within: (f64, f64),
}

impl Claim {
    /// The cells that the rule needs.
    pub fn points(&self) -> Vec<&Point> {
        let ratio = self.ratio.iter().flat_map(|rule| [&rule.of, &rule.to]);
        ratio.chain(self.figure.iter().map(|rule| &rule.at)).collect()
    }

    /// Checks the rules that the types do not express.
    pub fn check(&self, variants: &[&str]) -> Result<(), String> {
        let wrong = |reason: String| Err(format!("claim '{}': {reason}", self.says));
        let rules =
            usize::from(self.count.is_some()) + usize::from(self.ratio.is_some()) + usize::from(self.figure.is_some());
        if rules != 1 {
            return wrong("it needs one of count, ratio and figure".into());
        }
        let named = self.points().into_iter().map(|p| (p.variant.as_str(), p.generation.as_str()));
        for (variant, generation) in named.chain(self.count.iter().map(|c| (&*c.variant, &*c.generation))) {
            if !variants.contains(&variant) {
                return wrong(format!("there is no variant '{variant}'"));
            }
            if !GENERATIONS.contains(&generation) {
                return wrong(format!("there is no generation '{generation}'"));
            }
        }
        if let Some(point) = self.points().into_iter().find(|p| p.figure.is_of_latch() && p.of.is_empty()) {
            return wrong(format!("{} needs 'of', the name of a latch", point.figure.unit()));
        }
        let ranges = self.ratio.iter().map(|r| (r.within, r.published));
        for ((least, most), published) in ranges.chain(self.figure.iter().map(|f| (f.within, f.published))) {
            if !(least <= most && most.is_finite() && published.is_finite()) {
                return wrong("within = [least, most]".into());
            }
            if !(least..=most).contains(&published) {
                return wrong(format!("the published figure {published} is not within {least} to {most}"));
            }
        }
        let side = self.ratio.as_ref().map(|r| (r.side, r.published));
        if matches!(side, Some((Side::Above, ..=1.0)) | Some((Side::Below, 1.0..))) {
            return wrong("the published ratio is on the other side".into());
        }
        Ok(())
    }
}
