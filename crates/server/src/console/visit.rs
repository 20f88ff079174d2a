//! Who is in the console: the session behind a request, and the checks that every form passes.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::Response;
use http::header::{ORIGIN, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use mnemon_core::{Access, AccountId, KeyId, Project, ProjectId, Role, Timestamp};
use mnemon_engine::admin::{Me, Waiting};
use mnemon_engine::console::{ConsoleError, Visitor};
use mnemon_engine::{Engine, MemoryUse, NotAuthenticated};

use super::cookies::Cookie;
use super::flash::Flash;
use super::page::{self, Ended};
use crate::access_log::note;
use crate::http::hold::{self, Weight};
use crate::http::{App, Fields, NoRoom, Shared, read_small_body};

/// What every form of a session is sealed with.
const FORM: &str = "form";

/// How the page looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Theme {
    System,
    Light,
    Dark,
}

impl Theme {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [Self::System, Self::Light, Self::Dark].into_iter().find(|theme| theme.as_str() == word)
    }
}

/// A request of somebody who is signed in.
pub(super) struct Visit {
    pub(super) app: App,
    pub(super) visitor: Visitor,
    /// The member behind the key; none for the operator.
    pub(super) me: Option<Me>,
    pub(super) theme: Theme,
    /// What just happened, for the next page.
    pub(super) told: Option<Flash>,
    /// Path and query.
    pub(super) path: String,
    pub(super) now: Timestamp,
    /// What waits for this person.
    pub(super) waiting: Waiting,
    /// A form of theirs that was refused a moment ago.
    pub(super) again: Option<Again>,
    /// What the browser keeps; forms are sealed with it.
    value: String,
}

impl Visit {
    pub(super) fn engine(&self) -> &Engine {
        &self.app.0.engine
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.app.0
    }

    pub(super) fn role(&self) -> Option<Role> {
        self.me.as_ref().map(|me| me.credential.role)
    }

    pub(super) fn is_admin(&self) -> bool {
        self.role() == Some(Role::Admin)
    }

    /// Whether this person manages others: an admin or a head.
    pub(super) fn manages(&self) -> bool {
        matches!(self.role(), Some(Role::Admin | Role::Head))
    }

    /// Whether buttons that change something are shown at all.
    pub(super) fn may_write(&self) -> bool {
        self.me.as_ref().is_none_or(|me| me.credential.access == Access::Write)
    }

    /// Whether memory may be changed: the key may write, and the subscription is active.
    pub(super) fn may_change_memory(&self) -> bool {
        self.may_write() && self.me.as_ref().is_some_and(|me| me.state.allows_writing())
    }

    /// The project of the key. The operator has none, and no page that needs one.
    pub(super) fn project(&self) -> Result<ProjectId, ConsoleError> {
        self.member().map(|me| me.project.id)
    }

    pub(super) fn account(&self) -> Result<AccountId, ConsoleError> {
        self.member().map(|me| me.account.id)
    }

    pub(super) fn member(&self) -> Result<&Me, ConsoleError> {
        let absent =
            || ConsoleError::Admin(mnemon_engine::admin::AdminError::NotFound("page for the operator's token"));
        self.me.as_ref().ok_or_else(absent)
    }

    /// Goes on in another project.
    pub(super) async fn turn(&self, project: ProjectId) -> Result<Project, ConsoleError> {
        self.engine().turn_session(&self.visitor, &self.value, project).await
    }

    /// Ends the session.
    pub(super) async fn end(&self) -> Result<(), mnemon_engine::stored::StoreError> {
        self.engine().sign_out(&self.value).await
    }

    /// The seal of this session's forms.
    pub(super) fn seal(&self) -> String {
        self.engine().seal_console(&self.value, FORM)
    }

    /// The id of the key that a form will make, so that it makes one key however often it is sent.
    pub(super) fn once(&self) -> String {
        let id = self.engine().new_key_id().to_string();
        format!("{id}.{}", self.engine().seal_console(&self.value, &id))
    }

    pub(super) fn open_once(&self, sent: Option<&str>) -> Option<KeyId> {
        let (id, seal) = sent?.split_once('.')?;
        self.engine().is_console_seal(&self.value, id, Some(seal)).then(|| id.parse().ok()).flatten()
    }

