//! Parses the line with which the user chooses the files of a group to keep.

/// An answer to the question about a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Keep the files with these numbers, which start at 0.
    Keep(Vec<usize>),
    /// Keep the files that are marked as kept.
    AsShown,
    /// Keep all files of the group.
    Skip,
    /// Go back to the previous group.
    Back,
    /// Accept this group and all later groups as shown.
    Rest,
    /// Stop here and skip the remaining groups.
    Done,
    /// Quit without changing anything.
    Quit,
}

impl Answer {
    /// Parses the answer for a group of `files` files. Returns `None` if the user asks for help.
    ///
    /// # Errors
    ///
    /// Fails with a message for the user if the line is not a valid answer.
    pub(super) fn read(line: &str, files: usize) -> Result<Option<Answer>, String> {
        let line = line.trim().to_lowercase();
        Ok(Some(match line.as_str() {
            "" => Answer::AsShown,
            "?" | "h" | "help" => return Ok(None),
            "a" | "all" | "s" | "skip" => Answer::Skip,
            "b" | "back" => Answer::Back,
            "r" | "rest" => Answer::Rest,
            "d" | "done" => Answer::Done,
            "q" | "quit" => Answer::Quit,
            "n" | "none" => {
                return Err(
                    "One file of each group must be kept; type 'skip' to leave the group alone."
                        .into(),
                );
            }
            numbers => return read_numbers(numbers, files).map(Some),
        }))
    }
}

fn read_numbers(text: &str, files: usize) -> Result<Answer, String> {
    let mut kept = Vec::new();
    for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<usize>().ok();
        let Some((first, last)) = number(first).zip(number(last)) else {
            return Err("Not understood; type ? for help.".into());
        };
        if first < 1 || last > files || first > last {
            return Err(format!("The files are numbered from 1 to {files}."));
        }
        kept.extend(first - 1..last);
    }
    kept.sort_unstable();
    kept.dedup();
    match kept.len() {
        0 => Err("No number; type ? for help.".into()),
        all if all == files => Ok(Answer::Skip),
        _ => Ok(Answer::Keep(kept)),
    }
}

#[cfg(test)]
mod tests {
    use super::Answer;

    #[test]
    fn numbers_choose_the_files_to_keep() {
        let read = |line| Answer::read(line, 12);
        let keep = |numbers: &[usize]| Ok(Some(Answer::Keep(numbers.into())));
        assert_eq!(read("1\n"), keep(&[0]));
        assert_eq!(read("12\n"), keep(&[11]), "one number, not two keys");
        assert_eq!(read(" 3, 1 "), keep(&[0, 2]));
        assert_eq!(read("1 3"), keep(&[0, 2]));
        assert_eq!(read("2-4,3,11-12"), keep(&[1, 2, 3, 10, 11]));
        assert_eq!(read("1-12"), Ok(Some(Answer::Skip)), "all stay");
    }

    #[test]
    fn words_can_be_shortened_to_their_first_letter() {
        for (line, answer) in [
            ("\n", Answer::AsShown),
            ("all", Answer::Skip),
            ("S", Answer::Skip),
            ("back\n", Answer::Back),
            ("r", Answer::Rest),
            ("done", Answer::Done),
            ("QUIT", Answer::Quit),
        ] {
            assert_eq!(Answer::read(line, 3), Ok(Some(answer)), "{line}");
        }
        assert_eq!(Answer::read("?", 3), Ok(None));
    }

    #[test]
    fn invalid_answers_keep_the_question_open() {
        for line in
            ["0", "4", "3-2", "1-4", "none", "y", "1,x", "-1", "1-", ",", "99999999999999999999"]
        {
            assert!(Answer::read(line, 3).is_err(), "{line}");
        }
    }
}
