//! Decisions about a group: the effects of the keys that record and withdraw them, and the state of a group as text.

use catalog::{Choice, Scope};
use review::{Review, Settlement, Status, Void};
use runtime::quantity::{count, counted};

use crate::bindings::Action;
use crate::effect::{Dialog, Effect, rules};
use crate::views::Tone;

/// Returns the effects that record a decision about a group. If lop does not know its digest, they show a message
/// instead.
pub(crate) fn decide(review: &Review, at: u32, ask: impl FnOnce(Scope) -> Effect) -> Vec<Effect> {
    let unknown = "The digest of this group is not known. Scan its folders again, and decide then.";
    vec![review.group_scope(at).map_or_else(|| Effect::Say(unknown.into()), ask)]
}

/// Returns the effects of the keys that have the same meaning for a group and for its files.
pub(crate) fn act_on_group(review: &Review, at: u32, action: Action) -> Vec<Effect> {
    match action {
        Action::Rules => decide(review, at, |scope| {
            Effect::Ask(rules("Which file of this group stays?".into(), &scope))
        }),
        Action::LeaveAlone => decide(review, at, |scope| Effect::Decide(scope, Choice::Leave)),
        Action::Withdraw => vec![match review.settled().by(at) {
            Some(id) => withdraw(review, id),
            None => Effect::Say("There is no decision about this group.".into()),
        }],
        _ => Vec::new(),
    }
}

/// Returns the effect that withdraws a decision. If the decision covers several groups, the effect asks the user first.
fn withdraw(review: &Review, id: i64) -> Effect {
    let about = (0..review.index().len()).filter(|&at| review.settled().by(at) == Some(id)).count();
    let groups = counted(about as u64, "group", "groups");
    let done = format!("The decision about {groups} was withdrawn.");
    let effect = Effect::Withdraw { id, done };
    if about <= 1 {
        return effect;
    }
    let question = format!("Withdraw the decision about {groups}?");
    Effect::Ask(Dialog::Confirm { question, effect: Box::new(effect) })
}

/// Returns the state of a group in a few words.
pub(crate) fn state(review: &Review, at: u32) -> (String, Tone) {
    match review.settled().status(at) {
        Status::Undecided => ("undecided".into(), Tone::Plain),
        Status::Left => ("left alone".into(), Tone::Quiet),
        Status::Void => (void(review, at).into(), Tone::Warning),
        Status::Decided => match review.settled().removes(at) {
            0 => ("keep all".into(), Tone::Good),
            removes => (format!("remove {}", count(removes.into())), Tone::Good),
        },
    }
}

fn void(review: &Review, at: u32) -> &'static str {
    let settlement = review.settlement(at);
    let is_new = matches!(settlement, Settlement::Void { reason: Void::Unseen, .. });
    if is_new { "new file" } else { "invalid" }
}
