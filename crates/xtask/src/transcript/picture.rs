//! Draws the first commands of the example as they look in a terminal.
//!
//! The picture contains text and no fonts or scripts, so it stays small, sharp and readable by screen readers.

use std::fmt::Write;

/// The picture ends before this command, so that it fits on a screen.
const END: &str = "$ lop sweep";

/// Sizes in pixels. The width of a character is that of common monospaced fonts, three fifths of the size of the font.
const FONT_SIZE: usize = 14;
const LINE_HEIGHT: usize = 20;
const MARGIN: usize = 18;

/// Number of characters on a line.
const COLUMNS: usize = 80;

/// Returns the picture as SVG.
pub(super) fn draw(block: &str) -> String {
    let lines: Vec<_> = block.lines().take_while(|line| !line.starts_with(END)).collect();
    let lines =
        &lines[..lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1)];
    let width = COLUMNS * FONT_SIZE * 3 / 5 + 2 * MARGIN;
    let height = lines.len() * LINE_HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"{FONT_SIZE}\">\n\
         <style>text {{ white-space: pre }}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#16181d\"/>\n\
         <g fill=\"#c8ccd4\">\n"
    );
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = MARGIN + number * LINE_HEIGHT + FONT_SIZE;
        let _infallible = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y}\">{}</text>", coloured(line));
    }
    svg + "</g>\n</svg>\n"
}

/// Returns the text of a line. The prompt, the command and its comment have colours of their own.
fn coloured(line: &str) -> String {
    let Some(command) = line.strip_prefix("$ ") else { return escaped(line) };
    let code = command.split("  #").next().unwrap_or_default().trim_end();
    let (command, comment) = command.split_at(code.len());
    let span =
        |colour: &str, text: &str| format!("<tspan fill=\"{colour}\">{}</tspan>", escaped(text));
    let comment = if comment.is_empty() { String::new() } else { span("#8a919e", comment) };
    [span("#7fb069", "$ "), span("#ffffff", command), comment].concat()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn commands_and_their_output_are_drawn_up_to_the_sweep() {
        let svg = draw("$ lop scan .   # first\nFound <1> & more\n\n$ lop sweep .\nlast\n");
        assert!(svg.contains("height=\"76\""), "two lines: {svg}");
        assert!(svg.contains(">lop scan .</tspan>") && svg.contains(">   # first</tspan>"));
        assert!(svg.contains("y=\"52\">Found &lt;1&gt; &amp; more</text>"), "{svg}");
        assert!(!svg.contains("sweep") && !svg.contains("last"));
    }
}
