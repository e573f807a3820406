//! How the list of a server's tools is read: page by page, and entry by entry where an entry
//! is none.

use super::{Connection, Opener, Patience, Server, ServerError, ServerFuture};
use crate::offer::{Offer, TOOLS_MAX};
use crate::task_form;
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult};
use rmcp::service::ServiceError;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Pages of a list of tools that are read.
const PAGES_MAX: usize = 64;

/// One page of a list.
struct Page {
    offers: Vec<Offer>,
    /// Those of them that are called as tasks.
    as_tasks: Vec<String>,
    /// How many entries could not be told from another, for want of a name.
    nameless: usize,
    cursor: Option<String>,
}

impl Server {
    /// The tools it offers now.
    pub fn tools<'a>(
        self: &'a Arc<Self>,
        opener: &'a dyn Opener,
        patience: Patience,
    ) -> ServerFuture<'a, Vec<Offer>> {
        Box::pin(self.listed(opener, patience))
    }

    async fn listed(
        self: &Arc<Self>,
        opener: &dyn Opener,
        patience: Patience,
    ) -> Result<Vec<Offer>, ServerError> {
        let connection = self.connection(opener, patience).await?;
        connection.side.heard.is_list_changed.store(false, Ordering::Release);
        let (mut offers, mut cursor, mut nameless) = (Vec::new(), None, 0);
        let mut has_too_many = true;
        for _ in 0..PAGES_MAX {
            let page = self.page(&connection, cursor.take()).await?;
            let room = TOOLS_MAX.saturating_sub(offers.len());
            let is_more = page.offers.len() > room;
            offers.extend(page.offers.into_iter().take(room));
            connection.note_tasks(page.as_tasks);
            nameless += page.nameless;
            cursor = page.cursor;
            if is_more || cursor.is_none() || offers.len() >= TOOLS_MAX {
                has_too_many = is_more || cursor.is_some();
                break;
            }
        }
        let mut facts = self.facts();
        facts.has_too_many = has_too_many;
        facts.nameless = nameless;
        Ok(offers)
    }

    /// A page by its cursor. The SDK reads all of it or nothing; where it can't, the page is
    /// asked for once more as it is.
    async fn page(
        &self,
        connection: &Connection,
        cursor: Option<String>,
    ) -> Result<Page, ServerError> {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let peer = connection.service.peer();
        let asking = async {
            match peer.list_tools(Some(params.clone())).await {
                Ok(page) => Ok(Page {
                    as_tasks: connection.tasks_among(&page.tools),
                    offers: page.tools.into_iter().map(Offer::of).collect(),
                    nameless: 0,
                    cursor: page.next_cursor,
                }),
                Err(ServiceError::UnexpectedResponse) => {
                    let request = ListToolsRequest::with_param(params);
                    match peer.send_request(ClientRequest::ListToolsRequest(request)).await? {
                        ServerResult::CustomResult(it) => by_entry(&it.0, connection),
                        _ => None,
                    }
                    .ok_or(ServiceError::UnexpectedResponse)
                }
                Err(error) => Err(error),
            }
        };
        self.patiently(connection, None, asking).await
    }
}

/// What can be read of a page; nothing where it is none.
fn by_entry(page: &Value, connection: &Connection) -> Option<Page> {
    let entries = page.get("tools")?.as_array()?;
    let offers: Vec<Offer> = entries.iter().filter_map(Offer::read).collect();
    let cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    let as_tasks = match connection.takes_tasks() {
        true => entries.iter().filter_map(task_form::required).map(str::to_owned).collect(),
        false => Vec::new(),
    };
    Some(Page { nameless: entries.len() - offers.len(), offers, as_tasks, cursor })
}
