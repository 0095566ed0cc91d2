//! Data that the functions of SQL/JSON keep between calls: compiled definitions and the last document, so that several
//! functions over one column parse it once.

use json::{Compiled, Document, Function, Making};
use std::rc::Rc;
use types::image::{Image, NoObjects, read};
use types::{Ora, Result, Value};

/// Compiled definitions kept; all are dropped when there are more.
const KEPT_MAX: usize = 256;

/// Data that the functions keep between calls.
#[derive(Default)]
pub(crate) struct Cache {
    pub(crate) document: Document,
    pub(crate) other: Document,
    functions: Vec<(Vec<u8>, Compiled)>,
    makings: Vec<(Vec<u8>, Rc<Making>)>,
}

fn definition(spec: &Value) -> Result<&[u8]> {
    match spec {
        Value::Raw(bytes) => Ok(bytes),
        _ => Err(Ora::internal("JSON function without clauses")),
    }
}

fn decoded<T: Image>(bytes: &[u8]) -> Result<T> {
    read(bytes, &NoObjects).map_err(|_| Ora::internal("damaged clauses of a JSON function"))
}

impl Cache {
    /// A function by its definition, and the place for its document.
    ///
    /// # Errors
    /// ORA-40597 for a wrong path.
    pub(crate) fn function(&mut self, spec: &Value) -> Result<(&mut Compiled, &mut Document)> {
        let bytes = definition(spec)?;
        let at = match self.functions.iter().position(|(known, _)| known == bytes) {
            Some(at) => at,
            None => {
                let function = Compiled::new(decoded::<Function>(bytes)?)?;
                if self.functions.len() == KEPT_MAX {
                    self.functions.clear();
                }
                self.functions.push((bytes.to_vec(), function));
                self.functions.len() - 1
            }
        };
        Ok((&mut self.functions[at].1, &mut self.document))
    }

    pub(crate) fn making(&mut self, spec: &Value) -> Result<Rc<Making>> {
        let bytes = definition(spec)?;
        if let Some((_, making)) = self.makings.iter().find(|(known, _)| known == bytes) {
            return Ok(making.clone());
        }
        let making = Rc::new(decoded::<Making>(bytes)?);
        if self.makings.len() == KEPT_MAX {
            self.makings.clear();
        }
        self.makings.push((bytes.to_vec(), making.clone()));
        Ok(making)
    }
}
