//! The space of directories, as `ncdu` shows it: one directory at a time, the largest subdirectories first.

use review::Needle;
use runtime::quantity::{counted, size};
use space::{By, DirId, Space, TOP, Totals};

use crate::bindings::{Action, Place};
use crate::effect::Effect;
use crate::list::List;
use crate::text::{bar, cut, difference, name, percent, size_or_blank};
use crate::views::{Remote, Row, Tone, View, empty_note};
use crate::work::{Load, Sizes};

/// A row of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Dir(DirId),
    /// The files that belong to the directory but to none of its subdirectories.
    Files,
}

/// The view of the space.
#[derive(Debug)]
pub(crate) struct SpaceView {
    sizes: Remote<Sizes>,
    /// The path of the directory. A reload of the catalog changes the ids of directories, but not their paths.
    path: Option<Vec<u8>>,
    dir: DirId,
    by: By,
    items: Vec<Item>,
    list: List,
    filter: String,
    /// The path of the row of the cursor at the start of the last load.
    selected: Option<Vec<u8>>,
    local_time: fn(i64) -> String,
}

/// The numbers of a row.
struct Fields {
    allocated: u64,
    reclaimable: u64,
    grown: Option<i64>,
    files: u64,
}

impl From<Totals> for Fields {
    fn from(totals: Totals) -> Fields {
        let Totals { allocated, reclaimable, grown, files, .. } = totals;
        Fields { allocated, reclaimable, grown, files }
    }
}

/// Number of columns of the bar, without its ends.
const BAR: usize = 10;
/// Minimum number of columns for names. The view shows a bar only if it leaves this room.
const NAME: usize = 16;
/// Columns of the numbers that every row shows, with the gaps after them. The second constant is for the growth.
const NUMBERS: usize = 11 + 1 + 4 + 1 + 11 + 2;
const GROWTH: usize = 13;

impl SpaceView {
    /// Starts at the directory with this path, or at the lowest one that contains all files.
    pub(crate) fn new(path: Option<Vec<u8>>, local_time: fn(i64) -> String) -> SpaceView {
        SpaceView {
            sizes: Remote::Absent,
            path,
            dir: TOP,
            by: By::Size,
            items: Vec::new(),
            list: List::default(),
            filter: String::new(),
            selected: None,
            local_time,
        }
    }

    /// Returns the effect that loads the sizes.
    pub(crate) fn load(&mut self) -> Vec<Effect> {
        if let Some(Sizes { space, .. }) = self.sizes.ready() {
            let item = self.items.get(self.list.at);
            self.selected = item.map(|item| match item {
                Item::Dir(dir) => space.path(*dir),
                Item::Files => self.dir().to_vec(),
            });
        }
        self.sizes.load(Load::Space)
    }

    /// Takes the loaded sizes. Shows the same directory as before with the same filter and cursor, if it still exists,
    /// or the one above.
    pub(crate) fn set(&mut self, sizes: Result<Sizes, String>) {
        self.sizes = Remote::of(sizes);
        let Some(Sizes { space, .. }) = self.sizes.ready() else { return };
        let path = self.path.as_deref();
        let dir = match path {
            None => space.lowest_with_all(TOP),
            Some(path) => above(path).find_map(|path| space.find(path)).unwrap_or(TOP),
        };
        let selected = self.selected.take().and_then(|path| space.find(&path));
        let path = space.path(dir);
        if self.path.as_ref() != Some(&path) {
            return self.enter(dir, selected);
        }
        (self.dir, self.list) = (dir, List::default());
        let is_here =
            |selected: DirId| if selected == dir { Item::Files } else { Item::Dir(selected) };
        self.sort(selected.map(is_here));
    }

    /// Returns the path of the directory on the screen, or the root directory before the sizes are ready.
    pub(crate) fn dir(&self) -> &[u8] {
        self.path.as_deref().unwrap_or(b"/")
    }

