//! The subscription state as a function of the clock and three stored facts: nothing has to run for it to change.

use jiff::SignedDuration;

use crate::{PlanName, Timestamp};

/// How long memory stays readable after the paid period.
pub const GRACE_DAYS: i64 = 14;

/// The stored facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Subscription {
    pub plan: Option<PlanName>,
    /// The end of the paid period; `None` means no end.
    pub paid_until: Option<Timestamp>,
    /// Set by the operator: every credential of the account is refused.
    pub is_suspended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubscriptionState {
    Active,
    /// No plan was ever activated.
    None,
    /// After the paid period: memory can be read.
    Grace {
        /// When reading ends too.
        until: Timestamp,
    },
    /// After grace: data is kept, nothing works.
    Suspended,
    /// The operator's decision: no credential is accepted.
    SuspendedByOperator,
}

impl Subscription {
    /// The state at a given time.
    pub fn state(&self, now: Timestamp) -> SubscriptionState {
        if self.is_suspended {
            return SubscriptionState::SuspendedByOperator;
        }
        if self.plan.is_none() {
            return SubscriptionState::None;
        }
        let Some(paid_until) = self.paid_until else { return SubscriptionState::Active };
        // A paid period near the end of the calendar has a grace that never ends, not an overflow.
        let until = paid_until.saturating_add(SignedDuration::from_hours(24 * GRACE_DAYS)).unwrap_or(Timestamp::MAX);
        if now < paid_until {
            SubscriptionState::Active
        } else if now < until {
            SubscriptionState::Grace { until }
        } else {
            SubscriptionState::Suspended
        }
    }
}

impl SubscriptionState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::None => "none",
            Self::Grace { .. } => "grace",
            Self::Suspended | Self::SuspendedByOperator => "suspended",
        }
    }

    /// Whether memory may be changed.
    pub const fn allows_writing(self) -> bool {
        matches!(self, Self::Active)
    }

    /// Whether memory may be read.
    pub const fn allows_reading(self) -> bool {
        matches!(self, Self::Active | Self::Grace { .. })
    }

    /// The message to the caller, without the service's name.
    pub const fn notice(self) -> Option<&'static str> {
        match self {
            Self::Active => None,
            Self::None => Some(
                "this account has no active subscription. Ask the account's admin to activate a plan; nothing can be saved or \
                     searched until then.",
            ),
            Self::Grace { .. } => Some(
                "this account's subscription has expired. Memory is read-only during the grace period. Renew the plan to save \
                     and delete again.",
            ),
            Self::Suspended | Self::SuspendedByOperator => Some(
                "this account is suspended because its subscription expired. Renew the plan to use it again; your data is kept \
                     until then.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_state_depends_only_on_the_clock() {
        let paid = 1_000_000;
        let grace_end = paid + GRACE_DAYS * DAY;
        let subscription = Subscription { plan: Some(PlanName::Pro), paid_until: Some(at(paid)), is_suspended: false };
        let check = |now: i64, expected: SubscriptionState| assert_eq!(subscription.state(at(now)), expected, "{now}");
        check(paid - 1, SubscriptionState::Active);
        check(paid, SubscriptionState::Grace { until: at(grace_end) });
        check(paid + 1, SubscriptionState::Grace { until: at(grace_end) });
        check(grace_end - 1, SubscriptionState::Grace { until: at(grace_end) });
        check(grace_end, SubscriptionState::Suspended);
        check(grace_end + 1, SubscriptionState::Suspended);
    }

    #[test]
    fn no_plan_no_end_and_the_operators_flag() {
        let none = Subscription::default();
        assert_eq!(none.state(at(0)), SubscriptionState::None);
        let endless = Subscription { plan: Some(PlanName::Unlimited), ..none };
        assert_eq!(endless.state(at(0)), SubscriptionState::Active);
        let flagged = Subscription { is_suspended: true, ..endless };
        assert_eq!(flagged.state(at(0)), SubscriptionState::SuspendedByOperator);
        let far = Subscription { paid_until: Some(Timestamp::MAX), ..endless };
        assert_eq!(far.state(Timestamp::MAX), SubscriptionState::Suspended);
    }
}
