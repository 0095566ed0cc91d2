//! Clauses about partitions.

use super::Parser;
use crate::ast::{
    AlterTableAction, HashPartitions, PartitionAction, PartitionBy, PartitionMethod, PartitionRef, PartitionUpkeep,
    PartitionValues, SegmentOptions, WhichPartition,
};
use crate::lexer::TokenKind;
use ::types::Result;

impl Parser<'_> {
    /// `PARTITION BY …`, at the word PARTITION.
    pub(super) fn partition_by(&mut self) -> Result<PartitionBy> {
        let pos = self.pos();
        self.bump();
        self.expect_word("BY", 924)?;
        let how = self.eat_any(&["RANGE", "LIST", "HASH"]);
        let Some(how) = how else {
            if !self.at_any(&["REFERENCE", "SYSTEM", "CONSISTENT"]) {
                return self.fail(14005);
            }
            self.rest_of_partitioning()?;
            return Ok(PartitionBy { columns: Vec::new(), method: PartitionMethod::Other, pos });
        };
        let columns = self.ident_list(904)?;
        let interval = match how == 0 && self.eat_word("INTERVAL") {
            true => Some(self.in_parens(Self::value)?),
            false => None,
        };
        let store_in = match interval.is_some() && self.eat_words(&["STORE", "IN"]) {
            true => self.ident_list(2216)?,
            false => Vec::new(),
        };
        let method = match how {
            _ if self.at_any(&["SUBPARTITION", "AUTOMATIC"]) => {
                self.rest_of_partitioning()?;
                PartitionMethod::Other
            }
            2 => PartitionMethod::Hash(self.hash_partitions()?),
            0 => PartitionMethod::Range { interval, store_in, partitions: self.partition_list()? },
            _ => PartitionMethod::List { partitions: self.partition_list()? },
        };
        Ok(PartitionBy { columns, method, pos })
    }

    /// Passes over clauses that are not supported, up to AS or the end.
    fn rest_of_partitioning(&mut self) -> Result<()> {
        while !self.at(TokenKind::End) && !self.at_word("AS") && !matches!(self.kind(), TokenKind::Error(_)) {
            if self.at(TokenKind::LeftParen) {
                self.raw_parens()?;
            } else {
                self.bump();
            }
        }
        Ok(())
    }

    fn hash_partitions(&mut self) -> Result<HashPartitions> {
        let pos = self.pos();
        if !self.eat_word("PARTITIONS") {
            return Ok(match self.at(TokenKind::LeftParen) {
                true => HashPartitions::Listed(self.partition_list()?),
                false => HashPartitions::Count { count: 1, store_in: Vec::new(), pos },
            });
        }
        let count = self.integer(14152)?;
        let store_in = match self.eat_words(&["STORE", "IN"]) {
            true => self.ident_list(2216)?,
            false => Vec::new(),
        };
        Ok(HashPartitions::Count { count, store_in, pos })
    }

    /// The name of a partition, or `FOR (…)`, behind the word PARTITION.
    fn partition_ref(&mut self) -> Result<PartitionRef> {
        let pos = self.pos();
        let which = match self.word_ahead(0, "FOR") && self.kind_ahead(1, TokenKind::LeftParen) {
            true => {
                self.bump();
                WhichPartition::For(self.in_parens(|p| p.comma_list(Self::value))?)
            }
            false => WhichPartition::Name(self.ident(14006)?),
        };
        Ok(PartitionRef { subpartition: false, which, pos })
    }

    fn partition_refs(&mut self) -> Result<Vec<PartitionRef>> {
        self.comma_list(Self::partition_ref)
    }

    /// The clauses at the end of partition DDL.
    fn partition_upkeep(&mut self) -> Result<PartitionUpkeep> {
        let mut upkeep = PartitionUpkeep::default();
        loop {
            match () {
                () if self.eat_words(&["UPDATE", "GLOBAL", "INDEXES"]) || self.eat_words(&["UPDATE", "INDEXES"]) => {
                    if self.at(TokenKind::LeftParen) {
                        return Err(::types::Ora::unsupported().at(self.pos().0));
                    }
                    upkeep.update_indexes = true;
                }
                () if self.eat_words(&["INVALIDATE", "GLOBAL", "INDEXES"]) => upkeep.update_indexes = false,
                () if self.eat_words(&["INVALIDATE", "INDEXES"]) => upkeep.update_indexes = false,
                () if self.eat_word("NOPARALLEL") || self.eat_word("ONLINE") => {}
                () if self.eat_word("PARALLEL") => {
                    if self.at(TokenKind::Number) {
                        self.bump();
                    }
                }
                () => return Ok(upkeep),
            }
        }
    }

    /// An action of ALTER TABLE on partitions, if there is one here.
    pub(super) fn partition_action(&mut self) -> Result<Option<AlterTableAction>> {
        const VERBS: &[&str] =
            &["ADD", "DROP", "TRUNCATE", "RENAME", "MOVE", "SPLIT", "MERGE", "EXCHANGE", "COALESCE", "MODIFY"];
        let pos = self.pos();
        let ahead = |word: &str| self.word_ahead(1, word);
        let other = self.at_words(&["SET", "INTERVAL"]) || self.at_words(&["SET", "STORE", "IN"]);
        let known = self.at_any(VERBS) && (ahead("PARTITION") || ahead("PARTITIONS"));
        let subs = self.at_any(VERBS) && (ahead("SUBPARTITION") || ahead("SUBPARTITIONS"));
        if !known {
            if !other && !subs {
                return Ok(None);
            }
            let action = match self.eat_words(&["SET", "INTERVAL"]) {
                true => self.set_interval()?,
                false => {
                    self.raw_rest_words()?;
                    PartitionAction::Other
                }
            };
            return Ok(Some(AlterTableAction::Partition { action: Box::new(action), pos }));
        }
        let verb = self.eat_any(VERBS);
        let here = self.pos();
        self.bump();
        let action = match verb.map(|at| VERBS[at]) {
            Some("ADD") => {
                let spec = self.partition_spec_tail(here)?;
                PartitionAction::Add(spec, self.partition_upkeep()?)
            }
            Some("DROP") => PartitionAction::Drop(self.partition_refs()?, self.partition_upkeep()?),
            Some("TRUNCATE") => {
                let partitions = self.partition_refs()?;
                if self.eat_words(&["DROP", "ALL", "STORAGE"]) || self.eat_words(&["DROP", "STORAGE"]) {
                } else {
                    self.eat_words(&["REUSE", "STORAGE"]);
                }
                let cascade = self.eat_word("CASCADE");
                PartitionAction::Truncate { partitions, cascade, upkeep: self.partition_upkeep()? }
            }
            Some("RENAME") => {
                let from = self.partition_ref()?;
                self.expect_word("TO", 946)?;
                PartitionAction::Rename { from, to: self.ident(14006)? }
            }
            Some("MOVE") => {
                let partition = self.partition_ref()?;
                let mut options = SegmentOptions::default();
                let mut upkeep = self.partition_upkeep()?;
                while self.segment_option(&mut options)? {
                    upkeep.update_indexes |= self.partition_upkeep()?.update_indexes;
                }
                PartitionAction::Move { partition, options, upkeep }
            }
            Some("SPLIT") => self.split_partition()?,
            Some("MERGE") => {
                let partitions = self.merged_partitions()?;
                let into = match self.eat_word("INTO") {
                    true => Some(self.partition_spec()?),
                    false => None,
                };
                PartitionAction::Merge { partitions, into, upkeep: self.partition_upkeep()? }
            }
            Some("EXCHANGE") => {
                let partition = self.partition_ref()?;
                self.expect_word("WITH", 935)?;
                self.expect_word("TABLE", 906)?;
                let table = self.name(903)?;
                let (mut including_indexes, mut validation) = (false, true);
                loop {
                    match () {
                        () if self.eat_words(&["INCLUDING", "INDEXES"]) => including_indexes = true,
                        () if self.eat_words(&["EXCLUDING", "INDEXES"]) => including_indexes = false,
                        () if self.eat_words(&["WITH", "VALIDATION"]) => validation = true,
                        () if self.eat_words(&["WITHOUT", "VALIDATION"]) => validation = false,
                        () => break,
                    }
                }
                let upkeep = self.partition_upkeep()?;
                PartitionAction::Exchange { partition, table, including_indexes, validation, upkeep }
            }
            Some("COALESCE") => PartitionAction::Coalesce(self.partition_upkeep()?),
            _ => {
                let partition = self.partition_ref()?;
                let rebuild = self.eat_words(&["REBUILD", "UNUSABLE", "LOCAL", "INDEXES"]);
                if rebuild || self.eat_words(&["UNUSABLE", "LOCAL", "INDEXES"]) {
                    PartitionAction::LocalIndexes { partition, rebuild }
                } else {
                    self.raw_rest_words()?;
                    PartitionAction::Other
                }
            }
        };
        if !self.at(TokenKind::End) {
            return self.fail(14048);
        }
        Ok(Some(AlterTableAction::Partition { action: Box::new(action), pos }))
    }

    /// `(expression)` or `()`.
    fn set_interval(&mut self) -> Result<PartitionAction> {
        let none = self.at(TokenKind::LeftParen) && self.kind_ahead(1, TokenKind::RightParen);
        let width = match none {
            true => {
                self.bump();
                self.bump();
                None
            }
            false => Some(self.in_parens(Self::value)?),
        };
        Ok(PartitionAction::SetInterval(width))
    }

    fn split_partition(&mut self) -> Result<PartitionAction> {
        let partition = self.partition_ref()?;
        let at = match self.eat_any(&["AT", "VALUES"]) {
            Some(0) => PartitionValues::LessThan(self.in_parens(|p| p.comma_list(Self::bound_value))?),
            Some(_) => PartitionValues::List(self.in_parens(|p| p.comma_list(Self::bound_tuple))?),
            // Several new partitions with bounds of their own.
            None => PartitionValues::None,
        };
        let into = match self.eat_word("INTO") {
            true => self.partition_list()?,
            false => Vec::new(),
        };
        Ok(PartitionAction::Split { partition, at, into, upkeep: self.partition_upkeep()? })
    }

    /// `a, b` or `a TO b`, which names no partition between them.
    fn merged_partitions(&mut self) -> Result<Vec<PartitionRef>> {
        let partitions = self.partition_refs()?;
        match self.at_word("TO") {
            true => Err(::types::Ora::unsupported().at(self.pos().0)),
            false => Ok(partitions),
        }
    }
}
