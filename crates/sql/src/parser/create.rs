//! CREATE statements.

use super::Parser;
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

impl Parser<'_> {
    /// The rest of CREATE; ORA-00901 for an object that cannot be created.
    pub(super) fn create(&mut self, pos: Pos) -> Result<Ddl> {
        let or_replace = self.eat_words(&["OR", "REPLACE"]);
        if self.eat_any(&["EDITIONABLE", "NONEDITIONABLE"]).is_some() || or_replace {
            return self.create_replaceable(or_replace, pos);
        }
        match () {
            () if self.eat_words(&["GLOBAL", "TEMPORARY", "TABLE"]) => self.create_table(Some(false), pos),
            () if self.eat_words(&["PRIVATE", "TEMPORARY", "TABLE"]) => self.create_table(Some(true), pos),
            () if self.eat_word("TABLE") => self.create_table(None, pos),
            () if self.at_any(&["INDEX", "UNIQUE", "BITMAP"]) => Ok(Ddl::CreateIndex(self.create_index(pos)?)),
            () if self.eat_word("CLUSTER") => self.create_cluster(pos),
            () if self.eat_word("SEQUENCE") => self.create_sequence(pos),
            () if self.eat_word("USER") => {
                let name = self.ident(1935)?;
                Ok(Ddl::CreateUser(CreateUser { name, options: self.user_options()?, pos }))
            }
            () if self.eat_word("ROLE") => {
                let name = self.ident(1935)?;
                let not = self.eat_words(&["NOT", "IDENTIFIED"]);
                let authentication = if not { None } else { self.authentication()? };
                Ok(Ddl::CreateRole(CreateRole { name, authentication, pos }))
            }
            () if self.at_any(&["TABLESPACE", "BIGFILE", "SMALLFILE", "TEMPORARY", "UNDO"]) => {
                self.create_tablespace(pos)
            }
            () if self.at_rollback_segment() => Err(Ora::new(30019).at(pos.0)),
            () if self.eat_word("PROFILE") => self.profile(false, pos),
            () if self.eat_word("EDITION") => {
                let name = self.ident(38804)?;
                let parent = if self.eat_words(&["AS", "CHILD", "OF"]) { Some(self.ident(38804)?) } else { None };
                self.expect_end(922)?;
                Ok(Ddl::Edition(EditionStatement::Create { name, parent, pos }))
            }
            () if self.eat_words(&["AUDIT", "POLICY"]) => self.audit_policy(false, pos),
            () if self.at_word("DATABASE") || self.at_words(&["PUBLIC", "DATABASE"]) => {
                Err(Ora::unsupported().at(pos.0))
            }
            () => self.create_replaceable(false, pos),
        }
    }

    fn create_replaceable(&mut self, or_replace: bool, pos: Pos) -> Result<Ddl> {
        if !or_replace && self.eat_words(&["MATERIALIZED", "VIEW"]) {
            return self.create_materialized_view(pos);
        }
        let force = self.at_words(&["FORCE", "VIEW"]) || self.at_words(&["FORCE", "EDITIONABLE"]);
        if force {
            self.bump();
        } else {
            self.eat_words(&["NO", "FORCE"]);
        }
        self.eat_any(&["EDITIONABLE", "NONEDITIONABLE"]);
        if self.eat_word("VIEW") {
            return self.create_view(or_replace, force, pos);
        }
        if self.at_word("SYNONYM") || self.at_words(&["PUBLIC", "SYNONYM"]) {
            let public = self.eat_word("PUBLIC");
            self.bump();
            let name = self.name(995)?;
            self.expect_word("FOR", 905)?;
            let target = self.name(995)?;
            return Ok(Ddl::CreateSynonym(CreateSynonym { or_replace, public, name, target, pos }));
        }
        if self.eat_word("DIRECTORY") {
            let name = self.ident(22929)?;
            self.expect_word("AS", 905)?;
            let path = self.string(1780)?;
            return Ok(Ddl::CreateDirectory(CreateDirectory { or_replace, name, path, pos }));
        }
        if self.eat_word("CONTEXT") {
            let name = self.ident(905)?;
            self.expect_word("USING", 905)?;
            let package = self.name(905)?;
            let global = self.eat_words(&["ACCESSED", "GLOBALLY"]);
            // Values that come from elsewhere.
            if self.at_word("INITIALIZED") {
                return Err(Ora::unsupported().at(self.pos().0));
            }
            self.expect_end(922)?;
            return Ok(Ddl::CreateContext(CreateContext { or_replace, name, package, global, pos }));
        }
        self.create_stored(or_replace, pos)
    }

    /// The unit's source begins at its kind's keyword; it is not parsed beyond its name.
    fn create_stored(&mut self, or_replace: bool, pos: Pos) -> Result<Ddl> {
        let source = self.text_from_here().to_owned();
        let source_pos = self.pos();
        let Some(kind) = self.stored_kind() else {
            return self.fail(if or_replace { 922 } else { 901 });
        };
        let name = self.name(4050)?;
        Ok(Ddl::CreateStored(CreateStored { or_replace, kind, name, source, source_pos, pos }))
    }

    /// `temporary` is `Some(private)` for temporary tables.
    fn create_table(&mut self, temporary: Option<bool>, pos: Pos) -> Result<Ddl> {
        let name = self.name(903)?;
        let mut table = CreateTable {
            name,
            temporary: temporary.map(|private| Temporary { private, preserve: false }),
            columns: Vec::new(),
            constraints: Vec::new(),
            organization: TableOrganization::Heap,
            options: SegmentOptions::default(),
            lobs: Vec::new(),
            partitioning: None,
            as_query: None,
            pos,
        };
        if self.at_words(&["OF"]) {
            return Err(Ora::unsupported().at(self.pos().0));
        }
        if self.eat(TokenKind::LeftParen) {
            self.relational_properties(&mut table)?;
            self.right_paren()?;
        }
        self.table_properties(&mut table)?;
        if self.eat_word("AS") {
            table.as_query = Some(Box::new(self.query()?));
        } else if table.columns.is_empty() {
            return self.fail(906);
        }
        self.expect_end(922)?;
        Ok(Ddl::CreateTable(table))
    }

    fn relational_properties(&mut self, table: &mut CreateTable) -> Result<()> {
        loop {
            let out_of_line = self.at_table_constraint();
            if out_of_line {
                table.constraints.push(self.table_constraint()?);
            } else {
                table.columns.push(self.column_spec()?);
            }
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    fn table_properties(&mut self, table: &mut CreateTable) -> Result<()> {
        loop {
            match () {
                () if self.eat_words(&["ORGANIZATION", "INDEX"]) => table.organization = TableOrganization::Index,
                () if self.eat_words(&["ORGANIZATION", "HEAP"]) => {}
                () if self.at_words(&["ORGANIZATION", "EXTERNAL"]) => {
                    self.at += 2;
                    table.organization = TableOrganization::External(self.raw_item()?);
                }
                () if self.eat_word("CLUSTER") => {
                    let cluster = self.name(943)?;
                    let columns = self.ident_list(904)?;
                    table.organization = TableOrganization::Cluster { cluster, columns };
                }
                () if self.eat_words(&["ON", "COMMIT"]) => {
                    let preserve = match self.eat_any(&["DELETE", "PRESERVE", "DROP"]) {
                        Some(i) => i == 1,
                        None => return self.fail(905),
                    };
                    if self.eat_any(&["ROWS", "DEFINITION"]).is_none() {
                        return self.fail(905);
                    }
                    match &mut table.temporary {
                        Some(temporary) => temporary.preserve = preserve,
                        None => return self.fail(922),
                    }
                }
                () if self.at_word("PARTITION") => {
                    table.partitioning = Some(Box::new(self.partition_by()?));
                }
                () if self.at_word("LOB") => table.lobs.extend(self.lob_storage()?),
                () if self.at_any(&["NESTED", "VARRAY", "XMLTYPE"]) => {
                    return Err(Ora::unsupported().at(self.pos().0));
                }
                () => {
                    if !self.segment_option(&mut table.options)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn create_cluster(&mut self, pos: Pos) -> Result<Ddl> {
        let name = self.name(943)?;
        self.left_paren()?;
        let columns = self.comma_list(|p| {
            let column = p.ident(904)?;
            let ty = p.data_type()?;
            p.eat_word("SORT");
            Ok((column, ty))
        })?;
        self.right_paren()?;
        let mut cluster = CreateCluster {
            name,
            columns,
            single_table: false,
            hashkeys: None,
            hash_is: None,
            size_bytes: None,
            indexed: false,
            options: SegmentOptions::default(),
            pos,
        };
        loop {
            match () {
                () if self.eat_words(&["SINGLE", "TABLE"]) => cluster.single_table = true,
                () if self.eat_word("HASHKEYS") => cluster.hashkeys = Some(self.integer64(2457)?),
                () if self.eat_words(&["HASH", "IS"]) => cluster.hash_is = Some(self.value()?),
                () if self.eat_word("SIZE") => cluster.size_bytes = Some(self.size_value(2219)?),
                () if self.eat_word("INDEX") => cluster.indexed = true,
                () => {
                    if !self.segment_option(&mut cluster.options)? {
                        break;
                    }
                }
            }
        }
        self.expect_end(922)?;
        cluster.indexed |= cluster.hashkeys.is_none();
        Ok(Ddl::CreateCluster(cluster))
    }

    fn create_view(&mut self, or_replace: bool, force: bool, pos: Pos) -> Result<Ddl> {
        let name = self.name(999)?;
        let mut columns = Vec::new();
        if self.at(TokenKind::LeftParen) {
            columns = self.ident_list(904)?;
        }
        let bequeaths = !self.eat_words(&["BEQUEATH", "DEFINER"]) && self.eat_words(&["BEQUEATH", "CURRENT_USER"]);
        self.expect_word("AS", 905)?;
        let start = self.pos();
        let query = Box::new(self.query()?);
        let text = self.text_since(start).to_owned();
        let read_only = self.eat_words(&["WITH", "READ", "ONLY"]);
        let check_option = !read_only && self.eat_words(&["WITH", "CHECK", "OPTION"]);
        if (read_only || check_option) && self.eat_word("CONSTRAINT") {
            self.ident(2250)?;
        }
        let view =
            CreateView { or_replace, force, name, columns, query, text, read_only, check_option, bequeaths, pos };
        Ok(Ddl::CreateView(view))
    }

    fn create_sequence(&mut self, pos: Pos) -> Result<Ddl> {
        let name = self.name(2277)?;
        let mut options = SequenceOptions::default();
        while self.sequence_option(&mut options)? {}
        Ok(Ddl::CreateSequence(CreateSequence { name, options, pos }))
    }

    pub(super) fn authentication(&mut self) -> Result<Option<Authentication>> {
        if self.eat_words(&["NO", "AUTHENTICATION"]) {
            return Ok(Some(Authentication::None));
        }
        if !self.eat_word("IDENTIFIED") {
            return Ok(None);
        }
        if self.eat_word("EXTERNALLY") {
            return Ok(Some(Authentication::Externally));
        }
        if self.eat_word("GLOBALLY") {
            return Ok(Some(Authentication::Globally));
        }
        if self.eat_word("USING") {
            return Ok(Some(Authentication::Using(self.name(931)?)));
        }
        self.expect_word("BY", 924)?;
        if self.eat_word("VALUES") {
            return Ok(Some(Authentication::Verifier(self.string(988)?)));
        }
        Ok(Some(Authentication::Password(self.password()?)))
    }

    pub(super) fn user_options(&mut self) -> Result<UserOptions> {
        let mut options = UserOptions::default();
        loop {
            match () {
                () if self.at_word("IDENTIFIED") || self.at_words(&["NO", "AUTHENTICATION"]) => {
                    options.authentication = self.authentication()?;
                    if self.eat_word("REPLACE") {
                        options.replace = Some(self.password()?);
                    }
                }
                () if self.eat_words(&["DEFAULT", "TABLESPACE"]) => {
                    options.default_tablespace = Some(self.ident(2216)?)
                }
                () if self.eat_words(&["TEMPORARY", "TABLESPACE"]) => {
                    options.temporary_tablespace = Some(self.ident(2216)?);
                }
                () if self.eat_word("QUOTA") => {
                    let start = self.pos();
                    if !self.eat_word("UNLIMITED") {
                        self.size_value(2194)?;
                    }
                    let quota = self.text_since(start).to_uppercase();
                    self.expect_word("ON", 969)?;
                    options.quotas.push((self.ident(2216)?, quota));
                }
                () if self.eat_word("PROFILE") => options.profile = Some(self.any_word(2377)?),
                () if self.eat_words(&["ACCOUNT", "LOCK"]) => options.account_locked = Some(true),
                () if self.eat_words(&["ACCOUNT", "UNLOCK"]) => options.account_locked = Some(false),
                () if self.eat_words(&["PASSWORD", "EXPIRE"]) => options.password_expire = true,
                () if self.eat_words(&["DEFAULT", "ROLE"]) => options.default_role = Some(self.roles(false)?),
                () if self.eat_words(&["ENABLE", "EDITIONS"]) => {}
                () if self.eat_word("CONTAINER") => {
                    self.expect(TokenKind::Eq, 922)?;
                    self.any_word(922)?;
                }
                () => break,
            }
        }
        self.expect_end(922)?;
        Ok(options)
    }

    /// The rest of CREATE or ALTER PROFILE.
    pub(super) fn profile(&mut self, alter: bool, pos: Pos) -> Result<Ddl> {
        let name = if self.at_word("DEFAULT") { self.any_word(2377)? } else { self.ident(2377)? };
        self.expect_word("LIMIT", 905)?;
        let mut limits: Vec<(Ident, ProfileLimit)> = Vec::new();
        while self.at(TokenKind::Word) && !self.at_word("CONTAINER") {
            let resource = self.any_word(2376)?;
            if limits.iter().any(|(have, _)| have.name == resource.name) {
                return Err(Ora::with(2378, &[&resource.name]).at(resource.pos.0));
            }
            let limit = self.profile_limit(&resource.name)?;
            limits.push((resource, limit));
        }
        if self.eat_word("CONTAINER") {
            self.expect(TokenKind::Eq, 922)?;
            self.any_word(922)?;
        }
        if limits.is_empty() {
            return self.fail(2376);
        }
        self.expect_end(2376)?;
        Ok(Ddl::Profile(ProfileLimits { alter, name, limits, pos }))
    }

    fn profile_limit(&mut self, resource: &str) -> Result<ProfileLimit> {
        let pos = self.pos();
        if let Some(word) = self.eat_any(&["DEFAULT", "UNLIMITED", "NULL"]) {
            return Ok([ProfileLimit::Default, ProfileLimit::Unlimited, ProfileLimit::Null][word].clone());
        }
        if resource == "PASSWORD_VERIFY_FUNCTION" {
            return Ok(ProfileLimit::Function(self.ident(2377)?));
        }
        let value = self.plain_number()?;
        let divisor = if self.eat(TokenKind::Slash) { self.plain_number()? } else { "1".to_owned() };
        if resource == "PRIVATE_SGA" {
            self.eat_any(&["K", "M", "G"]);
        }
        Ok(ProfileLimit::Number { value, divisor, pos })
    }

    fn plain_number(&mut self) -> Result<String> {
        let token = self.expect(TokenKind::Number, 2377)?;
        Ok(self.source(token).to_owned())
    }
}
