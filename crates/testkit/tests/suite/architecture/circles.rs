//! The files of a crate stand on one another, as the crates do: no circle across modules.
//!
//! A file refers to another where it names something by a path from `crate`, `super` or `self`.
//! A name that a module only passes on counts for the file it comes from, so a path by way of
//! `lib.rs` hides nothing. A folder's own file may name what is inside: that alone is no circle.
//! What an `impl` adds to a type of another file, and what only tests use, is not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// How many files the circles have that are left, by crate, the longest first. A crate that is
/// not here has none. Numbers only ever become smaller.
const LEFT: &[(&str, &[usize])] = &[
    ("api", &[2]),
    ("domain", &[2, 2]),
    ("gauntlet", &[2, 2, 2, 2]),
    ("mcp", &[2]),
    ("owner", &[2]),
];

/// A module by its names from the root of its crate.
type Module = Vec<String>;

/// What a file names, and what it passes on.
struct Reader {
    /// The module of the file, and of inline modules in it.
    here: Module,
    /// Paths from the root of the crate, as far as they are ones.
    named: BTreeSet<Module>,
    /// By the name under which others find it here.
    passed_on: BTreeMap<String, Module>,
    /// Modules in other files that are for tests.
    for_tests: BTreeSet<Module>,
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

impl Reader {
    fn read(here: &Module, text: &str) -> Self {
        let mut reader = Self {
            here: here.clone(),
            named: BTreeSet::new(),
            passed_on: BTreeMap::new(),
            for_tests: BTreeSet::new(),
        };
        reader.visit_file(&syn::parse_file(text).unwrap());
        reader
    }

    /// The path from the root, of a path that says where it begins.
    fn rooted(&self, names: &[String]) -> Option<Module> {
        let mut base = self.here.clone();
        let mut rest = names;
        match names.first()?.as_str() {
            "crate" => base.clear(),
            "self" | "super" => {}
            _ => return None,
        }
        while let Some((first, after)) = rest.split_first() {
            match first.as_str() {
                "super" => drop(base.pop()),
                "crate" | "self" => {}
                _ => break,
            }
            rest = after;
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    fn name(&mut self, names: &[String]) {
        self.named.extend(self.rooted(names));
    }

    fn uses(&mut self, tree: &syn::UseTree, before: &[String], is_private: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.uses(&path.tree, &with(&path.ident), is_private),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.uses(tree, before, is_private));
            }
            syn::UseTree::Glob(_) => self.name(before),
            syn::UseTree::Name(name) => self.used(&with(&name.ident), &name.ident, is_private),
            syn::UseTree::Rename(name) => self.used(&with(&name.ident), &name.rename, is_private),
        }
    }

    fn used(&mut self, names: &[String], known_as: &syn::Ident, is_private: bool) {
        let is_self = names.len() > 1 && names.last().is_some_and(|last| last == "self");
        let names = if is_self { &names[..names.len() - 1] } else { names };
        if is_private {
            self.name(names);
        } else {
            // Passing on is not using: whoever names it there uses it.
            self.passed_on.insert(known_as.to_string(), self.rooted_here(names));
        }
    }

    /// The path from the root, of a path that may begin with a module inside of this one.
    fn rooted_here(&self, names: &[String]) -> Module {
        self.rooted(names).unwrap_or_else(|| [self.here.as_slice(), names].concat())
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string();
        if is_for_tests(&item.attrs) {
            self.for_tests.insert([self.here.as_slice(), &[name]].concat());
        } else if item.content.is_some() {
            self.here.push(name);
            visit::visit_item_mod(self, item);
            self.here.pop();
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.uses(&item.tree, &[], matches!(item.vis, syn::Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.name(&names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let text = item.tokens.to_string().replace(' ', "");
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
            let names: Vec<String> = word.split("::").map(str::to_owned).collect();
            self.name(&names);
        }
    }
}

/// Which file a path leads to, by way of what modules pass on.
fn file_of(files: &BTreeMap<Module, Reader>, path: &[String], ways_left: usize) -> Option<Module> {
    let module =
        (0..=path.len()).rev().map(|len| &path[..len]).find(|it| files.contains_key(*it))?;
    let reader = &files[module];
    let (Some(name), Some(ways_left)) = (path.get(module.len()), ways_left.checked_sub(1)) else {
        return Some(module.to_vec());
    };
    if let Some(further) = reader.passed_on.get(name) {
        let further = [further.as_slice(), &path[module.len() + 1..]].concat();
        return file_of(files, &further, ways_left);
    }
    Some(module.to_vec())
}

/// Which files each file refers to. What is inside of its own folder is left out.
fn references(files: &BTreeMap<Module, Reader>) -> BTreeMap<&Module, BTreeSet<Module>> {
    let of_file = |(module, reader): (&Module, &Reader)| {
        let found = reader.named.iter().filter_map(|path| file_of(files, path, 8));
        found.filter(|other| !other.starts_with(module)).collect()
    };
    files.iter().map(|it| (it.0, of_file(it))).collect()
}

/// What can be reached from a file, itself only by a circle.
fn reached<'r>(
    references: &'r BTreeMap<&Module, BTreeSet<Module>>,
    from: &Module,
) -> BTreeSet<&'r Module> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&Module> = references[from].iter().collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(&references[module]);
        }
    }
    found
}

