//! The kinds of work of a scan, and the kind to which a sample of `perf script` belongs.
//!
//! A sample belongs to the outermost system call in its stack. Without one, it belongs to a page
//! fault, to an interrupt, or to the work of lop in user space, which is known by the names of
//! functions. Names are compared by parts, because the compiler adds hashes and type parameters.

/// The address above which the kernel is mapped. Addresses of programs are below it.
const FIRST_KERNEL_ADDRESS: u64 = 1 << 63;

/// The beginnings of the kernel's names for system calls, for x86-64 and 64-bit ARM.
const SYSTEM_CALLS: [&str; 2] = ["__x64_sys_", "__arm64_sys_"];

/// The entry of the kernel for page faults.
const PAGE_FAULTS: [&str; 2] = ["asm_exc_page_fault", "el0_da"];

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Listing,
    Looking,
    Opening,
    Closing,
    Reading,
    PageFaults,
    Locks,
    OtherCalls,
    Interrupts,
    Hashing,
    Comparing,
    Sorting,
    Paths,
    Rest,
}

impl Kind {
    /// Lists all kinds and their descriptions in the order of the table.
    pub(super) const ALL: [(Self, &str); 14] = [
        (Self::Listing, "listing directories (`getdents64`)"),
        (Self::Looking, "querying metadata (`statx`)"),
        (Self::Opening, "opening (`openat`, `openat2`)"),
        (Self::Closing, "closing (`close`)"),
        (Self::Reading, "reading (`pread64`)"),
        (Self::PageFaults, "page faults outside system calls"),
        (Self::Locks, "locks and waking (`futex`)"),
        (Self::OtherCalls, "other system calls"),
        (Self::Interrupts, "interrupts and new threads"),
        (Self::Hashing, "hashing"),
        (Self::Comparing, "comparing (`memcmp`)"),
        (Self::Sorting, "sorting"),
        (Self::Paths, "printing and paths"),
        (Self::Rest, "rest of user space"),
    ];

    /// Returns the kind of a stack whose innermost frame comes first.
    fn of(stack: &[Frame]) -> Self {
        let has = |names: &[&str]| stack.iter().any(|frame| names.contains(&frame.symbol));
        if let Some(call) = stack.iter().rev().find_map(Frame::system_call) {
            Self::of_system_call(call)
        } else if has(&PAGE_FAULTS) {
            Self::PageFaults
        } else if stack.first().is_some_and(|frame| frame.is_kernel) {
            Self::Interrupts
        } else {
            Self::in_user_space(stack)
        }
    }

    fn of_system_call(name: &str) -> Self {
        match name {
            "getdents64" => Self::Listing,
            "statx" => Self::Looking,
            "openat" | "openat2" => Self::Opening,
            "close" => Self::Closing,
            "pread64" => Self::Reading,
            "futex" => Self::Locks,
            _ => Self::OtherCalls,
        }
    }

    /// Returns the kind of the innermost function with a telling name.
    fn in_user_space(stack: &[Frame]) -> Self {
        let mut kinds = stack.iter().filter_map(|frame| Self::of_function(frame.symbol));
        match kinds.next() {
            // Sorting compares names.
            Some(Self::Comparing) if kinds.any(|kind| kind == Self::Sorting) => Self::Sorting,
            Some(kind) => kind,
            None => Self::Rest,
        }
    }

    fn of_function(symbol: &str) -> Option<Self> {
        let has = |part: &str| symbol.contains(part);
        if has("xxhash") || has("blake3") {
            Some(Self::Hashing)
        } else if has("memcmp") || has("bcmp") {
            Some(Self::Comparing)
        } else if has("sort") {
            Some(Self::Sorting)
        } else if has("lop::output") || (has("walk::tree") && has("path")) {
            Some(Self::Paths)
        } else {
            None
        }
    }
}

/// A frame of a stack.
#[derive(Debug)]
struct Frame<'s> {
    is_kernel: bool,
    symbol: &'s str,
}

impl<'s> Frame<'s> {
    /// Reads a line such as `ffffffff815a4f0c filemap_add_folio`.
    fn parse(line: &'s str) -> Option<Self> {
        let (address, symbol) = line.trim().split_once(' ')?;
        let address = u64::from_str_radix(address, 16).ok()?;
        Some(Self { is_kernel: address >= FIRST_KERNEL_ADDRESS, symbol: symbol.trim() })
    }

