//! Sums over pairs of numbers, for CORR, COVAR_POP, COVAR_SAMP and the REGR_ functions.

use plan::AggKind;
use types::{Number, Result, Value};

/// Sums of the dependent variable y and the independent variable x, over pairs without NULL.
#[derive(Clone, Default)]
pub struct Pairs {
    n: u64,
    x: Number,
    y: Number,
    xx: Number,
    yy: Number,
    xy: Number,
}

impl Pairs {
    /// Adds a pair.
    ///
    /// # Errors
    /// ORA-01426.
    pub fn add(&mut self, y: &Number, x: &Number) -> Result<()> {
        self.n += 1;
        self.x = self.x.add(x)?;
        self.y = self.y.add(y)?;
        self.xx = self.xx.add(&x.mul(x)?)?;
        self.yy = self.yy.add(&y.mul(y)?)?;
        self.xy = self.xy.add(&x.mul(y)?)?;
        Ok(())
    }

    /// Adds the pairs of another group.
    ///
    /// # Errors
    /// ORA-01426.
    pub fn merge(&mut self, more: &Pairs) -> Result<()> {
        self.n += more.n;
        self.x = self.x.add(&more.x)?;
        self.y = self.y.add(&more.y)?;
        self.xx = self.xx.add(&more.xx)?;
        self.yy = self.yy.add(&more.yy)?;
        self.xy = self.xy.add(&more.xy)?;
        Ok(())
    }

    /// The value of a function. NULL if it is not defined for these pairs.
    ///
    /// # Errors
    /// ORA-01426.
    pub fn value(&self, kind: AggKind) -> Result<Value> {
        use AggKind::*;
        if kind == RegrCount {
            return Ok(Value::Number(Number::from_u64(self.n)));
        }
        if self.n == 0 {
            return Ok(Value::Null);
        }
        let n = Number::from_u64(self.n);
        // The sums of the products of deviations from the averages.
        let deviations = |sum: &Number, a: &Number, b: &Number| sum.sub(&a.mul(b)?.div(&n)?);
        let squares = |sum: &Number, a: &Number| {
            // Rounding must not make a sum of squares negative.
            deviations(sum, a, a).map(|d| if d.signum() < 0 { Number::default() } else { d })
        };
        let (sxx, syy) = (squares(&self.xx, &self.x)?, squares(&self.yy, &self.y)?);
        let sxy = deviations(&self.xy, &self.x, &self.y)?;
        let is_zero = |n: &Number| n.signum() == 0;
        let value = match kind {
            CovarPop => sxy.div(&n)?,
            CovarSamp if self.n == 1 => return Ok(Value::Null),
            CovarSamp => sxy.div(&Number::from_u64(self.n - 1))?,
            Corr if is_zero(&sxx) || is_zero(&syy) => return Ok(Value::Null),
            Corr => sxy.div(&sxx.mul(&syy)?.sqrt()?)?,
            RegrAvgx => self.x.div(&n)?,
            RegrAvgy => self.y.div(&n)?,
            RegrSxx => sxx,
            RegrSyy => syy,
            RegrSxy => sxy,
            RegrSlope | RegrIntercept | RegrR2 if is_zero(&sxx) => return Ok(Value::Null),
            RegrSlope => sxy.div(&sxx)?,
            RegrIntercept => self.y.sub(&sxy.div(&sxx)?.mul(&self.x)?)?.div(&n)?,
            RegrR2 if is_zero(&syy) => Number::from_u64(1),
            RegrR2 => sxy.mul(&sxy)?.div(&sxx.mul(&syy)?)?,
            _ => return Ok(Value::Null),
        };
        Ok(Value::Number(value))
    }
}
