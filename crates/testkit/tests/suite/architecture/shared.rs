//! What is shared: every place of the product that can change behind a shared reference, every
//! table of the daemon's own database and every file that owns a part of the machine has a row
//! in `docs/shared-state.md`, and every row has its place.
//!
//! Found are fields and statics whose type has a lock, an atomic, a cell, a channel, a
//! semaphore or a pool in it; maps and queues inside of what such a lock guards; maps and queues
//! that an endless loop keeps; and places, tasks and queues that a function makes for others.
//! What a library keeps to itself is not.

use super::sources::OWNERS;
use quote::ToTokens as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// The crates that ship nowhere.
const NOT_SHIPPED: [&str; 3] = ["bench", "gauntlet", "testkit"];

/// Tests that are a part of a crate, so that others can run them.
const SUITES: [&str; 1] = ["store/src/conformance"];

/// What can change, or hold somebody up, behind a shared reference.
const CELLS: [&str; 21] = [
    "Mutex",
    "KeyedLocks",
    "RwLock",
    "Condvar",
    "Semaphore",
    "Notify",
    "Barrier",
    "ArcSwap",
    "ArcSwapOption",
    "Cell",
    "RefCell",
    "UnsafeCell",
    "OnceCell",
    "OnceLock",
    "LazyCell",
    "LazyLock",
    "DashMap",
    "JoinSet",
    "TaskTracker",
    "UnboundedSender",
    "UnboundedReceiver",
];

/// Names that others use too: what they are shows by the module before them.
const QUALIFIED: [(&str, &str); 10] = [
    ("mpsc", "Sender"),
    ("mpsc", "Receiver"),
    ("oneshot", "Sender"),
    ("oneshot", "Receiver"),
    ("watch", "Sender"),
    ("watch", "Receiver"),
    ("broadcast", "Sender"),
    ("broadcast", "Receiver"),
    ("pipe", "Sender"),
    ("pipe", "Receiver"),
];

/// Types of libraries with a pool inside.
const POOLS: [&str; 1] = ["Client"];

/// What a function makes for others to wait at.
const MADE: [&str; 4] =
    ["Semaphore :: new", "JoinSet :: new", "mpsc :: channel", "broadcast :: channel"];

/// What guards a value that changes in place.
const LOCKS: [&str; 4] = ["Mutex", "RwLock", "RefCell", "OnceCell"];

/// Maps and queues.
const CONTAINERS: [&str; 6] =
    ["HashMap", "BTreeMap", "HashSet", "BTreeSet", "VecDeque", "BinaryHeap"];

/// What is somebody else's: it has rows of its own.
const POINTERS: [&str; 3] = ["Arc", "Weak", "Rc"];

/// A field of a type, or a static.
struct Field {
    /// Relative to `crates/`.
    file: String,
    /// `Type.field`, `Type::Variant.field`, or the name of a static.
    name: String,
    owner: String,
    ty: syn::Type,
}

/// A row: where, and which.
type Row = (String, String);

#[derive(Default)]
struct Found {
    file: String,
    /// The function around.
    function: String,
    fields: Vec<Field>,
    aliases: BTreeMap<Row, syn::Type>,
    rows: BTreeSet<Row>,
}

fn has_cfg_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.meta.to_token_stream().to_string();
        text.replace(' ', "") == "cfg(test)"
    })
}

impl Found {
    fn fields_of(&mut self, owner: &str, prefix: &str, fields: &syn::Fields) {
        for (index, field) in fields.iter().enumerate() {
            let name = field.ident.as_ref().map_or_else(|| index.to_string(), ToString::to_string);
            self.fields.push(Field {
                file: self.file.clone(),
                name: format!("{prefix}.{name}"),
                owner: owner.to_owned(),
                ty: field.ty.clone(),
            });
        }
    }

