//! Tests the rule "what is parsed is planned or refused" in the crates above `sql`.
//!
//! The source of those crates is parsed with `syn`. Faults are:
//!
//! - a pattern of a syntax node that omits fields by `..`: a clause that is later added to the node would be ignored
//!   silently;
//! - a wildcard arm of a match over the kinds of a syntax node, unless the arm refuses (`Err`, `refuse…`,
//!   `unsupported…`): a kind that is later added would be accepted silently;
//! - a syntax node whose fields none of those crates destructures in full, so that a new field would go unnoticed.
//!
//! A line with a comment `// not a clause: …` is exempt; the comment states why nothing is lost. A test for a kind
//! alone (`Kind { .. }` in `matches!`, `if let` and `let … else`) reads no clause and is not a fault. A field bound to
//! `_` is read elsewhere or has no meaning: the pattern documents that decision.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// The folders whose source plans or compiles syntax.
const GUARDED: [&str; 5] = ["plan/src", "plsql/src", "ddl/src", "admin/src", "session/src"];

/// Names and positions, which have no clauses.
const NAMES: [(&str, &str); 3] = [
    ("Ident", "a name and its place"),
    ("Span", "a place"),
    ("Hint", "what is not known of a hint is dropped, as Oracle does"),
];

/// Nodes that are used as a whole.
const WHOLE: [(&str, &str); 2] =
    [("CallStatement", "the words of the statement become a block"), ("CreateHeader", "the parser's own")];

const MARKER: &str = "// not a clause: ";

/// The syntax nodes: field names of structs, and of variants by enum and variant name.
#[derive(Default)]
struct Nodes {
    structs: BTreeMap<String, Vec<BTreeSet<String>>>,
    variants: BTreeMap<(String, String), Vec<BTreeSet<String>>>,
    enums: BTreeSet<String>,
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(folder: &Path, to: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .flatten()
        .map(|e| e.path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, to);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            to.push(path);
        }
    }
}

fn fields(fields: &syn::Fields) -> Option<BTreeSet<String>> {
    match fields {
        syn::Fields::Named(named) => {
            Some(named.named.iter().map(|f| f.ident.as_ref().expect("a named field").to_string()).collect())
        }
        _ => None,
    }
}

impl Nodes {
    fn read(files: &[PathBuf]) -> Nodes {
        let mut nodes = Nodes::default();
        for path in files {
            let text = std::fs::read_to_string(path).expect("a source file");
            nodes.add(&syn::parse_file(&text).expect("Rust"));
        }
        nodes
    }