    /// What happened, as the browser keeps it until the next page.
    pub(super) fn keep(&self, told: &Flash) -> http::HeaderValue {
        super::cookies::told(self.shared(), &told.sealed(self.engine(), &self.value))
    }

    /// For a form whose fields are not read yet.
    pub(super) async fn enter(app: &App, parts: &Parts) -> Result<Self, Response> {
        Self::find(app, parts).await
    }

    /// Whether a form has the seal of this session.
    pub(super) fn is_sealed(&self, seal: Option<&str>) -> bool {
        self.engine().is_console_seal(&self.value, FORM, seal)
    }

    /// Takes room for a file that comes with a form.
    pub(super) async fn hold_upload(&self, parts: &Parts) -> Result<(), NoRoom> {
        let whose = self.visitor.admin.identity().map(|whose| whose.account);
        hold::reserve_answer(&self.shared().room, &parts.extensions, whose, Some(Weight::UPLOAD)).await
    }

    async fn find(app: &App, parts: &Parts) -> Result<Self, Response> {
        let shared = &*app.0;
        let headers = &parts.headers;
        let path = parts.uri.path_and_query().map_or("/console", |path| path.as_str());
        let Some(value) = Cookie::Session.find(shared, headers) else {
            return Err(without_session(app, parts, path));
        };
        let visitor = match shared.engine.enter_console(value).await {
            Ok(visitor) => visitor,
            Err(NotAuthenticated::Rejected) => {
                let mut response = page::to_sign_in(&page_of(parts, path), Some(ended(parts)));
                response.headers_mut().append(SET_COOKIE, Cookie::Session.remove(shared));
                return Err(response);
            }
            Err(NotAuthenticated::Store(error)) => return Err(page::storage_unavailable(app, &error)),
        };
        let me = shared.engine.show_me(&visitor.admin).await;
        let me = me.map_err(|error| page::plain_trouble(app, &ConsoleError::Admin(error)))?;
        let whose = visitor.admin.identity();
        note(|notes| notes.caller = whose);
        let whose = whose.map(|whose| whose.account);
        let visitor = shared.welcome(parts.into(), whose, visitor);
        if parts.method == Method::GET {
            let reserved = hold::reserve_answer(&shared.room, &parts.extensions, whose, Some(Weight::PAGE)).await;
            reserved.map_err(|no_room| page::busy(app, no_room))?;
        }
        let waiting = match &me {
            // A form is answered by a redirect, which has no menu. What goes wrong here goes wrong on the page too.
            Some(me) if parts.method == Method::GET && me.state.allows_reading() => {
                shared.engine.show_waiting(&visitor.admin, me.project.id).await.unwrap_or_default()
            }
            _ => Waiting::default(),
        };
        let told = Cookie::Flash.find(shared, headers);
        let visit = Self {
            theme: Cookie::Theme.find(shared, headers).and_then(Theme::parse).unwrap_or(Theme::System),
            told: told.and_then(|told| Flash::open(&shared.engine, value, told)),
            path: path.to_owned(),
            now: shared.engine.now(),
            waiting,
            again: None,
            value: value.to_owned(),
            app: app.clone(),
            visitor,
            me,
        };
        let memory = parts.extensions.get::<MemoryUse>();
        match memory.map_or(Ok(()), |memory| visit.engine().admit_to_memory(&visit.visitor.admin, *memory)) {
            Ok(()) => Ok(visit),
            Err(error) => Err(visit.trouble(&ConsoleError::Admin(error))),
        }
    }
}

/// A link from elsewhere comes without the cookie, because that is kept for our own pages. A page of our own that goes
/// to the same address again brings it along; only then is it known that the person is not signed in.
fn without_session(app: &App, parts: &Parts, path: &str) -> Response {
    let is_from_elsewhere = parts.headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
    if parts.method == Method::GET && is_from_elsewhere {
        page::once_more(app, path)
    } else {
        let was_act = (parts.method != Method::GET).then_some(Ended::Act);
        page::to_sign_in(&page_of(parts, path), was_act)
    }
}

/// What the form that asks for a key says about a session that has ended.
fn ended(parts: &Parts) -> Ended {
    if parts.method == Method::GET { Ended::Page } else { Ended::Act }
}

/// Where somebody goes on after signing in. An act can't be asked for again by its address, so it leads to its page.
fn page_of(parts: &Parts, path: &str) -> String {
    if parts.method == Method::GET { path.to_owned() } else { page_behind(parts.uri.path()) }
}

