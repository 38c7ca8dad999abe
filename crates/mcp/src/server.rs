//! The server that clients talk to: it says what there is, and leads each request to its room.

use std::sync::{Arc, LazyLock};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};

use crate::approval::{Questions, Seen};
use crate::desk::{Desk, Talk};
use crate::holds::Holds;
use crate::log::{Log, is_newest};
use crate::news::Subscriptions;
use crate::{complete, news, prompts, resources, tools};

const INSTRUCTIONS: &str = "Baton passes work between agents and never loses it. list_inbox shows \
    what waits for you; accept_handoff takes it, return_handoff brings the result back. \
    handoff_to_agent gives work to another agent, await_handoff waits for its result; when all is \
    back, return_handoff completes what you began. Lock files that others may edit before you \
    edit them.";

static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(tools::list);

/// Methods with parameters that can be wrong: of all revisions, and those that only the older ones
/// and only the newest have.
const METHODS: [&str; 4] = ["tools/call", "resources/read", "prompts/get", "completion/complete"];
const OLDER: [&str; 3] = ["resources/subscribe", "resources/unsubscribe", "logging/setLevel"];
const NEWEST: [&str; 1] = ["subscriptions/listen"];

/// Baton for one session: an agent at a desk.
pub struct Server {
    desk: Arc<dyn Desk>,
    holds: Holds,
    log: Log,
    questions: Questions<Seen>,
    subscriptions: Subscriptions,
}

impl Server {
    /// A session at this desk.
    pub fn new(desk: Arc<dyn Desk>) -> Self {
        Self {
            desk,
            holds: Holds::default(),
            log: Log::default(),
            questions: Questions::default(),
            subscriptions: Subscriptions::default(),
        }
    }

    pub(crate) fn desk(&self) -> &dyn Desk {
        &*self.desk
    }

    pub(crate) fn holds(&self) -> &Holds {
        &self.holds
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    pub(crate) fn questions(&self) -> &Questions<Seen> {
        &self.questions
    }

    fn talk<'a>(&'a self, context: &'a RequestContext<RoleServer>) -> Talk<'a> {
        Talk { desk: &*self.desk, from: &context.extensions }
    }
}

impl ServerHandler for Server {
    #[expect(deprecated, reason = "the newest revision still has logging")]
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("baton", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(self, request, &context).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let all = resources::list(&self.talk(&context)).await;
        Ok(ListResourcesResult::with_all_items(all))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.talk(&context), &request.uri).await.map(ReadResourceResponse::from)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.add(&self.desk, request.uri, context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(news::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        news::listen(&*self.desk, context).await;
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&self.talk(&context), request).await.map(GetPromptResponse::from)
    }

    #[expect(deprecated, reason = "older revisions have it")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log.set(request.level, &context)
    }

    /// What is no request as the protocol has it comes here. A method that there is was asked for
    /// with parameters that it does not take.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, .. } = request;
        let its_own = if is_newest(&context) { &NEWEST[..] } else { &OLDER[..] };
        match METHODS.iter().chain(its_own).any(|known| *known == method) {
            true => {
                let message = format!(
                    "{method}: these parameters are not what it takes; send those that this \
                     revision of MCP names for it"
                );
                Err(ErrorData::invalid_params(message, None))
            }
            false => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        complete::complete(&self.talk(&context), &request).await
    }
}

#[cfg(test)]
mod tests {
    use baton_context::Tokenizer;

    use super::*;

    /// What a client puts before the model of every session.
    #[test]
    fn the_whole_list_of_tools_costs_a_model_less_than_3000_tokens() {
        let listed = serde_json::to_string(&*TOOLS).expect("JSON");
        let tokens = Tokenizer::default().count(&listed);
        assert!(tokens < 3_000, "{} tools cost {tokens} tokens", TOOLS.len());
        assert_eq!(TOOLS.len(), 16);
    }

    #[test]
    fn every_tool_says_what_it_takes_what_it_gives_and_what_it_does_to_the_world() {
        for tool in TOOLS.iter() {
            let name = &tool.name;
            assert_eq!(tool.input_schema.get("type"), Some(&"object".into()), "{name}");
            let output = tool.output_schema.as_ref().expect("an output schema");
            assert_eq!(output.get("type"), Some(&"object".into()), "{name}");
            let hints = tool.annotations.as_ref().expect("annotations");
            let told = hints.read_only_hint.is_some() || hints.destructive_hint.is_some();
            assert!(told, "{name} hides what it does");
            assert!(tool.description.as_ref().is_some_and(|text| text.len() < 200), "{name}");
        }
    }
}