    fn add(&mut self, file: &syn::File) {
        for item in &file.items {
            match item {
                syn::Item::Struct(item) if matches!(item.vis, syn::Visibility::Public(_)) => {
                    if let Some(fields) = fields(&item.fields) {
                        self.structs.entry(item.ident.to_string()).or_default().push(fields);
                    }
                }
                syn::Item::Enum(item) => {
                    self.enums.insert(item.ident.to_string());
                    for variant in &item.variants {
                        if let Some(fields) = fields(&variant.fields) {
                            let key = (item.ident.to_string(), variant.ident.to_string());
                            self.variants.entry(key).or_default().push(fields);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The nodes that a struct pattern may refer to: those with its name that have all fields it names.
    fn of_pattern(&self, path: &[String], named: &BTreeSet<String>) -> Vec<(String, &BTreeSet<String>)> {
        let Some(last) = path.last() else { return Vec::new() };
        let fits = |fields: &&BTreeSet<String>| named.is_subset(fields);
        let mut found = Vec::new();
        if let Some(owner) = path.len().checked_sub(2).map(|n| &path[n]).filter(|o| self.enums.contains(*o)) {
            let all = self.variants.get(&(owner.clone(), last.clone()));
            found.extend(all.into_iter().flatten().filter(fits).map(|f| (format!("{owner}::{last}"), f)));
        } else {
            found.extend(self.structs.get(last).into_iter().flatten().filter(fits).map(|f| (last.clone(), f)));
        }
        found
    }
}

/// The uses of syntax nodes in a file.
struct Reader<'a> {
    nodes: &'a Nodes,
    lines: Rc<Vec<&'a str>>,
    imports: Imports,
    faults: Vec<(usize, String)>,
    /// Nodes destructured in full.
    whole: BTreeSet<String>,
    /// Inside a test for a kind.
    is_test: bool,
    /// In the pattern of a refusing arm.
    is_refusal: bool,
}

/// The names that a file imports from the syntax tree.
#[derive(Clone, Default)]
struct Imports {
    /// The tree's names by the file's names.
    names: BTreeMap<String, String>,
    /// Whether all names are imported.
    all: bool,
}

impl Imports {
    fn add(&mut self, tree: &syn::UseTree, is_of_sql: bool) {
        match tree {
            syn::UseTree::Path(path) => self.add(&path.tree, is_of_sql || path.ident == "sql"),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.add(tree, is_of_sql)),
            syn::UseTree::Name(name) if is_of_sql => {
                self.names.insert(name.ident.to_string(), name.ident.to_string());
            }
            syn::UseTree::Rename(name) if is_of_sql || self.all || self.names.contains_key(&name.ident.to_string()) => {
                self.names.insert(name.rename.to_string(), name.ident.to_string());
            }
            syn::UseTree::Glob(_) => self.all |= is_of_sql,
            syn::UseTree::Name(_) | syn::UseTree::Rename(_) => {}
        }
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add(&item.tree, false);
    }
}

impl Reader<'_> {
    /// The path with the tree's own names; empty if it does not refer to the tree.
    fn segments(&self, path: &syn::Path) -> Vec<String> {
        let mut names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        let first = &names[0];
        if first == "ast" || first == "sql" {
            return names;
        }
        match self.imports.names.get(first) {
            Some(own) => names[0].clone_from(own),
            None if self.imports.all => {}
            None => names.clear(),
        }
        names
    }

    /// Whether one of the lines, or the line before them, has the exemption comment.
    fn is_marked(&self, from: usize, to: usize) -> bool {
        let before = from.checked_sub(2).map(|n| self.lines[n]).filter(|l| l.trim_start().starts_with("//"));
        before.is_some_and(|l| l.contains(MARKER)) || (from..=to).any(|n| self.lines[n - 1].contains(MARKER))
    }

    fn fault(&mut self, span: proc_macro2::Span, what: String) {
        let (from, to) = (span.start().line, span.end().line);
        if !self.is_marked(from, to) {
            self.faults.push((from, what));
        }
    }

    fn struct_pattern(&mut self, pat: &syn::PatStruct) {
        let path = self.segments(&pat.path);
        let named: BTreeSet<String> = pat
            .fields
            .iter()
            .filter_map(|f| match &f.member {
                syn::Member::Named(name) => Some(name.to_string()),
                syn::Member::Unnamed(_) => None,
            })
            .collect();
        let found: Vec<(String, BTreeSet<String>)> =
            self.nodes.of_pattern(&path, &named).into_iter().map(|(n, f)| (n, f.clone())).collect();
        let Some((name, _)) = found.first() else { return };
        if pat.rest.is_some() {
            if self.is_refusal && named.is_empty() {
                self.whole.extend(found.iter().map(|(n, _)| n.clone()));
            } else if !(named.is_empty() && self.is_test) {
                let left_out: BTreeSet<&String> = found.iter().flat_map(|(_, f)| f.difference(&named)).collect();
                self.fault(pat.span(), format!("`{name} {{ .. }}` leaves out {left_out:?}"));
            }
            return;
        }
        self.whole.extend(found.iter().filter(|(_, f)| f.len() == named.len()).map(|(n, _)| n.clone()));
    }

    /// The kind of a syntax node that the pattern names, if any.
    fn names_a_kind(&self, pat: &syn::Pat) -> Option<String> {
        let path = match pat {
            syn::Pat::Path(p) => &p.path,
            syn::Pat::TupleStruct(p) => &p.path,
            syn::Pat::Struct(p) => &p.path,
            syn::Pat::Or(or) => return or.cases.iter().find_map(|p| self.names_a_kind(p)),
            syn::Pat::Reference(r) => return self.names_a_kind(&r.pat),
            syn::Pat::Paren(p) => return self.names_a_kind(&p.pat),
            _ => return None,
        };
        let path = self.segments(path);
        let owner = &path[path.len().checked_sub(2)?];
        self.nodes.enums.contains(owner).then(|| owner.clone())
    }
}

/// Whether the arm refuses its input.
fn refuses(body: &syn::Expr) -> bool {
    struct Finds(bool);
    impl<'ast> Visit<'ast> for Finds {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            let last = path.segments.last().map_or_else(String::new, |s| s.ident.to_string());
            self.0 |= ["Err", "unsupported", "internal", "panic", "unreachable"].contains(&last.as_str());
            self.0 |= last.starts_with("refuse") || last == "refusal";
            visit::visit_path(self, path);
        }
    }
    let mut finds = Finds(false);
    finds.visit_expr(body);
    finds.0
}

/// Whether a pattern matches everything.
fn is_wildcard(pat: &syn::Pat) -> bool {
    match pat {
        syn::Pat::Wild(_) => true,
        syn::Pat::Ident(p) => p.subpat.is_none() && p.ident.to_string().starts_with(char::is_lowercase),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let of_tests = |a: &syn::Attribute| {
            a.path().is_ident("cfg") && a.meta.require_list().is_ok_and(|l| l.tokens.to_string() == "test")
        };
        if !item.attrs.iter().any(of_tests) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_pat_struct(&mut self, pat: &'ast syn::PatStruct) {
        self.struct_pattern(pat);
        visit::visit_pat_struct(self, pat);
    }

    fn visit_expr_let(&mut self, item: &'ast syn::ExprLet) {
        let before = std::mem::replace(&mut self.is_test, true);
        self.visit_pat(&item.pat);
        self.is_test = before;
        self.visit_expr(&item.expr);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let is_else = local.init.as_ref().is_some_and(|init| init.diverge.is_some());
        let before = std::mem::replace(&mut self.is_test, is_else);
        self.visit_pat(&local.pat);
        self.is_test = before;
        if let Some(init) = &local.init {
            self.visit_local_init(init);
        }
    }

    fn visit_expr_match(&mut self, item: &'ast syn::ExprMatch) {
        let kind = item.arms.iter().find_map(|arm| self.names_a_kind(&arm.pat));
        if let Some(kind) = kind {
            for arm in item.arms.iter().filter(|arm| arm.guard.is_none() && is_wildcard(&arm.pat)) {
                if !refuses(&arm.body) {
                    let span = arm.pat.span();
                    self.fault(span, format!("a wildcard arm takes all other kinds of `{kind}`"));
                }
            }
        }
        self.visit_expr(&item.expr);
        for arm in &item.arms {
            let before = std::mem::replace(&mut self.is_refusal, refuses(&arm.body));
            self.visit_pat(&arm.pat);
            self.is_refusal = before;
            if let Some((_, guard)) = &arm.guard {
                self.visit_expr(guard);
            }
            self.visit_expr(&arm.body);
        }
    }

    /// `matches!` has an expression and a pattern; other macros are searched for arguments that are expressions.
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        use syn::parse::Parser;
        if mac.path.is_ident("matches") {
            let parser = |input: syn::parse::ParseStream<'_>| {
                let expr: syn::Expr = input.parse()?;
                input.parse::<syn::Token![,]>()?;
                let pat = syn::Pat::parse_multi_with_leading_vert(input)?;
                let guard =
                    input.parse::<Option<syn::Token![if]>>()?.map(|_| input.parse::<syn::Expr>()).transpose()?;
                input.parse::<Option<syn::Token![,]>>()?;
                Ok((expr, pat, guard))
            };
            let (expr, pat, guard) = parser.parse2(mac.tokens.clone()).expect("the arguments of matches!");
            let mut inner = self.inner();
            inner.visit_expr(&expr);
            inner.is_test = true;
            inner.visit_pat(&pat);
            inner.is_test = false;
            if let Some(guard) = &guard {
                inner.visit_expr(guard);
            }
            self.take(inner);
        } else {
            let parser = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
            if let Ok(args) = parser.parse2(mac.tokens.clone()) {
                let mut inner = self.inner();
                args.iter().for_each(|arg| inner.visit_expr(arg));
                self.take(inner);
            }
        }
    }
}

impl<'a> Reader<'a> {
    fn new(nodes: &'a Nodes, text: &'a str, imports: Imports) -> Reader<'a> {
        Reader {
            nodes,
            lines: Rc::new(text.lines().collect()),
            imports,
            faults: Vec::new(),
            whole: BTreeSet::new(),
            is_test: false,
            is_refusal: false,
        }
    }

