//! CREATE MATERIALIZED VIEW.

use super::Parser;
use crate::ast::{CreateMaterializedView, Ddl, Pos, RefreshMethod, SegmentOptions};
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

impl Parser<'_> {
    /// Behind CREATE MATERIALIZED VIEW.
    pub(super) fn create_materialized_view(&mut self, pos: Pos) -> Result<Ddl> {
        let name = self.name(999)?;
        let columns = match self.at(TokenKind::LeftParen) {
            true => self.ident_list(904)?,
            false => Vec::new(),
        };
        let (mut options, mut method) = (SegmentOptions::default(), RefreshMethod::default());
        let (mut deferred, mut by_rowid, mut rewrite) = (false, false, false);
        loop {
            match () {
                () if self.at_word("AS") => break,
                () if self.eat_words(&["BUILD", "IMMEDIATE"]) => deferred = false,
                () if self.eat_words(&["BUILD", "DEFERRED"]) => deferred = true,
                () if self.eat_words(&["NEVER", "REFRESH"]) => method = RefreshMethod::Never,
                () if self.eat_word("REFRESH") => self.refresh_clause(&mut method, &mut by_rowid)?,
                () if self.eat_words(&["ENABLE", "QUERY", "REWRITE"]) => rewrite = true,
                () if self.eat_words(&["DISABLE", "QUERY", "REWRITE"]) => rewrite = false,
                () if self.eat_words(&["DISABLE", "ON", "QUERY", "COMPUTATION"]) => {}
                () if self.eat_words(&["USING", "NO", "INDEX"]) => {}
                () if self.segment_option(&mut options)? => {}
                () if self.at_any(&["ON", "FOR", "USING", "ENABLE", "PARTITION", "ORGANIZATION", "CLUSTER", "OF"]) => {
                    return Err(Ora::unsupported().at(self.pos().0));
                }
                () => return self.fail(905),
            }
        }
        self.bump();
        let start = self.pos();
        let query = Box::new(self.query()?);
        let text = self.text_since(start).to_owned();
        let made =
            CreateMaterializedView { name, columns, options, deferred, method, by_rowid, rewrite, query, text, pos };
        Ok(Ddl::CreateMaterializedView(Box::new(made)))
    }

    /// The clauses behind REFRESH.
    fn refresh_clause(&mut self, method: &mut RefreshMethod, by_rowid: &mut bool) -> Result<()> {
        loop {
            match () {
                () if self.eat_word("COMPLETE") => *method = RefreshMethod::Complete,
                () if self.eat_word("FAST") => *method = RefreshMethod::Fast,
                () if self.eat_word("FORCE") => *method = RefreshMethod::Force,
                () if self.eat_words(&["ON", "DEMAND"]) => {}
                () if self.eat_words(&["WITH", "PRIMARY", "KEY"]) => *by_rowid = false,
                () if self.eat_words(&["WITH", "ROWID"]) => *by_rowid = true,
                () if self.eat_words(&["USING", "ENFORCED", "CONSTRAINTS"]) => {}
                () if self.eat_words(&["USING", "TRUSTED", "CONSTRAINTS"]) => {}
                () if self.at_any(&["ON", "START", "NEXT"]) => return Err(Ora::unsupported().at(self.pos().0)),
                () => return Ok(()),
            }
        }
    }
}
