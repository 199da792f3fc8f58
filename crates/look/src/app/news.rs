//! Reports of work: hands progress and results to the views that requested them.

use super::{App, Page};
use crate::effect::Effect;
use crate::work::{Loaded, News, Slot};

impl App {
    /// Handles a report of work, and returns the effects for the event loop.
    pub(crate) fn news(&mut self, news: News) -> Vec<Effect> {
        match news {
            News::Progress(slot, text) => self.progress(slot, text),
            News::Loaded(loaded) => {
                let effects = self.loaded(loaded);
                self.fit();
                return effects;
            }
        }
        Vec::new()
    }

    fn progress(&mut self, slot: Slot, text: String) {
        match (slot, self.pages.first_mut()) {
            (Slot::Plan, Some(Page::Plan(plan))) => plan.progress(text),
            (Slot::Act, Some(Page::Outcome(outcome))) => outcome.progress(text),
            (Slot::Folders, _) => self.folders.progress(text),
            (Slot::Uniques, _) => self.uniques.progress(text),
            _ => {}
        }
    }

    fn loaded(&mut self, loaded: Loaded) -> Vec<Effect> {
        match loaded {
            Loaded::Space(sizes) => self.space.set(sizes),
            Loaded::Groups(review) => self.groups.set(review),
            Loaded::Folders(related) => self.folders.set(related),
            Loaded::Uniques(uniques) => self.uniques.set(uniques),
            Loaded::Runs(runs) => self.runs.set(runs),
            Loaded::Plan(plan) => {
                // The help may cover the plan.
                if let Some(Page::Plan(view)) = self.pages.first_mut() {
                    view.set(plan);
                }
            }
            Loaded::Acted(outcome) => {
                if let Some(Page::Outcome(view)) = self.pages.first_mut() {
                    view.set(outcome);
                }
                // The run has changed the catalog, so the interface loads it again.
                return vec![Effect::Reload];
            }
        }
        Vec::new()
    }
}
