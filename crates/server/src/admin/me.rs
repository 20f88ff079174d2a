//! The caller itself.

use super::error::Failure;
use super::extract::Admin;
use super::show;
use crate::http::Reply;

pub(crate) async fn show(admin: Admin) -> Result<Reply, Failure> {
    let me = admin.engine.show_me(&admin.ctx).await?;
    Ok(show::ok(&show::me::me(me.as_ref())))
}
