//! Responses to requests for directories: listings, and archives.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use fsops::Found;
use httpd::conditions::{Outcome, Validators, http_date};
use httpd::disposition::disposition;
use httpd::entity_tag::EntityTag;
use httpd::percent;
use httpd::server::{Body, Head, Request, Response};

use crate::archive::{Archive, Unplanned};
use crate::frame::{common, plain_name};
use crate::listing::{self, List, View, Wanted};
use crate::notices;
use crate::path::Path;
use crate::roots::{Place, Root};
use crate::shared::Shared;

/// The name of an archive of `/`, and the title of its listing.
const ROOT_NAME: &[u8] = b"root";

/// Maximum number of entries left out of an archive that are reported one by one.
const MAX_REPORTED: usize = 5;

impl Shared {
    /// Answers a request for the list of the shared directories. This may wait for a disk.
    pub(crate) fn answer_top(&self, request: &Request<'_>) -> Response {
        let view = View::parse(request.query, request.accept);
        let place = listing::Place {
            label: b"Shared folders",
            path: b"",
            has_top: false,
            has_archive: false,
        };
        let roots = self.roots.all().iter();
        let dirs = roots.filter_map(|root| Some((&root.label[..], root.dir.stat().ok()?)));
        let list = List::of_dirs(dirs);
        match view.wanted {
            Wanted::Page => list.page(&place, view, &|_| None),
            Wanted::Json => list.json(view, &|_| None),
            Wanted::Tar => {
                let advice = "Each shared folder is an archive of its own.";
                notices::error(request, 404, "There is no archive of all folders", advice)
            }
        }
    }

    /// Answers a request for a directory that was found. This may wait for a disk.
    pub(crate) fn answer_dir(&self, request: &Request<'_>, path: &Path, found: &Found) -> Response {
        let view = View::parse(request.query, request.accept);
        let Some(Place::Below(root, below)) = self.roots.place(path) else {
            return self.answer_top(request);
        };
        let answer = match view.wanted {
            Wanted::Tar => self.archive(request, root, below, found),
            Wanted::Page | Wanted::Json => self.listing(root, below, found, view),
        };
        answer.unwrap_or_else(|error| failed(request, &error))
    }

    fn listing(
        &self,
        root: &Root,
        below: &[u8],
        found: &Found,
        view: View,
    ) -> io::Result<Response> {
        let list =
            List::read(&root.dir, below, &found.open_dir()?, self.roots.own(), &self.listings)?;
        let place = listing::Place {
            label: &root.label,
            path: below,
            has_top: self.roots.has_top(),
            has_archive: true,
        };
        let sizes = self.facts.folder_sizes(&root.absolute(below));
        let size_of = |name: &[u8]| sizes.get(name).copied();
        Ok(match view.wanted {
            Wanted::Json => list.json(view, &size_of),
            Wanted::Page | Wanted::Tar => list.page(&place, view, &size_of),
        })
    }

    fn archive(
        &self,
        request: &Request<'_>,
        root: &Root,
        below: &[u8],
        found: &Found,
    ) -> io::Result<Response> {
        let name = name_of(root, below);
        let path = root.absolute(below);
        let plan = || {
            let archive = Archive::plan(found.open_dir()?, name, self.roots.own())?;
            self.report_left_out(name, &archive);
            Ok(archive)
        };
        match self.plans.get(&path, plan) {
            Ok(archive) => Ok(send(request, name, archive)),
            Err(Unplanned::Failed(error)) => Err(error),
            Err(Unplanned::Busy) => {
                Ok(busy(request, "Many archives are being sent. Try again in a while."))
            }
        }
    }

