//! Definitions of views, stored units and sequences.

use super::numbers::big;
use super::picture::Image;
use super::property;
use crate::base::{self, Base, seq, settings, source};
use crate::rows::{Row, as_i64, as_text, as_u32};
use crate::*;
use std::rc::Rc;
use types::{ObjectId, Result};

impl Image {
    pub fn view(&self, object: ObjectId) -> Result<Option<Rc<ViewDef>>> {
        if let Some(def) = self.made.borrow().views.get(&object.0) {
            return Ok(Some(def.clone()));
        }
        let def = self.object(object).filter(|def| def.kind == ObjectKind::View);
        let row = def.and_then(|_| self.rows(Base::View, base::view::OBJ, object.0).pop());
        let Some((def, row)) = def.zip(row) else { return self.checked().map(|()| None) };
        let bits = as_i64(&row[base::view::PROPERTY]).unwrap_or(0);
        let columns = self.columns(object)?;
        let has_triggers = bits & property::VIEW_TRIGGERS != 0;
        let triggers = if has_triggers { self.triggers(object, &columns) } else { Vec::new() };
        let view = Rc::new(ViewDef {
            object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            text: as_text(&row[base::view::TEXT]).to_owned(),
            types: columns.iter().map(|column| column.data_type).collect(),
            columns: columns.into_iter().map(|column| column.name).collect(),
            triggers,
            read_only: bits & property::VIEW_READ_ONLY != 0,
            check_option: bits & property::VIEW_CHECK_OPTION != 0,
            bequeaths: bits & property::VIEW_BEQUEATHS != 0,
            catalog: false,
            valid: def.valid,
            epoch: self.epoch(),
        });
        self.checked()?;
        self.made.borrow_mut().views.insert(object.0, view.clone());
        Ok(Some(view))
    }

    /// The stored unit with this number, and its source.
    pub fn unit(&self, object: ObjectId) -> Option<Rc<ProcedureDef>> {
        if let Some(def) = self.made.borrow().units.get(&object.0) {
            return Some(def.clone());
        }
        let def = self.object(object)?;
        let kind = match def.kind {
            ObjectKind::Procedure => UnitKind::Procedure,
            ObjectKind::Function => UnitKind::Function,
            ObjectKind::Package => UnitKind::Package,
            ObjectKind::PackageBody => UnitKind::PackageBody,
            ObjectKind::Trigger => UnitKind::Trigger,
            ObjectKind::Type => UnitKind::Type,
            ObjectKind::TypeBody => UnitKind::TypeBody,
            _ => return None,
        };
        let mut lines = self.rows(Base::Source, source::OBJ, object.0);
        lines.sort_by_key(|row| as_i64(&row[source::LINE]));
        let of = self.rows(Base::Settings, settings::OBJ, object.0);
        let setting =
            |row: &Row| (as_text(&row[settings::PARAM]).to_owned(), as_text(&row[settings::VALUE]).to_owned());
        let unit = Rc::new(ProcedureDef {
            object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            kind,
            source: lines.iter().map(|row| as_text(&row[source::SOURCE])).collect(),
            settings: of.iter().map(setting).collect(),
            valid: def.valid,
            epoch: self.epoch(),
        });
        if self.checked().is_ok() {
            self.made.borrow_mut().units.insert(object.0, unit.clone());
        }
        Some(unit)
    }

    pub fn sequence(&self, object: ObjectId) -> Option<Rc<SequenceDef>> {
        if let Some(def) = self.made.borrow().sequences.get(&object.0) {
            return Some(def.clone());
        }
        let def = self.object(object).filter(|def| def.kind == ObjectKind::Sequence)?;
        let row = self.rows(Base::Seq, seq::OBJ, object.0).pop()?;
        let sequence = Rc::new(SequenceDef {
            object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            increment: big(&row[seq::INCREMENT]),
            minimum: big(&row[seq::MINVALUE]),
            maximum: big(&row[seq::MAXVALUE]),
            cycle: as_i64(&row[seq::CYCLE]) == Some(1),
            order: as_i64(&row[seq::ORDER]) == Some(1),
            cache: u64::from(as_u32(&row[seq::CACHE])),
            start: big(&row[seq::STARTWITH]),
            flags: as_u32(&row[seq::FLAGS]),
            epoch: self.epoch(),
        });
        if self.checked().is_ok() {
            self.made.borrow_mut().sequences.insert(object.0, sequence.clone());
        }
        Some(sequence)
    }
}
