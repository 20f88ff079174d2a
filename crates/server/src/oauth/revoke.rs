//! `POST /revoke`: a client revokes its token.

use axum::extract::{Request, State};

use super::error::OauthFailure;
use super::token::need_form;
use crate::http::{App, Fields, Reply, read_small_body};

pub(crate) async fn revoke(State(app): State<App>, request: Request) -> Result<Reply, OauthFailure> {
    need_form(request.headers())?;
    let fields = Fields::parse(&read_small_body(request.into_body()).await?);
    if fields.repeated(&["token", "client_id"]).is_some() {
        return Err(OauthFailure::invalid_request("a parameter was given more than once"));
    }
    let token = fields.find("token").ok_or_else(|| OauthFailure::invalid_request("token is missing"))?;
    app.0.engine.revoke_token(token, fields.find("client_id")).await?;
    Ok(Reply::ok("{}"))
}