    /// A reader for the content of a macro, whose tree has a shorter lifetime than the file's.
    fn inner(&self) -> Reader<'a> {
        Reader {
            nodes: self.nodes,
            lines: Rc::clone(&self.lines),
            imports: self.imports.clone(),
            faults: Vec::new(),
            whole: BTreeSet::new(),
            is_test: false,
            is_refusal: false,
        }
    }

    fn take(&mut self, inner: Reader<'_>) {
        self.faults.extend(inner.faults);
        self.whole.extend(inner.whole);
    }
}

/// The faults of a text by line, and the nodes that it destructures in full.
fn read(nodes: &Nodes, text: &str) -> (Vec<(usize, String)>, BTreeSet<String>) {
    let file = syn::parse_file(text).expect("Rust");
    let mut imports = Imports::default();
    imports.visit_file(&file);
    let mut reader = Reader::new(nodes, text, imports);
    reader.visit_file(&file);
    (reader.faults, reader.whole)
}

fn nodes() -> Nodes {
    let mut paths = Vec::new();
    files(&crates().join("sql/src/ast"), &mut paths);
    paths.push(crates().join("sql/src/plsql/ast.rs"));
    Nodes::read(&paths)
}

#[test]
fn what_is_parsed_is_planned_or_refused() {
    let nodes = nodes();
    assert!(nodes.structs.len() > 50 && nodes.variants.len() > 50, "the tree was not found");
    let (mut faults, mut whole, mut paths) = (Vec::new(), BTreeSet::new(), Vec::new());
    GUARDED.iter().for_each(|folder| files(&crates().join(folder), &mut paths));
    for path in &paths {
        let text = std::fs::read_to_string(path).expect("a source file");
        let (found, all) = read(&nodes, &text);
        let name = path.strip_prefix(crates()).expect("a crate's file").display().to_string();
        faults.extend(found.into_iter().map(|(line, what)| format!("{name}:{line}: {what}")));
        whole.extend(all);
    }
    whole.extend(NAMES.iter().chain(&WHOLE).map(|(name, _)| (*name).to_owned()));
    let names = nodes.structs.keys().cloned().chain(nodes.variants.keys().map(|(e, v)| format!("{e}::{v}")));
    faults.extend(names.filter(|n| !whole.contains(n)).map(|n| format!("`{n}` is taken apart in full nowhere")));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// The faults of a text, with `ExprKind` and `Select` as syntax nodes.
fn faults_of(text: &str) -> Vec<String> {
    let mut nodes = Nodes::default();
    let tree =
        "pub enum ExprKind { Cast { expr: E, format: F }, Star, Bind(B) } pub struct Select { from: T, having: H }";
    nodes.add(&syn::parse_file(tree).expect("Rust"));
    let text = format!("use sql::ast::{{self, ExprKind}};\n{text}");
    read(&nodes, &text).0.into_iter().map(|(_, what)| what).collect()
}

#[test]
fn omitted_fields_are_a_fault() {
    let cast = "`ExprKind::Cast { .. }` leaves out {\"format\"}";
    assert_eq!(
        faults_of("fn f() { match e { ExprKind::Cast { expr, .. } => g(expr), ExprKind::Star => h() } }"),
        [cast]
    );
    assert_eq!(faults_of("fn f() { if let ExprKind::Cast { expr, .. } = e {} }"), [cast]);
    assert_eq!(faults_of("fn f() -> bool { matches!(e, ExprKind::Cast { expr: None, .. }) }"), [cast]);
    assert_eq!(faults_of("fn f() { let ast::Select { from, .. } = s; }"), ["`Select { .. }` leaves out {\"having\"}"]);
    let others = "a wildcard arm takes all other kinds of `ExprKind`";
    assert_eq!(faults_of("fn f() { match e { ExprKind::Star => g(), _ => h() } }"), [others]);
    assert_eq!(faults_of("fn f() { vec![match e { ExprKind::Star => g(), other => h(other) }]; }"), [others]);
}

#[test]
fn refused_or_marked_kinds_are_not_a_fault() {
    let none: [&str; 0] = [];
    assert_eq!(faults_of("fn f() { match e { ExprKind::Star => g(), _ => Err(refused()) } }"), none);
    assert_eq!(faults_of("fn f() { match e { ExprKind::Cast { .. } => Err(x), ExprKind::Star => Ok(y) } }"), none);
    assert_eq!(
        faults_of("fn f() { match e { ExprKind::Cast { expr, format: _ } => g(), _ => h(), // not a clause: so\n } }"),
        none
    );
    assert_eq!(faults_of("fn f() -> bool { matches!(e, ExprKind::Cast { .. }) }"), none);
    assert_eq!(faults_of("fn f() { let Select { from, .. } = s; match k { Kind::Star => g(), _ => h() } }"), none);
}
