//! Calling a tool of another system. Integrations can't be set up yet, so no name is enabled for any project and the
//! answer is the one that a project without integrations gets.

use crate::{Admission, CallContext, CallError, Engine};

/// The arguments, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayCall {
    /// The integration.
    pub server: String,
    /// Its tool.
    pub tool: String,
}

impl Engine {
    /// Calls a tool of an integration.
    pub async fn gateway_call(
        &self,
        _ctx: &CallContext,
        _admission: Admission,
        call: GatewayCall,
    ) -> Result<std::convert::Infallible, CallError> {
        Err(CallError::IntegrationNotEnabled(call.server))
    }
}
