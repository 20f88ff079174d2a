//! Growth and counting of memory. Vectors that double hold twice what they need for half of their life, and the bytes
//! of all workspaces share one budget; so the large ones grow by an eighth.

/// Pushes with an eighth of room to spare.
pub(crate) fn push_tight<T>(vec: &mut Vec<T>, item: T) {
    if vec.len() == vec.capacity() {
        vec.reserve_exact((vec.len() / 8).max(4));
    }
    vec.push(item);
}

/// Heap bytes a vector holds.
pub(crate) fn vec_bytes<T>(vec: &Vec<T>) -> usize {
    vec.capacity() * size_of::<T>()
}
