//! Writes plans: as text for people, as JSON for programs.

use std::io::{self, Write};

use action::plan::{KeepReason, Kind, Member, Plan, Warning};
use serde::Serialize;

use super::{JsonList, JsonPath};
use crate::output::stream::Stream;
use crate::quantity::{counted, size, space_change};

/// Writes plans one by one.
pub(crate) struct PlanWriter<W> {
    out: Out<W>,
    kind: Kind,
    stream: Stream,
}

enum Out<W> {
    Text(W),
    Json(JsonList<W>),
}

impl<W: Write> PlanWriter<W> {
    pub(crate) fn new(out: W, kind: Kind, stream: Stream, json: bool) -> Self {
        let out = if json { Out::Json(JsonList::new(out, "groups")) } else { Out::Text(out) };
        PlanWriter { out, kind, stream }
    }

    /// Writes one plan.
    pub(crate) fn plan(&mut self, plan: &Plan) -> io::Result<()> {
        match &mut self.out {
            Out::Text(out) => Text { out, kind: self.kind, stream: self.stream }.plan(plan),
            Out::Json(list) => list.item(&JsonPlan::new(plan, self.kind)),
        }
    }

    /// Ends the output. `summary` is a JSON text.
    pub(crate) fn finish(mut self, summary: &str) -> io::Result<()> {
        match &mut self.out {
            Out::Text(out) => out.flush(),
            Out::Json(list) => list.finish(summary),
        }
    }
}

/// Writes plans as text.
struct Text<'o, W> {
    out: &'o mut W,
    kind: Kind,
    stream: Stream,
}

impl<W: Write> Text<'_, W> {
    fn plan(&mut self, plan: &Plan) -> io::Result<()> {
        let files = counted(plan.others.len() as u64, "file", "files");
        let of = size(plan.keep.stat.size);
        let space_change = space_change(plan.frees(self.kind), plan.takes(self.kind));
        let heading = format!("{files} of {of} to {}{space_change}", self.kind.word());
        self.stream.write_heading(self.out, &heading)?;
        if plan.why == KeepReason::Elsewhere {
            // The kept file has names elsewhere. The name that is the source of the copies is one of `others`, so it
            // is listed with them.
            let names = u64::from(plan.keep.stat.links).saturating_sub(plan.others.len() as u64);
            let names = counted(names, "name elsewhere", "names elsewhere");
            writeln!(self.out, "  {:<10}  {names}", "keep")?;
        } else {
            self.line("keep", &plan.keep, &plan.why.to_string())?;
        }
        for (member, why) in &plan.stay {
            self.line("keep", member, &why.to_string())?;
        }
        for (other, warnings) in plan.warned(self.kind) {
            self.line(self.kind.word(), other, &texts(&warnings).join(", "))?;
        }
        Ok(())
    }

    fn line(&mut self, word: &str, member: &Member, note: &str) -> io::Result<()> {
        write!(self.out, "  {word:<10}  ")?;
        self.stream.names.write_line(self.out, &member.target.path, note)
    }
}

fn texts(warnings: &[Warning]) -> Vec<&'static str> {
    warnings.iter().map(|warning| warning.text()).collect()
}

#[derive(Serialize)]
struct JsonPlan<'a> {
    size: u64,
    reclaimable_bytes: u64,
    kept: Vec<JsonKept<'a>>,
    files: Vec<JsonFile<'a>>,
}

#[derive(Serialize)]
struct JsonKept<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    why: String,
}

#[derive(Serialize)]
struct JsonFile<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    action: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'static str>,
}

impl<'a> JsonPlan<'a> {
    fn new(plan: &'a Plan, kind: Kind) -> Self {
        let stays = |member: &'a Member, why: String| JsonKept {
            path: JsonPath::new(&member.target.path),
            why,
        };
        let mut kept = Vec::new();
        if plan.why != KeepReason::Elsewhere {
            kept.push(stays(&plan.keep, plan.why.to_string()));
        }
        kept.extend(plan.stay.iter().map(|(member, why)| stays(member, why.to_string())));
        let file = |(other, warnings): (&'a Member, Vec<Warning>)| JsonFile {
            path: JsonPath::new(&other.target.path),
            action: kind.word(),
            warnings: texts(&warnings),
        };
        let files = plan.warned(kind).map(file).collect();
        JsonPlan { size: plan.keep.stat.size, reclaimable_bytes: plan.frees(kind), kept, files }
    }
}