/// Whether a path is one of ours to go to.
pub(super) fn is_own_path(path: &str) -> bool {
    let rest = path.strip_prefix("/console");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        && path.bytes().all(|byte| (0x21..0x7f).contains(&byte) && byte != b'\\')
        && !path.starts_with("/console/sign-")
}

fn page_behind(act: &str) -> String {
    let places: Vec<&str> = act.split('/').skip(2).collect();
    match places.as_slice() {
        ["records", "several", ..] | ["records"] => "/console/memory".to_owned(),
        ["records", one, _] => format!("/console/records/{one}"),
        ["integrations", one, _] => format!("/console/integrations/{one}"),
        ["records", ..] => "/console/memory".to_owned(),
        ["departments", ..] => "/console/people".to_owned(),
        [] | ["theme" | "sign-out" | "sign-in", ..] => "/console".to_owned(),
        [page, ..] => format!("/console/{page}"),
    }
}

impl FromRequestParts<App> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        Self::find(app, parts).await
    }
}

/// A form that somebody who is signed in has sent from one of our pages.
pub(super) struct Act {
    pub(super) visit: Visit,
    pub(super) fields: Fields,
}

/// A form that was refused for what was typed into it. It is shown again as it was sent, but for secrets.
pub(super) struct Again {
    /// Its name on the page.
    pub(super) form: &'static str,
    pub(super) status: StatusCode,
    /// What to change.
    pub(super) text: String,
    pub(super) fields: Fields,
}

impl Act {
    /// Where the form leads back to, if it says so.
    pub(super) fn back<'a>(&'a self, otherwise: &'a str) -> &'a str {
        self.fields.find("back").filter(|path| is_own_path(path)).unwrap_or(otherwise)
    }

    /// The person, whose page shows the form again. Where no other input would help, the answer is a page about that.
    pub(super) fn again(self, form: &'static str, error: &ConsoleError) -> Result<Visit, Box<Response>> {
        let Self { mut visit, fields } = self;
        let Some((status, text)) = page::to_mend(error) else { return Err(Box::new(visit.trouble(error))) };
        visit.again = Some(Again { form, status, text, fields });
        Ok(visit)
    }
}

impl FromRequest<App> for Act {
    type Rejection = Response;

    async fn from_request(request: Request, app: &App) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        if !comes_from_our_page(&app.0, &parts.headers) {
            return Err(page::foreign(app));
        }
        let visit = Visit::find(app, &parts).await?;
        let bytes = read_small_body(body).await;
        let bytes = bytes.map_err(|error| {
            page::plain_error(app, StatusCode::PAYLOAD_TOO_LARGE, "That was too much", &error.to_string())
        })?;
        let fields = Fields::parse(&bytes);
        if !visit.is_sealed(fields.find("seal")) {
            return Err(page::foreign(app));
        }
        Ok(Self { visit, fields })
    }
}

/// Browsers say which site a form comes from. Ours has the origin "null", because our pages send no referrer; a browser
/// that does not tell the site has to tell the right origin.
pub(super) fn comes_from_our_page(app: &Shared, headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    let is_right = headers.get_all(ORIGIN).iter().all(|origin| origin == "null" || app.origins.is_own(origin));
    match headers.get("sec-fetch-site") {
        Some(site) => is_right && site == "same-origin",
        None => is_right && origins.next().is_some_and(|origin| app.origins.is_own(origin)),
    }
}

#[cfg(test)]
mod tests {
    use super::page_behind;

    #[test]
    fn every_act_has_a_page_to_come_back_to() {
        for (act, page) in [
            ("/console/records/0190/forget", "/console/records/0190"),
            ("/console/records/restore", "/console/memory"),
            ("/console/records/several/undo", "/console/memory"),
            ("/console/sources/check", "/console/sources"),
            ("/console/keys", "/console/keys"),
            ("/console/keys/0190/revoke", "/console/keys"),
            ("/console/departments/0190/remove", "/console/people"),
            ("/console/integrations/github/test", "/console/integrations/github"),
            ("/console/integrations/names", "/console/integrations"),
            ("/console/operator/accounts/0190/plan", "/console/operator"),
            ("/console/theme", "/console"),
        ] {
            assert_eq!(page_behind(act), page, "{act}");
        }
    }
}
