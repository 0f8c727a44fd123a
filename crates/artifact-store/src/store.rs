//! Entries as folders: a manifest, libraries, and a digest of both.
//!
//! An entry is written under a name of its own and then renamed. A writer that ends before leaves a folder that
//! nobody reads, and that a later writer removes.
//!
//! Invariant: neither reading nor writing an entry takes longer the more entries there are, but for the one write in
//! many that makes room.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use thiserror::Error;

use crate::key::Key;

const SECRET: &str = "secret";
const DIGEST: &str = "digest";
const MANIFEST: &str = "manifest";
/// A file that grows with what is written: by a byte for each [`UNIT`] bytes, since room was made.
const GROWN: &str = "grown";
const UNIT: u64 = 4096;
/// Which part of the limit may be written until room is made again.
const SHARE: u64 = 64;
/// What begins the names of folders that are being written or removed.
const UNFINISHED: &str = "unfinished-";
/// After which time nobody is writing such a folder any more.
const ABANDONED: Duration = Duration::from_secs(3600);

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Why a store can't be used, or an entry not written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Somebody else could change what is in the folder.
    #[error("{} belongs to somebody else, or others can write it", .0.display())]
    NotOwn(PathBuf),
    /// Files can't be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A library's name is no plain file name.
    #[error("a library can't be called {0:?}")]
    Name(String),
}

fn of(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |error| StoreError::Io {
        path: path.to_owned(),
        error,
    }
}

/// A folder of entries.
pub struct Store {
    folder: PathBuf,
    secret: [u8; 32],
    /// bytes of all entries together
    limit: u64,
}

/// An entry as it was written.
pub struct Entry {
    /// The text that says what it is.
    pub manifest: Vec<u8>,
    folder: PathBuf,
}

/// An entry that lies in a folder, unread.
pub struct Listed {
    /// What it is found by.
    pub key: Key,
    /// How many bytes its files have.
    pub bytes: u64,
    /// When it was written or read last.
    pub used: SystemTime,
    folder: PathBuf,
}

impl Listed {
    /// The text that says what it is, as it lies there: only [`Store::read`] tells whether it is what was written.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn manifest(&self) -> Result<Vec<u8>, StoreError> {
        let path = self.folder.join(MANIFEST);
        fs::read(&path).map_err(of(&path))
    }
}

