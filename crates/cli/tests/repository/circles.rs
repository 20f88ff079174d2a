//! No circles of files: what a file uses can be read without coming back to it.
//!
//! A file uses another if it names something that is declared there, in a `use` or by its path; a name that is only
//! re-exported counts for the file that declares it. A file in a module's folder may name what the module itself
//! declares: the two are one unit, and Rust's privacy treats them so. Tests may use anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};

use super::{root, visit as visit_files};

/// A path of names below the crate's root: `["search", "ranking"]` for `src/search/ranking.rs`.
type Name = Vec<String>;

#[derive(Default)]
struct File {
    /// Everything that it names, from the crate's root on where that is known.
    named: Vec<Name>,
    /// What it only passes on, by the name that it has here.
    passed_on: BTreeMap<String, Name>,
}

struct Reader<'a> {
    /// The module that is read; a module within the file adds its name.
    own: Name,
    modules: &'a BTreeSet<Name>,
    file: File,
}

impl Reader<'_> {
    /// From the crate's root on; `None` for names of other crates.
    fn resolve(&self, path: &[String]) -> Option<Name> {
        let ups = path.iter().take_while(|part| *part == "super").count();
        let (mut start, rest) = match path.first()?.as_str() {
            "crate" => (Name::new(), &path[1..]),
            "self" => (self.own.clone(), &path[1..]),
            "super" => (self.own[..self.own.len().checked_sub(ups)?].to_vec(), &path[ups..]),
            child => {
                let own_child = [self.own.as_slice(), &[child.to_owned()]].concat();
                self.modules.contains(&own_child).then(|| (self.own.clone(), path))?
            }
        };
        start.extend(rest.iter().cloned());
        Some(start)
    }

    fn tree(&mut self, before: &[String], tree: &syn::UseTree, passes_on: bool) {
        match tree {
            syn::UseTree::Path(path) => {
                self.tree(&[before, &[path.ident.to_string()]].concat(), &path.tree, passes_on);
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(before, tree, passes_on)),
            syn::UseTree::Glob(_) => self.name(before.to_vec(), None),
            syn::UseTree::Name(name) => self.leaf(before, &name.ident, &name.ident, passes_on),
            syn::UseTree::Rename(name) => self.leaf(before, &name.ident, &name.rename, passes_on),
        }
    }

    fn leaf(&mut self, before: &[String], name: &syn::Ident, here: &syn::Ident, passes_on: bool) {
        let path = if name == "self" { before.to_vec() } else { [before, &[name.to_string()]].concat() };
        self.name(path, passes_on.then(|| here.to_string()));
    }

    fn name(&mut self, path: Name, passed_on_as: Option<String>) {
        let Some(path) = self.resolve(&path) else { return };
        match passed_on_as {
            Some(name) => drop(self.file.passed_on.insert(name, path)),
            None => self.file.named.push(path),
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&[], &item.tree, !matches!(item.vis, syn::Visibility::Inherited));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Name = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if parts.len() > 1 && ["crate", "self", "super"].contains(&parts[0].as_str()) {
            self.name(parts, None);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            self.own.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.own.pop();
        }
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
    })
}

/// The module that a file of a crate is.
fn module_of(source: &Path, path: &Path) -> Name {
    let below = path.strip_prefix(source).expect("a file of the crate").with_extension("");
    let mut name: Name = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if matches!(name.as_slice(), [only] if only == "lib" || only == "main") {
        name.clear();
    }
    name
}

/// The file that declares what a path names.
fn declares<'a>(files: &'a BTreeMap<Name, File>, path: &[String], depth: usize) -> Option<&'a Name> {
    let len = (0..=path.len()).rev().find(|len| files.contains_key(&path[..*len]))?;
    let (name, file) = files.get_key_value(&path[..len])?;
    match path.get(len).and_then(|item| file.passed_on.get(item)) {
        // Two modules may pass the same name on to each other; the depth ends that.
        Some(origin) if depth < 8 => declares(files, &[origin.as_slice(), &path[len + 1..]].concat(), depth + 1),
        _ => Some(name),
    }
}

