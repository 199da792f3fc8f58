//! Separates the code of a Rust file from its comments, accurately enough for the rules of tidy.
//!
//! String and character literals count as neither code nor comments, so a message to the user is
//! not mistaken for an identifier or a comment. Macros and nested block comments are not treated
//! specially.

/// A piece of a source file, with its line number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) line: usize,
    pub(super) text: String,
}

/// The code and the comments of a source file.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// The code of each line, without string literals.
    pub(super) code: Vec<Piece>,
    /// The comments, without slashes. A line without a comment has no entry.
    pub(super) comments: Vec<Piece>,
}

/// Separates a file into code and comments.
pub(super) fn parse(text: &str) -> Source {
    let mut source = Source::default();
    let mut inside = Inside::Code;
    for (line, text) in (1..).zip(text.lines()) {
        let (mut code, mut comment) = (String::new(), None);
        let mut rest = text;
        while !rest.is_empty() {
            rest = match inside {
                Inside::Code => match code_step(rest, &mut code, &mut inside) {
                    Step::Comment(text) => {
                        comment = Some(text.to_owned());
                        ""
                    }
                    Step::Rest(rest) => rest,
                },
                Inside::Block => after(rest, "*/", &mut inside),
                Inside::String => string_step(rest, &mut inside),
                Inside::Raw(hashes) => {
                    let end = format!("\"{}", "#".repeat(hashes));
                    after(rest, &end, &mut inside)
                }
            };
        }
        source.code.push(Piece { line, text: code });
        source.comments.extend(comment.map(|text| Piece { line, text }));
    }
    source
}

/// The kind of text at a position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    Block,
    String,
    /// A raw string with this number of hashes.
    Raw(usize),
}

enum Step<'a> {
    /// The rest of the line is a comment with this text.
    Comment(&'a str),
    /// The rest of the line, not parsed yet.
    Rest(&'a str),
}

/// Consumes one token, or one character, of code.
fn code_step<'a>(rest: &'a str, code: &mut String, inside: &mut Inside) -> Step<'a> {
    if let Some(comment) = rest.strip_prefix("//") {
        return Step::Comment(comment.trim_start_matches(['/', '!']).trim_start());
    }
    if let Some(rest) = rest.strip_prefix("/*") {
        *inside = Inside::Block;
        return Step::Rest(rest);
    }
    if let Some(rest) = rest.strip_prefix('"') {
        *inside = Inside::String;
        return Step::Rest(rest);
    }
    let is_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    if let Some(raw) = rest.strip_prefix('r').or_else(|| rest.strip_prefix("br"))
        && !is_word
    {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if let Some(rest) = raw[hashes..].strip_prefix('"') {
            *inside = Inside::Raw(hashes);
            return Step::Rest(rest);
        }
    }
    if let Some(rest) = rest.strip_prefix('\'').and_then(after_character) {
        return Step::Rest(rest);
    }
    let mut chars = rest.chars();
    code.extend(chars.next());
    Step::Rest(chars.as_str())
}

/// Returns the text after a character literal whose opening quote is already consumed; `None` for a
/// lifetime.
fn after_character(rest: &str) -> Option<&str> {
    if let Some(escaped) = rest.strip_prefix('\\') {
        // The first character may itself be a quote.
        let from = escaped.chars().next().map_or(0, char::len_utf8);
        return escaped[from..].split_once('\'').map(|(_, rest)| rest);
    }
    let mut chars = rest.chars();
    chars.next()?;
    chars.as_str().strip_prefix('\'')
}

/// Consumes a string literal up to its end or the end of the line.
fn string_step<'a>(rest: &'a str, inside: &mut Inside) -> &'a str {
    match rest.find(['"', '\\']) {
        Some(at) if rest[at..].starts_with('"') => {
            *inside = Inside::Code;
            &rest[at + 1..]
        }
        Some(at) => {
            let mut chars = rest[at + 1..].chars();
            chars.next();
            chars.as_str()
        }
        None => "",
    }
}

/// Consumes everything up to an end mark or the end of the line.
fn after<'a>(rest: &'a str, end: &str, inside: &mut Inside) -> &'a str {
    let Some((_, rest)) = rest.split_once(end) else { return "" };
    *inside = Inside::Code;
    rest
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn parsed(text: &str) -> (String, Vec<String>) {
        let source = parse(text);
        let code = source.code.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>();
        (code.join("\n"), source.comments.into_iter().map(|piece| piece.text).collect())
    }

    #[test]
    fn comments_are_separated_from_code() {
        let (code, comments) = parsed("//! Head.\n/// Doc.\nfn f() {} // why\n/* a\nb */ g()");
        assert_eq!(comments, ["Head.", "Doc.", "why"]);
        assert_eq!(code, "\n\nfn f() {} \n\n g()");
    }

    #[test]
    fn strings_are_neither_code_nor_comments() {
        let (code, comments) = parsed("let a = \"// no \\\" b\"; c(r#\"d\"e\"#, 'f', '\\'');");
        assert_eq!(code, "let a = ; c(, , );");
        assert!(comments.is_empty());
    }

    #[test]
    fn lifetimes_stay_code() {
        assert_eq!(parsed("fn f<'a>(x: &'a str)").0, "fn f<'a>(x: &'a str)");
    }

    #[test]
    fn strings_can_span_lines() {
        let (code, _) = parsed("a(\"x\n  y \\\n  z\"); b");
        assert_eq!(code, "a(\n\n); b");
    }
}
