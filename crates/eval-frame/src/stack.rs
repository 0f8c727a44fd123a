//! Where the C stack of this thread lies.
//!
//! Not here: how much of it hooked frames may take (`region`).

use std::ops::Range;
use std::ptr;

/// Mappings of memory begin and end at multiples of this or of a larger power of two.
const PAGE: usize = 4096;

/// How much of the process's first stack is looked at: Linux keeps twice as much free of other mappings, whatever the
/// limit is.
const LARGEST: usize = 64 << 20;

/// The addresses of the C stack that `here`, an address on it, belongs to; `None` for a stack that is not the
/// thread's own (a coroutine library's).
pub(crate) fn stack_around(here: usize) -> Option<Range<usize>> {
    main_stack()
        .filter(|stack| stack.contains(&here))
        .or_else(|| own_stack().filter(|stack| stack.contains(&here)))
}

/// The stack that the process was started on, as Linux says it (proc_pid_stat(5)).
///
/// glibc finds this one by reading all mappings of the process, which takes a millisecond once torch is loaded.
fn main_stack() -> Option<Range<usize>> {
    /// The environment is the last thing but a name above the stack: `env_end`, counted from behind the command.
    const ENV_END: usize = 48;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let behind_command = &stat[stat.rfind(')')? + 1..];
    let end: usize = behind_command
        .split_ascii_whitespace()
        .nth(ENV_END)?
        .parse()
        .ok()?;
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is one to write to.
    if unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) } != 0 {
        return None;
    }
    let end = end.checked_next_multiple_of(PAGE)?;
    let size = usize::try_from(limit.rlim_cur).map_or(LARGEST, |size| size.min(LARGEST));
    Some(end.saturating_sub(size)..end)
}

/// The stack that the thread library made for this thread.
fn own_stack() -> Option<Range<usize>> {
    // SAFETY: the attribute object is initialised by the first call and destroyed by the last.
    unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let mut low = ptr::null_mut();
        let mut size = 0usize;
        let got = libc::pthread_attr_getstack(&attributes, &mut low, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        (got == 0).then_some(low as usize..(low as usize).saturating_add(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_a_stack_of_its_own() {
        let of_thread = || {
            let local = 0u8;
            let here = ptr::from_ref(&local) as usize;
            stack_around(here).filter(|stack| stack.contains(&here))
        };
        let ours = of_thread().unwrap();
        let other = std::thread::spawn(of_thread).join().unwrap().unwrap();
        assert!(ours.end <= other.start || other.end <= ours.start);
    }

    #[test]
    fn the_stack_of_the_process_is_a_mapping() {
        let stack = main_stack().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.ends_with("[stack]")).unwrap();
        let (start, rest) = line.split_once('-').unwrap();
        let end = rest.split_once(' ').unwrap().0;
        assert_eq!(stack.end, usize::from_str_radix(end, 16).unwrap());
        assert!(stack.start <= usize::from_str_radix(start, 16).unwrap());
    }

    #[test]
    fn memory_elsewhere_is_no_stack() {
        let boxed = Box::new(0u8);
        assert_eq!(stack_around(ptr::from_ref(&*boxed) as usize), None);
    }
}
