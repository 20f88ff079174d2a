//! Files and directories that only their owner may read: by an access list that names the user, the system and
//! administrators, and takes nothing from the directory above.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf, Prefix};
use std::ptr;

use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSecurityDescriptorToStringSecurityDescriptorW, ConvertSidToStringSidW,
    ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GetFileSecurityW, GetTokenInformation, PROTECTED_DACL_SECURITY_INFORMATION,
    PSECURITY_DESCRIPTOR, SetFileSecurityW, TOKEN_QUERY, TOKEN_USER, TokenUser,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_FLAG_OPEN_REPARSE_POINT, GetDiskFreeSpaceExW,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// The system, and administrators: who could take the file anyway.
const TRUSTED: [&str; 4] = ["SY", "BA", "S-1-5-18", "S-1-5-32-544"];

/// Longer paths have only the other form.
const PATH_LENGTH_MAX: usize = 260;

/// The command by which a person closes files to others.
pub fn how_to_close(paths: &[PathBuf]) -> String {
    let close = |path: &PathBuf| format!("icacls \"{}\" /inheritance:r /grant:r \"%USERNAME%:F\"", path.display());
    paths.iter().map(close).collect::<Vec<_>>().join(" && ")
}

/// Creates a directory and its missing parents; it is the owner's alone. An existing one stays as it is.
pub fn make_folder(path: &Path) -> io::Result<()> {
    // Those below the first take its access list over.
    let missing = path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).last();
    if let Some(first) = missing {
        fs::create_dir(first)?;
        set_private(first)?;
    }
    fs::create_dir_all(path)
}

/// Opens a file, but no link or other reparse point. A new one is the owner's alone.
pub fn open_private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let is_new = fs::symlink_metadata(path).is_err();
    let file = options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path)?;
    if leads_elsewhere(&file.metadata()?) {
        return Err(io::Error::other("it is a link, which could lead anywhere; remove it"));
    }
    if is_new {
        set_private(path)?;
    }
    Ok(file)
}

/// Closes a file that only its owner may read by this mode. Windows has no modes; others stay as they are.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    if mode & 0o077 == 0 { close_to_others(path).map(drop) } else { Ok(()) }
}

/// Gives a file or a directory to its owner alone, and says what it was before if others could reach it.
pub fn close_to_others(path: &Path) -> io::Result<Option<String>> {
    let before = access_list(path)?;
    if !names_others(&before)? {
        return Ok(None);
    }
    set_private(path)?;
    Ok(Some(before))
}

/// Whether others than the owner, the system and administrators may reach a file.
pub fn is_open_to_others(path: &Path) -> bool {
    access_list(path).and_then(|list| names_others(&list)).unwrap_or(false)
}

/// Windows keeps the names in a directory by its own journal.
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// What says that somebody is at work in a directory: a directory itself can't be locked.
pub fn lock_of(folder: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(folder.join("lock"))
}

/// What the disk has left for this user.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let (folder, mut free) = (wide(folder.as_os_str()), 0);
    #[expect(unsafe_code, reason = "the path ends with a zero, and the number is ours")]
    let is_known = unsafe { GetDiskFreeSpaceExW(folder.as_ptr(), &mut free, ptr::null_mut(), ptr::null_mut()) };
    (is_known != 0).then_some(free)
}

/// Reads at a place. The file's position moves, which nobody here relies on.
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = file.seek_read(bytes, offset)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        (bytes, offset) = (&mut bytes[read..], offset + read as u64);
    }
    Ok(())
}

/// Writes at a place. The file's position moves, which nobody here relies on.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = file.seek_write(bytes, offset)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        (bytes, offset) = (&bytes[written..], offset + written as u64);
    }
    Ok(())
}

/// Whether a path is a link, a junction, or another reparse point.
pub fn leads_elsewhere(metadata: &Metadata) -> bool {
    metadata.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0
}

/// Where a path leads, through all links. Windows answers with a form (`\\?\C:\…`) that git and people don't know, so
/// the usual one is given where there is one.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    let real = fs::canonicalize(path)?;
    let mut parts = real.components();
    if let Some(Component::Prefix(prefix)) = parts.next()
        && let Prefix::VerbatimDisk(letter) = prefix.kind()
        && real.as_os_str().len() < PATH_LENGTH_MAX
    {
        return Ok(Path::new(&format!("{}:", char::from(letter))).join(parts.as_path()));
    }
    Ok(real)
}

