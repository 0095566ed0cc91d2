//! Holds the circles of files inside each crate to the list in `docs/ARCHITECTURE.md`.
//!
//! A file imports another file of its crate when its code names the other's items: by `use`, or by a path in code or in
//! a macro. A name that a face (`lib.rs`, `mod.rs`) hands on leads to the file that defines it. `mod x;`, `pub use` and
//! tests are no imports. Methods are not followed: a call of a method does not name the file that has it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Item, UseTree, Visibility};

/// The workspace's root folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

type ModulePath = Vec<String>;

/// A path that `use` brings in: the name it has here, and where it leads. `None` for a name means all names.
#[derive(Clone, Debug)]
struct Import {
    name: Option<String>,
    path: Vec<String>,
    hands_on: bool,
}

/// A module: a file, or an inline module of a file.
#[derive(Debug, Default)]
struct Module {
    file: usize,
    children: HashSet<String>,
    items: HashSet<String>,
    imports: Vec<Import>,
    /// Paths in the code, without those of `use`.
    paths: Vec<Vec<String>>,
}

#[derive(Debug, Default)]
struct Source {
    files: Vec<String>,
    modules: HashMap<ModulePath, Module>,
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        let syn::Meta::List(list) = &a.meta else { return a.path().is_ident("test") };
        let text = list.tokens.to_string();
        a.path().is_ident("cfg") && (text == "test" || text.starts_with("all (test") || text.starts_with("all(test"))
    })
}

/// The attributes of an item.
fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::ExternCrate(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::ForeignMod(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::TraitAlias(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Union(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// The name of an item that other files may import.
fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(i) => i.ident.to_string(),
        Item::Enum(i) => i.ident.to_string(),
        Item::Fn(i) => i.sig.ident.to_string(),
        Item::Static(i) => i.ident.to_string(),
        Item::Struct(i) => i.ident.to_string(),
        Item::Trait(i) => i.ident.to_string(),
        Item::Type(i) => i.ident.to_string(),
        Item::Union(i) => i.ident.to_string(),
        Item::Macro(i) => i.ident.as_ref()?.to_string(),
        _ => return None,
    })
}

fn flatten(tree: &UseTree, before: &mut Vec<String>, hands_on: bool, to: &mut Vec<Import>) {
    let mut add = |name: Option<String>, path: Vec<String>| to.push(Import { name, path, hands_on });
    match tree {
        UseTree::Path(p) => {
            before.push(p.ident.to_string());
            flatten(&p.tree, before, hands_on, to);
            before.pop();
        }
        UseTree::Name(n) if n.ident == "self" => add(before.last().cloned(), before.clone()),
        UseTree::Name(n) => {
            let name = n.ident.to_string();
            add(Some(name.clone()), [&before[..], &[name]].concat());
        }
        UseTree::Rename(r) => {
            let last = (r.ident != "self").then(|| r.ident.to_string());
            add(Some(r.rename.to_string()), before.iter().cloned().chain(last).collect());
        }
        UseTree::Glob(_) => add(None, before.clone()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, hands_on, to)),
    }
}

/// `use` inside a function, from behind the word to the semicolon.
struct UseInCode(UseTree);

impl Parse for UseInCode {
    fn parse(input: ParseStream<'_>) -> syn::Result<UseInCode> {
        input.parse().map(UseInCode)
    }
}

