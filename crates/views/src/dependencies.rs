//! `x$kkdep`, the base of `dba_dependencies`: the objects that views, units and synonyms refer to.
//!
//! The dictionary has no rows of dependencies (decision 27). They are derived from the texts: a name refers to the
//! object that its owner would find, if a statement or unit can use such an object at that place. A local variable or
//! an alias that has the name of an object and is used like one is taken for the object.

use crate::column::{Row, Type, Type::*, n, t};
use crate::source::Source;
use dictionary::{Base, Image, ObjectDef, ObjectKind, UserId};
use sql::lexer::{Token, TokenKind, lex};
use std::collections::BTreeSet;
use types::Result;

pub const DEPENDENCIES: &[(&str, Type)] =
    &[("OBJ#", N), ("R_OWNER", V(128)), ("R_NAME", V(128)), ("R_TYPE", V(23)), ("R_LINK", V(128))];

/// A referenced object: owner, name and kind.
type Named = (String, String, &'static str);

/// The kinds of objects possible at a place of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// After FROM and similar words: a table or a view.
    Relation,
    /// Before `.NEXTVAL`, `%TYPE`, `(` and anywhere else in code: everything except relations.
    Other,
    /// Before `%`: anything that has a type.
    Typed,
}

/// A row for each referenced object of each object.
pub fn dependencies(s: &Source<'_>) -> Result<Vec<Row>> {
    use ObjectKind::{Function, Package, PackageBody, Procedure, Synonym, Trigger, Type, TypeBody, View};
    let image = s.instance.storage().dictionary.picture(s.p);
    let kinds = [View, Synonym, Procedure, Function, Package, PackageBody, Type, TypeBody, Trigger];
    let mut rows = Vec::new();
    for def in &image.objects_of_kinds(&kinds) {
        let mut named: BTreeSet<Named> = BTreeSet::new();
        match def.kind {
            ObjectKind::View => {
                if let Some(view) = image.view(def.object)? {
                    read(&image, def.owner_id, &view.text, &mut named);
                }
            }
            ObjectKind::Synonym => {
                let Some(synonym) = image.synonym(def.object) else { continue };
                let target = image.user_named(&synonym.target_owner);
                let target = target.and_then(|user| of_schema(&image, user.id, &synonym.target_name));
                let kind = target.map_or("NON-EXISTENT", |(_, _, kind)| kind);
                rows.push(row(def, &(synonym.target_owner, synonym.target_name, kind), synonym.link.as_deref()));
            }
            _ => {
                let Some(unit) = image.unit(def.object) else { continue };
                s.p.check_cancel()?;
                // The header of a trigger names its table, and columns in the places of tables.
                let from = match def.kind {
                    Trigger => sql::plsql::parse_trigger_header(&unit.source).map_or(0, |header| header.body as usize),
                    _ => 0,
                };
                read(&image, def.owner_id, &unit.source[from..], &mut named);
                let base = image.trigger_base(def.object).filter(|_| def.kind == Trigger);
                let base = base.and_then(|base| image.object(base));
                named.extend(base.map(|base| (image.user_name(base.owner_id), base.name.clone(), base.kind.name())));
                named.insert(("SYS".into(), "STANDARD".into(), "PACKAGE"));
                let specification = match def.kind {
                    ObjectKind::PackageBody => Some("PACKAGE"),
                    ObjectKind::TypeBody => Some("TYPE"),
                    _ => None,
                };
                named.extend(specification.map(|kind| (image.user_name(def.owner_id), def.name.clone(), kind)));
            }
        }
        named.remove(&(image.user_name(def.owner_id), def.name.clone(), def.kind.name()));
        rows.extend(named.iter().map(|other| row(def, other, None)));
    }
    image.checked()?;
    Ok(rows)
}

fn row(def: &ObjectDef, other: &Named, link: Option<&str>) -> Row {
    vec![n(def.object.0), t(&other.0), t(&other.1), t(other.2), t(link.unwrap_or_default())]
}

