//! Inviting somebody: a member, its key and the link that shows it, by one form.

use axum::response::Response;
use mnemon_core::Access;
use mnemon_engine::admin::{AdminError, Invitation, MadeLink, NewMember, link_life};
use mnemon_engine::console::ConsoleError;

use super::hand_over::HandOver;
use super::keys;
use super::people;
use super::shell::Place;
use super::visit::Act;
use crate::http::Fields;

/// The form, by its name on the page.
pub(super) const FORM: &str = "invite";

/// `POST /console/people/invite`
pub(super) async fn invite(act: Act) -> Response {
    match try_invite(&act).await {
        Ok((name, link)) => act.visit.hand_over(&HandOver {
            made: format!("{name} is a member now, and a key waits."),
            who: &name,
            link: &link,
            at: Place::People,
            onward: people::PATH,
        }),
        Err(error) => match act.again(FORM, &error) {
            Ok(visit) => visit.show_again(people::build(&visit, &Fields::default()).await),
            Err(trouble) => *trouble,
        },
    }
}

async fn try_invite(act: &Act) -> Result<(String, MadeLink), ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let (account, admin) = (visit.account()?, &visit.visitor.admin);
    let project = fields.find("project").and_then(|id| id.parse().ok());
    let invitation = Invitation {
        key: Some(keys::once(act)?),
        member: NewMember {
            name: fields.take("name").unwrap_or_default(),
            role: people::role(fields)?,
            department: people::department(fields, "department")?,
            access_until: people::end_of(fields)?,
        },
        project: project.ok_or(AdminError::NotFound("project"))?,
        access: fields.find("access").and_then(Access::parse).unwrap_or(Access::Write),
        label: fields.take("label"),
        expires_at: keys::end(act)?,
        link_life: life(fields)?,
    };
    let (member, link) = visit.engine().invite_member(admin, account, invitation).await?;
    Ok((member.name, link))
}

/// For how long a link can be opened, as a form says it.
pub(super) fn life(fields: &Fields) -> Result<jiff::SignedDuration, ConsoleError> {
    let hours = fields.find("hours").map(|hours| hours.parse().unwrap_or(0));
    Ok(link_life(hours)?)
}
