//! Objects by number and by name; constraints, synonyms, triggers.

use super::picture::Image;
use crate::base::*;
use crate::rows::{Row, as_i64, as_optional_text, as_text, as_u32, int, text};
use crate::*;
use types::{ObjectId, Ora, Result, Value};

impl Image {
    pub fn object(&self, object: ObjectId) -> Option<&ObjectDef> {
        if let Some(known) = self.objects.get(&object.0) {
            return known.as_ref();
        }
        let row = self.rows(Base::Obj, obj::OBJ, object.0).pop();
        let def = row.and_then(|row| self.object_of(&row));
        self.objects.insert(object.0, Box::new(def)).as_ref()
    }

    /// The object of a row of OBJ$; sets a fault for a type that no release has written.
    fn object_of(&self, row: &[Value]) -> Option<ObjectDef> {
        let def = object_of(row);
        def.map_err(|e| self.note(Err(e))).ok()
    }

    /// All objects of a user by ascending number.
    pub fn objects_of(&self, owner: UserId) -> Vec<ObjectDef> {
        let rows = self.find_rows(Base::Obj, &[obj::OWNER], &[int(owner.0)]);
        let mut all: Vec<ObjectDef> = rows.iter().filter_map(|row| self.object_of(row)).collect();
        all.sort_by_key(|def| def.object.0);
        all
    }

    /// The objects of these kinds that were not created with the database, by ascending number.
    pub fn objects_of_kinds(&self, kinds: &[ObjectKind]) -> Vec<ObjectDef> {
        let mut all = Vec::new();
        for kind in kinds {
            // Objects that were created with the database have small numbers, which are filtered out.
            let rows = self.find_rows(Base::Obj, &[obj::TYPE], &[int(*kind as u8)]);
            let own = rows.iter().filter(|row| as_u32(&row[obj::OBJ]) >= FIRST_USER_OBJECT);
            all.extend(own.filter_map(|row| self.object_of(row)));
        }
        all.sort_by_key(|def| def.object.0);
        all
    }

    /// Owner and name of the object with this data object number.
    pub fn segment_name(&self, data: ObjectId) -> Option<(String, String)> {
        let row = self.rows(Base::Obj, obj::DATAOBJ, data.0).pop().filter(|_| data.0 != 0)?;
        let of_user = self.object_of(&row)?;
        Some((self.user_name(of_user.owner_id), of_user.name))
    }

    /// The object with this owner, name space and name, looked up in the row cache each time.
    pub fn object_named(&self, owner: UserId, namespace: u8, name: &str) -> Option<&ObjectDef> {
        let values = [int(owner.0), int(namespace), text(name)];
        let columns = [obj::OWNER, obj::NAMESPACE, obj::NAME];
        self.object(ObjectId(self.find_number(Base::Obj, &columns, &values, obj::OBJ)?))
    }

    /// The object with this owner, kind and name.
    pub fn find(&self, owner: UserId, kind: ObjectKind, name: &str) -> Option<&ObjectDef> {
        self.object_named(owner, kind.namespace(), name).filter(|object| object.kind == kind)
    }

    /// The number of the constraint with this owner and name.
    pub fn constraint_named(&self, owner: UserId, name: &str) -> Option<u32> {
        let row = self.find_rows(Base::Con, &[con::OWNER, con::NAME], &[int(owner.0), text(name)]).pop();
        row.map(|row| as_u32(&row[con::CON]))
    }

    pub(super) fn constraint_name(&self, constraint: u32) -> String {
        let row = self.rows(Base::Con, con::CON, constraint).pop();
        row.map_or_else(String::new, |row| as_text(&row[con::NAME]).to_owned())
    }

    /// The table of a constraint.
    pub fn constraint_table(&self, constraint: u32) -> Option<ObjectId> {
        let row = self.rows(Base::Cdef, cdef::CON, constraint).pop();
        row.map(|row| ObjectId(as_u32(&row[cdef::OBJ])))
    }

