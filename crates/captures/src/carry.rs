//! Captures that are carried to another machine of the same kind.
//!
//! Does not live here: the file in which they are carried, and whether that machine is of the same kind. Invariant:
//! whoever carries a capture has made sure that the files on which it relies have the same contents there.

use crate::content::stamp;
use crate::{About, Capture, Why};

fn read(bytes: &[u8]) -> Result<Capture, Why> {
    postcard::from_bytes(bytes).map_err(|error| Why(error.to_string()))
}

/// What a capture was made for, on any machine.
///
/// # Errors
/// Where the bytes are no capture.
pub fn made_for(bytes: &[u8]) -> Result<[u8; 32], Why> {
    let about = postcard::take_from_bytes::<About>(bytes);
    about
        .map(|(about, _)| about.made_for)
        .map_err(|error| Why(error.to_string()))
}

/// The files whose contents a capture relies on without having looked at all of them.
///
/// # Errors
/// Where the bytes are no capture.
pub fn files(bytes: &[u8]) -> Result<Vec<String>, Why> {
    Ok(read(bytes)?.by_place.into_keys().collect())
}

/// A capture for this machine, where the files that it relies on lie at the same places. `None` where one of them is
/// younger than this process.
///
/// # Errors
/// Where the bytes are no capture.
pub fn carried(bytes: &[u8]) -> Result<Option<Vec<u8>>, Why> {
    let mut capture = read(bytes)?;
    for (file, at) in &mut capture.by_place {
        match stamp(file) {
            Some(now) => *at = now,
            None => return Ok(None),
        }
    }
    let bytes = postcard::to_stdvec(&capture);
    bytes.map(Some).map_err(|error| Why(error.to_string()))
}
