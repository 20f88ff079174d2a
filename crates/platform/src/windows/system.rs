//! What is known of the machine.

use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};

/// What the machine is called.
pub fn machine_name() -> String {
    std::env::var_os("COMPUTERNAME").unwrap_or_default().to_string_lossy().into_owned()
}

/// The memory that the machine has.
pub fn memory_bytes() -> Option<usize> {
    let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..Default::default() };
    #[expect(unsafe_code, reason = "the structure says how long it is")]
    let is_known = unsafe { GlobalMemoryStatusEx(&mut status) } != 0;
    is_known.then_some(usize::try_from(status.ullTotalPhys).ok()?)
}
