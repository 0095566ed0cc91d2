//! CREATE INDEX, also in the clause USING INDEX of a constraint.

use super::Parser;
use crate::ast::{CreateIndex, IndexColumn, IndexTarget, Pos, SegmentOptions};
use crate::lexer::TokenKind;
use ::types::Result;

impl Parser<'_> {
    pub(super) fn create_index(&mut self, pos: Pos) -> Result<CreateIndex> {
        let kind = self.eat_any(&["UNIQUE", "BITMAP"]);
        self.expect_word("INDEX", 968)?;
        let name = self.name(953)?;
        self.expect_word("ON", 969)?;
        let target = if self.eat_word("CLUSTER") {
            IndexTarget::Cluster(self.name(943)?)
        } else {
            let table = self.name(903)?;
            if self.at_ident() {
                self.ident(904)?;
            }
            self.left_paren()?;
            let columns = self.comma_list(Self::index_column)?;
            self.right_paren()?;
            IndexTarget::Table { table, columns }
        };
        let mut index = CreateIndex {
            unique: kind == Some(0),
            bitmap: kind == Some(1),
            name,
            target,
            options: SegmentOptions::default(),
            reverse: false,
            invisible: false,
            online: false,
            local: None,
            other: None,
            pos,
        };
        loop {
            match () {
                () if self.eat_word("REVERSE") => index.reverse = true,
                () if self.eat_word("INVISIBLE") => index.invisible = true,
                () if self.eat_any(&["VISIBLE", "SORT", "NOSORT", "UNUSABLE"]).is_some() => {}
                () if self.eat_words(&["COMPUTE", "STATISTICS"]) => {}
                () if self.eat_word("ONLINE") => index.online = true,
                () if self.eat_word("LOCAL") => index.local = Some(self.local_partitions()?),
                () if !self.word_ahead(1, "PARTITION") && self.eat_word("GLOBAL") => {}
                () if self.at_any(&["GLOBAL", "INDEXTYPE"]) => index.other = Some(self.raw_item()?),
                () => {
                    if !self.segment_option(&mut index.options)? {
                        break;
                    }
                }
            }
        }
        if !self.at(TokenKind::RightParen) {
            self.expect_end(2158)?;
        }
        Ok(index)
    }

    fn index_column(&mut self) -> Result<IndexColumn> {
        let start = self.pos();
        let expr = self.value()?;
        let text = self.text_since(start).to_owned();
        let descending = self.eat_any(&["ASC", "DESC"]) == Some(1);
        Ok(IndexColumn { expr, text, descending })
    }
}