    /// Shows a directory, with the cursor at one of its subdirectories.
    fn enter(&mut self, dir: DirId, cursor: Option<DirId>) {
        let Some(Sizes { space, .. }) = self.sizes.ready() else { return };
        self.path = Some(space.path(dir));
        self.dir = dir;
        self.filter.clear();
        self.list = List::default();
        self.sort(cursor.map(Item::Dir));
    }

    /// Sorts the rows, with the cursor at one of them.
    fn sort(&mut self, cursor: Option<Item>) {
        let Some(Sizes { space, .. }) = self.sizes.ready() else { return };
        let needle = Needle::new(self.filter.as_bytes());
        let children = space.children(self.dir, self.by).into_iter();
        let chosen = children.filter(|&dir| needle.is_in(space.name(dir)));
        self.items = chosen.map(Item::Dir).collect();
        let own = space.own(self.dir);
        if own.files > 0 && self.filter.is_empty() {
            let rank = match self.by {
                By::Size => i64::try_from(own.allocated).unwrap_or(i64::MAX),
                _ => i64::MIN,
            };
            let is_before = |item: &Item| match item {
                Item::Dir(dir) => space.rank(*dir, self.by) >= rank,
                Item::Files => false,
            };
            self.items.insert(self.items.partition_point(is_before), Item::Files);
        }
        let at = cursor.and_then(|cursor| self.items.iter().position(|item| *item == cursor));
        self.list.at = at.unwrap_or(0);
    }

    fn fields(&self, space: &Space, item: Item) -> Fields {
        match item {
            Item::Dir(dir) => space.totals(dir).into(),
            // lop knows neither how much of these files alone is reclaimable nor how much they have grown.
            Item::Files => Fields { reclaimable: 0, grown: None, ..space.own(self.dir).into() },
        }
    }

    /// Returns whether lop knows the growth of any directory.
    fn has_growth(&self) -> bool {
        self.sizes.ready().is_some_and(|sizes| !sizes.comparisons.compared.is_empty())
    }

    fn has_bar(&self, columns: usize) -> bool {
        let growth = if self.has_growth() { GROWTH } else { 0 };
        columns >= NUMBERS + growth + BAR + 3 + NAME
    }

    fn is_related(&self, space: &Space, dir: DirId) -> bool {
        space.is_at_or_below(dir, self.dir) || space.is_at_or_below(self.dir, dir)
    }

    /// Returns the text about the end of the earlier scan that the growth refers to. Several roots may have different
    /// earlier scans.
    fn since(&self) -> Option<String> {
        let Sizes { space, comparisons } = self.sizes.ready()?;
        let compared = comparisons.compared.iter();
        let roots = compared.filter(|compared| self.is_related(space, compared.dir));
        let mut times = roots.map(|compared| compared.since_ms);
        let first = times.next()?;
        if times.all(|time| time == first) {
            return Some(format!(", grown since {}", (self.local_time)(first)));
        }
        Some(", grown since earlier scans".into())
    }

    fn order(&mut self, by: By) -> Vec<Effect> {
        self.by = by;
        self.sort(None);
        if by == By::Grown && !self.has_growth() {
            return vec![Effect::Say(
                "Growth is known after the second scan of a directory.".into(),
            )];
        }
        Vec::new()
    }
}

/// Returns a path and the paths of all directories above it.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path), |path| {
        let end = path.iter().rposition(|&byte| byte == b'/')?;
        (path.len() > 1).then(|| &path[..end.max(1)])
    })
}

impl View for SpaceView {
    fn place(&self) -> Place {
        Place::Space
    }

    fn title(&self) -> (String, String) {
        let order = match self.by {
            By::Size => "by disk space",
            By::Reclaimable => "by reclaimable space",
            By::Grown => "by growth",
            By::Files => "by files",
        };
        (name(self.dir()), format!("{order}{}", self.since().unwrap_or_default()))
    }