    /// Notes the maps and queues of a function that never ends.
    fn loops(&mut self, name: &str, block: &syn::Block) {
        let is_endless = block.stmts.iter().any(|statement| {
            let text = statement.to_token_stream().to_string();
            text.starts_with("loop {") && text.contains(". await")
        });
        for statement in block.stmts.iter().filter(|_| is_endless) {
            let syn::Stmt::Local(local) = statement else { continue };
            let text = local.to_token_stream().to_string();
            if text.starts_with("let mut") && words(&text).any(|word| CONTAINERS.contains(&word)) {
                self.local(name, local);
            }
        }
    }

    fn local(&mut self, function: &str, local: &syn::Local) {
        let pattern = local.pat.to_token_stream().to_string();
        let name = words(&pattern).find(|word| *word != "mut").unwrap_or_default();
        self.rows.insert((self.file.clone(), format!("{function}() {name}")));
    }

    fn function(&mut self, name: String, block: &syn::Block, go_on: impl FnOnce(&mut Self)) {
        self.loops(&name, block);
        let around = std::mem::replace(&mut self.function, name);
        go_on(self);
        self.function = around;
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !has_cfg_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if !has_cfg_test(&item.attrs) {
            let owner = item.ident.to_string();
            self.fields_of(&owner, &owner, &item.fields);
        }
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let owner = item.ident.to_string();
        for variant in &item.variants {
            self.fields_of(&owner, &format!("{owner}::{}", variant.ident), &variant.fields);
        }
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.aliases.insert((self.file.clone(), item.ident.to_string()), (*item.ty).clone());
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.fields.push(Field {
            file: self.file.clone(),
            name: item.ident.to_string(),
            owner: String::new(),
            ty: (*item.ty).clone(),
        });
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let name = item.path.to_token_stream().to_string().replace(' ', "");
        if name.ends_with("thread_local") || name.ends_with("task_local") {
            self.rows.insert((self.file.clone(), name));
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !has_cfg_test(&item.attrs) {
            let name = item.sig.ident.to_string();
            self.function(name, &item.block, |found| visit::visit_item_fn(found, item));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let name = item.sig.ident.to_string();
        self.function(name, &item.block, |found| visit::visit_impl_item_fn(found, item));
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let text = local.to_token_stream().to_string();
        if MADE.iter().any(|made| text.contains(made)) {
            let function = self.function.clone();
            self.local(&function, local);
        }
        visit::visit_local(self, local);
    }
}

/// The names in a text of code.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn is_atomic(word: &str) -> bool {
    word.strip_prefix("Atomic").is_some_and(|rest| rest.starts_with(char::is_uppercase))
}

/// Whether a value of this type can change behind a shared reference, or is shared by design;
/// `alias` is what other names of the file stand for.
fn is_shared<'t>(ty: &syn::Type, alias: &dyn Fn(&str) -> Option<&'t syn::Type>) -> bool {
    let text = ty.to_token_stream().to_string();
    let all: Vec<&str> = words(&text).collect();
    let by_name = all.iter().any(|word| {
        CELLS.contains(word)
            || POOLS.contains(word)
            || is_atomic(word)
            || alias(word).is_some_and(|it| is_shared(it, &|_: &str| None))
    });
    by_name || all.windows(2).any(|pair| QUALIFIED.contains(&(pair[0], pair[1])))
}

