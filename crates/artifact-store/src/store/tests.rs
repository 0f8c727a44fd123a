use std::os::unix::fs::PermissionsExt;
use std::thread;

use super::*;
use crate::key::KeyBuilder;

fn key(text: &str) -> Key {
    KeyBuilder::new().part(text).finish()
}

fn library(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    vec![("kernel.so".to_owned(), bytes.to_vec())]
}

fn store(folder: &tempfile::TempDir) -> Store {
    Store::open(&folder.path().join("store"), 1 << 20).expect("a store")
}

#[test]
fn what_was_written_is_read_by_another_process() {
    let folder = tempfile::tempdir().expect("a folder");
    store(&folder)
        .write(&key("a"), b"text", &library(b"code"))
        .expect("written");
    let entry = store(&folder).read(&key("a")).expect("read");
    let entry = entry.expect("an entry");
    assert_eq!(entry.manifest, b"text");
    assert_eq!(fs::read(entry.library("kernel.so")).expect("read"), b"code");
    assert!(store(&folder).read(&key("b")).expect("read").is_none());
}

#[test]
fn each_changed_byte_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder);
    let entry = folder.path().join("store").join(key("a").to_string());
    let write = || {
        store
            .write(&key("a"), b"text", &library(b"code"))
            .expect("written");
    };
    for name in [MANIFEST, "kernel.so", DIGEST] {
        write();
        let mut bytes = fs::read(entry.join(name)).expect("read");
        bytes[1] ^= 1;
        fs::write(entry.join(name), bytes).expect("written");
        assert!(store.read(&key("a")).expect("read").is_none(), "{name}");
        assert!(!entry.exists(), "{name}");
    }
    write();
    fs::write(entry.join("more.so"), b"more").expect("written");
    assert!(store.read(&key("a")).expect("read").is_none());
    write();
    fs::remove_file(entry.join("kernel.so")).expect("removed");
    assert!(store.read(&key("a")).expect("read").is_none());
}

#[test]
fn an_entry_under_another_key_or_secret_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("store");
    store(&folder)
        .write(&key("a"), b"text", &[])
        .expect("written");
    fs::rename(at.join(key("a").to_string()), at.join(key("b").to_string())).expect("renamed");
    assert!(store(&folder).read(&key("b")).expect("read").is_none());
    store(&folder)
        .write(&key("a"), b"text", &[])
        .expect("written");
    fs::remove_file(at.join(SECRET)).expect("removed");
    assert!(store(&folder).read(&key("a")).expect("read").is_none());
}

#[test]
fn a_folder_that_others_can_write_is_not_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("store");
    store(&folder);
    fs::set_permissions(&at, fs::Permissions::from_mode(0o777)).expect("set");
    assert!(matches!(Store::open(&at, 1), Err(StoreError::NotOwn(_))));
    fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).expect("set");
    fs::set_permissions(at.join(SECRET), fs::Permissions::from_mode(0o666)).expect("set");
    assert!(matches!(Store::open(&at, 1), Err(StoreError::NotOwn(_))));
}

#[test]
fn who_was_used_longest_ago_goes_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store"), 3000).expect("a store");
    let is_there = |name: &str| {
        folder
            .path()
            .join("store")
            .join(key(name).to_string())
            .exists()
    };
    for name in ["a", "b"] {
        store.write(&key(name), &[0; 1000], &[]).expect("written");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(store.read(&key("a")).expect("read").is_some());
    for name in ["c", "d"] {
        thread::sleep(Duration::from_millis(20));
        store.write(&key(name), &[0; 1000], &[]).expect("written");
    }
    assert!(is_there("a") && !is_there("b") && is_there("c") && is_there("d"));
}

#[test]
fn room_is_made_once_for_many_entries() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder);
    let abandoned = folder.path().join("store").join("unfinished-1-1");
    fs::create_dir(&abandoned).expect("a folder");
    let long_ago = SystemTime::now() - Duration::from_secs(7200);
    let file = fs::File::open(&abandoned).expect("a folder");
    file.set_modified(long_ago).expect("set");
    // A share of the limit is four units.
    for name in ["a", "b", "c"] {
        store.write(&key(name), b"text", &[]).expect("written");
    }
    assert!(abandoned.is_dir());
    store.write(&key("d"), b"text", &[]).expect("written");
    assert!(!abandoned.exists());
}

#[test]
fn entries_never_have_more_than_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder);
    for number in 0..300 {
        let bytes = vec![0; 100 + number % 7 * 3000];
        let key = key(&number.to_string());
        store.write(&key, &bytes, &[]).expect("written");
        let listed = store.list().expect("read");
        let all: u64 = listed.iter().map(|entry| entry.bytes).sum();
        assert!(all <= 1 << 20, "{all} bytes behind {number}");
        assert!(number < 150 || all > 1 << 19, "{all} bytes behind {number}");
    }
}

#[test]
fn many_writers_leave_whole_entries() {
    let folder = tempfile::tempdir().expect("a folder");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let store = store(&folder);
                for i in 0..20 {
                    let key = key(&(i % 4).to_string());
                    store
                        .write(&key, b"text", &library(&[7; 5000]))
                        .expect("written");
                    assert!(store.read(&key).expect("read").is_some());
                }
            });
        }
    });
}

#[test]
fn names_stay_within_the_entry() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["../out.so", "/tmp/out.so", "", "manifest", "digest"] {
        let libraries = [(name.to_owned(), Vec::new())];
        let written = store(&folder).write(&key("a"), b"text", &libraries);
        assert!(matches!(written, Err(StoreError::Name(_))), "{name}");
    }
}

#[test]
fn entries_are_listed_and_cleared() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder);
    for name in ["a", "b"] {
        store
            .write(&key(name), b"text", &library(b"code"))
            .expect("written");
    }
    let unfinished = folder.path().join("store").join("unfinished-1-1");
    fs::create_dir(&unfinished).expect("a folder");
    let listed = store.list().expect("read");
    let mut keys: Vec<_> = listed.iter().map(|entry| entry.key.to_string()).collect();
    keys.sort();
    let mut expected = [key("a").to_string(), key("b").to_string()];
    expected.sort();
    assert_eq!(keys, expected);
    // The manifest, the library, and the digest.
    assert!(listed.iter().all(|entry| entry.bytes == 4 + 4 + 32));
    assert_eq!(listed[0].manifest().expect("read"), b"text");
    store.clear().expect("removed");
    assert!(store.list().expect("read").is_empty());
    // Somebody may be writing it.
    assert!(unfinished.is_dir());
    assert!(store.read(&key("a")).expect("read").is_none());
}
