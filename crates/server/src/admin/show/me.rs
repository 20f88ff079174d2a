//! The caller itself, as JSON.

use mnemon_core::{PlanLimits, PlanName};
use mnemon_engine::admin::Me;
use mnemon_protocol::admin::{MeJson, NamedJson, PlanJson, SubscriptionJson};

use super::time;

/// A member, or the operator.
pub(crate) fn me(me: Option<&Me>) -> MeJson {
    let Some(me) = me else { return operator() };
    let credential = &me.credential;
    let named = |id: String, name: &str| Some(NamedJson { id, name: name.to_owned() });
    let department = credential.department.zip(credential.department_name.as_deref());
    MeJson {
        role: credential.role.as_str().to_owned(),
        member: named(credential.member.to_string(), &credential.member_name),
        department: department.and_then(|(id, name)| named(id.to_string(), name)),
        account: named(me.account.id.to_string(), &me.account.name),
        project: named(me.project.id.to_string(), &me.project.name),
        key_id: Some(credential.key.to_string()),
        access: Some(credential.access.as_str().to_owned()),
        expires_at: time(credential.expires_at),
        workspace: credential.workspace.as_ref().map(ToString::to_string),
        plan: me.account.plan().zip(me.limits).map(|(name, limits)| plan(name, &limits)),
        subscription: Some(SubscriptionJson {
            state: me.state.as_str().to_owned(),
            paid_until: time(me.account.subscription.paid_until),
        }),
    }
}

fn operator() -> MeJson {
    MeJson {
        role: "operator".to_owned(),
        member: None,
        department: None,
        account: None,
        project: None,
        key_id: None,
        access: None,
        expires_at: None,
        workspace: None,
        plan: None,
        subscription: None,
    }
}

pub(crate) fn plan(name: PlanName, limits: &PlanLimits) -> PlanJson {
    PlanJson {
        name: name.as_str().to_owned(),
        records_max: limits.records_max,
        workspaces_max: limits.workspaces_max,
        connection_calls_max: limits.connection_calls_max,
        project_calls_max: limits.project_calls_max,
        history_bytes_max: limits.history_bytes_max,
        import_bytes_max: limits.import_bytes_max,
    }
}
