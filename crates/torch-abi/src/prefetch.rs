//! Asks the processor to load memory before it is needed.
//!
//! Lives here: the only code of this workspace for one kind of processor, with what the others do instead. Invariant:
//! nothing but time depends on it.

/// Begins to load the cache line at `address`, which need not be valid memory.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn to_cache(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: prefetching touches no memory: any address will do.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

/// Does nothing where stable Rust has no prefetch.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn to_cache(_: *const u8) {}
