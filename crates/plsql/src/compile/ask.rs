//! The compiler's questions to the world around it, with their answers (invariant 18).
//!
//! A compiled unit has the meaning of its text under the names and privileges of its owner. The compiler asks the world
//! only through the functions of this module, so a unit depends on the questions and answers, and on the settings of
//! [`World::settings`], and on nothing else: with the same answers the code is the same. Shared plans follow the same
//! rule (`plan::names`), and the look-ups of a unit's static SQL are part of its questions.
//!
//! An anonymous block is compiled with the names and privileges of the session. Another session may use its code if it
//! gets the same answers with its own names and privileges.
//!
//! The interface of another unit is compiled from its text and kept by the session. Its questions are kept with it, and
//! count for every unit that names it.

use super::question::{Asked, Question, Questions, mark_of_columns, mark_of_trigger, mark_of_units};
use super::scope::{Interface, ObjectSym};
use super::units::Units;
use crate::world::{ColumnInfo, Described, StoredUnit, TriggerTable, World, as_owner};
use dictionary::Access;
use std::cell::RefCell;
use std::rc::Rc;
use types::{DataType, Result, TypeDef, TypeId};

/// The interfaces of other units, by name. A unit is compiled with the interfaces that it names, and an interface is
/// compiled from a unit: this is the only way back to the compiler of units (`store`), which implements it.
pub(crate) trait Interfaces {
    /// As [`Units::interface`].
    ///
    /// # Errors
    /// PLS-00904, PLS-00905, PLS-00907; those of the dictionary.
    fn named_interface<W: World>(
        &self,
        w: &mut W,
        owner: Option<&str>,
        name: &str,
        schema: &str,
    ) -> Result<Option<Interface>>;
    /// The specification of a package, stored or built in; `None` when it does not exist or is not visible.
    ///
    /// # Errors
    /// Those of the dictionary.
    fn named_package<W: World>(
        &self,
        w: &mut W,
        owner: Option<&str>,
        name: &str,
        schema: &str,
    ) -> Result<Option<StoredUnit>>;
    /// As [`Units::loaded_type`].
    ///
    /// # Errors
    /// As [`Interfaces::named_interface`].
    fn named_type<W: World>(&self, w: &mut W, id: TypeId, schema: &str) -> Result<Option<Rc<TypeDef>>>;
    /// The methods of an object type.
    ///
    /// # Errors
    /// PLS-00905 for a type that does not compile.
    fn named_methods<W: World>(&self, w: &mut W, id: TypeId) -> Result<Rc<ObjectSym>>;
}

impl Units {
    /// Runs `f` and returns the questions that it asked.
    pub(super) fn asking<R>(&self, f: impl FnOnce() -> R) -> (R, Rc<Questions>) {
        self.questions.borrow_mut().push(Questions::default());
        let done = f();
        let asked = self.questions.borrow_mut().pop().unwrap_or_default();
        (done, Rc::new(asked))
    }

    /// Adds questions to those of the unit that is being compiled.
    pub(super) fn include(&self, asked: &Rc<Questions>) {
        if let Some(outer) = self.questions.borrow_mut().last_mut() {
            outer.include(asked);
        }
    }

    /// Notes that the unit being compiled depends on something that cannot be asked again.
    pub(super) fn depends_on_more(&self) {
        if let Some(outer) = self.questions.borrow_mut().last_mut() {
            outer.is_open = true;
        }
    }

    /// The definition of a type that has been named.
    pub fn type_def(&self, id: TypeId) -> Option<Rc<TypeDef>> {
        let built_in = id.built_in().map(Rc::new);
        if built_in.is_none() {
            // The code refers to attributes only by position.
            self.depends_on_more();
        }
        built_in.or_else(|| self.types.borrow().get(&id).cloned())
    }

    fn is_asking(&self) -> bool {
        !self.questions.borrow().is_empty()
    }

    /// Notes a question with its answer; a failed question is not noted.
    fn heard<W: World, T>(&self, w: &W, answer: &Result<T>, asked: impl FnOnce(&T) -> Asked) {
        if !self.is_asking() {
            return;
        }
        match answer {
            Ok(answer) => {
                let question = Question { asker: w.definer(), asked: asked(answer) };
                if let Some(outer) = self.questions.borrow_mut().last_mut() {
                    outer.note(question);
                }
            }
            Err(_) => self.depends_on_more(),
        }
    }

    /// [`World::table_columns`].
    pub(super) fn ask_columns<W: World>(
        &self,
        w: &mut W,
        owner: Option<&str>,
        name: &str,
    ) -> Result<Option<Vec<ColumnInfo>>> {
        let answer = w.table_columns(owner, name);
        self.heard(w, &answer, |answer| Asked::Columns {
            owner: owner.map(Into::into),
            name: name.into(),
            answer: mark_of_columns(answer),
        });
        answer
    }

    /// [`World::sequence_exists`].
    pub(super) fn ask_sequence<W: World>(&self, w: &mut W, owner: Option<&str>, name: &str) -> Result<bool> {
        let answer = w.sequence_exists(owner, name);
        self.heard(w, &answer, |answer| Asked::Sequence {
            owner: owner.map(Into::into),
            name: name.into(),
            answer: *answer,
        });
        answer
    }

