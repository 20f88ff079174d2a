//! Loops that a processor does for many items at once. Each is written plainly, and compiled once more for processors
//! with wide registers; whole numbers and single roots are the same in every variant.

/// Compiles a plain loop for several processors and takes the widest that this one has.
macro_rules! wide {
    ($(#[$doc:meta])* $name:ident = $plain:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?) => {
        $(#[$doc])*
        pub(crate) fn $name($($arg: $type),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
                fn widest($($arg: $type),*) $(-> $out)? {
                    $plain($($arg),*)
                }
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $type),*) $(-> $out)? {
                    $plain($($arg),*)
                }
                if is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                {
                    #[expect(unsafe_code, reason = "the processor has just been asked for these features")]
                    return unsafe { widest($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") {
                    #[expect(unsafe_code, reason = "the processor has just been asked for this feature")]
                    return unsafe { wide($($arg),*) };
                }
            }
            $plain($($arg),*)
        }
    };
}

pub(crate) use wide;

/// Asks for memory that will be read soon.
#[inline(always)]
pub(crate) fn fetch<T>(items: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        for line in (0..size_of_val(items)).step_by(LINE) {
            #[expect(unsafe_code, reason = "a prefetch changes nothing, and the place is within the slice")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().cast::<i8>().add(line));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = items;
}