    /// Returns the name of the system call if the frame is the beginning of one.
    fn system_call(&self) -> Option<&'s str> {
        SYSTEM_CALLS.iter().find_map(|start| self.symbol.strip_prefix(start))
    }
}

/// The samples of a run, counted by kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Samples {
    counts: std::collections::BTreeMap<Kind, u64>,
    /// True if the functions of lop have names, so the binary is not stripped.
    pub(super) has_names: bool,
}

impl Samples {
    /// Reads the output of `perf script -F tid,time,ip,sym`: a line with the thread and the time of
    /// each sample, the frames of its stack on indented lines, and an empty line.
    pub(super) fn parse(script: &str) -> Self {
        let mut samples = Self::default();
        for sample in script.split("\n\n") {
            // The line with the thread and the time has no frame.
            let lines = sample.trim_start_matches('\n').lines().skip(1);
            let stack: Vec<Frame> = lines.filter_map(Frame::parse).collect();
            if stack.is_empty() {
                continue;
            }
            // Names in Rust are paths.
            samples.has_names |= stack.iter().any(|frame| frame.symbol.contains("::"));
            *samples.counts.entry(Kind::of(&stack)).or_default() += 1;
        }
        samples
    }

    /// Returns the number of samples of a kind.
    pub(super) fn count(&self, kind: Kind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// Returns the number of all samples.
    pub(super) fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Samples};

    const SCRIPT: &str = "\
26150 60760.670679: \n\
\tffffffff815a4b14 __filemap_add_folio\n\
\tffffffff81000c82 asm_exc_page_fault\n\
\tffffffff81775dda copy_page_to_iter\n\
\tffffffff816e3a24 __x64_sys_pread64\n\
\tffffffff8225aa01 do_syscall_64\n\
\t    7f0cfb2f2ad7 __libc_pread64\n\n\
26150 60760.671000: \n\
\tffffffff82252e03 xas_start\n\
\tffffffff81000c82 asm_exc_page_fault\n\
\t    55d0cfb2f2ad core::slice::sort::unstable::quicksort\n\n\
26151 60760.671200: \n\
\tffffffff82252e03 hrtimer_interrupt\n\
\t    55d0cfb2f2ad blake3::hash\n\n\
26151 60760.671400: \n\
\tffffffff82252e03 getname_flags\n\
\tffffffff816e3a24 __x64_sys_openat2\n\n\
26151 60760.671600: \n\
\t    7f0cfb2f2ad7 __memcmp_avx2_movbe\n\
\t    55d0cfb2f2ad dupes::compare::same\n\n\
26151 60760.671800: \n\
\t    7f0cfb2f2ad7 __memcmp_avx2_movbe\n\
\t    55d0cfb2f2ad core::slice::sort::stable::driftsort\n\n\
26151 60760.672000: \n\
\t    55d0cfb2f2ad twox_hash::xxhash3_128::oneshot\n\
\t    55d0cfb2f2ae lop::output::formats::fdupes\n\n\
26151 60760.672200: \n\
\t    55d0cfb2f2ad walk::tree::Tree::path_into\n\n\
26151 60760.672400: \n\
\t    7f0cfb2f2ad7 malloc\n\
\t    55d0cfb2f2ad dupes::classes::add\n\n\
26151 60760.672600: \n\n";

    #[test]
    fn samples_belong_to_calls_faults_interrupts_and_functions() {
        let samples = Samples::parse(SCRIPT);
        let all = Kind::ALL.map(|(kind, _)| (kind, samples.count(kind)));
        let found: Vec<_> = all.into_iter().filter(|(_, count)| *count > 0).collect();
        let expected = [
            Kind::Opening,
            Kind::Reading,
            Kind::PageFaults,
            Kind::Interrupts,
            Kind::Hashing,
            Kind::Comparing,
            Kind::Sorting,
            Kind::Paths,
            Kind::Rest,
        ];
        assert_eq!(found, expected.map(|kind| (kind, 1)));
        assert_eq!((samples.total(), samples.has_names), (9, true));
    }

    #[test]
    fn a_stripped_binary_has_no_names() {
        let samples = Samples::parse("1 2.0: \n\t    55d0cfb2f2ad [unknown]\n\n");
        assert_eq!((samples.count(Kind::Rest), samples.has_names), (1, false));
        assert_eq!(Samples::parse("").total(), 0);
    }
}
