//! The map of a folder: nested rectangles whose areas are proportional to the sizes of folders.
//!
//! Screen readers see the map as one picture, because the table beside it has the same contents. With the
//! mouse, each tile is a link.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use maud::{Markup, html};
use space::{DirId, Rect, Space, squarify};

use super::address;
use super::measure::{Measure, Share};
use crate::app::spaces::key;
use crate::layout::plain_name;
use crate::quantity;

/// Maximum number of tiles. More are slow on phones and too small to see.
const TILES: usize = 600;
/// Smallest area of a tile, in square pixels. Smaller folders share a tile.
const MIN_AREA: f64 = 60.0;
/// Smallest tile that shows the contents of its folder.
const MIN_OPEN: (f64, f64) = (70.0, 56.0);
/// Height of the title of a tile that shows the contents of its folder.
const TITLE: f64 = 17.0;
/// Space between a tile and the tiles in it.
const GAP: f64 = 2.0;
/// Maximum number of levels. Deeper ones are a click away.
const LEVELS: u32 = 4;
/// Width of a letter, as a cautious guess.
const LETTER: f64 = 6.8;

/// Width and height of the map in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    width: f64,
    height: f64,
}

impl Default for Plane {
    fn default() -> Plane {
        Plane::new(None, None)
    }
}

impl Plane {
    /// Returns a plane of about this size.
    pub(super) fn new(width: Option<u32>, height: Option<u32>) -> Plane {
        let (width, height) = (width.unwrap_or(620), height.unwrap_or(560));
        Plane { width: width.clamp(200, 4000).into(), height: height.clamp(150, 4000).into() }
    }
}

/// The content of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// A folder.
    Dir(DirId),
    /// The files directly in the parent folder.
    Own,
    /// This many smaller folders.
    Rest(usize),
}

impl Item {
    fn dir(self) -> Option<DirId> {
        if let Item::Dir(dir) = self { Some(dir) } else { None }
    }
}

#[derive(Clone, Copy, Debug)]
struct Tile {
    item: Item,
    /// The folder that contains it.
    parent: DirId,
    /// The folder in the table that contains it.
    top: Option<DirId>,
    size: u64,
    rect: Rect,
    level: u32,
    /// The part that its colour shows: what is reclaimable, or what has grown.
    highlighted: Share,
    /// True if the tiles in it follow.
    is_open: bool,
}

/// A tile that could be opened. The largest is opened first.
struct Candidate {
    area: f64,
    index: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        self.area.total_cmp(&other.area).then_with(|| other.index.cmp(&self.index))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Candidate) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// Returns the map of a folder.
pub(super) fn draw(space: &Space, dir: DirId, measure: Measure, plane: Plane) -> Markup {
    let tiles = tiles(space, dir, measure, plane);
    let whole = tiles.iter().filter(|tile| tile.level == 0).map(|tile| tile.size).sum();
    let Plane { width, height } = plane;
    html! {
        svg.map viewBox={ "0 0 " (width) " " (height) } role="group"
            aria-label={ "Map of " (plain_name(&space.path(dir))) " by " (measure.title()) ". The table shows the same folders." } {
            @if tiles.is_empty() {
                text.nothing x=(width / 2.0) y=(height / 2.0) { (nothing(measure)) }
            }
            @for tile in &tiles { (draw_tile(space, tile, measure, whole)) }
        }
    }
}

fn nothing(measure: Measure) -> &'static str {
    match measure {
        Measure::Size | Measure::Files => "No files",
        Measure::Reclaimable => "Nothing to reclaim here",
        Measure::Grown => "Nothing has grown here",
    }
}

/// Returns the tiles, each before the tiles in it.
fn tiles(space: &Space, dir: DirId, measure: Measure, plane: Plane) -> Vec<Tile> {
    let rect = Rect { x: 0.0, y: 0.0, width: plane.width, height: plane.height };
    let mut tiles = inner(space, dir, None, measure, rect, 0);
    let mut waiting: BinaryHeap<Candidate> = candidates(&tiles, 0).collect();
    while let Some(Candidate { index, .. }) = waiting.pop() {
        let Tile { item: Item::Dir(dir), top, rect, level, .. } = tiles[index] else { continue };
        let more = inner(space, dir, top, measure, inside(rect), level + 1);
        if more.is_empty() || tiles.len() + more.len() > TILES {
            continue;
        }
        tiles[index].is_open = true;
        let first = tiles.len();
        tiles.extend(more);
        waiting.extend(candidates(&tiles, first));
    }
    // Tiles were added in order of level within each folder, so a folder always precedes its content.
    tiles
}

fn candidates(tiles: &[Tile], first: usize) -> impl Iterator<Item = Candidate> {
    let indexed = tiles.iter().enumerate().skip(first);
    let large = indexed.filter(|(_, tile)| {
        let is_large = tile.rect.width >= MIN_OPEN.0 && tile.rect.height >= MIN_OPEN.1;
        is_large && tile.level + 1 < LEVELS && matches!(tile.item, Item::Dir(_))
    });
    large.map(|(index, tile)| Candidate { area: tile.rect.area(), index })
}

/// Returns the rectangle for the tiles in a tile.
fn inside(rect: Rect) -> Rect {
    Rect {
        x: rect.x + GAP,
        y: rect.y + TITLE,
        width: rect.width - 2.0 * GAP,
        height: rect.height - TITLE - GAP,
    }
}

