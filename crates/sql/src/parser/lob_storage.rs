//! `LOB (columns) STORE AS …`.

use super::Parser;
use crate::ast::{LobStorage, Pos};
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

/// The largest CHUNK in bytes.
const CHUNK_MAX: u64 = 32_768;

impl Parser<'_> {
    /// `LOB (c, …) STORE AS …` if it comes next.
    pub(super) fn lob_storage(&mut self) -> Result<Option<LobStorage>> {
        if !self.at_words(&["LOB"]) {
            return Ok(None);
        }
        let mut lob = self.lob_columns()?;
        lob.stores = true;
        self.expect_word("STORE", 905)?;
        self.expect_word("AS", 905)?;
        let mut any = false;
        loop {
            match () {
                () if self.eat_word("SECUREFILE") => {}
                () if self.eat_word("BASICFILE") => {}
                () if self.at(TokenKind::LeftParen) => self.lob_parameters(&mut lob)?,
                () if lob.name.is_none() && self.at_ident() && !self.at_any(AFTER_NAME) => {
                    let name = self.ident(22_853)?;
                    if lob.columns.len() > 1 {
                        return Err(Ora::new(22_855).at(name.pos.0));
                    }
                    lob.name = Some(name);
                }
                () if any => return Ok(Some(lob)),
                () => return self.fail(22_853),
            }
            any = true;
        }
    }

    /// `MODIFY LOB (c) (parameters)`, after the word MODIFY.
    pub(super) fn modified_lob(&mut self) -> Result<LobStorage> {
        let mut lob = self.lob_columns()?;
        self.lob_parameters(&mut lob)?;
        Ok(lob)
    }

    fn lob_columns(&mut self) -> Result<LobStorage> {
        let pos = self.pos();
        self.bump();
        let columns = self.ident_list(904)?;
        Ok(LobStorage { columns, name: None, stores: false, in_row: None, tablespace: None, unsupported: None, pos })
    }

    fn lob_parameters(&mut self, lob: &mut LobStorage) -> Result<()> {
        self.left_paren()?;
        let mut given: Vec<&str> = Vec::new();
        while !self.eat(TokenKind::RightParen) {
            let here = self.pos();
            let option = self.lob_parameter(lob, here)?;
            if given.contains(&option) {
                return Err(Ora::new(22_850).at(here.0));
            }
            given.push(option);
        }
        if given.is_empty() { self.fail(22_853) } else { Ok(()) }
    }

    /// Reads one parameter; returns the name under which it may come once.
    fn lob_parameter(&mut self, lob: &mut LobStorage, here: Pos) -> Result<&'static str> {
        const REFUSED: &[&str] = &["COMPRESS", "DEDUPLICATE", "ENCRYPT", "INDEX"];
        if self.at_any(REFUSED) {
            lob.unsupported = lob.unsupported.or(Some(here));
        }
        Ok(match () {
            () if self.eat_word("TABLESPACE") => {
                lob.tablespace = Some(self.ident(2216)?);
                "TABLESPACE"
            }
            () if self.at_any(&["ENABLE", "DISABLE"]) => {
                let in_row = self.eat_any(&["ENABLE", "DISABLE"]) == Some(0);
                if !self.eat_words(&["STORAGE", "IN", "ROW"]) {
                    return self.fail(22_853);
                }
                lob.in_row = Some(in_row);
                "IN ROW"
            }
            () if self.eat_word("CHUNK") => {
                let at = self.pos();
                if !(1..=CHUNK_MAX).contains(&self.size_value(22_851)?) {
                    return Err(Ora::new(22_851).at(at.0));
                }
                "CHUNK"
            }
            () if self.eat_word("PCTVERSION") => {
                let at = self.pos();
                if self.integer(22_852)? > 100 {
                    return Err(Ora::new(22_852).at(at.0));
                }
                "RETENTION"
            }
            () if self.eat_word("RETENTION") => {
                if self.eat_any(&["MAX", "MIN", "AUTO", "NONE"]) == Some(1) {
                    self.integer(22_853)?;
                }
                "RETENTION"
            }
            () if self.eat_any(&["FREEPOOLS", "REBUILD"]).is_some() => {
                if !self.eat_word("FREEPOOLS") {
                    self.integer(22_853)?;
                }
                "FREEPOOLS"
            }
            () if self.eat_word("CACHE") => {
                self.eat_word("READS");
                "CACHE"
            }
            () if self.eat_word("NOCACHE") => "CACHE",
            () if self.eat_any(&["LOGGING", "NOLOGGING", "FILESYSTEM_LIKE_LOGGING"]).is_some() => "LOGGING",
            () if self.eat_word("STORAGE") => {
                self.storage_clause()?;
                "STORAGE"
            }
            () if self.eat_word("NOCOMPRESS") => "COMPRESS",
            () if self.eat_word("COMPRESS") => {
                self.eat_any(&["HIGH", "MEDIUM", "LOW"]);
                "COMPRESS"
            }
            () if self.eat_any(&["KEEP_DUPLICATES", "DEDUPLICATE"]).is_some() => "DEDUPLICATE",
            () if self.eat_word("DECRYPT") => "ENCRYPT",
            // What follows is not read: the clause is refused whatever it says.
            () if self.at_any(&["ENCRYPT", "INDEX"]) => return Err(Ora::unsupported().at(here.0)),
            () => return self.fail(if self.at(TokenKind::End) { 907 } else { 22_853 }),
        })
    }
}

/// Words that may follow `STORE AS SECUREFILE` and are not the name of a segment.
const AFTER_NAME: &[&str] = &[
    "LOB",
    "AS",
    "TABLESPACE",
    "PCTFREE",
    "PCTUSED",
    "INITRANS",
    "MAXTRANS",
    "STORAGE",
    "LOGGING",
    "NOLOGGING",
    "CACHE",
    "NOCACHE",
    "COMPRESS",
    "NOCOMPRESS",
    "PARALLEL",
    "NOPARALLEL",
    "PARTITION",
    "ENABLE",
    "DISABLE",
    "MONITORING",
    "NOMONITORING",
    "SEGMENT",
    "ROWDEPENDENCIES",
    "NOROWDEPENDENCIES",
    "ORGANIZATION",
    "ON",
    "NESTED",
    "VARRAY",
    "UPDATE",
    "ROW",
    "INMEMORY",
    "NO",
    "RESULT_CACHE",
];
