//! A pool for names that are needed temporarily.
//!
//! Names are stored in pieces of 1 MiB, the minimum size of memory that can be spilled
//! ([`runtime::memory`]).

/// Number of bytes per page, and number of pages per piece.
const PAGE: usize = 4096;
const PAGES: usize = 256;

/// Names, stored in pages. A page is reused once all of its names have been removed.
#[derive(Debug, Default)]
pub struct Names {
    pieces: Vec<Box<[u8]>>,
    /// Number of names in use, per page.
    needed: Vec<u16>,
    free: Vec<u32>,
    /// Index of the page that is being filled, and the number of bytes used in this page.
    page: u32,
    filled: usize,
}

impl Names {
    /// Stores a name, which must fit into one page. Returns the index of the page and the offset of
    /// the name in this page.
    ///
    /// # Panics
    ///
    /// Panics if the name is longer than a page, or if there are more than 16 TiB of names.
    pub fn put(&mut self, name: &[u8]) -> (u32, u16) {
        let fits = self.filled + name.len() <= PAGE;
        if self.needed.is_empty() || !fits {
            self.next_page();
        }
        let (page, at) = (self.page, self.filled);
        let start = page as usize % PAGES * PAGE + at;
        self.pieces[page as usize / PAGES][start..start + name.len()].copy_from_slice(name);
        self.needed[page as usize] += 1;
        self.filled += name.len();
        (page, u16::try_from(at).expect("a page has 4 KiB"))
    }

    /// Switches to a free page, and allocates one if necessary.
    fn next_page(&mut self) {
        self.page = self.free.pop().unwrap_or_else(|| {
            let page = self.needed.len();
            self.needed.push(0);
            if page / PAGES == self.pieces.len() {
                self.pieces.push(vec![0; PAGES * PAGE].into_boxed_slice());
            }
            u32::try_from(page).expect("fewer than 2^32 pages of names")
        });
        self.filled = 0;
    }

    /// Returns a stored name.
    pub fn get(&self, page: u32, at: u16, length: u16) -> &[u8] {
        // If only empty names were stored, the page may not exist.
        let Some(piece) = self.pieces.get(page as usize / PAGES) else { return &[] };
        let start = page as usize % PAGES * PAGE + usize::from(at);
        &piece[start..start + usize::from(length)]
    }

    /// Removes one name from a page.
    pub fn remove(&mut self, page: u32) {
        let needed = &mut self.needed[page as usize];
        *needed -= 1;
        if *needed > 0 {
            return;
        }
        if page == self.page {
            self.filled = 0;
        } else {
            self.free.push(page);
        }
    }

    /// Returns the number of pages.
    pub fn pages(&self) -> usize {
        self.needed.len()
    }
}
