//! The registers of a row source that are read.

use super::node::Node;
use super::reads;
use crate::builder::Builder;
use crate::code::{Code, Cond};
use plan::{Reg, Source};
use types::Result;

/// The registers of a row source that are read; all if unknown.
#[derive(Clone, Debug)]
pub struct Wanted(Option<Vec<Reg>>);

impl Wanted {
    pub const ALL: Wanted = Wanted(None);

    /// These registers.
    pub fn of_regs(regs: &[Reg]) -> Wanted {
        Wanted(Some(regs.to_vec()))
    }

    /// The registers that codes read; all, if one of them is unknown.
    pub fn of_codes<'c>(codes: impl IntoIterator<Item = &'c Code>) -> Wanted {
        Wanted(Some(Vec::new())).and(codes)
    }

    /// These registers, and those that codes read.
    pub fn and<'c>(&self, codes: impl IntoIterator<Item = &'c Code>) -> Wanted {
        self.and_reads(codes.into_iter().map(reads::of_code))
    }

    /// These registers, and those that conditions read.
    pub fn and_conds<'c>(&self, conds: impl IntoIterator<Item = &'c Cond>) -> Wanted {
        self.and_reads(conds.into_iter().map(reads::of_cond))
    }

    fn and_reads(&self, all: impl IntoIterator<Item = Option<reads::Reads>>) -> Wanted {
        let Some(mut regs) = self.0.clone() else { return Wanted::ALL };
        for reads in all {
            match reads {
                Some(reads) => regs.extend(reads.regs),
                None => return Wanted::ALL,
            }
        }
        Wanted(Some(regs))
    }

    /// The registers of `regs` that are read.
    pub fn of(&self, regs: &[Reg]) -> Vec<Reg> {
        let reads = |reg: &&Reg| self.0.as_ref().is_none_or(|wanted| wanted.contains(reg));
        regs.iter().filter(reads).copied().collect()
    }
}

/// Builds the batch node of an input: [`build_any`](super::build::build_any), for nodes that build their own inputs.
pub type BuildInput = fn(&Source, &Wanted, &mut Builder<'_>) -> Result<Box<dyn Node>>;