/// Which files each file uses.
fn uses(source: &Path) -> BTreeMap<Name, BTreeSet<Name>> {
    let mut texts = BTreeMap::new();
    visit_files(source, &mut |path| {
        texts.insert(module_of(source, path), std::fs::read_to_string(path).expect("a file that can be read"));
    });
    uses_of(&texts)
}

fn uses_of(texts: &BTreeMap<Name, String>) -> BTreeMap<Name, BTreeSet<Name>> {
    let modules: BTreeSet<Name> = texts.keys().cloned().collect();
    let read = |(own, text): (&Name, &String)| {
        let mut reader = Reader { own: own.clone(), modules: &modules, file: File::default() };
        reader.visit_file(&syn::parse_file(text).expect("the file compiles"));
        (own.clone(), reader.file)
    };
    let files: BTreeMap<Name, File> = texts.iter().map(read).collect();
    let used_by = |(own, file): (&Name, &File)| {
        let used = file.named.iter().filter_map(|path| declares(&files, path, 0));
        (own.clone(), used.filter(|used| !own.starts_with(used)).cloned().collect())
    };
    files.iter().map(used_by).collect()
}

/// All files that can be reached from one, by what each uses.
fn reached(uses: &BTreeMap<Name, BTreeSet<Name>>, from: &Name) -> BTreeSet<Name> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(name) = next.pop() {
        next.extend(uses[name].iter().filter(|used| reached.insert((*used).clone())));
    }
    reached
}

/// The files that lead back to themselves, each with those of its own circle that it uses.
fn circles(uses: &BTreeMap<Name, BTreeSet<Name>>) -> Vec<String> {
    let reached: BTreeMap<&Name, BTreeSet<Name>> = uses.keys().map(|name| (name, reached(uses, name))).collect();
    let back = uses.iter().filter(|(name, _)| reached[name].contains(*name));
    back.map(|(name, used)| {
        let used = used.iter().filter(|used| reached[used].contains(name)).map(|used| used.join("::"));
        format!("{} -> {}", name.join("::"), used.collect::<Vec<_>>().join(", "))
    })
    .collect()
}

#[test]
fn no_file_leads_back_to_itself() {
    let mut found = Vec::new();
    let mut seen = 0;
    for room in super::rooms_on_disk() {
        let uses = uses(&root().join(&room).join("src"));
        seen += uses.len();
        found.extend(circles(&uses).into_iter().map(|circle| format!("{room}: {circle}")));
    }
    assert!(seen > 500, "all rooms are read, found only {seen} files");
    assert!(found.is_empty(), "files that use each other in a circle; move what they share apart: {found:#?}");
}

#[test]
fn a_circle_of_files_is_found_and_a_re_export_is_none() {
    let crate_of = |files: &[(&str, &str)]| {
        let name = |path: &str| path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        uses_of(&files.iter().map(|(path, text)| (name(path), (*text).to_owned())).collect())
    };
    let direct =
        [("", "mod a; mod b;"), ("a", "use crate::b::B; pub struct A;"), ("b", "use super::a::A; pub struct B;")];
    assert_eq!(circles(&crate_of(&direct)), ["a -> b", "b -> a"]);
    let by_path = [("", "mod a; mod b;"), ("a", "fn f() { crate::b::g() }"), ("b", "fn g() { crate::a::f() }")];
    assert_eq!(circles(&crate_of(&by_path)).len(), 2);
    let through_a_module = [
        ("", "mod page; mod parts;"),
        ("page", "mod head; mod foot; pub use head::Head; use crate::parts::Part;"),
        ("page::head", "use super::foot::Foot; pub struct Head;"),
        ("page::foot", "use super::Size; pub struct Foot;"),
        ("parts", "use crate::page::Head; pub struct Part;"),
    ];
    assert!(circles(&crate_of(&through_a_module)).is_empty());
    let in_tests =
        [("", "mod a; mod b;"), ("a", "use crate::b::B;"), ("b", "#[cfg(test)] mod tests { use crate::a::A; }")];
    assert!(circles(&crate_of(&in_tests)).is_empty());
}