/// The last names of the paths in a type, with what stands in their brackets, as far as it is
/// held by value.
fn walk(ty: &syn::Type, visit: &mut impl FnMut(&str, bool), in_lock: bool) {
    match ty {
        syn::Type::Path(path) => {
            for segment in &path.path.segments {
                let name = segment.ident.to_string();
                if in_lock && POINTERS.contains(&&*name) {
                    continue;
                }
                visit(&name, in_lock);
                let inside = in_lock || LOCKS.contains(&&*name);
                if let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments {
                    for argument in &arguments.args {
                        if let syn::GenericArgument::Type(inner) = argument {
                            walk(inner, visit, inside);
                        }
                    }
                }
            }
        }
        syn::Type::Tuple(tuple) => tuple.elems.iter().for_each(|it| walk(it, visit, in_lock)),
        syn::Type::Array(array) => walk(&array.elem, visit, in_lock),
        syn::Type::Slice(slice) => walk(&slice.elem, visit, in_lock),
        syn::Type::Paren(inner) => walk(&inner.elem, visit, in_lock),
        _ => {}
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn sources() -> Vec<(String, String)> {
    let crates = workspace().join("crates");
    let mut found = vec![];
    let mut folders: Vec<PathBuf> = vec![];
    for entry in fs::read_dir(&crates).unwrap() {
        let entry = entry.unwrap();
        if !NOT_SHIPPED.contains(&entry.file_name().to_str().unwrap()) {
            folders.push(entry.path().join("src"));
        }
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                let is_suite = SUITES.iter().any(|suite| path.ends_with(suite));
                folders.extend((!is_suite).then_some(path));
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&crates).unwrap().to_str().unwrap().to_owned();
                found.push((path, text));
            }
        }
    }
    found
}

/// What the sources share.
fn shared(sources: &[(String, String)]) -> BTreeSet<Row> {
    let mut found = Found::default();
    for (path, text) in sources {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        found.file.clone_from(path);
        found.visit_file(&file);
    }
    let Found { fields, aliases, mut rows, .. } = found;
    let room = |file: &str| file.split('/').next().unwrap_or_default().to_owned();
    let mut by_owner: BTreeMap<(String, &str), Vec<&Field>> = BTreeMap::new();
    for field in &fields {
        by_owner.entry((room(&field.file), &field.owner)).or_default().push(field);
    }
    let named = |file: &str, owner: &str| -> Vec<&Field> {
        let all = by_owner.get(&(room(file), owner)).cloned().unwrap_or_default();
        let folder = |file: &str| file.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let in_file = |it: &Field| it.file == file;
        let in_folder = |it: &Field| folder(&it.file) == folder(file);
        // The nearest of that name: what it is called elsewhere is another.
        let near =
            [&in_file as &dyn Fn(&Field) -> bool, &in_folder].into_iter().find_map(|is_near| {
                let near: Vec<&Field> = all.iter().copied().filter(|it| is_near(it)).collect();
                (!near.is_empty()).then_some(near)
            });
        near.unwrap_or(all)
    };
    let mut guarded: Vec<(String, String)> = vec![];
    for field in &fields {
        let alias = |name: &str| aliases.get(&(field.file.clone(), name.to_owned()));
        if is_shared(&field.ty, &alias) {
            rows.insert((field.file.clone(), field.name.clone()));
        }
        let mut inside = |name: &str, in_lock: bool| {
            if in_lock {
                guarded.push((field.file.clone(), name.to_owned()));
            }
        };
        walk(&field.ty, &mut inside, false);
    }
    // Maps and queues that a lock guards, whatever types are around them.
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    while let Some((file, owner)) = guarded.pop() {
        for field in named(&file, &owner) {
            if !seen.insert((field.file.clone(), field.name.clone())) {
                continue;
            }
            let mut is_container = false;
            let mut inside = |name: &str, _: bool| {
                is_container |= CONTAINERS.contains(&name);
                guarded.push((field.file.clone(), name.to_owned()));
            };
            walk(&field.ty, &mut inside, true);
            if is_container {
                rows.insert((field.file.clone(), field.name.clone()));
            }
        }
    }
    rows
}

/// The tables of the daemon's own database.
fn tables() -> BTreeSet<Row> {
    let folder = workspace().join("crates/store/src/sqlite/migrations");
    let mut rows = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("daemon_") {
            let text = fs::read_to_string(&path).unwrap();
            let made = text.split("CREATE TABLE ").skip(1).filter_map(|rest| words(rest).next());
            rows.extend(made.map(|table| ("insula.db".to_owned(), table.to_owned())));
        }
    }
    assert!(rows.len() > 4, "only {rows:?}: is the search broken?");
    rows
}

