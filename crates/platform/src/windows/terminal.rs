//! The console of a person.

use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Console::{
    CONSOLE_SCREEN_BUFFER_INFO, ENABLE_ECHO_INPUT, ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode,
    GetConsoleScreenBufferInfo, SetConsoleMode, SetConsoleOutputCP,
};

/// The code page of UTF-8.
const UTF_8: u32 = 65001;

/// How wide the console is, if there is one.
pub fn columns() -> Option<usize> {
    let mut info = CONSOLE_SCREEN_BUFFER_INFO::default();
    #[expect(unsafe_code, reason = "the handle is open, and the structure is ours")]
    let is_known = unsafe { GetConsoleScreenBufferInfo(std::io::stdout().as_raw_handle(), &mut info) } != 0;
    is_known.then(|| usize::try_from(i32::from(info.srWindow.Right) - i32::from(info.srWindow.Left) + 1).ok())?
}

/// Makes the console show colours and texts in UTF-8.
pub fn prepare() {
    for handle in [std::io::stdout().as_raw_handle(), std::io::stderr().as_raw_handle()] {
        if let Some(mode) = mode_of(handle) {
            set_mode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
        }
    }
    #[expect(unsafe_code, reason = "it takes a number")]
    unsafe {
        SetConsoleOutputCP(UTF_8);
    }
}

/// A console that does not show what is typed, until this is dropped.
pub struct Quiet(Option<u32>);

impl Quiet {
    pub fn begin() -> Self {
        let handle = std::io::stdin().as_raw_handle();
        let before = mode_of(handle);
        if let Some(mode) = before {
            set_mode(handle, mode & !ENABLE_ECHO_INPUT);
        }
        Self(before)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            set_mode(std::io::stdin().as_raw_handle(), before);
        }
    }
}

fn mode_of(handle: HANDLE) -> Option<u32> {
    let mut mode = 0;
    #[expect(unsafe_code, reason = "the handle is open, and the number is ours")]
    let is_known = unsafe { GetConsoleMode(handle, &mut mode) } != 0;
    is_known.then_some(mode)
}

fn set_mode(handle: HANDLE, mode: u32) {
    #[expect(unsafe_code, reason = "the handle is open")]
    unsafe {
        SetConsoleMode(handle, mode);
    }
}
