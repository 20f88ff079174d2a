//! Numbers as bytes and back, little-endian: the alphabet of snapshots. What a snapshot holds: `snapshot.rs`.

/// Appends numbers and runs of numbers, little-endian. A run begins with its length.
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn number(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(crate) fn large_number(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(crate) fn run(&mut self, bytes: &[u8]) {
        self.large_number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn numbers<const N: usize>(&mut self, items: impl ExactSizeIterator<Item = [u8; N]>) {
        self.large_number((items.len() * N) as u64);
        items.for_each(|item| self.bytes.extend_from_slice(&item));
    }
}

/// Takes them apart again; `None` where the bytes end too early.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn number(&mut self) -> Option<u32> {
        self.chunk().map(u32::from_le_bytes)
    }

    pub(crate) fn large_number(&mut self) -> Option<u64> {
        self.chunk().map(u64::from_le_bytes)
    }

    pub(crate) fn run(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.large_number()?).ok()?;
        self.take(length)
    }

    /// The items of a run, each of `N` bytes.
    pub(crate) fn numbers<const N: usize>(&mut self) -> Option<&'a [[u8; N]]> {
        let (items, rest) = self.run()?.as_chunks();
        rest.is_empty().then_some(items)
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }
}