/// The paths in tokens: names joined by `::`. A name behind a dot is a field or a method.
fn paths_in(tokens: TokenStream, module: &mut Module) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => paths_in(group.stream(), module),
            TokenTree::Ident(word) if word == "use" => {
                let end = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ';');
                let len = tokens[at..].iter().position(end).unwrap_or(0);
                let inside: TokenStream = tokens[at + 1..at + len.max(1)].iter().cloned().collect();
                if let Ok(UseInCode(tree)) = syn::parse2(inside) {
                    flatten(&tree, &mut Vec::new(), false, &mut module.imports);
                }
                at += len;
            }
            TokenTree::Ident(first) => {
                let after_dot = at > 0 && matches!(&tokens[at - 1], TokenTree::Punct(p) if p.as_char() == '.');
                let after_range = at > 1 && matches!(&tokens[at - 2], TokenTree::Punct(p) if p.as_char() == '.');
                let mut path = vec![first.to_string()];
                while is_colon(at + 1) && is_colon(at + 2) {
                    match tokens.get(at + 3) {
                        Some(TokenTree::Ident(next)) => path.push(next.to_string()),
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => break,
                        _ => break,
                    }
                    at += 3;
                }
                // Alone, a word of small letters is a variable or a macro, unless it is called; and `crate` is a
                // visibility.
                let is_called = || matches!(tokens.get(at + 1), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis);
                let is_word = path.len() > 1 || path[0].starts_with(char::is_uppercase) || is_called();
                if (!after_dot || after_range) && is_word && path[0] != "pub" {
                    module.paths.push(path);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

impl Source {
    /// Reads the crate whose root file this is.
    fn of(root: &Path) -> Source {
        let mut source = Source::default();
        let folder = root.parent().expect("a folder").to_owned();
        source.read_file(root, &folder, &folder, Vec::new());
        source
    }

    fn read_file(&mut self, file: &Path, folder: &Path, top: &Path, path: ModulePath) {
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self.files.push(file.strip_prefix(top).expect("inside").to_string_lossy().into_owned());
        let number = self.files.len() - 1;
        self.read_items(parsed.items, number, folder, top, path);
    }

    fn read_items(&mut self, items: Vec<Item>, file: usize, folder: &Path, top: &Path, path: ModulePath) {
        let mut module = Module { file, ..Module::default() };
        let mut inline = Vec::new();
        for item in items.into_iter().filter(|item| !is_test(attributes(item))) {
            module.items.extend(name_of(&item));
            match item {
                Item::Use(u) => {
                    let hands_on = !matches!(u.vis, Visibility::Inherited);
                    flatten(&u.tree, &mut Vec::new(), hands_on, &mut module.imports);
                }
                Item::Mod(m) => {
                    let name = m.ident.to_string();
                    module.children.insert(name.clone());
                    let inner: ModulePath = path.iter().cloned().chain([name.clone()]).collect();
                    match m.content {
                        Some((_, items)) => inline.push((items, folder.join(&name), inner)),
                        None => {
                            let (flat, nested) = (folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs"));
                            let found = if flat.is_file() { flat } else { nested };
                            self.read_file(&found, &folder.join(&name), top, inner);
                        }
                    }
                }
                // The name of a macro's rules is no path, and what they put in place is found where they are used.
                other => paths_in(quote::ToTokens::into_token_stream(other), &mut module),
            }
        }
        for (items, folder, inner) in inline {
            self.read_items(items, file, &folder, top, inner);
        }
        self.modules.insert(path, module);
    }

    /// The module that a path begins in, and the rest of the path; `None` for a path that leaves the crate.
    fn start<'p>(&self, from: &[String], path: &'p [String]) -> Option<(ModulePath, &'p [String])> {
        let mut at: ModulePath = match path.first()?.as_str() {
            "crate" => Vec::new(),
            "self" => from.to_vec(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            child if self.modules[from].children.contains(child) => return Some((from.to_vec(), path)),
            _ => return None,
        };
        let mut rest = &path[1..];
        while rest.first().is_some_and(|word| word == "super") {
            at.pop()?;
            rest = &rest[1..];
        }
        Some((at, rest))
    }

    /// The files that a path leads to, from a module.
    fn lead(&self, at: &[String], rest: &[String], depth: usize, to: &mut BTreeSet<usize>) {
        let Some(module) = self.modules.get(at).filter(|_| depth < 12) else { return };
        let Some(name) = rest.first() else {
            to.insert(module.file);
            return;
        };
        if module.children.contains(name) {
            let inner: ModulePath = at.iter().cloned().chain([name.clone()]).collect();
            return self.lead(&inner, &rest[1..], depth + 1, to);
        }
        if module.items.contains(name) {
            to.insert(module.file);
            return;
        }
        for import in &module.imports {
            let path = match &import.name {
                Some(known) if known == name => import.path.clone(),
                Some(_) => continue,
                None => [&import.path[..], std::slice::from_ref(name)].concat(),
            };
            if let Some((start, rest)) = self.start(at, &path)
                && (import.name.is_some() || start != at)
            {
                self.lead(&start, rest, depth + 1, to);
            }
        }
    }

    /// By file, the files that it imports, with the imported names.
    fn graph(&self) -> Vec<BTreeMap<usize, BTreeSet<String>>> {
        let mut graph = vec![BTreeMap::<usize, BTreeSet<String>>::new(); self.files.len()];
        for (at, module) in &self.modules {
            let imports = module.imports.iter().filter(|import| !import.hands_on && import.name.is_some());
            let paths: HashSet<&Vec<String>> = imports.map(|import| &import.path).chain(&module.paths).collect();
            for path in paths {
                let mut to = BTreeSet::new();
                match self.start(at, path) {
                    Some((start, rest)) => self.lead(&start, rest, 0, &mut to),
                    // A name that another file defines: handed on here, or brought in with all others.
                    None if !module.items.contains(&path[0]) => self.lead(at, &path[..1], 0, &mut to),
                    None => {}
                }
                for file in to.into_iter().filter(|file| *file != module.file) {
                    graph[module.file].entry(file).or_default().insert(path.join("::"));
                }
            }
        }
        graph
    }

    /// The circles, each with its files in order.
    fn circles(&self) -> Vec<Vec<String>> {
        let graph = self.graph();
        let reach = |from: usize| {
            let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
            while let Some(at) = left.pop() {
                left.extend(graph[at].keys().filter(|to| seen.insert(**to)));
            }
            seen
        };
        let reached: Vec<BTreeSet<usize>> = (0..graph.len()).map(reach).collect();
        let mut circles = BTreeSet::new();
        for (from, to) in reached.iter().enumerate().filter(|(from, to)| to.contains(from)) {
            let files = to.iter().filter(|at| reached[**at].contains(&from));
            let files: BTreeSet<String> = files.map(|at| self.files[*at].clone()).collect();
            circles.insert(files.into_iter().collect::<Vec<_>>());
        }
        circles.into_iter().filter(|circle| circle.len() > 1).collect()
    }

    /// The imports between the files of a circle, a line each.
    fn imports_within(&self, circle: &[String]) -> String {
        let mut lines = Vec::new();
        for (from, to) in self.graph().into_iter().enumerate() {
            for (to, names) in to {
                let (from, to) = (&self.files[from], &self.files[to]);
                if circle.contains(from) && circle.contains(to) {
                    lines.push(format!("  {from} -> {to}: {}", names.into_iter().collect::<Vec<_>>().join(", ")));
                }
            }
        }
        lines.join("\n")
    }
}

/// The cells of a table of the document, from the line of its heading on.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let lines = page.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
    let lines = lines.take_while(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// The names in backquotes.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn circles_of_files_are_those_that_the_architecture_lists() {
    let page = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("the page");
    let listed: BTreeSet<(String, Vec<String>)> = table(&page, "| crate | circle |")
        .iter()
        .map(|row| {
            assert!(!row[2].is_empty(), "{row:?}: a circle has a reason");
            (row[0].trim_matches('`').to_owned(), quoted(&row[1]))
        })
        .collect();
    for (name, circle) in &listed {
        assert!(circle.len() <= 3, "{name}: {circle:?}: a circle of more than three files is not one thought");
    }
    let (mut faults, mut found) = (Vec::new(), BTreeSet::new());
    let mut crates: Vec<_> = std::fs::read_dir(root().join("crates")).expect("crates").flatten().collect();
    crates.sort_by_key(std::fs::DirEntry::file_name);
    for entry in crates {
        let (name, source) = (entry.file_name().to_string_lossy().into_owned(), entry.path().join("src"));
        let roots = ["lib.rs", "main.rs"].map(|file| source.join(file)).into_iter().filter(|file| file.is_file());
        let mut circles: BTreeMap<Vec<String>, String> = BTreeMap::new();
        for source in roots.map(|root| Source::of(&root)) {
            circles.extend(source.circles().into_iter().map(|circle| {
                let imports = source.imports_within(&circle);
                (circle, imports)
            }));
        }
        let others = circles.iter().filter(|(circle, _)| !listed.contains(&(name.clone(), circle.to_vec())));
        faults.extend(
            others.map(|(circle, imports)| format!("{name}: a circle that is not listed: {circle:?}\n{imports}")),
        );
        found.extend(circles.into_keys().map(|circle| (name.clone(), circle)));
    }
    faults.extend(listed.difference(&found).map(|(name, circle)| format!("{name}: no circle any more: {circle:?}")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Writes the files of a crate and gives its circles.
fn circles_of(name: &str, files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = std::env::temp_dir().join(format!("lw-circles-{}-{name}", std::process::id()));
    for (file, text) in files {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder is made");
        std::fs::write(path, text).expect("a file is written");
    }
    let circles = Source::of(&folder.join("lib.rs")).circles();
    std::fs::remove_dir_all(folder).expect("the folder goes");
    circles
}

#[test]
fn circles_are_found_through_faces_globs_macros_and_paths_in_code() {
    let face = ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;");
    let a = ("a.rs", "use crate::B; pub struct A(B);");
    let want = [["a.rs".to_string(), "b.rs".to_string()]];
    for (name, b) in [
        ("import", "use crate::A; pub struct B(A);"),
        ("path", "pub fn f() { crate::a::A::new() } pub struct B;"),
        ("super", "pub struct B; impl B { fn g(a: super::A) {} }"),
        ("glob", "use crate::*; pub struct B(A);"),
        ("macro", "pub struct B; fn f() { assert!(matches!(crate::A, _)); }"),
        ("inner", "pub struct B; fn f() { use crate::{A as C, B}; }"),
    ] {
        assert_eq!(circles_of(name, &[face, a, ("b.rs", b)]), want, "{name}");
    }
}

#[test]
fn faces_tests_fields_and_other_crates_are_no_imports() {
    let face = ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;");
    let a = ("a.rs", "use crate::B; pub struct A(B);");
    for (name, b) in [
        ("nothing", "pub struct B;"),
        ("tests", "pub struct B; #[cfg(test)] mod tests { use crate::A; fn f() { crate::a::A; } }"),
        ("field", "pub struct B { a: u8 } impl B { fn f(&self) { self.a.A(); } }"),
        ("other", "use other::A; pub struct B(A);"),
    ] {
        assert_eq!(circles_of(name, &[face, a, ("b.rs", b)]), Vec::<Vec<String>>::new(), "{name}");
    }
    // A parent that defines what its child uses, and uses its child, makes a circle with it.
    let parent =
        [("lib.rs", "mod c; pub struct P; fn f() { c::g() }"), ("c.rs", "use super::P; pub fn g() -> P { P }")];
    assert_eq!(circles_of("parent", &parent), [["c.rs", "lib.rs"]]);
}
