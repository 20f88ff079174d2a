//! Numbers side by side, on the heap or in a mapped file. A large index is back at once when its snapshot is mapped:
//! copying half a gigabyte would take most of a second.
//!
//! A mapping is private: what is changed here never reaches the file. Behind the numbers the file has room to spare, so
//! that new ones can be added before anything has to be copied.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use bytemuck::Pod;
use memmap2::{MmapMut, MmapOptions};

/// A growing row of numbers.
pub(crate) struct MappedVec<T: Pod> {
    items: NonNull<T>,
    len: usize,
    capacity: usize,
    /// What holds the items; `None` for the heap.
    map: Option<MmapMut>,
}

#[expect(unsafe_code, reason = "it owns plain numbers, as a vector does")]
unsafe impl<T: Pod + Send> Send for MappedVec<T> {}
#[expect(unsafe_code, reason = "it owns plain numbers, as a vector does")]
unsafe impl<T: Pod + Sync> Sync for MappedVec<T> {}

impl<T: Pod> MappedVec<T> {
    /// The numbers that begin at a place of a file, with room behind them. The file must not be cut while it is mapped.
    pub(crate) fn map(file: &File, offset: u64, len: usize, room_bytes: usize) -> io::Result<Self> {
        let size_bytes = len * size_of::<T>() + room_bytes;
        #[expect(unsafe_code, reason = "nobody writes to a snapshot that is finished, and this mapping is private")]
        let mut map = unsafe { MmapOptions::new().offset(offset).len(size_bytes).map_copy(file)? };
        let items = NonNull::from(map.as_mut()).cast::<T>();
        if !items.is_aligned() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Self { items, len, capacity: size_bytes / size_of::<T>(), map: Some(map) })
    }

    /// Adds one.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        self.extend(&[item]);
    }

    /// Adds some. Growing leaves an eighth of room to spare: rows that double hold twice what they need for half of
    /// their life, and the bytes of all workspaces share one budget.
    #[inline]
    pub(crate) fn extend(&mut self, items: &[T]) {
        if self.capacity - self.len < items.len() {
            self.grow(items.len());
        }
        #[expect(unsafe_code, reason = "there is room for them, and nobody else can refer to it")]
        unsafe {
            self.items.add(self.len).copy_from_nonoverlapping(NonNull::from(items).cast(), items.len());
        }
        self.len += items.len();
    }

    /// Changes it in any way that a vector can be changed.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Vec<T>)) {
        let mut items = self.take();
        change(&mut items);
        *self = Self::from(items);
    }

    /// The bytes it holds, with the room to spare.
    pub(crate) fn size_bytes(&self) -> usize {
        self.capacity * size_of::<T>()
    }

    #[cold]
    fn grow(&mut self, wanted: usize) {
        let room = wanted.max(self.len / 8).max(4);
        if self.map.is_none() {
            return self.edit(|items| items.reserve_exact(room));
        }
        // Copied once: a vector of exactly these would be copied again to have the room.
        let mut items = Vec::with_capacity(self.len + room);
        items.extend_from_slice(self);
        *self = Self::from(items);
    }

    /// The items as a vector; none are left here.
    fn take(&mut self) -> Vec<T> {
        let mut taken = ManuallyDrop::new(std::mem::take(self));
        match taken.map.take() {
            Some(_map) => taken.to_vec(),
            None => taken.as_vec(),
        }
    }

    #[expect(unsafe_code, reason = "these are the parts of a vector, and its maker does not use them again")]
    fn as_vec(&mut self) -> Vec<T> {
        unsafe { Vec::from_raw_parts(self.items.as_ptr(), self.len, self.capacity) }
    }
}

impl<T: Pod> From<Vec<T>> for MappedVec<T> {
    fn from(items: Vec<T>) -> Self {
        let mut items = ManuallyDrop::new(items);
        let (len, capacity) = (items.len(), items.capacity());
        Self { items: NonNull::from(items.as_mut_slice()).cast(), len, capacity, map: None }
    }
}

impl<T: Pod> Default for MappedVec<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T: Pod> Drop for MappedVec<T> {
    fn drop(&mut self) {
        if self.map.is_none() {
            drop(self.as_vec());
        }
    }
}

impl<T: Pod> Deref for MappedVec<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        #[expect(unsafe_code, reason = "`len` items are there, and they live as long as this does")]
        unsafe {
            std::slice::from_raw_parts(self.items.as_ptr(), self.len)
        }
    }
}

impl<T: Pod> DerefMut for MappedVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        #[expect(unsafe_code, reason = "`len` items are there, and `&mut self` lets nobody else see them")]
        unsafe {
            std::slice::from_raw_parts_mut(self.items.as_ptr(), self.len)
        }
    }
}

impl<T: Pod> FromIterator<T> for MappedVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::from(Vec::from_iter(items))
    }
}

#[cfg(test)]
mod tests {
    use mnemon_platform::files;

    use super::*;

    #[test]
    fn a_mapped_row_grows_and_its_file_stays() {
        let path = std::env::temp_dir().join(format!("mnemon-flat-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let kept: Vec<u32> = (0..1000).collect();
        files::write_all_at(&file, bytemuck::cast_slice(&kept), 4096).unwrap();
        file.set_len(4096 + 4000 + 40).unwrap();
        let mut row = MappedVec::<u32>::map(&file, 4096, 1000, 40).unwrap();
        assert_eq!(*row, kept);
        row[3] = 77;
        (1000..1010).for_each(|number| row.push(number));
        assert!(row.map.is_some(), "there was room for ten");
        row.push(1010);
        assert!(row.map.is_none());
        let expected: Vec<u32> = (0..1011).map(|number| if number == 3 { 77 } else { number }).collect();
        assert_eq!(*row, expected);
        let again = MappedVec::<u32>::map(&file, 4096, 1000, 40).unwrap();
        assert_eq!(*again, kept, "what was changed never reached the file");
        drop((row, file));
        assert_eq!(again.len(), 1000, "a mapping outlives the file's name and handle");
    }

    #[test]
    fn a_row_on_the_heap_is_a_vector() {
        let mut row: MappedVec<u16> = MappedVec::default();
        let mut expected = Vec::new();
        for number in 0..500 {
            row.push(number);
            expected.push(number);
        }
        row.extend(&[7, 8, 9]);
        expected.extend([7, 8, 9]);
        row.edit(|items| items.insert(2, 42));
        expected.insert(2, 42);
        assert_eq!(*row, expected);
        assert!(row.size_bytes() <= 2 * (expected.len() + expected.len() / 8 + 4), "it grows by an eighth");
    }
}
