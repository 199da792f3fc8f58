//! The state that the handlers of all threads share.

use std::fmt;

use crate::access::Access;
use crate::archive::Plans;
use crate::facts::Facts;
use crate::listing::Budget;
use crate::roots::Roots;
use crate::statistics::StatisticsReader;

/// Tells the person who started the server about a problem.
pub type Warn = Box<dyn Fn(&str) + Send + Sync>;

/// State that the handlers of all threads use.
pub(crate) struct Shared {
    pub(crate) roots: Roots,
    pub(crate) access: Access,
    pub(crate) facts: Facts,
    pub(crate) plans: Plans,
    pub(crate) listings: Budget,
    pub(crate) warn: Warn,
    /// The source of the page with statistics, if there is one.
    pub(crate) statistics: Option<StatisticsReader>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("roots", &self.roots).finish_non_exhaustive()
    }
}
