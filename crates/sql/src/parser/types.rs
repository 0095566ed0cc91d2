//! Data types.

use super::Parser;
use crate::ast::{DataTypeName, DateField, IntervalQualifier, LengthUnit, TypeKind, ZoneKind};
use crate::lexer::TokenKind;
use ::types::Result;

impl Parser<'_> {
    /// The data type of a column, a CAST or a parameter. ORA-00902 if there is none.
    pub(crate) fn data_type(&mut self) -> Result<DataTypeName> {
        let pos = self.pos();
        let kind = match self.word() {
            Some(word) => self.type_kind(&word)?,
            None => self.named_type()?,
        };
        Ok(DataTypeName { kind, pos })
    }

    /// Whether the current token can begin a data type (a column definition may have none).
    pub(crate) fn at_data_type(&self) -> bool {
        const RESERVED_TYPES: &[&str] = &[
            "CHAR", "DATE", "DECIMAL", "FLOAT", "INTEGER", "LONG", "NUMBER", "RAW", "ROWID", "SMALLINT", "VARCHAR",
            "VARCHAR2",
        ];
        const NOT_TYPES: &[&str] = &[
            "CONSTRAINT",
            "PRIMARY",
            "REFERENCES",
            "SORT",
            "VISIBLE",
            "INVISIBLE",
            "GENERATED",
            "ENABLE",
            "DISABLE",
            "ENCRYPT",
            "COLLATE",
        ];
        self.at_any(RESERVED_TYPES) || (self.at_ident() && !self.at_any(NOT_TYPES))
    }

    fn type_kind(&mut self, word: &str) -> Result<TypeKind> {
        if let Some(kind) = simple_type(word) {
            self.bump();
            return Ok(kind);
        }
        let start = self.at;
        self.bump();
        Ok(match word {
            "NUMBER" | "DECIMAL" | "NUMERIC" | "DEC" => self.number_type()?,
            "FLOAT" => TypeKind::Float { binary_precision: self.optional_length()? },
            "DOUBLE" if self.eat_word("PRECISION") => TypeKind::Float { binary_precision: Some(126) },
            "VARCHAR2" | "VARCHAR" => self.varchar(false)?,
            "NVARCHAR2" => self.varchar(true)?,
            "CHAR" | "CHARACTER" => self.char_type(false)?,
            "NCHAR" => self.char_type(true)?,
            "NATIONAL" if self.eat_any(&["CHAR", "CHARACTER"]).is_some() => self.char_type(true)?,
            "TIMESTAMP" => self.timestamp()?,
            "INTERVAL" => self.interval_type()?,
            "RAW" => TypeKind::Raw { length: self.optional_length()? },
            "LONG" if self.eat_word("RAW") => TypeKind::LongRaw,
            "LONG" => TypeKind::Long,
            "UROWID" => TypeKind::Urowid { length: self.optional_length()? },
            "REF" if self.at_ident() => TypeKind::Ref(self.name(902)?),
            _ => {
                self.at = start;
                self.named_type()?
            }
        })
    }

    fn named_type(&mut self) -> Result<TypeKind> {
        let name = self.name(902)?;
        if matches!(&name.parts[..], [owner, ty] if owner.name == "SYS" && ty.name == "XMLTYPE") {
            return Ok(TypeKind::XmlType);
        }
        let mut args = Vec::new();
        if self.eat(TokenKind::LeftParen) {
            args = self.comma_list(|p| p.integer(907))?;
            self.right_paren()?;
        }
        Ok(TypeKind::Named { name, args })
    }

    /// `(n)` if there is one.
    fn optional_length(&mut self) -> Result<Option<u32>> {
        if !self.eat(TokenKind::LeftParen) {
            return Ok(None);
        }
        let length = self.integer(910)?;
        self.right_paren()?;
        Ok(Some(length))
    }

    fn number_type(&mut self) -> Result<TypeKind> {
        if !self.eat(TokenKind::LeftParen) {
            return Ok(TypeKind::Number { precision: None, scale: None });
        }
        let starred = self.eat(TokenKind::Star);
        let precision = if starred { None } else { Some(self.integer(1727)?) };
        let mut scale = 0;
        if self.eat(TokenKind::Comma) {
            let negative = self.eat(TokenKind::Minus);
            scale = i32::try_from(self.integer(1728)?).map_err(|_| self.error(1728))?;
            scale = if negative { -scale } else { scale };
        }
        self.right_paren()?;
        Ok(TypeKind::Number { precision, scale: Some(scale) })
    }

    fn character_length(&mut self) -> Result<(Option<u32>, Option<LengthUnit>)> {
        if !self.eat(TokenKind::LeftParen) {
            return Ok((None, None));
        }
        let length = self.integer(910)?;
        let unit = self.eat_any(&["BYTE", "CHAR"]).map(|i| [LengthUnit::Byte, LengthUnit::Char][i]);
        self.right_paren()?;
        Ok((Some(length), unit))
    }

    fn varchar(&mut self, national: bool) -> Result<TypeKind> {
        let (length, unit) = self.character_length()?;
        Ok(TypeKind::Varchar2 { length, unit, national })
    }

    fn char_type(&mut self, national: bool) -> Result<TypeKind> {
        if self.eat_word("VARYING") {
            return self.varchar(national);
        }
        let (length, unit) = self.character_length()?;
        Ok(TypeKind::Char { length, unit, national })
    }

    fn timestamp(&mut self) -> Result<TypeKind> {
        let precision = self.optional_length()?;
        let zone = if self.eat_words(&["WITH", "TIME", "ZONE"]) {
            ZoneKind::WithTimeZone
        } else if self.eat_words(&["WITH", "LOCAL", "TIME", "ZONE"]) {
            ZoneKind::WithLocalTimeZone
        } else {
            ZoneKind::None
        };
        Ok(TypeKind::Timestamp { precision, zone })
    }

    fn interval_type(&mut self) -> Result<TypeKind> {
        let qualifier = self.interval_qualifier(30089)?;
        match (qualifier.from, qualifier.to) {
            (DateField::Year, Some(DateField::Month)) => {
                Ok(TypeKind::IntervalYearToMonth { precision: qualifier.from_precision })
            }
            (DateField::Day, Some(DateField::Second)) => Ok(TypeKind::IntervalDayToSecond {
                day_precision: qualifier.from_precision,
                second_precision: qualifier.fraction,
            }),
            _ => self.fail(30089),
        }
    }

    /// `YEAR(2) TO MONTH`, `DAY TO SECOND(3)`, `HOUR`, `SECOND(2, 3)`.
    pub(crate) fn interval_qualifier(&mut self, code: u32) -> Result<IntervalQualifier> {
        let from = self.date_field(code)?;
        let (mut from_precision, mut to, mut fraction) = (None, None, None);
        if self.eat(TokenKind::LeftParen) {
            from_precision = Some(self.integer(30088)?);
            if from == DateField::Second && self.eat(TokenKind::Comma) {
                fraction = Some(self.integer(30088)?);
            }
            self.right_paren()?;
        }
        if self.eat_word("TO") {
            let field = self.date_field(code)?;
            if field == DateField::Second {
                fraction = self.optional_length()?;
            }
            to = Some(field);
        }
        Ok(IntervalQualifier { from, from_precision, to, fraction })
    }

    pub(crate) fn date_field(&mut self, code: u32) -> Result<DateField> {
        let field = self.word().and_then(|word| DateField::parse(&word));
        match field {
            Some(field) => {
                self.bump();
                Ok(field)
            }
            None => self.fail(code),
        }
    }
}

fn simple_type(word: &str) -> Option<TypeKind> {
    Some(match word {
        "INTEGER" | "INT" | "SMALLINT" => TypeKind::Number { precision: None, scale: Some(0) },
        "REAL" => TypeKind::Float { binary_precision: Some(63) },
        "BINARY_FLOAT" => TypeKind::BinaryFloat,
        "BINARY_DOUBLE" => TypeKind::BinaryDouble,
        "DATE" => TypeKind::Date,
        "CLOB" => TypeKind::Clob { national: false },
        "NCLOB" => TypeKind::Clob { national: true },
        "BLOB" => TypeKind::Blob,
        "BFILE" => TypeKind::Bfile,
        "ROWID" => TypeKind::Rowid,
        "JSON" => TypeKind::Json,
        "XMLTYPE" => TypeKind::XmlType,
        "BOOLEAN" => TypeKind::Boolean,
        _ => return None,
    })
}