/// Whether an access list lets anybody in besides the user, the system and administrators.
fn names_others(list: &str) -> io::Result<bool> {
    let own = user_sid()?;
    // An entry is `(kind;flags;rights;object;inherited object;account)`. What denies opens nothing.
    let mut entries = list.split('(').skip(1).map(|entry| entry.trim_end_matches(')').split(';').collect::<Vec<_>>());
    Ok(!list.contains('(')
        || entries.any(|entry| {
            let account = entry.get(5).copied().unwrap_or_default();
            entry.first() == Some(&"A") && account != own && account != "OW" && !TRUSTED.contains(&account)
        }))
}

fn set_private(path: &Path) -> io::Result<()> {
    let inherit = if path.is_dir() { "OICI" } else { "" };
    let list = format!("D:P(A;{inherit};FA;;;{})(A;{inherit};FA;;;SY)(A;{inherit};FA;;;BA)", user_sid()?);
    let (list, path) = (wide(OsStr::new(&list)), wide(path.as_os_str()));
    let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
    #[expect(unsafe_code, reason = "both texts end with a zero, and the descriptor is freed once")]
    unsafe {
        let revision = SDDL_REVISION_1;
        check(ConvertStringSecurityDescriptorToSecurityDescriptorW(
            list.as_ptr(),
            revision,
            &mut descriptor,
            ptr::null_mut(),
        ))?;
        let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
        let done = check(SetFileSecurityW(path.as_ptr(), what, descriptor));
        LocalFree(descriptor);
        done
    }
}

/// Who may reach a file, in the text form of Windows.
fn access_list(path: &Path) -> io::Result<String> {
    let path = wide(path.as_os_str());
    let mut needed = 0;
    #[expect(unsafe_code, reason = "the buffer is as long as the system asked, and the text is freed once")]
    unsafe {
        GetFileSecurityW(path.as_ptr(), DACL_SECURITY_INFORMATION, ptr::null_mut(), 0, &mut needed);
        // Words of eight bytes, because the descriptor has pointers in it.
        let mut descriptor = vec![0_u64; (needed as usize).div_ceil(8).max(1)];
        let at: PSECURITY_DESCRIPTOR = descriptor.as_mut_ptr().cast();
        check(GetFileSecurityW(path.as_ptr(), DACL_SECURITY_INFORMATION, at, needed, &mut needed))?;
        let mut text = ptr::null_mut();
        let revision = SDDL_REVISION_1;
        check(ConvertSecurityDescriptorToStringSecurityDescriptorW(
            at,
            revision,
            DACL_SECURITY_INFORMATION,
            &mut text,
            ptr::null_mut(),
        ))?;
        Ok(take_text(text))
    }
}

/// The identifier of the user that this process runs as.
fn user_sid() -> io::Result<String> {
    let mut token: HANDLE = ptr::null_mut();
    // A user with the longest identifier takes 84 bytes.
    let mut user = [0_u64; 32];
    #[expect(unsafe_code, reason = "the buffer is long enough for every user, and the handle is closed once")]
    unsafe {
        check(OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &mut token))?;
        let mut used = 0;
        let size = size_of_val(&user) as u32;
        let read = check(GetTokenInformation(token, TokenUser, user.as_mut_ptr().cast(), size, &mut used));
        CloseHandle(token);
        read?;
        let mut text = ptr::null_mut();
        check(ConvertSidToStringSidW((*user.as_ptr().cast::<TOKEN_USER>()).User.Sid, &mut text))?;
        Ok(take_text(text))
    }
}

/// Copies a text that the system allocated, and frees it.
#[expect(unsafe_code, reason = "the system ends its texts with a zero")]
unsafe fn take_text(text: *mut u16) -> String {
    unsafe {
        let length = (0..).take_while(|&at| *text.add(at) != 0).count();
        let copied = String::from_utf16_lossy(std::slice::from_raw_parts(text, length));
        LocalFree(text.cast());
        copied
    }
}

fn check(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A text as Windows takes it.
fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}