/// The circles of a crate's files, the longest first.
fn circles(files: &BTreeMap<Module, Reader>) -> Vec<BTreeSet<String>> {
    let references = references(files);
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        references.keys().map(|&module| (module, reached(&references, module))).collect();
    let mut circles: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (module, others) in &reached {
        if others.contains(module) {
            let circle = others.iter().filter(|other| reached[*other].contains(module));
            circles.insert(circle.map(|other| other.join("/")).collect());
        }
    }
    let mut circles: Vec<_> = circles.into_iter().collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// The files of a folder of sources, by the module that each is.
fn files_of(src: &Path) -> BTreeMap<Module, Reader> {
    let mut files = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(src).unwrap().with_extension("");
            let mut module: Module =
                inside.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            // Programs beside a library are crates of their own.
            if path.extension().is_none_or(|it| it != "rs") || module[0] == "bin" {
                continue;
            }
            let last = module.last().unwrap();
            if last.ends_with("_tests") || last == "tests" {
                continue;
            }
            if last == "mod" || (module.len() == 1 && ["lib", "main"].contains(&last.as_str())) {
                module.pop();
            }
            let reader = Reader::read(&module, &fs::read_to_string(&path).unwrap());
            files.insert(module, reader);
        }
    }
    let for_tests: Vec<Module> =
        files.values().flat_map(|reader| reader.for_tests.clone()).collect();
    files.retain(|module, _| !for_tests.iter().any(|it| module.starts_with(it)));
    files
}

#[test]
fn the_files_of_a_crate_form_no_circle_beyond_those_that_are_left() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut faults = vec![];
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let src = folder.join("src");
        if !src.is_dir() {
            continue;
        }
        let left = LEFT.iter().find(|(known, _)| **known == *name).map_or(&[][..], |it| it.1);
        for (place, circle) in circles(&files_of(&src)).into_iter().enumerate() {
            let most = left.get(place).copied().unwrap_or(0);
            if circle.len() > most {
                faults
                    .push(format!("`{name}`: {} files, {most} allowed: {circle:?}", circle.len()));
            }
        }
    }
    faults.sort();
    assert!(faults.is_empty(), "these files refer to one another in a circle: {faults:#?}");
}

/// Reads sources that are written here.
fn crate_of(sources: &[(&str, &str)]) -> Vec<BTreeSet<String>> {
    let files = sources.iter().map(|(path, text)| {
        let module: Module = path.split('/').filter(|it| !it.is_empty()).map(Into::into).collect();
        let reader = Reader::read(&module, text);
        (module, reader)
    });
    circles(&files.collect())
}

#[test]
fn the_check_itself_knows_a_circle() {
    let circle = |files: &[&str]| vec![files.iter().map(|&it| it.into()).collect()];
    let none: Vec<BTreeSet<String>> = vec![];
    let (one, other) = (("a", "use crate::b::B;"), ("b", "fn f() { super::a::g() }"));
    assert_eq!(crate_of(&[("", ""), one, other]), circle(&["a", "b"]));
    assert_eq!(
        crate_of(&[("", ""), one, ("b", "#[cfg(test)] mod tests { use crate::a::A; }")]),
        none
    );
    let passed_on = [("", "pub use a::A;"), one, ("b", "use crate::A;")];
    assert_eq!(crate_of(&passed_on), circle(&["a", "b"]), "by way of the root");
    let in_a_macro = [("", ""), one, ("b", "fn f() { println!(\"{}\", crate::a::A) }")];
    assert_eq!(crate_of(&in_a_macro), circle(&["a", "b"]), "in a macro");
    let inside = [("a", "mod b; use b::B;"), ("a/b", "use super::A;")];
    assert_eq!(crate_of(&inside), none, "a folder and what is inside");
    let around =
        [("a", "mod b; use crate::c::C;"), ("a/b", "use super::A;"), ("c", "use crate::a::b::B;")];
    assert_eq!(crate_of(&around), circle(&["a", "a/b", "c"]), "a folder, by way of another file");
}