    /// [`World::stored_unit`].
    pub(super) fn ask_units<W: World>(&self, w: &mut W, owner: Option<&str>, name: &str) -> Result<Vec<StoredUnit>> {
        let answer = w.stored_unit(owner, name);
        self.heard(w, &answer, |answer| Asked::Units {
            owner: owner.map(Into::into),
            name: name.into(),
            answer: mark_of_units(answer),
        });
        answer
    }

    /// [`World::stored_trigger`].
    pub(super) fn ask_trigger<W: World>(&self, w: &mut W, number: u32) -> Result<Option<(StoredUnit, TriggerTable)>> {
        let answer = w.stored_trigger(number);
        self.heard(w, &answer, |answer| Asked::Trigger { number, answer: mark_of_trigger(answer) });
        answer
    }

    /// [`World::stored_unit`] for a schema.
    pub(super) fn ask_units_of<W: World>(&self, w: &mut W, schema: &str, name: &str) -> Result<Vec<StoredUnit>> {
        if w.schema() != schema {
            return self.ask_units(w, Some(schema), name);
        }
        let answer = w.stored_unit(Some(schema), name);
        self.heard(w, &answer, |answer| Asked::OwnUnits { name: name.into(), answer: mark_of_units(answer) });
        answer
    }

    /// [`World::may_execute`].
    pub(super) fn ask_execute<W: World>(&self, w: &mut W, owner: &str, name: &str) -> Result<Access> {
        let answer = w.may_execute(owner, name);
        self.heard(w, &answer, |answer| Asked::Execute {
            owner: owner.into(),
            name: name.into(),
            answer: *answer as u8,
        });
        answer
    }

    /// [`World::is_valid_unit`]. An invalid unit may or may not have errors, so a unit that depends on it is not
    /// shared.
    pub(super) fn ask_valid<W: World>(&self, w: &mut W, owner: &str, name: &str) -> bool {
        let answer = w.is_valid_unit(owner, name);
        if !answer {
            self.depends_on_more();
        }
        self.heard(w, &Ok(answer), |_| Asked::Valid { owner: owner.into(), name: name.into() });
        answer
    }

    /// [`World::unit_number`].
    pub(super) fn ask_number<W: World>(&self, w: &mut W, owner: &str, name: &str) -> u32 {
        let answer = w.unit_number(owner, name);
        self.heard(w, &Ok(answer), |_| Asked::Number { owner: owner.into(), name: name.into(), answer });
        answer
    }

    /// [`World::unit_defined`].
    pub(super) fn ask_defined<W: World>(&self, w: &mut W, owner: &str, name: &str) -> [u64; 2] {
        let answer @ [first, second] = w.unit_defined(owner, name);
        let (owner, name) = (owner.into(), name.into());
        self.heard(w, &Ok(answer), |_| Asked::Defined { owner, name, answer: (first, second) });
        answer
    }

    /// [`World::owner_number`].
    pub(super) fn ask_user<W: World>(&self, w: &mut W, name: &str) -> u32 {
        let answer = w.owner_number(name);
        self.heard(w, &Ok(answer), |_| Asked::User { name: name.into(), answer });
        answer
    }

    /// [`World::describe`].
    pub(super) fn ask_statement<W: World>(
        &self,
        w: &RefCell<&mut W>,
        text: &str,
        binds: &[DataType],
        variables: &dyn plan::Variables,
    ) -> Result<Described> {
        let answer = W::describe(w, text, binds, variables);
        self.heard(&**w.borrow(), &answer, |answer| Asked::Statement(answer.lookups.clone()));
        answer
    }

    /// Whether all questions still have the same answers.
    pub(super) fn hears_the_same<W: World>(w: &mut W, questions: &[Question]) -> bool {
        questions.iter().all(|Question { asker, asked }| match asker {
            Some(owner) => as_owner(w, owner, |w| is_same(w, asked)),
            None => is_same(w, asked),
        })
    }
}

/// Whether a question still has the same answer, for the names and privileges in force.
fn is_same<W: World>(w: &mut W, asked: &Asked) -> bool {
    match asked {
        Asked::Columns { owner, name, answer } => {
            w.table_columns(owner.as_deref(), name).is_ok_and(|now| mark_of_columns(&now) == *answer)
        }
        Asked::Sequence { owner, name, answer } => {
            w.sequence_exists(owner.as_deref(), name).is_ok_and(|now| now == *answer)
        }
        Asked::Units { owner, name, answer } => {
            w.stored_unit(owner.as_deref(), name).is_ok_and(|now| mark_of_units(&now) == *answer)
        }
        Asked::OwnUnits { name, answer } => {
            let schema = w.schema();
            w.stored_unit(Some(&schema), name).is_ok_and(|now| mark_of_units(&now) == *answer)
        }
        Asked::Trigger { number, answer } => {
            w.stored_trigger(*number).is_ok_and(|now| mark_of_trigger(&now) == *answer)
        }
        Asked::Execute { owner, name, answer } => w.may_execute(owner, name).is_ok_and(|now| now as u8 == *answer),
        Asked::Valid { owner, name } => w.is_valid_unit(owner, name),
        Asked::Number { owner, name, answer } => w.unit_number(owner, name) == *answer,
        Asked::Defined { owner, name, answer } => w.unit_defined(owner, name) == [answer.0, answer.1],
        Asked::User { name, answer } => w.owner_number(name) == *answer,
        Asked::Statement(lookups) => W::means_the_same(&RefCell::new(w), lookups).unwrap_or(false),
    }
}
