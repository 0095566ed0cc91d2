//! Clauses shared by CREATE and ALTER.

use super::Parser;
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

/// The clauses after a constraint.
#[derive(Default)]
pub(super) struct ConstraintTail {
    pub clause: StateClause,
    pub using: Option<(Box<UsingIndex>, Pos)>,
    pub exceptions: Option<Name>,
}

impl Parser<'_> {
    pub(super) fn stored_kind(&mut self) -> Option<StoredKind> {
        const KINDS: &[(&str, StoredKind)] = &[
            ("PROCEDURE", StoredKind::Procedure),
            ("FUNCTION", StoredKind::Function),
            ("TRIGGER", StoredKind::Trigger),
            ("PACKAGE", StoredKind::Package),
            ("TYPE", StoredKind::Type),
        ];
        let kind = KINDS.iter().find(|(word, _)| self.at_word(word))?.1;
        self.bump();
        Some(match kind {
            StoredKind::Package if self.eat_word("BODY") => StoredKind::PackageBody,
            StoredKind::Type if self.eat_word("BODY") => StoredKind::TypeBody,
            kind => kind,
        })
    }

    /// Reads one physical attribute into `options`; false if there is none.
    pub(super) fn segment_option(&mut self, options: &mut SegmentOptions) -> Result<bool> {
        const OTHER: &[&[&str]] = &[
            &["ROWDEPENDENCIES"],
            &["NOROWDEPENDENCIES"],
            &["MONITORING"],
            &["NOMONITORING"],
            &["SEGMENT", "CREATION", "DEFERRED"],
            &["SEGMENT", "CREATION", "IMMEDIATE"],
            &["NO", "FLASHBACK", "ARCHIVE"],
            &["FILESYSTEM_LIKE_LOGGING"],
            &["NO", "INMEMORY"],
            &["INMEMORY"],
            &["NOMAPPING"],
        ];
        let Some(word) = self.word() else {
            return Ok(false);
        };
        let (start, pos) = (self.at, self.pos());
        self.bump();
        match word.as_str() {
            "ENABLE" if self.eat_words(&["ROW", "MOVEMENT"]) => options.row_movement = Some(true),
            "DISABLE" if self.eat_words(&["ROW", "MOVEMENT"]) => options.row_movement = Some(false),
            // Flashback archives are not supported.
            "FLASHBACK" if self.at_word("ARCHIVE") => return Err(Ora::unsupported().at(pos.0)),
            "OVERFLOW" => options.overflow = Some(pos),
            "TABLESPACE" => options.tablespace = Some(self.ident(2216)?),
            "PCTFREE" => options.pctfree = Some(self.percentage(2211)?),
            "PCTUSED" => options.pctused = Some(self.percentage(2212)?),
            "INITRANS" => options.initrans = Some(self.integer(2207)?),
            "MAXTRANS" => options.maxtrans = Some(self.integer(2209)?),
            "PCTTHRESHOLD" => drop(self.percentage(922)?),
            "STORAGE" => options.storage = self.storage_clause()?,
            "LOGGING" => options.logging = Some(true),
            "NOLOGGING" => options.logging = Some(false),
            "CACHE" => options.cache = Some(true),
            "NOCACHE" => options.cache = Some(false),
            "NOPARALLEL" => options.parallel = Some(1),
            "PARALLEL" => options.parallel = Some(self.parallel_degree()?),
            "NOCOMPRESS" => options.compress = Some(false),
            "COMPRESS" | "ROW" if word == "COMPRESS" || self.eat_words(&["STORE", "COMPRESS"]) => {
                options.compress = Some(true);
                if self.at(TokenKind::Number) {
                    self.bump();
                } else {
                    self.eat_any(&["BASIC", "ADVANCED"]);
                    if self.at_word("FOR") {
                        self.at += 2;
                        self.eat_word("OPERATIONS");
                    }
                }
            }
            "RESULT_CACHE" => {
                self.left_paren()?;
                self.expect_word("MODE", 922)?;
                options.result_cache_force = match self.eat_any(&["DEFAULT", "FORCE"]) {
                    Some(i) => Some(i == 1),
                    None => return self.fail(922),
                };
                self.right_paren()?;
            }
            _ => {
                self.at = start;
                let Some(words) = OTHER.iter().find(|words| self.at_words(words)) else {
                    return Ok(false);
                };
                self.at += words.len();
                options.other.push(words.join(" "));
            }
        }
        Ok(true)
    }

    fn percentage(&mut self, code: u32) -> Result<u32> {
        let here = self.pos();
        let value = self.integer(code)?;
        if value <= 99 { Ok(value) } else { Err(self.error_at(code, here)) }
    }

    fn parallel_degree(&mut self) -> Result<u32> {
        if self.at(TokenKind::Number) {
            return self.integer(922);
        }
        if self.at(TokenKind::LeftParen) {
            // The syntax of Oracle 7: (DEGREE n INSTANCES m).
            let text = self.raw_parens()?.to_uppercase();
            let mut words = text.split(|c: char| c.is_whitespace() || "(),".contains(c)).filter(|w| !w.is_empty());
            if words.any(|word| word == "DEGREE") {
                return Ok(words.next().and_then(|word| word.parse().ok()).unwrap_or(0));
            }
        }
        Ok(0)
    }

    /// `STORAGE (INITIAL 1M NEXT 1M BUFFER_POOL KEEP ...)`.
    pub(super) fn storage_clause(&mut self) -> Result<Vec<(String, String)>> {
        const WORDS: &[&str] = &[
            "INITIAL",
            "NEXT",
            "MINEXTENTS",
            "MAXEXTENTS",
            "PCTINCREASE",
            "FREELISTS",
            "FREELIST",
            "OPTIMAL",
            "BUFFER_POOL",
            "FLASH_CACHE",
            "CELL_FLASH_CACHE",
            "MAXSIZE",
            "ENCRYPT",
            "DEF$",
        ];
        self.left_paren()?;
        let mut list = Vec::new();
        while !self.eat(TokenKind::RightParen) {
            let Some(i) = self.eat_any(WORDS) else {
                return self.fail(if self.at(TokenKind::End) { 907 } else { 2143 });
            };
            if WORDS[i] == "FREELIST" {
                self.expect_word("GROUPS", 2143)?;
            }
            let start = self.pos();
            if self.at(TokenKind::Number) {
                self.size_value(2143)?;
            } else {
                self.any_word(2143)?;
            }
            list.push((WORDS[i].to_owned(), self.text_since(start).to_uppercase()));
        }
        Ok(list)
    }

    /// A number of bytes with an optional K, M, G or T.
    pub(super) fn size_value(&mut self, code: u32) -> Result<u64> {
        let here = self.pos();
        let value = self.integer64(code)?;
        let shift = self.eat_any(&["K", "M", "G", "T"]).map_or(0, |i| 10 * (i as u32 + 1));
        value.checked_mul(1 << shift).ok_or_else(|| self.error_at(code, here))
    }

    /// Reads one sequence option; false if there is none.
    pub(super) fn sequence_option(&mut self, options: &mut SequenceOptions) -> Result<bool> {
        let Some(word) = self.word() else {
            return Ok(false);
        };
        let (start, here) = (self.at, self.pos());
        self.bump();
        match word.as_str() {
            "START" => {
                if !self.eat_word("WITH") {
                    return Err(Ora::with(2000, &[&"WITH"]).at(self.pos().0));
                }
                options.limit_value = self.eat_words(&["LIMIT", "VALUE"]);
                if options.limit_value {
                    return Ok(true);
                }
                options.start_with = Some(self.signed_number(1722)?);
            }
            "INCREMENT" => {
                self.expect_named("BY")?;
                options.increment_by = Some(self.signed_number(1722)?);
            }
            "MAXVALUE" => options.maxvalue = Some(Some(self.signed_number(4001)?)),
            "NOMAXVALUE" => options.maxvalue = Some(None),
            "MINVALUE" => options.minvalue = Some(Some(self.signed_number(4001)?)),
            "NOMINVALUE" => options.minvalue = Some(None),
            "CYCLE" => options.cycle = Some(true),
            "NOCYCLE" => options.cycle = Some(false),
            "CACHE" => options.cache = Some(self.integer64(1722)?),
            "NOCACHE" => options.cache = Some(0),
            "ORDER" => options.order = Some(true),
            "NOORDER" => options.order = Some(false),
            "RESTART" => options.restart = true,
            "KEEP" | "NOKEEP" => options.keep = Some(word == "KEEP"),
            "GLOBAL" | "SESSION" => options.session = Some(word == "SESSION"),
            "SCALE" => {
                let extend = self.eat_any(&["EXTEND", "NOEXTEND"]) == Some(0);
                options.scale = Some(if extend { Scale::Extend } else { Scale::NoExtend });
            }
            "NOSCALE" => options.scale = Some(Scale::Off),
            "NOSHARD" => {}
            // There are no sharded databases.
            "SHARD" => return Err(self.error_at(3001, here)),
            _ => {
                self.at = start;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The clauses after a constraint, in any order: `[NOT] DEFERRABLE`, `INITIALLY ...`, `ENABLE|DISABLE`,
    /// `[NO]VALIDATE`, `[NO]RELY`, `USING INDEX ...`, `EXCEPTIONS INTO ...`.
    pub(super) fn constraint_tail(&mut self) -> Result<ConstraintTail> {
        let mut tail = ConstraintTail::default();
        let state = &mut tail.clause;
        loop {
            let here = self.pos();
            match () {
                () if self.eat_words(&["NOT", "DEFERRABLE"]) => state.deferrable = Some(false),
                () if self.eat_word("DEFERRABLE") => state.deferrable = Some(true),
                () if self.eat_words(&["INITIALLY", "DEFERRED"]) => state.initially_deferred = Some(true),
                () if self.eat_words(&["INITIALLY", "IMMEDIATE"]) => state.initially_deferred = Some(false),
                () if !self.word_ahead(1, "ROW") && self.eat_word("ENABLE") => state.enabled = Some(true),
                () if !self.word_ahead(1, "ROW") && self.eat_word("DISABLE") => state.enabled = Some(false),
                () if self.eat_word("VALIDATE") => state.validated = Some(true),
                () if self.eat_word("NOVALIDATE") => state.validated = Some(false),
                () if self.eat_word("RELY") => state.rely = Some(true),
                () if self.eat_word("NORELY") => state.rely = Some(false),
                () if self.at_words(&["USING", "INDEX"]) => tail.using = Some((Box::new(self.using_index()?), here)),
                () if self.eat_words(&["EXCEPTIONS", "INTO"]) => tail.exceptions = Some(self.name(903)?),
                () => break,
            }
            if state.deferrable == Some(false) && state.initially_deferred == Some(true) {
                return Err(self.error_at(2447, here));
            }
        }
        Ok(tail)
    }

    /// Whether a constraint follows instead of a column: a column may be named CONSTRAINT.
    pub(super) fn at_table_constraint(&self) -> bool {
        const KINDS: [&str; 4] = ["PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];
        self.at_any(&["UNIQUE", "CHECK"])
            || self.at_words(&["PRIMARY", "KEY"])
            || self.at_words(&["FOREIGN", "KEY"])
            || (self.at_word("CONSTRAINT") && KINDS.iter().any(|kind| self.word_ahead(2, kind)))
    }

    /// An out-of-line constraint, with `CONSTRAINT name`.
    pub(super) fn table_constraint(&mut self) -> Result<ConstraintSpec> {
        let pos = self.pos();
        let name = if self.eat_word("CONSTRAINT") { Some(self.ident(2250)?) } else { None };
        let kind = match () {
            () if self.eat_word("PRIMARY") => {
                self.expect_named("KEY")?;
                ConstraintKind::PrimaryKey { columns: self.ident_list(904)?, using: None }
            }
            () if self.eat_word("UNIQUE") => ConstraintKind::Unique { columns: self.ident_list(904)?, using: None },
            () if self.eat_word("CHECK") => self.check()?,
            () if self.eat_word("FOREIGN") => {
                self.expect_named("KEY")?;
                let columns = self.ident_list(904)?;
                self.expect_word("REFERENCES", 905)?;
                self.references(columns)?
            }
            () => return self.fail(904),
        };
        self.finish_constraint(name, kind, pos)
    }

    fn check(&mut self) -> Result<ConstraintKind> {
        self.left_paren()?;
        let start = self.pos();
        let condition = self.condition()?;
        let text = self.text_since(start).to_owned();
        self.right_paren()?;
        Ok(ConstraintKind::Check { condition, text })
    }

    fn references(&mut self, columns: Vec<Ident>) -> Result<ConstraintKind> {
        let table = self.name(903)?;
        let referenced = if self.at(TokenKind::LeftParen) { self.ident_list(904)? } else { Vec::new() };
        let mut on_delete = OnDelete::Restrict;
        if self.eat_words(&["ON", "DELETE"]) {
            on_delete = match () {
                () if self.eat_word("CASCADE") => OnDelete::Cascade,
                () if self.eat_words(&["SET", "NULL"]) => OnDelete::SetNull,
                () => return self.fail(905),
            };
        }
        Ok(ConstraintKind::References { columns, table, referenced, on_delete })
    }

    fn finish_constraint(&mut self, name: Option<Ident>, mut kind: ConstraintKind, pos: Pos) -> Result<ConstraintSpec> {
        let tail = self.constraint_tail()?;
        if let Some((index, here)) = tail.using {
            match &mut kind {
                ConstraintKind::PrimaryKey { using, .. } | ConstraintKind::Unique { using, .. } => *using = Some(index),
                _ => return Err(self.error_at(922, here)),
            }
        }
        Ok(ConstraintSpec { name, kind, state: tail.clause.of_new(), exceptions: tail.exceptions, pos })
    }

    pub(super) fn using_index(&mut self) -> Result<UsingIndex> {
        self.at += 2;
        if self.at(TokenKind::LeftParen) {
            self.bump();
            let pos = self.pos();
            self.expect_word("CREATE", 905)?;
            let index = self.create_index(pos)?;
            self.right_paren()?;
            return Ok(UsingIndex::Create(index));
        }
        let mut options = SegmentOptions::default();
        let mut any = false;
        while self.segment_option(&mut options)? {
            any = true;
        }
        if self.eat_word("LOCAL") {
            let partitions = self.local_partitions()?;
            while self.segment_option(&mut options)? {}
            return Ok(UsingIndex::Local(options, partitions));
        }
        const NOT_NAMES: &[&str] = &[
            "ENABLE",
            "DISABLE",
            "VALIDATE",
            "NOVALIDATE",
            "RELY",
            "NORELY",
            "NOT",
            "DEFERRABLE",
            "INITIALLY",
            "LOCAL",
            "EXCEPTIONS",
            "CASCADE",
        ];
        if !any && self.at_ident() && !self.at_any(NOT_NAMES) {
            return Ok(UsingIndex::Existing(self.name(953)?));
        }
        Ok(UsingIndex::Options(options))
    }

    /// A column constraint, with `CONSTRAINT name`; `None` if there is none.
    fn column_constraint(&mut self, column: &Ident) -> Result<Option<ConstraintSpec>> {
        let pos = self.pos();
        let name = if self.eat_word("CONSTRAINT") { Some(self.ident(2250)?) } else { None };
        let kind = match () {
            () if self.at_word("NOT") && !self.word_ahead(1, "DEFERRABLE") => {
                self.bump();
                self.expect_word("NULL", 908)?;
                ConstraintKind::NotNull
            }
            () if self.eat_word("NULL") => ConstraintKind::Null,
            () if self.eat_word("PRIMARY") => {
                self.expect_named("KEY")?;
                ConstraintKind::PrimaryKey { columns: vec![column.clone()], using: None }
            }
            () if self.eat_word("UNIQUE") => ConstraintKind::Unique { columns: vec![column.clone()], using: None },
            () if self.eat_word("CHECK") => self.check()?,
            () if self.eat_word("REFERENCES") => self.references(vec![column.clone()])?,
            () if name.is_some() => return self.fail(2253),
            () => return Ok(None),
        };
        self.finish_constraint(name, kind, pos).map(Some)
    }

    /// A column definition. `typed`: a type may follow the name.
    pub(super) fn column_spec(&mut self) -> Result<ColumnSpec> {
        let name = self.ident(904)?;
        let ty = if self.at_data_type() { Some(self.data_type()?) } else { None };
        let mut column = ColumnSpec {
            name,
            ty,
            default: None,
            generated: None,
            identity: None,
            visible: None,
            constraints: Vec::new(),
            sort: false,
        };
        loop {
            match () {
                () if self.eat_word("SORT") => column.sort = true,
                () if self.eat_word("VISIBLE") => column.visible = Some(true),
                () if self.eat_word("INVISIBLE") => column.visible = Some(false),
                () if self.at_word("DEFAULT") => column.default = Some(self.column_default()?),
                () if self.at_any(&["GENERATED", "AS"]) => self.generated(&mut column)?,
                () if self.at_word("ENCRYPT") => return Err(Ora::unsupported().at(self.pos().0)),
                () => match self.column_constraint(&column.name.clone())? {
                    Some(constraint) => column.constraints.push(constraint),
                    None => return Ok(column),
                },
            }
        }
    }

    fn column_default(&mut self) -> Result<ColumnDefault> {
        self.bump();
        let on_null = self.eat_words(&["ON", "NULL"]);
        let start = self.pos();
        let expr = self.value()?;
        let text = self.text_since(start).to_owned();
        Ok(ColumnDefault { expr, text, on_null })
    }

    fn generated(&mut self, column: &mut ColumnSpec) -> Result<()> {
        let mut always = true;
        let mut on_null = false;
        if self.eat_word("GENERATED") {
            if self.eat_words(&["BY", "DEFAULT"]) {
                always = false;
                on_null = self.eat_words(&["ON", "NULL"]);
            } else {
                self.eat_word("ALWAYS");
            }
        }
        self.expect_word("AS", 905)?;
        if self.eat_word("IDENTITY") {
            let mut options = SequenceOptions::default();
            if self.eat(TokenKind::LeftParen) {
                while self.sequence_option(&mut options)? {}
                self.right_paren()?;
            } else {
                while self.sequence_option(&mut options)? {}
            }
            column.identity = Some(Identity { always, on_null, options });
            return Ok(());
        }
        self.left_paren()?;
        column.generated = Some(self.value()?);
        self.right_paren()?;
        self.eat_word("VIRTUAL");
        Ok(())
    }

    pub(super) fn in_parens<T>(&mut self, item: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.left_paren()?;
        let found = item(self)?;
        self.right_paren()?;
        Ok(found)
    }

    /// `(PARTITION …, …)`.
    pub(super) fn partition_list(&mut self) -> Result<Vec<PartitionSpec>> {
        self.in_parens(|p| p.comma_list(Self::partition_spec))
    }

    /// `PARTITION [name] [VALUES …] [options]`.
    pub(super) fn partition_spec(&mut self) -> Result<PartitionSpec> {
        let pos = self.pos();
        self.expect_word("PARTITION", 14004)?;
        self.partition_spec_tail(pos)
    }

    pub(super) fn partition_spec_tail(&mut self, pos: crate::ast::Pos) -> Result<PartitionSpec> {
        const NOT_NAMES: &[&str] = &[
            "VALUES",
            "TABLESPACE",
            "UPDATE",
            "PCTFREE",
            "PCTUSED",
            "INITRANS",
            "MAXTRANS",
            "STORAGE",
            "LOGGING",
            "NOLOGGING",
            "COMPRESS",
            "NOCOMPRESS",
            "SEGMENT",
            "PARALLEL",
            "NOPARALLEL",
        ];
        let name = match self.at_ident() && !self.at_any(NOT_NAMES) {
            true => Some(self.ident(14006)?),
            false => None,
        };
        let values = match self.eat_word("VALUES") {
            true => self.partition_values()?,
            false => PartitionValues::None,
        };
        let mut options = SegmentOptions::default();
        while self.segment_option(&mut options)? {}
        if self.at_any(&["SUBPARTITIONS", "SUBPARTITION"]) || self.at(TokenKind::LeftParen) {
            return Err(::types::Ora::unsupported().at(self.pos().0));
        }
        Ok(PartitionSpec { name, values, options, pos })
    }

    fn partition_values(&mut self) -> Result<PartitionValues> {
        if self.eat_word("LESS") {
            self.expect_word("THAN", 14008)?;
            return Ok(PartitionValues::LessThan(self.in_parens(|p| p.comma_list(Self::bound_value))?));
        }
        if !self.at(TokenKind::LeftParen) {
            return self.fail(14007);
        }
        Ok(PartitionValues::List(self.in_parens(|p| p.comma_list(Self::bound_tuple))?))
    }

    /// A value of a list, or several in parentheses. An expression in parentheses is a tuple of one.
    pub(super) fn bound_tuple(&mut self) -> Result<Vec<BoundValue>> {
        match self.at(TokenKind::LeftParen) {
            true => self.in_parens(|p| p.comma_list(Self::bound_value)),
            false => Ok(vec![self.bound_value()?]),
        }
    }

    pub(super) fn bound_value(&mut self) -> Result<BoundValue> {
        let pos = self.pos();
        match self.eat_any(&["MAXVALUE", "DEFAULT"]) {
            Some(0) => Ok(BoundValue::MaxValue(pos)),
            Some(_) => Ok(BoundValue::Default(pos)),
            None => Ok(BoundValue::Expr(self.value()?)),
        }
    }

    /// `LOCAL [(PARTITION …, …)]`, behind the word LOCAL: the partitions, if they are listed.
    pub(super) fn local_partitions(&mut self) -> Result<Vec<PartitionSpec>> {
        if self.eat_words(&["STORE", "IN"]) {
            let _: Vec<Ident> = self.ident_list(2216)?;
        }
        match self.at(TokenKind::LeftParen) {
            true => self.partition_list(),
            false => Ok(Vec::new()),
        }
    }
}
