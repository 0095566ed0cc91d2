//! Data that the functions of SQL/XML keep between calls: parsed expressions and definitions, and the last document, so
//! that several functions over one column parse it once.

use std::rc::Rc;
use types::image::{Image, NoObjects, read};
use types::{Ora, Result, Value};
use xml::{Document, Item, Making, Namespaces, Query, Source};

/// Expressions kept; all are dropped when there are more.
const KEPT_MAX: usize = 256;
/// Longest path that is kept: a tree is many times as large as its text.
const KEPT_LENGTH_MAX: usize = 4000;

/// A query of XMLQUERY or XMLEXISTS with its clauses.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct QuerySpec {
    pub text: String,
    pub namespaces: Vec<(String, String)>,
    pub variables: Vec<String>,
    /// Whether the first value is the context item.
    pub context: bool,
    /// For each value, whether it is XML.
    pub xml: Vec<bool>,
}

/// A query with the clauses that it was made from.
type Known = Rc<(QuerySpec, Query)>;

#[derive(Default)]
pub(crate) struct Cache {
    document: Rc<Document>,
    paths: Vec<(String, String, Rc<Query>)>,
    queries: Vec<(Vec<u8>, Known)>,
    makings: Vec<(Vec<u8>, Rc<Making>)>,
}

fn definition(spec: &Value) -> Result<&[u8]> {
    match spec {
        Value::Raw(bytes) => Ok(bytes),
        _ => Err(Ora::internal("XML function without clauses")),
    }
}

fn decoded<T: Image>(bytes: &[u8]) -> Result<T> {
    read(bytes, &NoObjects).map_err(|_| Ora::internal("damaged clauses of an XML function"))
}

impl Cache {
    /// The parsed document of a text. The same text is not parsed twice in a row.
    pub(crate) fn document(&mut self, text: &str, fragment: bool) -> Result<Rc<Document>> {
        if self.document.is_parsed(text, fragment) {
            return Ok(self.document.clone());
        }
        match Rc::get_mut(&mut self.document) {
            Some(document) => document.parse(text, fragment)?,
            None => {
                let mut document = Document::default();
                document.parse(text, fragment)?;
                self.document = Rc::new(document);
            }
        }
        Ok(self.document.clone())
    }

    /// The root of the document of a text.
    pub(crate) fn root(&mut self, text: &str) -> Result<Item> {
        let document = self.document(text, true)?;
        let root = document.root();
        Ok(Item::Node(Source::new(0, document), root))
    }

    /// A path of EXTRACT and its relatives.
    pub(crate) fn path(&mut self, path: &str, namespaces: &str) -> Result<Rc<Query>> {
        if let Some((.., query)) = self.paths.iter().find(|(p, n, _)| p == path && n == namespaces) {
            return Ok(query.clone());
        }
        let known: Namespaces = xml::parse_namespaces(namespaces)?;
        let query = Rc::new(xml::parse(path, &[], known, true)?);
        if path.len() + namespaces.len() > KEPT_LENGTH_MAX {
            return Ok(query);
        }
        if self.paths.len() == KEPT_MAX {
            self.paths.clear();
        }
        self.paths.push((path.to_owned(), namespaces.to_owned(), query.clone()));
        Ok(query)
    }

    pub(crate) fn query(&mut self, spec: &Value) -> Result<Known> {
        let bytes = definition(spec)?;
        if let Some((_, query)) = self.queries.iter().find(|(known, _)| known == bytes) {
            return Ok(query.clone());
        }
        let spec = decoded::<QuerySpec>(bytes)?;
        let query = xml::parse(&spec.text, &spec.variables, spec.namespaces.clone(), false)?;
        let query = Rc::new((spec, query));
        if self.queries.len() == KEPT_MAX {
            self.queries.clear();
        }
        self.queries.push((bytes.to_vec(), query.clone()));
        Ok(query)
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
