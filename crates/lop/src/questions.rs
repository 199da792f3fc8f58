//! Answers questions about files with the help of the catalog. Before answering, checks the current state of the files.
//!
//! | module | what it does |
//! |---|---|
//! | [`catalog`] | Opens the catalog and turns its errors into messages with hints. |
//! | [`knowledge`] | Describes the state of an answer about a file, and counts the files without an answer. |
//! | [`live`] | Loads remembered files and checks each one on disk. |
//! | [`copies`] | Counts the copies of single files. |
//! | [`folder`] | Finds the copies of each file of a directory. |
//! | [`location`] | Decides whether a path is inside or outside that directory. |
//! | [`inspect`] | Examines remembered files at their recorded paths, without following links. |
//! | [`aliases`] | Recognises files that may be second paths to other files. |
//! | [`verify`] | Reads files and their copies and compares them. |
//! | [`damage_marks`] | Marks damaged and unreadable files in the catalog while work continues. |
//! | [`quarantine`] | Counts the files in quarantine below a directory. |
//! | [`scope`] | Limits an answer to the paths that the user gave. |

pub(crate) mod aliases;
pub(crate) mod catalog;
pub(crate) mod copies;
pub(crate) mod damage_marks;
pub(crate) mod folder;
pub(crate) mod inspect;
pub(crate) mod knowledge;
pub(crate) mod live;
pub(crate) mod location;
pub(crate) mod quarantine;
pub(crate) mod scope;
pub(crate) mod verify;
pub(crate) mod work;