    /// Positions of the columns of a constraint, in its order.
    pub fn constraint_columns(&self, constraint: u32) -> Vec<usize> {
        let mut columns: Vec<(i64, usize)> = self
            .rows(Base::Ccol, ccol::CON, constraint)
            .iter()
            .map(|row| (as_i64(&row[ccol::POS]).unwrap_or(0), as_u32(&row[ccol::COL]).saturating_sub(1) as usize))
            .collect();
        columns.sort_unstable();
        columns.into_iter().map(|(_, column)| column).collect()
    }

    pub fn synonym(&self, object: ObjectId) -> Option<SynonymDef> {
        let def = self.object(object)?;
        if def.kind != ObjectKind::Synonym {
            return None;
        }
        let row = self.rows(Base::Syn, syn::OBJ, object.0).pop()?;
        Some(SynonymDef {
            object,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            target_owner: as_text(&row[syn::OWNER]).to_owned(),
            target_name: as_text(&row[syn::NAME]).to_owned(),
            link: as_optional_text(&row[syn::NODE]),
        })
    }

    /// The numbers of the triggers on a table or view.
    pub fn triggers_on(&self, table: ObjectId) -> Vec<ObjectId> {
        let rows = self.rows(Base::Trigger, trigger::BASEOBJECT, table.0);
        let mut list: Vec<ObjectId> = rows.iter().map(|row| ObjectId(as_u32(&row[trigger::OBJ]))).collect();
        list.sort_unstable();
        list
    }

    /// The table or view of a trigger.
    pub fn trigger_base(&self, trigger: ObjectId) -> Option<ObjectId> {
        let row = self.rows(Base::Trigger, trigger::OBJ, trigger.0).pop()?;
        Some(ObjectId(as_u32(&row[trigger::BASEOBJECT])))
    }

    /// The application context of a namespace.
    pub fn context(&self, namespace: &str) -> Option<ContextDef> {
        let object = self.find(UserId::SYS, ObjectKind::Context, namespace)?.object;
        let row = self.rows(Base::Context, context::OBJ, object.0).pop()?;
        let package = (as_text(&row[context::SCHEMA]).to_owned(), as_text(&row[context::PACKAGE]).to_owned());
        Some(ContextDef { object, package, global: as_i64(&row[context::FLAGS]) == Some(1) })
    }

    /// The triggers on schemas and the database, in the order in which they fire.
    pub fn event_triggers(&self) -> Vec<TriggerDef> {
        self.triggers(NO_BASE, &[])
    }

    /// The triggers of a table in the order in which they fire: as FOLLOWS says, then by creation.
    pub(super) fn triggers(&self, table: ObjectId, columns: &[ColumnDef]) -> Vec<TriggerDef> {
        let mut rows = self.rows(Base::Trigger, trigger::BASEOBJECT, table.0);
        rows.sort_by_key(|row| as_u32(&row[trigger::OBJ]));
        let mut waiting: Vec<(TriggerDef, String)> = Vec::new();
        for row in &rows {
            if let Some(def) = self.trigger_of(row, columns) {
                waiting.push((def, as_text(&row[trigger::FOLLOWS]).to_owned()));
            }
        }
        let mut ordered: Vec<TriggerDef> = Vec::new();
        while !waiting.is_empty() {
            let waits_for = |follows: &str, other: &TriggerDef| follows.contains(&trigger_path(other));
            let is_free = |(_, follows): &(TriggerDef, String)| {
                follows.is_empty() || !waiting.iter().any(|(other, _)| waits_for(follows, other))
            };
            // Triggers that follow one another keep the order of their creation.
            let next = waiting.iter().position(is_free).unwrap_or(0);
            ordered.push(waiting.remove(next).0);
        }
        ordered
    }

