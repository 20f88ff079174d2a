//! What is known of the machine.

/// What the machine is called.
pub fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The memory that the machine has.
pub fn memory_bytes() -> Option<usize> {
    #[expect(unsafe_code, reason = "these calls only read numbers")]
    let (pages, page_bytes) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let (pages, page_bytes) = (usize::try_from(pages).ok()?, usize::try_from(page_bytes).ok()?);
    pages.checked_mul(page_bytes)
}
