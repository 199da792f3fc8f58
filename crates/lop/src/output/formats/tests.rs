//! Writes groups in every format and reads them back, with file names that could break a format.

use base64::Engine;
use content::Digest;

use super::{GroupHead, writer};
use crate::args::Format;
use crate::output::names::Names;
use crate::output::stream::Stream;

type Groups = Vec<Vec<Vec<u8>>>;

const PIPE: Stream = Stream { terminal: false, color: false, names: Names::Raw };

fn hostile() -> Groups {
    let group = |names: &[&[u8]]| names.iter().map(|n| n.to_vec()).collect::<Vec<_>>();
    vec![
        group(&[b"./plain", b"./with space", b"./comma,quote\"'`$(x)"]),
        group(&[b"./\xff\xfe", b"./\x1b[31m", "./\u{202e}\u{7f}\u{9b}".as_bytes()]),
        group(&[&[b'n'; 255], b"-rf", b"./\\n", b"\"", b" "]),
    ]
}

fn with_newlines() -> Groups {
    let mut groups = hostile();
    groups[0].push(b"./a\nb\r\nc\n\nd".to_vec());
    groups
}

fn written(format: Format, groups: &Groups, stream: Stream) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = writer(format, &mut out, stream);
    for files in groups {
        let count = files.len() as u64;
        let head = GroupHead {
            size: 7,
            digest: Some(Digest::of(b"7 bytes")),
            files: count,
            inodes: count,
            reclaimable_bytes: 7 * (count - 1),
        };
        writer.begin(&head).expect("begins");
        for file in files {
            writer.file(file, None).expect("takes a file");
        }
        writer.end().expect("ends");
    }
    writer.finish(&format!("{{\"groups\":{}}}", groups.len())).expect("finishes");
    drop(writer);
    out
}

fn split(text: &[u8], end: u8) -> Groups {
    let mut groups = vec![Vec::new()];
    for path in text.strip_suffix(&[end]).expect("ends with a complete record").split(|&b| b == end)
    {
        match (path, groups.last_mut()) {
            ([], _) => groups.push(Vec::new()),
            (path, Some(group)) => group.push(path.to_vec()),
            (_, None) => {}
        }
    }
    groups
}

#[test]
fn nul_preserves_every_name() {
    let mut read = split(&written(Format::Nul, &with_newlines(), PIPE), 0);
    assert_eq!(read.pop(), Some(Vec::new()), "the last group is ended like the others");
    assert_eq!(read, with_newlines());
}

#[test]
fn fdupes_preserves_every_name_without_a_newline() {
    assert_eq!(split(&written(Format::Fdupes, &hostile(), PIPE), b'\n'), hostile());
}

#[test]
fn csv_preserves_every_name() {
    let text = written(Format::Csv, &with_newlines(), PIPE);
    let mut reader = csv::Reader::from_reader(&text[..]);
    let heading = reader.byte_headers().expect("has a heading");
    assert_eq!(heading, &csv::ByteRecord::from(vec!["group", "size", "digest", "path"]));
    let mut read: Groups = Vec::new();
    for row in reader.byte_records() {
        let row = row.expect("is well-formed");
        assert_eq!(&row[1], b"7");
        assert_eq!(&row[2], Digest::of(b"7 bytes").to_string().as_bytes());
        let group: usize = std::str::from_utf8(&row[0]).expect("digits").parse().expect("digits");
        read.resize_with(group, Vec::new);
        read[group - 1].push(row[3].to_vec());
    }
    assert_eq!(read, with_newlines());
}

#[test]
fn json_preserves_every_name_and_the_summary() {
    let text = written(Format::Json, &with_newlines(), PIPE);
    let document: serde_json::Value = serde_json::from_slice(&text).expect("is JSON");
    assert_eq!(document["summary"]["groups"], 3);
    let groups = document["groups"].as_array().expect("groups");
    assert_eq!(groups[0]["size"], 7);
    assert_eq!(groups[0]["reclaimable_bytes"], 21);
    assert_eq!(groups[0]["digest"], Digest::of(b"7 bytes").to_string());
    let path = |file: &serde_json::Value| match file["path_base64"].as_str() {
        Some(code) => base64::engine::general_purpose::STANDARD.decode(code).expect("base64"),
        None => file["path"].as_str().expect("a path").as_bytes().to_vec(),
    };
    let files = |group: &serde_json::Value| {
        group["files"].as_array().expect("files").iter().map(path).collect::<Vec<_>>()
    };
    assert_eq!(groups.iter().map(files).collect::<Groups>(), with_newlines());
}

#[test]
fn json_escapes_what_could_disturb_a_terminal() {
    let text = written(Format::Json, &with_newlines(), PIPE);
    let text = String::from_utf8(text).expect("is UTF-8");
    assert!(!text.lines().flat_map(str::chars).any(runtime::shown::is_confusing));
}

#[test]
fn no_groups_are_an_empty_output_or_document() {
    let none = Groups::new();
    assert_eq!(written(Format::Text, &none, PIPE), b"");
    assert_eq!(written(Format::Fdupes, &none, PIPE), b"");
    assert_eq!(written(Format::Nul, &none, PIPE), b"");
    assert_eq!(written(Format::Csv, &none, PIPE), b"group,size,digest,path\n");
    let document = b"{\"format_version\":1,\"groups\":[\n],\"summary\":{\"groups\":0}}\n";
    assert_eq!(written(Format::Json, &none, PIPE), document);
}

#[test]
fn text_is_a_heading_and_indented_names() {
    let groups = vec![vec![b"a".to_vec(), b"\x1bb\n".to_vec()], vec![b"c".to_vec(), b"d".to_vec()]];
    let terminal = Stream { terminal: true, color: false, names: Names::Escaped };
    let digest = &Digest::of(b"7 bytes").to_string()[..12];
    let expected = format!(
        "2 files of 7 B, 7 B reclaimable, {digest}\n  a\n  \\x1bb\\n\n\n\
         2 files of 7 B, 7 B reclaimable, {digest}\n  c\n  d\n"
    );
    assert_eq!(String::from_utf8(written(Format::Text, &groups, terminal)), Ok(expected));
}

#[test]
fn text_and_json_show_the_mark_of_a_file() {
    let head = GroupHead { size: 1, digest: None, files: 1, inodes: 1, reclaimable_bytes: 0 };
    for (format, part) in
        [(Format::Text, "  a  (changed)\n"), (Format::Json, r#"{"path":"a","state":"changed"}"#)]
    {
        let mut out = Vec::new();
        let mut writer = writer(format, &mut out, PIPE);
        writer.begin(&head).expect("begins");
        writer.file(b"a", Some("changed")).expect("takes a file");
        writer.end().expect("ends");
        drop(writer);
        let out = String::from_utf8(out).expect("UTF-8");
        assert!(out.contains(part), "{out}");
    }
}
