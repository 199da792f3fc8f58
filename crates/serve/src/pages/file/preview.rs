//! The part of a page that shows a file: a picture, a player, the beginning of a text, or facts only.

use maud::{Markup, html};

use super::address::Address;
use super::member::Opened;
use super::meta::{self, Facts};
use super::size::Pixels;
use super::text;
use super::types::Shown;
use crate::error::PageError;
use crate::layout::{name, plain_name};
use crate::quantity;

/// Returns the part of a page that says why a file cannot be opened.
pub(super) fn unavailable(error: &PageError) -> Markup {
    html! { div.preview-box { p.note.warning { "No preview: " (error.text()) ". " (error.advice()) } } }
}

/// Returns the part of a page that shows the file with an address. Reads the start of the file.
///
/// # Errors
///
/// Fails if the file cannot be read.
pub(super) fn show(file: &Opened, address: Address) -> Result<Markup, PageError> {
    let start = file.start(meta::READ_BYTES)?;
    let size = file.stat.size;
    let pixels = Pixels::of(file.kind, &start);
    let address = format!("/file/{address}");
    let text = (file.kind.shown(size) == Shown::Text)
        .then(|| text::fragment(&start[..start.len().min(text::SHOWN_BYTES)], size));
    let facts = meta::facts(start);
    let label = plain_name(file.name());
    let shown = match file.kind.shown(size) {
        Shown::Picture if pixels.is_none_or(Pixels::is_shown) => {
            html! { img.preview src=(address) alt=(label) decoding="async" loading="lazy"; }
        }
        Shown::Picture => html! { p.dim { "This picture is too large to show." } },
        Shown::Video => html! {
            video.preview src=(address) aria-label=(label) preload="metadata" controls playsinline {}
        },
        Shown::Sound => {
            html! { audio src=(address) aria-label=(label) preload="metadata" controls {} }
        }
        Shown::Text => text.unwrap_or_default(),
        Shown::Nothing if facts.has_thumbnail => html! {
            img.preview src={ (address) "/thumb" } alt={ "Thumbnail of " (label) } decoding="async";
        },
        Shown::Nothing => html! { p.dim { "No preview of this type of file." } },
    };
    Ok(html! {
        div.preview-box {
            (shown)
            (facts_line(file, pixels, &facts))
            p { a.button href={ (address) "?download" } download=(label) { "Download " (name(file.name())) } }
        }
    })
}

fn facts_line(file: &Opened, pixels: Option<Pixels>, facts: &Facts) -> Markup {
    html! {
        ul.facts {
            @if let Some(kind) = file.kind.name() { li { (kind) } }
            li { (quantity::size(file.stat.size)) }
            @if let Some(pixels) = pixels {
                li { (quantity::count(pixels.width.into())) " × " (quantity::count(pixels.height.into())) }
            }
            @if let Some(taken) = &facts.taken { li { "taken " (name(taken.as_bytes())) } }
            @if let Some(camera) = &facts.camera { li { (name(camera.as_bytes())) } }
        }
    }
}
