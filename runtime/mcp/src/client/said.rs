//! What a server's tool said, as a model reads it.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// What a server's tool said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// In words. Of what is no text it is said what it is.
    pub text: String,
    /// Whether it says that it did not work.
    pub is_error: bool,
}

impl Said {
    pub(super) fn of(result: CallToolResult) -> Self {
        let CallToolResult { content, structured_content, is_error, .. } = result;
        let mut parts: Vec<String> = content.into_iter().map(part).collect();
        // Servers are asked to say the same in words; one that does not has said it here.
        if let (true, Some(value)) = (parts.is_empty(), structured_content) {
            parts.push(value.to_string());
        }
        Self { text: parts.join("\n"), is_error: is_error.unwrap_or_default() }
    }
}

fn part(block: ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Image(image) => format!("[an image ({}) that is not shown]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[a sound ({}) that is not played]", audio.mime_type),
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, .. } => format!("[{uri}, which is no text]"),
            _ => "[a resource of an unknown kind]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[a link to {}: {}]", link.name, link.uri),
        _ => "[something of an unknown kind]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(value: serde_json::Value) -> Said {
        Said::of(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn what_is_text_is_passed_on_and_of_the_rest_it_is_said_what_it_is() {
        let content = json!([
            { "type": "text", "text": "one" },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "two" } },
            { "type": "resource_link", "uri": "https://a.example/", "name": "a" },
        ]);
        let Said { text, is_error } = said(json!({ "content": content, "structuredContent": { "n": 1 } }));
        assert_eq!(
            text,
            "one\n[an image (image/png) that is not shown]\n[file:///a]\ntwo\n[a link to a: https://a.example/]"
        );
        assert!(!is_error);
        let structured = said(json!({ "content": [], "structuredContent": { "n": 1 }, "isError": true }));
        assert_eq!(structured, Said { text: "{\"n\":1}".to_owned(), is_error: true });
    }
}