    /// Tells the person who started the server which entries an archive lacks.
    fn report_left_out(&self, name: &[u8], archive: &Archive) {
        let all = archive.left_out();
        for left_out in &all[..all.len().min(MAX_REPORTED)] {
            let path = plain_name(&left_out.path);
            (self.warn)(&format!(
                "not in the archive of {}: {path}: {}",
                plain_name(name),
                left_out.why
            ));
        }
        if all.len() > MAX_REPORTED {
            let rest = runtime::quantity::counted(
                (all.len() - MAX_REPORTED) as u64,
                "further entry",
                "further entries",
            );
            (self.warn)(&format!("not in the archive of {}: {rest}", plain_name(name)));
        }
    }
}

/// Returns a response that leads to the same directory with a slash at the end, so that the links in its
/// listing are right.
pub(crate) fn redirect(path: &Path, request: &Request<'_>) -> Response {
    let path = percent::encode_path(&path.bytes);
    let query = request
        .query
        .filter(|query| !query.is_empty())
        .map(|query| format!("?{}", percent::encode(query, |byte| byte.is_ascii_graphic())));
    let to = format!("/{path}/{}", query.unwrap_or_default());
    common(Head::new(301).field("location", to)).with_bytes(*b"")
}

/// Returns the response to a request for which there is no memory now.
fn busy(request: &Request<'_>, advice: &str) -> Response {
    let head = Head::new(503).field("retry-after", 10);
    notices::error_in(head, request, 503, "The server is busy", advice)
}

/// Returns the response to a request that failed with an error of the system.
fn failed(request: &Request<'_>, error: &io::Error) -> Response {
    let title = "This folder cannot be read";
    let status = match error.kind() {
        io::ErrorKind::PermissionDenied => 403,
        io::ErrorKind::NotFound => 404,
        io::ErrorKind::FileTooLarge => {
            let advice = "It has more than 2,000,000 entries.";
            return notices::error(request, 413, "This folder is too large", advice);
        }
        io::ErrorKind::ResourceBusy => {
            return busy(request, "Many large folders are being listed. Try again in a while.");
        }
        _ => 500,
    };
    notices::error(request, status, title, &format!("The reason: {}.", fsops::io_text(error)))
}

/// Returns the name of a directory.
fn name_of<'n>(root: &'n Root, below: &'n [u8]) -> &'n [u8] {
    match below.rsplit(|&byte| byte == b'/').next().unwrap_or_default() {
        b"" if root.label == b"/" => ROOT_NAME,
        b"" => &root.label,
        name => name,
    }
}

/// Sends an archive, or the part of it that the request names.
fn send(request: &Request<'_>, name: &[u8], archive: Arc<Archive>) -> Response {
    let tag = EntityTag::strong(archive.tag().to_owned());
    let modified = Some(archive.modified());
    let validators = Validators { tag: Some(tag.clone()), modified };
    let length = archive.length();
    let range = match request.conditions.evaluate(&validators, length, SystemTime::now()) {
        Outcome::NotModified => {
            return common(Head::new(304).field("etag", tag)).without_body();
        }
        Outcome::Failed => return Response::text(412, "the archive is another version"),
        Outcome::Unsatisfiable => {
            let head = Head::new(416).field("content-range", format_args!("bytes */{length}"));
            return head.with_bytes(*b"");
        }
        Outcome::Ranges(ranges) if ranges.len() == 1 => ranges.into_iter().next(),
        // A server may answer a request for several parts with everything.
        Outcome::Ranges(_) | Outcome::Whole => None,
    };
    let head = match &range {
        Some(range) => Head::new(206).field(
            "content-range",
            format_args!("bytes {}-{}/{length}", range.start, range.end - 1),
        ),
        None => Head::new(200),
    };
    let mut head = head.field("content-type", "application/x-tar");
    head = head.field("content-disposition", disposition(true, &[name, b".tar"].concat()));
    head = head.field("etag", tag).field("accept-ranges", "bytes");
    if let Some(date) = http_date(archive.modified()) {
        head = head.field("last-modified", date);
    }
    let range = range.unwrap_or(0..length);
    let head = common(head).with_length(range.end - range.start);
    Response { head, body: Body::Parts(archive.body(range.start, range.end)) }
}