/// The files that own a part of the machine.
fn owners() -> BTreeSet<Row> {
    let ships = |path: &&str| !NOT_SHIPPED.contains(&path.split('/').next().unwrap_or_default());
    let paths = OWNERS.iter().map(|(path, _)| *path).filter(ships);
    paths.map(|path| ("machine".to_owned(), path.to_owned())).collect()
}

/// The rows of the page, with their cells.
fn listed() -> BTreeMap<Row, Vec<String>> {
    let text = fs::read_to_string(workspace().join("docs/shared-state.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<String> =
            line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
        let place: Vec<&str> = cells[0].split('`').filter(|part| !part.trim().is_empty()).collect();
        let [file, name] = place.as_slice() else { panic!("`FILE` `NAME`, please: {line}") };
        let row = ((*file).to_owned(), (*name).to_owned());
        assert!(rows.insert(row, cells).is_none(), "twice: {line}");
    }
    rows
}

#[test]
fn whatever_is_shared_is_in_the_inventory() {
    let mut there = shared(&sources());
    there.extend(tables());
    there.extend(owners());
    let listed = listed();
    let missing: Vec<String> = there
        .iter()
        .filter(|row| !listed.contains_key(*row))
        .map(|(file, name)| format!("| `{file}` `{name}` | what | key | bound | effect |"))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/shared-state.md lacks {} rows; add them, filled in:\n{}",
        missing.len(),
        missing.join("\n")
    );
    let gone: Vec<&Row> = listed.keys().filter(|row| !there.contains(*row)).collect();
    assert!(gone.is_empty(), "docs/shared-state.md has rows of what is no more: {gone:#?}");
}

#[test]
fn every_row_says_what_key_bound_and_effect() {
    for ((file, name), cells) in listed() {
        assert_eq!(cells.len(), 5, "{file} {name}: where, what, key, bound, effect");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{file} {name}: a cell is empty");
        // Who it belongs to comes first; whatever belongs to nobody says why that is all right.
        let reach = ["agent", "turn", "call", "child", "conversation", "none", "account", "client"];
        let key = &cells[2];
        assert!(reach.iter().any(|it| key.starts_with(it)), "{file} {name}: key `{key}`");
        let is_open = key.starts_with("none") || key.starts_with("account");
        assert!(
            !is_open || cells[4].len() > 20,
            "{file} {name}: the key lacks the agent, so say what that changes for another, or why nothing"
        );
    }
}

#[test]
fn the_search_finds_what_can_change_and_nothing_else() {
    let text = "
        static BOOK: LazyLock<Book> = LazyLock::new(make);
        static NAMES: [&str; 1] = [\"a\"];
        type Door = Arc<tokio::sync::Mutex<()>>;
        struct Shelf { kept: Arc<Mutex<Kept>>, name: String, doors: BTreeMap<u8, Door> }
        struct Kept { windows: HashMap<u8, Window>, other: Arc<Elsewhere>, size: usize }
        struct Window { lines: VecDeque<u8> }
        struct Elsewhere { plain: HashMap<u8, u8> }
        struct Letter { sender: Sender, reply: oneshot::Sender<u8> }
        enum Job { Start { count: AtomicU64 }, Stop(u8) }
        async fn keep() { let mut seen = BTreeSet::new(); loop { next().await; } }
        fn serve() { let places = Arc::new(Semaphore::new(8)); }
        async fn once() { let mut seen = BTreeSet::new(); next().await; }
        #[cfg(test)] mod tests { struct Fake { kept: Mutex<u8> } }
    ";
    let found = shared(&[("room/src/a.rs".to_owned(), text.to_owned())]);
    let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
    let expected = [
        "BOOK",
        "Job::Start.count",
        "Kept.windows",
        "Letter.reply",
        "Shelf.doors",
        "Shelf.kept",
        "Window.lines",
        "keep() seen",
        "serve() places",
    ];
    assert_eq!(names, expected);
}
