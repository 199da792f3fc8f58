//! The decisions in the catalog, and which of them is about a group.
//!
//! A decision about the group itself comes first, then one about its folders, then the latest one
//! about a filter that it matches. The first decision found counts, even if it cannot be followed: a
//! group must never be acted on because a more specific decision about it has become void.

use std::collections::HashMap;

use action::plan::Rule;
use catalog::{Catalog, Choice, Decision, Error, Scope};

use crate::filter::Filter;

/// The decisions in the catalog.
#[derive(Debug, Default)]
pub struct Decisions {
    /// Sorted by id.
    list: Vec<Decision>,
    /// The decision about each scope.
    by_scope: HashMap<Scope, i64>,
    /// The filters of the decisions about filters, oldest first.
    filters: Vec<(i64, Result<Filter, String>)>,
    /// The rules of the decisions that have rules, followed by the default rules.
    rules: HashMap<i64, Result<Vec<Rule>, String>>,
}

impl Decisions {
    /// Loads the decisions of a catalog.
    ///
    /// A keep rule `device:DIR` reads the device number of the directory.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn load(catalog: &Catalog) -> Result<Decisions, Error> {
        let mut decisions = Decisions::default();
        catalog.decisions()?.into_iter().for_each(|decision| decisions.add(decision));
        Ok(decisions)
    }

    /// Returns all decisions, oldest first.
    pub fn list(&self) -> &[Decision] {
        &self.list
    }

    /// Returns the decision with this id.
    pub fn get(&self, id: i64) -> Option<&Decision> {
        let found = self.list.binary_search_by_key(&id, |decision| decision.id);
        found.ok().map(|found| &self.list[found])
    }

    /// Returns the decision about exactly this scope.
    pub fn about(&self, scope: &Scope) -> Option<&Decision> {
        self.by_scope.get(scope).and_then(|&id| self.get(id))
    }

    /// Returns why a decision cannot be followed at all: its filter or one of its rules is not
    /// valid.
    pub fn problem(&self, id: i64) -> Option<&str> {
        let filter = self.filters.iter().find(|(of, _)| *of == id);
        let filter = filter.and_then(|(_, filter)| filter.as_ref().err());
        filter.or_else(|| self.rules.get(&id)?.as_ref().err()).map(String::as_str)
    }

    /// Adds a decision that has just been recorded. Another process may have withdrawn decisions in
    /// the meantime, so its id can be less than those of other decisions or equal to one of them.
    pub(crate) fn add(&mut self, decision: Decision) {
        let id = decision.id;
        if let Some(&replaced) = self.by_scope.get(&decision.scope) {
            self.remove(replaced);
        }
        self.remove(id);
        if let Scope::Filter(text) = &decision.scope {
            let at = self.filters.partition_point(|(other, _)| *other < id);
            self.filters.insert(at, (id, filter(text)));
        }
        if let Choice::Rules(texts) = &decision.choice {
            self.rules.insert(id, rules(texts));
        }
        self.by_scope.insert(decision.scope.clone(), id);
        let at = self.list.partition_point(|other| other.id < id);
        self.list.insert(at, decision);
    }

    /// Removes a decision and returns it.
    pub(crate) fn remove(&mut self, id: i64) -> Option<Decision> {
        let found = self.list.binary_search_by_key(&id, |decision| decision.id).ok()?;
        let decision = self.list.remove(found);
        self.by_scope.remove(&decision.scope);
        self.filters.retain(|(of, _)| *of != id);
        self.rules.remove(&id);
        Some(decision)
    }

    /// Returns the filters of the decisions about filters, latest first.
    pub(crate) fn filters(&self) -> impl Iterator<Item = (i64, &Filter)> {
        let latest = self.filters.iter().rev();
        latest.filter_map(|(id, filter)| Some((*id, filter.as_ref().ok()?)))
    }

    /// Returns the rules of a decision, or why they are not valid.
    pub(crate) fn rules(&self, id: i64) -> Result<&[Rule], &str> {
        match self.rules.get(&id) {
            Some(Ok(rules)) => Ok(rules),
            Some(Err(problem)) => Err(problem),
            None => Ok(&[]),
        }
    }
}

/// Parses the filter of a decision.
pub(crate) fn filter(text: &str) -> Result<Filter, String> {
    let filter = Filter::parse(text).map_err(|error| error.to_string())?;
    if filter.asks_decisions() {
        return Err("is: cannot select the groups of a decision".into());
    }
    Ok(filter)
}

/// Parses the rules of a decision and adds the default rules.
pub(crate) fn rules(texts: &[String]) -> Result<Vec<Rule>, String> {
    let parse = |text: &String| match Rule::parse(text, &[]) {
        Ok(Rule::FirstRoot) => Err("first-root: a decision has no paths in an order".into()),
        parsed => parsed.map_err(|error| error.to_string()),
    };
    let mut rules = texts.iter().map(parse).collect::<Result<Vec<Rule>, String>>()?;
    rules.extend(Rule::usual());
    Ok(rules)
}
