//! Types of schemas: collections, object types, and the bodies of object types.

use super::{PResult, Parser};
use crate::plsql::ast::*;

/// First words of the methods in an object type. Each of them may also be the name of an attribute.
const METHODS: [&str; 10] =
    ["MEMBER", "STATIC", "MAP", "ORDER", "CONSTRUCTOR", "OVERRIDING", "FINAL", "INSTANTIABLE", "NOT", "PRAGMA"];
/// Words after them.
const AFTER: [&str; 11] = [
    "FUNCTION",
    "PROCEDURE",
    "MEMBER",
    "STATIC",
    "MAP",
    "ORDER",
    "CONSTRUCTOR",
    "OVERRIDING",
    "FINAL",
    "INSTANTIABLE",
    "RESTRICT_REFERENCES",
];

/// Whether CREATE TYPE has the word FORCE.
pub fn type_is_forced(source: &str) -> bool {
    let mut p = Parser::new(source);
    if p.unit_name().is_err() {
        return false;
    }
    while !p.at_end() && !["IS", "AS", "UNDER"].iter().any(|word| p.at_word(word)) {
        if p.at_word("FORCE") {
            return true;
        }
        p.skip();
    }
    false
}

impl Parser<'_> {
    pub(super) fn schema_type(&mut self) -> PResult<Unit> {
        let (_, mut path) = self.unit_name()?;
        let mut authid = AuthId::default();
        loop {
            if self.at_word("AUTHID") {
                authid = self.authid()?;
            } else if self.at_word("OID") {
                self.bump();
                if self.take_string().is_none() {
                    return Err(self.unexpected(&["a string literal"]));
                }
            } else if !self.eat_word("FORCE") {
                break;
            }
        }
        let definition = if self.at_word("UNDER") {
            self.object_type(authid)?
        } else {
            self.is_or_as()?;
            if self.eat_word("OBJECT") { self.object_type(authid)? } else { self.type_definition()? }
        };
        if self.at_symbol(";") {
            self.bump();
        }
        let name = path.pop().expect("a path has a last part");
        Ok(Unit::Type { schema: path.pop(), name, definition })
    }

    /// The supertype, the attributes and methods, and the modifiers of an object type.
    fn object_type(&mut self, authid: AuthId) -> PResult<TypeDefinition> {
        let under = if self.eat_word("UNDER") {
            // The bracket after the name begins the attributes.
            let (pos, path) = (self.pos(), self.path()?);
            Some(TypeRef { kind: TypeKind::Named { path, sizes: Vec::new(), unit: None }, pos })
        } else {
            None
        };
        let mut object = ObjectType {
            authid,
            under,
            attributes: Vec::new(),
            methods: Vec::new(),
            is_final: true,
            instantiable: true,
        };
        if object.under.is_none() || self.at_symbol("(") {
            self.expect_symbol("(")?;
            self.comma_list(|p| p.object_element(&mut object))?;
            self.expect_symbol(")")?;
        }
        loop {
            let negated = self.at_word("NOT") && ["FINAL", "INSTANTIABLE"].iter().any(|word| self.word_at(1, word));
            if negated {
                self.bump();
            }
            if self.eat_word("FINAL") {
                object.is_final = !negated;
            } else if self.eat_word("INSTANTIABLE") {
                object.instantiable = !negated;
            } else {
                return Ok(TypeDefinition::Object(Box::new(object)));
            }
        }
    }

    fn object_element(&mut self, object: &mut ObjectType) -> PResult<()> {
        if !METHODS.iter().any(|word| self.at_word(word)) || !AFTER.iter().any(|word| self.word_at(1, word)) {
            let name = self.ident()?;
            let ty = self.type_ref()?;
            object.attributes.push(Attribute { name, ty });
            return Ok(());
        }
        if self.at_word("PRAGMA") {
            // RESTRICT_REFERENCES has no effect.
            self.pragma()?;
            return Ok(());
        }
        let method = self.method_heading()?;
        object.methods.push(method);
        Ok(())
    }

    /// The modifiers, the kind and the heading of a method.
    fn method_heading(&mut self) -> PResult<Method> {
        let (mut overriding, mut is_final, mut instantiable) = (false, false, true);
        loop {
            if self.eat_word("OVERRIDING") {
                overriding = true;
            } else if self.eat_word("FINAL") {
                is_final = true;
            } else if self.eat_word("INSTANTIABLE") {
                instantiable = true;
            } else if self.at_word("NOT") {
                self.bump();
                if self.eat_word("INSTANTIABLE") {
                    instantiable = false;
                } else if self.eat_word("OVERRIDING") {
                    overriding = false;
                } else {
                    self.expect_word_or("FINAL", &["final", "instantiable", "overriding"])?;
                    is_final = false;
                }
            } else {
                break;
            }
        }
        let kind = match self.unquoted_word().as_deref() {
            Some("MEMBER") => MethodKind::Member,
            Some("STATIC") => MethodKind::Static,
            Some("CONSTRUCTOR") => MethodKind::Constructor,
            Some("MAP") => MethodKind::Map,
            Some("ORDER") => MethodKind::Order,
            _ => return Err(self.unexpected(&["constructor", "map", "member", "order", "static"])),
        };
        self.bump();
        if matches!(kind, MethodKind::Map | MethodKind::Order) {
            self.expect_word("MEMBER")?;
        }
        let is_function = !matches!(kind, MethodKind::Member | MethodKind::Static);
        if !self.at_word("FUNCTION") && (is_function || !self.at_word("PROCEDURE")) {
            return Err(self.unexpected(if is_function { &["function"] } else { &["function", "procedure"] }));
        }
        let (_, subprogram) = self.subprogram_heading(false)?;
        if kind == MethodKind::Constructor {
            self.expect_word("AS")?;
            self.expect_word("RESULT")?;
        }
        Ok(Method { kind, overriding, is_final, instantiable, subprogram })
    }

    pub(super) fn type_body(&mut self) -> PResult<Unit> {
        let (_, mut path) = self.unit_name()?;
        let name = path.pop().expect("a path has a last part");
        self.is_or_as()?;
        let mut methods = Vec::new();
        while !self.at_word("END") {
            if self.at_word("PRAGMA") {
                self.pragma()?;
                self.expect_semicolon()?;
                continue;
            }
            let mut method = self.method_heading()?;
            self.deeper(|p| p.subprogram_body(&mut method.subprogram))?;
            methods.push(method);
        }
        self.unit_end(&name)?;
        Ok(Unit::TypeBody(TypeBody { schema: path.pop(), name, methods }))
    }
}