/// Returns the tiles directly in a folder.
fn inner(
    space: &Space,
    dir: DirId,
    top: Option<DirId>,
    measure: Measure,
    rect: Rect,
    level: u32,
) -> Vec<Tile> {
    let children = space.children(dir, measure.order());
    let sized =
        children.into_iter().map(|child| (measure.of(&space.totals(child)), Item::Dir(child)));
    let mut items: Vec<(u64, Item)> = sized.filter(|(size, _)| *size > 0).collect();
    let mut small_ones = (0, 0);
    let own = measure.of_own(space, dir);
    let total = items.iter().map(|(size, _)| size).fold(own, |sum, size| sum.saturating_add(*size));
    let shown = items.partition_point(|(size, _)| area_of(*size, total, rect) >= MIN_AREA);
    let small: Vec<(u64, Item)> = items.drain(shown.min(TILES / 3)..).collect();
    if !small.is_empty() {
        let size =
            small.iter().map(|(size, _)| size).fold(0, |sum, size| u64::saturating_add(sum, *size));
        let dirs = small.iter().filter_map(|(_, item)| item.dir());
        small_ones = dirs.map(|dir| measure.highlighted(&space.totals(dir))).fold((0, 0), sum);
        items.push((size, Item::Rest(small.len())));
    }
    if own > 0 {
        items.push((own, Item::Own));
    }
    items.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let areas: Vec<u64> = items.iter().map(|(size, _)| *size).collect();
    let rects = squarify(&areas, rect);
    let placed = items.into_iter().zip(rects).map(|((size, item), rect)| {
        let (part, whole) = match item {
            Item::Dir(dir) => measure.highlighted(&space.totals(dir)),
            Item::Own => measure.highlighted_own(space, dir),
            Item::Rest(_) => small_ones,
        };
        let (top, highlighted) = (top.or(item.dir()), Share::new(part, whole));
        Tile { item, parent: dir, top, size, rect, level, highlighted, is_open: false }
    });
    placed.collect()
}

fn sum(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

#[expect(clippy::cast_precision_loss, reason = "one part in 2^53 cannot be seen")]
fn area_of(size: u64, total: u64, rect: Rect) -> f64 {
    size as f64 / total.max(1) as f64 * rect.area()
}

fn draw_tile(space: &Space, tile: &Tile, measure: Measure, whole: u64) -> Markup {
    let Rect { x, y, width, height } = tile.rect;
    let label = label(space, tile);
    let facts = format!("{}, {}", measure.amount(tile.size), Share::new(tile.size, whole).text());
    let to = match tile.item {
        Item::Dir(dir) => dir,
        Item::Own | Item::Rest(_) => tile.parent,
    };
    html! {
        a href=(address(space, to, measure)) tabindex="-1" data-top=[tile.top.map(|dir| key(space, dir))] {
            title { (label) ": " (facts) (colour_text(tile, measure)) }
            rect.tile.{ "share-" (tile.highlighted.class()) } .open[tile.is_open]
                x=(round(x)) y=(round(y)) width=(round(width)) height=(round(height)) {}
            @if let Some(text) = fitting(&label, width - 8.0).filter(|_| height >= 15.0) {
                text x=(round(x + 4.0)) y=(round(y + 12.5)) { (text) }
            }
            @if !tile.is_open && height >= 32.0 && let Some(text) = fitting(&facts, width - 8.0) {
                text.more x=(round(x + 4.0)) y=(round(y + 27.0)) { (text) }
            }
        }
    }
}

fn label(space: &Space, tile: &Tile) -> String {
    match tile.item {
        Item::Dir(dir) => plain_name(space.name(dir)),
        Item::Own => "Files directly here".into(),
        Item::Rest(count) => quantity::counted(count as u64, "smaller folder", "smaller folders"),
    }
}

/// Returns as much of a text as fits into a width, or `None` if that is next to nothing.
fn fitting(text: &str, width: f64) -> Option<String> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small positive number"
    )]
    let letters = (width / LETTER).max(0.0) as usize;
    if text.chars().count() <= letters {
        return Some(text.to_owned());
    }
    (letters >= 4).then(|| text.chars().take(letters - 1).chain(['…']).collect())
}

/// Rounds to tenths of a pixel.
fn round(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

fn colour_text(tile: &Tile, measure: Measure) -> String {
    let word = if measure == Measure::Grown { "new" } else { "reclaimable" };
    format!(", {} of its disk space {word}", tile.highlighted.text())
}

/// Returns the explanation of the colours.
pub(super) fn legend(measure: Measure) -> Markup {
    let word = if measure == Measure::Grown { "New since the earlier scan" } else { "Reclaimable" };
    html! {
        p.legend {
            (word) ": "
            @for (class, text) in ["nothing", "under 10 %", "10 to 50 %", "over 50 %"].into_iter().enumerate() {
                span {
                    svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true" {
                        rect.tile.{ "share-" (class) } width="14" height="14" {}
                    }
                    " " (text)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn a_label_is_cut_to_its_tile() {
        assert_eq!(fitting("photos", 100.0).as_deref(), Some("photos"));
        assert_eq!(fitting("photographs", 40.0).as_deref(), Some("phot…"));
        assert_eq!(fitting("photographs", 20.0), None);
        assert_eq!(fitting("photographs", -5.0), None);
        assert_eq!(fitting("日本語日本語", 30.0).as_deref(), Some("日本語…"));
    }
}