    fn heading(&self, columns: usize) -> String {
        let bar = if self.has_bar(columns) { " ".repeat(BAR + 3) } else { String::new() };
        let grown = if self.has_growth() { format!(" {:>12}", "grown") } else { String::new() };
        let (size, reclaimable) = ("disk space", "reclaimable");
        format!("{size:>11} {bar}   % {reclaimable:>11}{grown}  directory")
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn row(&self, at: usize, columns: usize) -> Row {
        let (Some(Sizes { space, .. }), Some(&item)) = (self.sizes.ready(), self.items.get(at))
        else {
            return Row::default();
        };
        let all = space.totals(self.dir).allocated;
        let Fields { allocated, reclaimable, grown, files } = self.fields(space, item);
        let label = match item {
            Item::Dir(dir) => format!("{}/", name(space.name(dir))),
            // A file with names in several subdirectories belongs to none of them, so this row counts it.
            Item::Files if self.items.len() > 1 => {
                format!("({} here or in several)", counted(files, "file", "files"))
            }
            Item::Files => format!("({} here)", counted(files, "file", "files")),
        };
        let (mut shown_bar, mut growth) = (String::new(), String::new());
        if self.has_bar(columns) {
            shown_bar = format!("{} ", bar(allocated, all, BAR));
        }
        if self.has_growth() {
            growth = format!(" {:>12}", grown.map(difference).unwrap_or_default());
        }
        let (share, reclaimable) = (percent(allocated, all), size_or_blank(reclaimable));
        let text =
            format!("{:>11} {shown_bar}{share:>3}% {reclaimable:>11}{growth}  ", size(allocated));
        let room = columns.saturating_sub(text.len());
        let tone = if item == Item::Files { Tone::Quiet } else { Tone::Plain };
        Row { text: text + &cut(&label, room), tone }
    }

    fn details(&self, at: usize) -> String {
        match (self.sizes.ready(), self.items.get(at)) {
            (Some(Sizes { space, .. }), Some(&Item::Dir(dir))) => name(&space.path(dir)),
            _ => name(self.dir()),
        }
    }

    fn note(&self) -> Option<String> {
        let empty = || {
            let everything = "No directories and no files here.";
            self.items.is_empty().then(|| empty_note(&self.filter, everything))
        };
        self.sizes.note().or_else(empty)
    }

    fn totals(&self) -> String {
        let Some(Sizes { space, comparisons }) = self.sizes.ready() else { return String::new() };
        let Totals { files, allocated, reclaimable, .. } = space.totals(self.dir);
        let files = counted(files, "file", "files");
        let text =
            format!("{files}, {} on disk, {} reclaimable", size(allocated), size(reclaimable));
        let is_related = |&dir: &DirId| self.is_related(space, dir);
        let is_outdated = comparisons.outdated.iter().any(is_related);
        text + if is_outdated { "; a run has changed files since the scan" } else { "" }
    }

    fn list(&mut self) -> &mut List {
        &mut self.list
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::Open => matches!(self.items.get(self.list.at), Some(Item::Dir(_))),
            Action::Leave => {
                self.sizes.ready().is_some_and(|sizes| sizes.space.parent(self.dir).is_some())
            }
            Action::ByGrown => self.has_growth(),
            _ => true,
        }
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Open => {
                if let Some(&Item::Dir(dir)) = self.items.get(self.list.at) {
                    self.enter(dir, None);
                }
            }
            Action::Leave => {
                let parent = self.sizes.ready().and_then(|sizes| sizes.space.parent(self.dir));
                if let Some(parent) = parent {
                    self.enter(parent, Some(self.dir));
                }
            }
            Action::BySize => return self.order(By::Size),
            Action::ByReclaimable => return self.order(By::Reclaimable),
            Action::ByGrown => return self.order(By::Grown),
            Action::Back => return self.sizes.stop(Load::Space),
            _ => {}
        }
        Vec::new()
    }

    fn filter(&self) -> &str {
        &self.filter
    }

    fn set_filter(&mut self, text: &str) -> Result<(), String> {
        text.clone_into(&mut self.filter);
        self.list = List::default();
        self.sort(None);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::above;

    #[test]
    fn the_directories_above_a_path_end_with_the_root() {
        let all = |path| above(path).collect::<Vec<_>>();
        assert_eq!(all(b"/a/b"), [&b"/a/b"[..], b"/a", b"/"]);
        assert_eq!(all(b"/"), [b"/"]);
    }
}
