//! Where the program's memory comes from: mimalloc, because a save or a search makes hundreds of small allocations, and the
//! system's allocator takes a tenth of their time (`mnemon-bench load`).
//!
//! The crate `mimalloc` has this too, and asks for an alignment each time. A block of 16 bytes or more is aligned to 16
//! anyway, and mimalloc, being asked for less, looks for room to move, from a kilobyte on nearly always: a call that costs
//! more, and blocks that are larger than they need be.
//!
//! Its second version: the third keeps 12 to 33 % more memory resident under the same load, and is no faster
//! (`mnemon-bench load`, both in turns).

#![expect(unsafe_code, reason = "an allocator has no safe interface")]

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};

/// Memory by mimalloc.
#[derive(Debug)]
pub struct Allocator;

/// Every block begins at a multiple of its own alignment up to this, if it is as large.
const ALIGNED_ANYWAY: usize = 16;

const fn is_aligned_anyway(size: usize, align: usize) -> bool {
    align <= ALIGNED_ANYWAY && align <= size
}

// SAFETY: mimalloc keeps the contract of `malloc` and its relatives. A block of `size` bytes that is asked for without an
// alignment has every alignment up to 16 that is no larger than `size`; all others are asked for.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size will do.
        unsafe {
            if is_aligned_anyway(layout.size(), layout.align()) {
                mi_malloc(layout.size()).cast()
            } else {
                mi_malloc_aligned(layout.size(), layout.align()).cast()
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size will do.
        unsafe {
            if is_aligned_anyway(layout.size(), layout.align()) {
                mi_zalloc(layout.size()).cast()
            } else {
                mi_zalloc_aligned(layout.size(), layout.align()).cast()
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        // SAFETY: the caller has it from here.
        unsafe { mi_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller has it from here. Both may get blocks that the other handed out.
        unsafe {
            if is_aligned_anyway(size, layout.align()) {
                mi_realloc(block.cast(), size).cast()
            } else {
                mi_realloc_aligned(block.cast(), size, layout.align()).cast()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of all sizes at once, so that they lie next to each other.
    #[test]
    fn blocks_have_the_alignment_that_was_asked_for_and_keep_what_is_in_them() {
        for align in [1, 2, 4, 8, 16, 32, 64, 128, 4096] {
            let sizes = (1..=2_100).chain([4_095, 4_096, 4_097, 9_000, 70_000, 1 << 20, (1 << 24) + 1]);
            let blocks: Vec<(Layout, *mut u8)> =
                sizes.map(|size| fill(Layout::from_size_align(size, align).unwrap())).collect();
            for (layout, block) in blocks {
                empty(layout, block);
            }
        }
    }

    fn fill(layout: Layout) -> (Layout, *mut u8) {
        // SAFETY: no size is zero, and what is written lies inside.
        unsafe {
            let block =
                if layout.size().is_multiple_of(2) { Allocator.alloc(layout) } else { Allocator.alloc_zeroed(layout) };
            assert!(!block.is_null() && block.addr().is_multiple_of(layout.align()), "{layout:?}");
            assert!(layout.size().is_multiple_of(2) || *block == 0 && *block.add(layout.size() - 1) == 0, "{layout:?}");
            *block = 7;
            *block.add(layout.size() - 1) = 7;
            (layout, block)
        }
    }

    /// Makes it larger and smaller, and gives it back.
    fn empty(layout: Layout, block: *mut u8) {
        // SAFETY: the block is of this layout, and what is read lies inside.
        unsafe {
            let larger = Layout::from_size_align(2 * layout.size() + 3, layout.align()).unwrap();
            let block = Allocator.realloc(block, layout, larger.size());
            assert!(block.addr().is_multiple_of(layout.align()) && *block.add(layout.size() - 1) == 7, "{layout:?}");
            let block = Allocator.realloc(block, larger, 1);
            assert!(block.addr().is_multiple_of(layout.align()) && *block == 7, "{layout:?}");
            Allocator.dealloc(block, Layout::from_size_align(1, layout.align()).unwrap());
        }
    }
}
