//! Operations as resources.

use serde_json::json;

use super::descriptor::OperationDescriptor;
use super::prompt::Arguments;
use super::template::Template;
use super::{Listed, OPERATION_KEY};
use operations_core::spec::OperationType;

/// An operation as a resource, or as many.
#[derive(Debug)]
pub(in super::super) struct Resource {
    pub(in super::super) listed: Listed,
    pub(in super::super) mime_type: Option<String>,
    pub(in super::super) arguments: Arguments,
    template: Template,
}

impl Resource {
    /// The resource for an operation, under a name. `None` where it is not offered as one.
    pub(super) fn new(each: &OperationDescriptor, name: &str) -> Option<Self> {
        let descriptor = each.mcp.resource.as_ref()?;
        // What clients read at their leisure must not do anything.
        if each.operation_type != OperationType::Query {
            return None;
        }
        let template = Template::read(&descriptor.uri)?;
        let address = if template.has_variables() {
            "uriTemplate"
        } else {
            "uri"
        };
        let mut resource = json!({
            address: descriptor.uri,
            "name": name,
            "description": each.description,
            "_meta": { OPERATION_KEY: { "id": each.id } },
        });
        if let Some(members) = resource.as_object_mut() {
            if let Some(title) = &each.title {
                members.insert("title".to_owned(), json!(title));
            }
            if let Some(mime_type) = &descriptor.mime_type {
                members.insert("mimeType".to_owned(), json!(mime_type));
            }
        }
        let text = resource.to_string();
        Some(Self {
            listed: Listed::new(each, &text, &text),
            mime_type: descriptor.mime_type.clone(),
            arguments: Arguments::new(each),
            template,
        })
    }

    /// Whether it stands for many.
    pub(super) fn is_template(&self) -> bool {
        self.template.has_variables()
    }

    /// Where it is, as the operation says it.
    pub(super) fn uri(&self) -> &str {
        self.template.text()
    }

    /// The values of its variables at this address; `None` where it is elsewhere.
    pub(super) fn at(&self, uri: &str) -> Option<Vec<(String, String)>> {
        self.template.matched(uri)
    }
}
