//! Tests of the whole interface without a terminal. Each test types keys and compares the screens.
//!
//! The expected screens are files in `tests/screens`. `INSTA_UPDATE=always cargo test -p lop-look` writes them again.

mod runs;
mod safety;
#[path = "../../serve/src/testing/scan.rs"]
pub(crate) mod scan;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use catalog::Decider;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use testkit::{TempTree, TreeBuilder};

use crate::app::App;
use crate::effect::Effect;
use crate::key::{Decoder, Key};
use crate::screen::{body_height, draw};
use crate::text::width;
use crate::work::{Load, Loaded, News, Work};

const KIB: u64 = 1024;

/// The temporary directory of a test as the screens show it. It is in `/tmp` even if `TMPDIR` names another directory,
/// because the layout of a screen depends on the length of the path.
const ROOT: &str = "/tmp/lop-test-______";

/// An interface without a terminal.
struct Interface {
    app: App,
    work: Work,
    decider: Decider,
    temp: TempTree,
    size: (u16, u16),
    /// The requested work that needs a lop process. The tests do not start it.
    refused: Vec<Load>,
    has_quit: bool,
}

impl Interface {
    /// Scans a tree, whose files are below `t`, and shows it.
    fn of(tree: &TreeBuilder) -> Interface {
        Interface::with_size(tree, (80, 24))
    }

    fn with_size(tree: &TreeBuilder, size: (u16, u16)) -> Interface {
        let temp = TempTree::new_in("/tmp");
        let _made = tree.make(temp.path());
        let catalog = temp.path().join("c.db");
        scan::scan(&temp.path().join("t"), &catalog);
        let decider = Decider::open(&catalog).expect("opens");
        let nowhere = PathBuf::from("/nowhere/lop");
        let work = Work::new(nowhere, decider.catalog(), temp.path().into()).expect("starts");
        let dir = temp.path().join("t").into_os_string().into_encoded_bytes();
        let app = App::new(Some(dir), |_| "2026-11-30 12:00".into(), body_height(size));
        let (refused, has_quit) = (Vec::new(), false);
        let mut interface = Interface { app, work, decider, temp, size, refused, has_quit };
        let effects = interface.app.start();
        interface.apply(effects);
        interface
    }

    /// Types a text. Escape sequences in it are keys.
    fn types(&mut self, text: &str) -> &mut Interface {
        let mut decoder = Decoder::default();
        let mut keys = decoder.push(text.as_bytes());
        keys.extend(decoder.flush());
        for key in keys {
            self.key(key);
        }
        self
    }

    fn key(&mut self, key: Key) {
        let effects = self.app.key(key);
        self.apply(effects);
    }

    fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Load(load @ (Load::Space | Load::Groups | Load::Runs)) => self.load(load),
                Effect::Load(load) => self.refused.push(load),
                Effect::Decide(scope, choice) => {
                    let decider = &self.decider;
                    let decide = |review: &mut review::Review| {
                        review
                            .decide(decider, scope, choice, 1)
                            .map(drop)
                            .map_err(|e| e.to_string())
                    };
                    self.app.groups.change(decide).expect("decided");
                }
                Effect::Withdraw { id, done } => {
                    let decider = &self.decider;
                    let withdraw = |review: &mut review::Review| {
                        review.withdraw(decider, id).map(drop).map_err(|e| e.to_string())
                    };
                    self.app.groups.change(withdraw).expect("withdrawn");
                    self.app.say(done);
                }
                Effect::Quit => self.has_quit = true,
                Effect::Reload => {
                    self.work.cancel_all();
                    let effects = self.app.reload();
                    self.apply(effects);
                }
                _ => {}
            }
        }
    }

    fn load(&mut self, load: Load) {
        self.work.start(load).expect("starts");
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(news) = self.work.news() {
                return self.tell(news);
            }
            assert!(Instant::now() < deadline, "the work does not end");
            sleep(Duration::from_millis(1));
        }
    }

    fn tell(&mut self, news: News) {
        let effects = self.app.news(news);
        self.apply(effects);
    }

    /// Returns the screen as text, with [`ROOT`] in place of the name of the temporary directory.
    fn screen(&mut self) -> String {
        let (columns, lines) = self.size;
        let mut terminal = Terminal::new(TestBackend::new(columns, lines)).expect("no terminal");
        terminal.draw(|frame| draw(&mut self.app, false, frame.buffer_mut())).expect("draws");
        let buffer = terminal.backend().buffer();
        let line = |y| {
            let (mut line, mut x) = (String::new(), 0);
            while x < columns {
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                // A wide character covers the next cell.
                x += u16::try_from(width(symbol)).expect("narrow").max(1);
            }
            line
        };
        let root = self.temp.path().to_str().expect("UTF-8");
        (0..lines).map(|y| line(y).trim_end().replace(root, ROOT) + "\n").collect()
    }

    #[track_caller]
    fn shows(&mut self, text: &str) {
        let screen = self.screen();
        assert!(screen.contains(text), "no {text:?} in:\n{screen}");
    }
}

