//! A catalog that was exported and imported again is the same.

use catalog::FileRow;

use crate::rows::{FILE, Rows, Scratch, plain};

#[test]
fn a_catalog_with_odd_rows_is_the_same_after_export_and_import() {
    for seed in 0..8 {
        let (scratch, rows) = (Scratch::new(), Rows::odd(seed));
        let exported = scratch.export(&rows, &plain());
        assert_eq!((exported.names, exported.inodes), (550, 500));
        let mut imported = scratch.import(&exported.path).expect("imported");
        // An export has the size of a content only if one of its files has that content.
        let used = |id: i64| rows.files.iter().any(|(.., row)| row.content == Some(id));
        let contents: Vec<_> = rows.contents.iter().copied().filter(|row| used(row.id)).collect();
        assert_eq!(std::mem::take(&mut imported.contents), contents);
        assert_eq!(imported, Rows { contents: Vec::new(), ..rows });
    }
}

#[test]
fn an_empty_catalog_can_be_exported() {
    let scratch = Scratch::new();
    let exported = scratch.export(&Rows::default(), &plain());
    assert_eq!((exported.names, exported.inodes, exported.undigested), (0, 0, 0));
    assert_eq!(scratch.import(&exported.path).expect("imported"), Rows::default());
}

#[test]
fn more_rows_than_fit_into_a_row_group_keep_their_order() {
    let mut rows = Rows { volumes: Rows::odd(1).volumes, ..Rows::default() };
    for number in 0..200_000_u64 {
        let row = FileRow { inode: number, size: number % 1000, ..FILE };
        rows.files.push((1, format!("{number:06}").into_bytes(), row));
    }
    let scratch = Scratch::new();
    let exported = scratch.export(&rows, &plain());
    assert!(scratch.import(&exported.path).expect("imported") == rows);
}

#[test]
fn names_of_an_inode_share_what_is_known_about_it() {
    use catalog::FileState::{Damaged, Known, Pending};
    let odd = Rows::odd(1);
    let content = odd.contents[0];
    let known = FileRow { size: content.size, content: Some(content.id), ..FILE };
    let name = |name: &str, row| (1, name.as_bytes().to_vec(), row);
    for (other, expected) in
        [(Pending, known), (Damaged, FileRow { content: None, state: Damaged, ..known })]
    {
        let rows = Rows {
            contents: vec![content],
            volumes: odd.volumes.clone(),
            files: vec![
                name("a", FileRow { content: None, state: other, ..known }),
                name("b", known),
                // Another version of the same inode is another inode.
                name("c", FileRow { ctime_ns: 99, content: None, state: Known, ..known }),
            ],
            ..Rows::default()
        };
        let scratch = Scratch::new();
        let exported = scratch.export(&rows, &plain());
        assert_eq!((exported.names, exported.inodes), (3, 2));
        let imported = scratch.import(&exported.path).expect("imported");
        let states: Vec<FileRow> = imported.files.iter().map(|file| file.2).collect();
        assert_eq!(states[..2], [expected; 2]);
        assert_eq!(states[2], rows.files[2].2);
    }
}

#[test]
fn groups_without_a_digest_are_counted() {
    let mut rows = Rows::odd(3);
    for content in &mut rows.contents {
        content.digest = None;
    }
    let in_groups: u32 = rows.contents.iter().map(|c| c.inodes).filter(|&inodes| inodes > 1).sum();
    let exported = Scratch::new().export(&rows, &plain());
    assert_eq!(exported.undigested, u64::from(in_groups));
}