/// The objects that a text refers to, as its owner sees them.
fn read(image: &Image, owner: UserId, text: &str, named: &mut BTreeSet<Named>) {
    let lexed = lex(text);
    let tokens = &lexed.tokens;
    // For each open parenthesis, whether the text is in a list of tables.
    let mut lists = vec![false];
    let mut at = 0;
    while at < tokens.len() {
        let in_list = lists.last().is_some_and(|in_list| *in_list);
        match tokens[at].kind {
            TokenKind::LeftParen => lists.push(in_list),
            TokenKind::RightParen if lists.len() > 1 => drop(lists.pop()),
            TokenKind::Semicolon => lists = vec![false],
            TokenKind::Word | TokenKind::QuotedIdent => {
                let word = name_of(&tokens[at], text);
                let turn = match word.as_str() {
                    _ if tokens[at].kind != TokenKind::Word => None,
                    "FROM" | "JOIN" | "UPDATE" | "USING" => Some(true),
                    // INSERT INTO and MERGE INTO only; SELECT INTO names variables.
                    "INTO" => {
                        let verb = at.checked_sub(1).map(|b| name_of(&tokens[b], text)).unwrap_or_default();
                        matches!(verb.as_str(), "INSERT" | "MERGE").then_some(true)
                    }
                    "SELECT" | "WHERE" | "SET" | "ON" | "GROUP" | "ORDER" | "HAVING" | "CONNECT" | "START"
                    | "UNION" | "MINUS" | "INTERSECT" | "VALUES" | "FETCH" | "LOOP" | "BEGIN" | "RETURNING" => {
                        Some(false)
                    }
                    _ => None,
                };
                if let Some(turn) = turn {
                    if let Some(innermost) = lists.last_mut() {
                        *innermost = turn;
                    }
                    at += 1;
                    continue;
                }
                let (names, next) = chain(tokens, at, text);
                let before = at.checked_sub(1).map(|b| &tokens[b]);
                let word_before = before.map(|b| name_of(b, text)).unwrap_or_default();
                let opens = before.is_some_and(|b| matches!(b.kind, TokenKind::Comma | TokenKind::LeftParen));
                let opens = opens || matches!(word_before.as_str(), "FROM" | "JOIN" | "INTO" | "UPDATE" | "USING");
                let place = match tokens[next].kind {
                    TokenKind::Percent => Place::Typed,
                    _ if word_before == "DELETE" || (opens && in_list) => Place::Relation,
                    _ => Place::Other,
                };
                resolve(image, owner, &names, place, named);
                at = next;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// A name in the spelling of the dictionary; empty for a token that is no name.
fn name_of(token: &Token, text: &str) -> String {
    let source = text.get(token.start as usize..token.end as usize).unwrap_or_default();
    match token.kind {
        TokenKind::Word => source.to_uppercase(),
        TokenKind::QuotedIdent => source.trim_matches('"').to_owned(),
        _ => String::new(),
    }
}

/// The names joined by points from a place on, and the place after them.
fn chain(tokens: &[Token], mut at: usize, text: &str) -> (Vec<String>, usize) {
    let mut names = vec![name_of(&tokens[at], text)];
    while tokens.get(at + 1).is_some_and(|point| point.kind == TokenKind::Dot)
        && tokens.get(at + 2).is_some_and(|t| matches!(t.kind, TokenKind::Word | TokenKind::QuotedIdent))
    {
        names.push(name_of(&tokens[at + 2], text));
        at += 2;
    }
    (names, at + 1)
}

/// Adds the object that a chain of names refers to, and the synonyms on the way.
fn resolve(image: &Image, owner: UserId, names: &[String], place: Place, named: &mut BTreeSet<Named>) {
    let wanted = |kind: &str| match place {
        Place::Typed => true,
        Place::Relation => matches!(kind, "TABLE" | "VIEW" | "FUNCTION" | "PACKAGE"),
        Place::Other if names.len() > 1 => kind != "TABLE" && kind != "VIEW",
        Place::Other => !matches!(kind, "TABLE" | "VIEW" | "SEQUENCE"),
    };
    let own = of_schema(image, owner, &names[0]);
    let common = || of_schema(image, UserId::PUBLIC, &names[0]);
    let of_other = || {
        let user = image.user_named(&names[0])?;
        of_schema(image, user.id, names.get(1)?)
    };
    let of_sys = || of_schema(image, UserId::SYS, &names[0]).filter(|(_, name, kind)| is_public(name, kind));
    let Some(first) = own.or_else(common).or_else(of_other).or_else(of_sys) else { return };
    // Synonyms of synonyms, up to the length that the dictionary follows.
    let mut followed = vec![first];
    while followed.len() < 16
        && let Some(next) = followed.last().and_then(|last| target_of(image, last))
    {
        followed.push(next);
    }
    if followed.last().is_some_and(|(_, _, kind)| wanted(kind)) {
        named.extend(followed);
    }
}

fn target_of(image: &Image, (owner, name, kind): &Named) -> Option<Named> {
    if *kind != "SYNONYM" {
        return None;
    }
    let def = image.object_named(image.user_named(owner)?.id, ObjectKind::Synonym.namespace(), name)?;
    let synonym = image.synonym(def.object)?;
    of_schema(image, image.user_named(&synonym.target_owner)?.id, &synonym.target_name)
}

/// The object with this name in a schema, in the name space of tables and units.
fn of_schema(image: &Image, owner: UserId, name: &str) -> Option<Named> {
    let def = image.object_named(owner, ObjectKind::Table.namespace(), name)?;
    Some((image.user_name(owner), def.name.clone(), def.kind.name()))
}

/// True for objects of SYS that every user finds without a schema.
fn is_public(name: &str, kind: &str) -> bool {
    match Base::named(name) {
        Some(base) => base.is_public(),
        None => matches!(kind, "VIEW" | "PACKAGE"),
    }
}
