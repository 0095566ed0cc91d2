//! Questions of the compiler with their answers ([`super::ask`]).

use crate::world::{ColumnInfo, StoredUnit, TriggerColumn, TriggerTable};
use plan::names::Lookup;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use types::image::Image;

/// Two hashes of a long answer.
pub(super) type Mark = (u64, u64);

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Image)]
pub(super) enum Asked {
    Columns {
        owner: Option<String>,
        name: String,
        answer: Mark,
    },
    Sequence {
        owner: Option<String>,
        name: String,
        answer: bool,
    },
    Units {
        owner: Option<String>,
        name: String,
        answer: Mark,
    },
    /// Units of the present schema: a session with another schema asks for its own when it takes the code of a block.
    OwnUnits {
        name: String,
        answer: Mark,
    },
    /// The source of a trigger, and the columns of its table.
    Trigger {
        number: u32,
        answer: Mark,
    },
    Execute {
        owner: String,
        name: String,
        answer: u8,
    },
    /// Whether the dictionary has the unit as valid.
    Valid {
        owner: String,
        name: String,
    },
    Number {
        owner: String,
        name: String,
        answer: u32,
    },
    Defined {
        owner: String,
        name: String,
        answer: (u64, u64),
    },
    User {
        name: String,
        answer: u32,
    },
    /// The look-ups of a static statement.
    Statement(Vec<Lookup>),
}

/// A question, and the user that it was asked for.
#[derive(Clone, Debug, PartialEq, Image)]
pub(super) struct Question {
    /// The owner whose names and privileges were in force; `None` for the session's own.
    pub(super) asker: Option<String>,
    pub(super) asked: Asked,
}

/// The questions of a unit, or of a unit's interface.
#[derive(Clone, Debug, Default)]
pub(super) struct Questions {
    all: Vec<Question>,
    /// The unit depends on something that cannot be asked again.
    pub(super) is_open: bool,
    /// The questions of other units included in these.
    within: Vec<Rc<Questions>>,
}

impl Questions {
    pub(super) fn note(&mut self, question: Question) {
        if !self.all.contains(&question) {
            self.all.push(question);
        }
    }

    pub(super) fn include(&mut self, others: &Rc<Questions>) {
        if self.within.iter().any(|known| Rc::ptr_eq(known, others)) {
            return;
        }
        self.within.push(Rc::clone(others));
        self.is_open |= others.is_open;
        others.all.iter().for_each(|question| self.note(question.clone()));
    }

    /// The questions, if the unit depends on nothing else.
    pub fn complete(&self) -> Option<&[Question]> {
        (!self.is_open).then_some(&self.all)
    }

    /// The same, if each was asked with the names and privileges of an owner.
    pub fn of_owners(&self) -> Option<&[Question]> {
        self.complete().filter(|all| all.iter().all(|question| question.asker.is_some()))
    }
}

/// The session's handles of the functions in static statements. An image has their indexes in this list.
pub(super) fn handles(questions: &[Question]) -> Vec<u64> {
    let of = |question: &Question| match &question.asked {
        Asked::Statement(lookups) => plan::names::handles(lookups),
        _ => Vec::new(),
    };
    questions.iter().flat_map(of).collect()
}

/// Two hashes of an answer. With one hash of 64 bits a forged answer could match.
fn mark(answer: &impl Hash) -> Mark {
    let of = |salt: u8| {
        let mut hasher = std::hash::DefaultHasher::new();
        salt.hash(&mut hasher);
        answer.hash(&mut hasher);
        hasher.finish()
    };
    (of(1), of(2))
}

pub(super) fn mark_of_columns(columns: &Option<Vec<ColumnInfo>>) -> Mark {
    let column = |c: &ColumnInfo| (c.name.clone(), c.ty, c.nullable);
    mark(&columns.as_ref().map(|all| all.iter().map(column).collect::<Vec<_>>()))
}

pub(super) fn mark_of_trigger(answer: &Option<(StoredUnit, TriggerTable)>) -> Mark {
    let column = |c: &TriggerColumn| (c.name.clone(), c.ty, c.position, c.is_virtual);
    let parts = |(unit, table): &(StoredUnit, TriggerTable)| {
        let columns: Vec<_> = table.columns.iter().map(column).collect();
        (unit.owner.clone(), unit.name.clone(), unit.source.clone(), unit.settings.clone(), columns)
    };
    mark(&answer.as_ref().map(parts))
}

pub(super) fn mark_of_units(units: &[StoredUnit]) -> Mark {
    mark(&units.iter().map(|u| (&u.owner, &u.name, u.kind.name(), &u.source, &u.settings)).collect::<Vec<_>>())
}