impl Entry {
    /// Where its libraries lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a library lies.
    pub fn library(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Store {
    /// Opens a folder, which is made where there is none. `limit`: how many bytes all entries together may have.
    ///
    /// # Errors
    /// [`StoreError::NotOwn`] where others can write to it; [`StoreError::Io`].
    pub fn open(folder: &Path, limit: u64) -> Result<Store, StoreError> {
        let mut builder = fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(of(folder))?;
        let secret = secret(folder)?;
        Ok(Store {
            folder: folder.to_owned(),
            secret,
            limit,
        })
    }

    /// The entry of a key; `None` where there is none, or where it is not what was written (then it is removed).
    ///
    /// # Errors
    /// [`StoreError::Io`] where what is wrong can't be removed.
    pub fn read(&self, key: &Key) -> Result<Option<Entry>, StoreError> {
        let folder = self.folder.join(key.to_string());
        let Ok(written) = fs::read(folder.join(DIGEST)) else {
            return Ok(None);
        };
        let files = files_of(&folder).unwrap_or_default();
        let is_whole = self.digest(key, &files).as_bytes()[..] == written[..];
        let manifest = files.into_iter().find(|(name, _)| name == MANIFEST);
        let (true, Some((_, manifest))) = (is_whole, manifest) else {
            self.remove(&folder)?;
            return Ok(None);
        };
        // Who is used last goes last. Where it can't be noted, it goes earlier.
        let _ = File::open(&folder).and_then(|file| file.set_modified(SystemTime::now()));
        Ok(Some(Entry { manifest, folder }))
    }

    /// Writes an entry; where another process has written it meanwhile, that one stays.
    ///
    /// # Errors
    /// [`StoreError::Name`]; [`StoreError::Io`].
    pub fn write(
        &self,
        key: &Key,
        manifest: &[u8],
        libraries: &[(String, Vec<u8>)],
    ) -> Result<(), StoreError> {
        let lengths = libraries.iter().map(|(_, bytes)| bytes.len());
        let bytes = lengths.sum::<usize>() + manifest.len();
        if self.note_growth(bytes as u64)? {
            self.make_room()?;
        }
        let folder = self.unfinished();
        let written = self.write_to(&folder, key, manifest, libraries);
        let target = self.folder.join(key.to_string());
        let renamed = written.and_then(|()| match fs::rename(&folder, &target) {
            Err(_) if target.is_dir() => Ok(()),
            renamed => renamed.map_err(of(&target)),
        });
        // Renamed, it is gone.
        let _ = fs::remove_dir_all(&folder);
        renamed
    }

    fn write_to(
        &self,
        folder: &Path,
        key: &Key,
        manifest: &[u8],
        libraries: &[(String, Vec<u8>)],
    ) -> Result<(), StoreError> {
        fs::DirBuilder::new()
            .mode(0o700)
            .create(folder)
            .map_err(of(folder))?;
        for (name, _) in libraries {
            let is_plain = Path::new(name).file_name().is_some_and(|n| n == &**name);
            if !is_plain || [MANIFEST, DIGEST].contains(&&**name) {
                return Err(StoreError::Name(name.clone()));
            }
        }
        let libraries = libraries.iter().map(|(name, bytes)| (&**name, &**bytes));
        let mut files: Vec<(&str, &[u8])> = libraries.chain([(MANIFEST, manifest)]).collect();
        files.sort();
        let digest = self.digest(key, &files);
        for (name, bytes) in files.into_iter().chain([(DIGEST, &digest.as_bytes()[..])]) {
            let path = folder.join(name);
            fs::write(&path, bytes).map_err(of(&path))?;
        }
        Ok(())
    }

    /// The digest of the files of an entry, which are sorted, and of what it is the entry of.
    fn digest(&self, key: &Key, files: &[(impl AsRef<str>, impl AsRef<[u8]>)]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(key.to_string().as_bytes());
        for (name, bytes) in files {
            for part in [name.as_ref().as_bytes(), bytes.as_ref()] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        hasher.finalize()
    }

    /// All entries, those that were used longest ago first.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the folder can't be read.
    pub fn list(&self) -> Result<Vec<Listed>, StoreError> {
        Ok(entries(self.folders()?))
    }

    /// Removes all entries. Who reads one at this time has it to the end, or compiles.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn clear(&self) -> Result<(), StoreError> {
        self.list()?
            .iter()
            .try_for_each(|entry| self.remove(&entry.folder))
    }

    /// Notes what is about to be written; true where room is to be made for it. Many processes may do so at once: each
    /// appends.
    fn note_growth(&self, bytes: u64) -> Result<bool, StoreError> {
        let path = self.folder.join(GROWN);
        let units = bytes.div_ceil(UNIT);
        let mut options = OpenOptions::new();
        let grown = options
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| {
                file.write_all(&vec![0; units as usize])?;
                file.metadata()
            })
            .map_err(of(&path))?;
        let is_due = grown.len().saturating_mul(UNIT) >= self.limit / SHARE;
        if is_due {
            // Whoever finds none begins another one.
            let _ = fs::remove_file(&path);
        }
        Ok(is_due)
    }

    /// Removes what nobody finished, and the entries that were used longest ago, until there is room for what may be
    /// written before this is done again.
    fn make_room(&self) -> Result<(), StoreError> {
        let now = SystemTime::now();
        let folders = self.folders()?;
        for (path, used) in &folders {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_old = now.duration_since(*used).is_ok_and(|age| age > ABANDONED);
            if name.starts_with(UNFINISHED) && is_old {
                let _ = fs::remove_dir_all(path);
            }
        }
        let entries = entries(folders);
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries {
            if bytes <= self.limit - self.limit / SHARE {
                break;
            }
            self.remove(&entry.folder)?;
            bytes -= entry.bytes;
        }
        Ok(())
    }

    /// The folders inside, and when each was used.
    fn folders(&self) -> Result<Vec<(PathBuf, SystemTime)>, StoreError> {
        let mut folders = Vec::new();
        for found in fs::read_dir(&self.folder).map_err(of(&self.folder))? {
            let path = found.map_err(of(&self.folder))?.path();
            // Another process may be removing it.
            if let Ok(metadata) = fs::metadata(&path)
                && metadata.is_dir()
            {
                let used = metadata.modified().unwrap_or_else(|_| SystemTime::now());
                folders.push((path, used));
            }
        }
        Ok(folders)
    }

    /// Removes an entry at once: nobody reads half of it.
    fn remove(&self, folder: &Path) -> Result<(), StoreError> {
        let aside = self.unfinished();
        match fs::rename(folder, &aside) {
            Ok(()) => fs::remove_dir_all(&aside).map_err(of(&aside)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(of(folder)(error)),
        }
    }

    /// A name that nobody else has.
    fn unfinished(&self) -> PathBuf {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.folder
            .join(format!("{UNFINISHED}{}-{number}", std::process::id()))
    }
}

/// The files of an entry but for its digest, sorted.
fn files_of(folder: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for found in fs::read_dir(folder)? {
        let found = found?;
        let name = found.file_name().to_string_lossy().into_owned();
        if name != DIGEST {
            files.push((name, fs::read(found.path())?));
        }
    }
    files.sort();
    Ok(files)
}

fn size(folder: &Path) -> u64 {
    let Ok(files) = folder.read_dir() else {
        return 0;
    };
    let lengths = files.flatten().filter_map(|file| file.metadata().ok());
    lengths.map(|metadata| metadata.len()).sum()
}

/// The entries among folders, those that were used longest ago first.
fn entries(folders: Vec<(PathBuf, SystemTime)>) -> Vec<Listed> {
    let entry = |(folder, used): (PathBuf, SystemTime)| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Some(Listed {
            key: Key::parse(&name)?,
            bytes: size(&folder),
            used,
            folder,
        })
    };
    let mut entries: Vec<_> = folders.into_iter().filter_map(entry).collect();
    entries.sort_by_key(|entry| entry.used);
    entries
}

/// The secret of a folder, made by whoever comes first.
fn secret(folder: &Path) -> Result<[u8; 32], StoreError> {
    let path = folder.join(SECRET);
    let mut secret = [0; 32];
    for _ in 0..2 {
        match File::open(&path) {
            Ok(mut file) => {
                let of_file = file.metadata().map_err(of(&path))?;
                let of_folder = fs::metadata(folder).map_err(of(folder))?;
                own(folder, &of_folder)?;
                own(&path, &of_file)?;
                file.read_exact(&mut secret).map_err(of(&path))?;
                return Ok(secret);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => write_secret(folder, &path)?,
            Err(error) => return Err(of(&path)(error)),
        }
    }
    Err(StoreError::NotOwn(path))
}

/// Makes a secret, unless somebody else does meanwhile: a link is there with its contents, or not at all.
fn write_secret(folder: &Path, path: &Path) -> Result<(), StoreError> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let unfinished = folder.join(format!("{SECRET}-{}-{number}", std::process::id()));
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| of(path)(io::Error::other(error)))?;
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)
        .and_then(|mut file| file.write_all(&secret))
        .and_then(|()| fs::hard_link(&unfinished, path));
    let _ = fs::remove_file(&unfinished);
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written.map_err(of(path)),
    }
}

/// Whether a file is this user's alone. Files of this process are the user's.
fn own(path: &Path, metadata: &fs::Metadata) -> Result<(), StoreError> {
    let me = fs::metadata("/proc/self").map_or(metadata.uid(), |me| me.uid());
    match metadata.uid() == me && metadata.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(StoreError::NotOwn(path.to_owned())),
    }
}

#[cfg(test)]
mod tests;