    fn trigger_of(&self, row: &Row, columns: &[ColumnDef]) -> Option<TriggerDef> {
        let def = self.object(ObjectId(as_u32(&row[trigger::OBJ])))?;
        let on = |column: usize| as_i64(&row[column]) == Some(1);
        let position = |name: &str| columns.iter().position(|column| column.name == name && !column.hidden);
        let positions = |column: usize| -> Vec<u16> {
            let names = unquoted(as_text(&row[column]));
            names.iter().filter_map(|name| position(name)).map(|at| at as u16).collect()
        };
        let named = unquoted(as_text(&row[trigger::UPDATECOLS])).len();
        let mut listed = positions(trigger::UPDATECOLS);
        if listed.len() < named {
            // A column has been dropped: the trigger fires for every column, and is found to be invalid.
            listed.clear();
        }
        Some(TriggerDef {
            object: def.object,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            kind: as_i64(&row[trigger::TYPE]).and_then(|code| TriggerKind::from_code(code as u8))?,
            enabled: on(trigger::ENABLED),
            insert: on(trigger::INSERT),
            update: on(trigger::UPDATE),
            delete: on(trigger::DELETE),
            columns: listed,
            assigns: positions(trigger::NEWOUT),
            points: as_i64(&row[trigger::PROPERTY]).unwrap_or(0) as u8,
            events: as_i64(&row[trigger::EVENTS]).unwrap_or(0) as u32,
            schema: as_i64(&row[trigger::SCHEMA]).map(|user| UserId(user as u32)),
        })
    }

    /// The objects that a call in a definition of `owner` may refer to: the synonyms followed, and the stored function
    /// or package. The name is the owner's own, public, or qualified by a schema; all objects of an ambiguous name are
    /// returned.
    pub fn called_units(&self, owner: UserId, path: &[&str]) -> Vec<ObjectId> {
        let space = ObjectKind::Function.namespace();
        let [first, rest @ ..] = path else { return Vec::new() };
        let own = self.object_named(owner, space, first);
        let plain = own.or_else(|| self.object_named(UserId::PUBLIC, space, first));
        let schema = self.user_named(first).zip(rest.first());
        let with_schema = schema.and_then(|(schema, name)| self.object_named(schema.id, space, name));
        let mut led = Vec::new();
        for mut found in [plain, with_schema] {
            for _ in 0..SYNONYM_CHAIN_MAX {
                let Some(def) = found else { break };
                led.push(def.object);
                found = self.synonym(def.object).and_then(|synonym| {
                    let schema = self.user_named(&synonym.target_owner)?;
                    self.object_named(schema.id, space, &synonym.target_name)
                });
            }
        }
        led
    }
}

/// The base object of a trigger on a schema or the database.
pub const NO_BASE: ObjectId = ObjectId(0);

/// A list of names in quotation marks, which no name contains.
pub fn quoted<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect()
}

/// The names in a list of [`quoted`] ones.
pub fn unquoted(list: &str) -> Vec<&str> {
    list.split('"').filter(|name| !name.is_empty()).collect()
}

/// A trigger in the list of FOLLOWS.
pub fn trigger_path(trigger: &TriggerDef) -> String {
    format!("\"{}\".\"{}\"", trigger.owner, trigger.name)
}

/// The object of a row of OBJ$.
fn object_of(row: &[Value]) -> Result<ObjectDef> {
    let object = as_u32(&row[obj::OBJ]);
    let kind = as_i64(&row[obj::TYPE]).and_then(|code| ObjectKind::from_code(code as u8));
    Ok(ObjectDef {
        object: ObjectId(object),
        data_object: ObjectId(as_u32(&row[obj::DATAOBJ])),
        owner_id: UserId(as_u32(&row[obj::OWNER])),
        name: as_text(&row[obj::NAME]).to_owned(),
        kind: kind.ok_or_else(|| Ora::internal(format_args!("[obj$ {object}]")))?,
        valid: as_i64(&row[obj::STATUS]) == Some(1),
        changed: as_i64(&row[obj::SPARE1]).and_then(|scn| u64::try_from(scn).ok()).unwrap_or(0),
    })
}