/// Asserts that the screen is equal to the one in the file `name`.
macro_rules! assert_screen {
    ($name:literal, $interface:expr) => {
        insta::with_settings!({
            snapshot_path => "../tests/screens",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!($name, $interface.screen());
        });
    };
}

/// Creates the program `lop` in a directory, as a shell script.
///
/// Another process copies the script. If this process wrote the program, another thread could fork meanwhile, and the
/// program could not be executed until the child has closed its copy of the descriptor (`ETXTBSY`).
pub(crate) fn install(script: &str, dir: &Path) -> PathBuf {
    let _made = TreeBuilder::new().file("script", script).make(dir);
    let (from, program) = (dir.join("script"), dir.join("lop"));
    let installed = Command::new("install").args(["-m", "755"]).args([&from, &program]).status();
    assert!(installed.expect("install runs").success(), "cannot create {}", program.display());
    program
}

fn photos() -> TreeBuilder {
    TreeBuilder::new()
        .seeded("t/photos/2020/one", 1, 300 * KIB)
        .seeded("t/photos/2021/two", 2, 20 * KIB)
        .seeded("t/backup/old/photos/one", 1, 300 * KIB)
        .seeded("t/backup/old/photos/one (1)", 1, 300 * KIB)
        .seeded("t/backup/two", 2, 20 * KIB)
        .file("t/notes", "x")
        .mtime("t/photos/2020/one", 1_000_000_000, 0)
        .mtime("t/photos/2021/two", 1_000_000_000, 0)
}

const DOWN: &str = "\x1b[B";
const LEFT: &str = "\x1b[D";

#[test]
fn space_is_shown_by_directory() {
    let mut interface = Interface::of(&photos());
    assert_screen!("space", interface);
    interface.types("\r");
    interface.shows(&format!("{ROOT}/t/backup"));
    interface.shows("old/");
    interface.types(LEFT);
    assert_screen!("space", interface);
    interface.types("r");
    interface.shows("by reclaimable space");
    interface.types("g");
    interface.shows("Growth is known after the second scan");
    interface.types("/PHOTO\r");
    interface.shows("> ");
    interface.shows("photos/");
    assert!(!interface.screen().contains("backup/"), "{}", interface.screen());
    interface.types("\x1b");
    interface.shows("backup/");
}

#[test]
fn a_narrow_terminal_shows_the_same_with_less_room() {
    let mut interface = Interface::with_size(&photos(), (60, 12));
    assert_screen!("space_narrow", interface);
    assert_screen!("too_small", Interface::with_size(&photos(), (40, 10)));
    assert_screen!("tiny", Interface::with_size(&photos(), (7, 2)));
}

#[test]
fn groups_are_decided_by_rules() {
    let mut interface = Interface::of(&photos());
    interface.types("2");
    assert_screen!("groups", interface);
    interface.types("d");
    assert_screen!("rules", interface);
    interface.types(&format!("{DOWN}\r"));
    interface.shows("remove 2");
    interface.types("\r");
    assert_screen!("group_decided", interface);
    interface.types("w");
    interface.shows("The decision about 1 group was withdrawn.");
    interface.types(DOWN);
    interface.shows("Undecided");
    assert_screen!("group_undecided", interface);
    interface.types("\x1b");
    interface.types("x");
    interface.shows("left alone");
    interface.types("D");
    interface.shows("which file stays?");
    interface.types("\r");
    interface.shows("remove 1");
    interface.shows("left alone");
    assert_eq!(interface.decider.catalog().decisions().expect("read").len(), 2);
}

