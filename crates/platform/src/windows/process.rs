//! Processes that we start, and how many files this one may open.

use std::io;
use std::ptr;

use tokio::process::{Child, Command};
use windows_sys::Win32::Foundation::{CloseHandle, HANDLE};
use windows_sys::Win32::System::JobObjects::{AssignProcessToJobObject, CreateJobObjectW, TerminateJobObject};

/// A process with everything that it starts: all of it ends together.
#[derive(Debug)]
pub struct Family(usize);

impl Family {
    /// Starts a command and puts it into a job. What it starts is in the job too.
    #[expect(unsafe_code, reason = "the handles are open, and the job's is closed when this is dropped")]
    pub fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        let job = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        let family = Self(job as usize);
        let child = command.spawn()?;
        if let Some(handle) = child.raw_handle()
            && unsafe { AssignProcessToJobObject(job, handle) } == 0
        {
            return Err(io::Error::last_os_error());
        }
        Ok((child, family))
    }

    pub fn kill(&self) {
        #[expect(unsafe_code, reason = "the job is open until this is dropped")]
        unsafe {
            // The processes may be gone already; then there is nothing to do.
            TerminateJobObject(self.0 as HANDLE, 1);
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "nobody uses the job after this")]
        unsafe {
            CloseHandle(self.0 as HANDLE);
        }
    }
}

/// Windows makes no huge pages by itself.
pub fn refuse_huge_pages() -> io::Result<()> {
    Ok(())
}

/// Windows sets no limit of its own on sockets and files.
pub fn open_files_max() -> Option<u64> {
    None
}

pub fn raise_open_files() -> io::Result<()> {
    Ok(())
}
