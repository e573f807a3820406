//! Static models of embeddings, read from the folders that operators name. Kept while their files
//! stay the same. They hold no words, and know no agents.
#![expect(clippy::disallowed_methods, reason = "this file reads the files of static models")]

use insula_models::{StaticModel, TABLE_BYTES_MAX, TOKENIZER_BYTES_MAX};
use insula_world::World;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Most models that are kept. A daemon has one, or a few.
const KEPT_MAX: usize = 4;

const TABLE: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";

/// By what it is noticed that a file is another.
type Stamp = [(u64, Option<SystemTime>); 2];

/// Models by their folders.
type Kept = BTreeMap<PathBuf, (Stamp, Arc<StaticModel>)>;

/// The models that were read. Cheap to clone.
#[derive(Clone, Default)]
pub struct StaticModels {
    read: Arc<Mutex<Kept>>,
}

impl StaticModels {
    /// The model in a folder; an error says what is wrong with which file.
    pub async fn get(&self, world: &World, folder: &Path) -> Result<Arc<StaticModel>, String> {
        let (kept, folder) = (self.read.clone(), folder.to_owned());
        let found = world.storage.run(move || {
            let stamp = stamp(&folder)?;
            let lock = || kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((known, model)) = lock().get(&folder)
                && *known == stamp
            {
                return Ok(model.clone());
            }
            let tokenizer = read(&folder.join(TOKENIZER), TOKENIZER_BYTES_MAX)?;
            let table = read(&folder.join(TABLE), TABLE_BYTES_MAX)?;
            let model = StaticModel::read(&tokenizer, &table);
            let model = model.map_err(|error| format!("{}: {error}", folder.display()))?;
            let model = Arc::new(model);
            let mut kept = lock();
            if kept.len() >= KEPT_MAX {
                kept.clear();
            }
            kept.insert(folder, (stamp, model.clone()));
            Ok(model)
        });
        found.await.map_err(|error| error.to_string())?
    }
}

fn stamp(folder: &Path) -> Result<Stamp, String> {
    let of = |name: &str| {
        let path = folder.join(name);
        let there = fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>((there.len(), there.modified().ok()))
    };
    Ok([of(TOKENIZER)?, of(TABLE)?])
}

fn read(path: &Path, len_max: u64) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(len_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > len_max {
        return Err(format!("{}: has more than {len_max} bytes", path.display()));
    }
    Ok(bytes)
}