#[test]
fn files_are_chosen_one_by_one() {
    let mut interface = Interface::of(&photos());
    interface.types("2\r");
    interface.types("o");
    interface.shows("> keep");
    interface.shows("remove");
    interface.types(&format!("{DOWN} "));
    interface.shows("chosen");
    interface.types(" ");
    // Only the first file stays now, so the user cannot remove it.
    interface.types("\x1b[H ");
    interface.shows("At least one file must stay.");
    let kept = interface.screen().matches("keep ").count();
    assert!(kept >= 1, "{}", interface.screen());
}

#[test]
fn only_groups_of_the_directory_are_listed() {
    let mut interface = Interface::of(&photos());
    interface.types(&format!("{DOWN}\r\r2"));
    interface.shows("/t/photos/2020");
    interface.shows("1 group,");
    interface.types("12");
    interface.types("/size:<1k\r");
    interface.shows("No row of this list matches the filter.");
    interface.types("/bad:x\r");
    interface.shows("bad:");
    interface.types("\x1b\x1b");
    interface.shows("1 group,");
}

#[test]
fn hostile_names_are_escaped() {
    let names: [&[u8]; 3] = [
        b"t/\x1b[2J\xff\n",
        "t/\u{202e}gpj.exe".as_bytes(),
        "t/写真写真写真写真写真写真写真写真写真写真写真写真写真写真写真写真写真/copy".as_bytes(),
    ];
    let lay = |tree: TreeBuilder, name: &&[u8]| {
        tree.seeded(*name, 1, 70 * KIB).mtime(*name, 1_000_000_000, 0)
    };
    let tree = names.iter().fold(TreeBuilder::new(), lay);
    let mut interface = Interface::of(&tree);
    assert_screen!("hostile_space", interface);
    interface.types("2\r");
    assert_screen!("hostile_group", interface);
}

#[test]
fn the_complete_path_of_a_row_is_shown_on_request() {
    let long = format!("t/{0}/{0}/copy", "dir".repeat(30));
    let tree = TreeBuilder::new().file("t/one", "content").file(&*long, "content");
    let mut interface = Interface::of(&tree);
    let mut shows_path = |keys: &str| {
        interface.types(keys);
        interface.screen().replace(['\n', ' '], "").contains(&long)
    };
    assert_ne!(shows_path("2\r<i"), shows_path(">i"), "each row shows its own path");
    assert!(!shows_path("k"), "the next key removes it");
}

#[test]
fn the_last_line_shows_only_keys_with_an_effect() {
    let mut interface = Interface::of(&photos());
    let mut last = |keys: &str| {
        interface.types(keys);
        interface.screen().lines().last().expect("a line").to_owned()
    };
    assert!(last("2").contains("Enter open"));
    assert!(!last("").contains("w withdraw"), "the group is undecided");
    assert!(last("x").contains("w withdraw"));
    let group = last("\r");
    assert!(!group.contains("Enter open"), "{group}");
    assert!(!last("5").contains("u undo"), "there is no run");
    assert!(!last("p").contains("a apply"), "the plan is not ready");
}

#[test]
fn the_help_shows_every_key_of_the_view() {
    let mut interface = Interface::of(&photos());
    interface.types("2?");
    assert_screen!("help", interface);
    interface.types("\x1b");
    interface.shows("[2 Groups]");
    assert!(!interface.has_quit);
    interface.types("q");
    assert!(interface.has_quit);
}

#[test]
fn a_failure_is_shown_in_place_of_the_rows() {
    let mut interface = Interface::of(&photos());
    interface.types("3");
    assert_eq!(interface.refused.len(), 1);
    interface.shows("Loading");
    interface.tell(News::Loaded(Loaded::Folders(Err("cannot start lop: no such file".into()))));
    interface.shows("cannot start lop: no such file");
    interface.types("4\x1b");
    interface.shows("Stopped. Press R to load again.");
}

#[test]
fn a_change_of_the_catalog_is_announced() {
    let mut interface = Interface::of(&photos());
    assert!(interface.app.set_outdated(Some("The catalog was changed; press R to reload.")));
    interface.shows("The catalog was changed; press R to reload.");
    interface.types("R");
    assert!(!interface.screen().contains("press R"), "{}", interface.screen());
}
