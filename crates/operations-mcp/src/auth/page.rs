//! The page that a user is to visit.

use url::Url;

use super::metadata::is_secure;

/// What is to be known about the page that the user is to visit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) state: String,
    pub(super) scopes: Vec<String>,
}

impl Page {
    /// The page comes from a server that we do not control, and programs hand it to whatever opens addresses: it
    /// must be one of the web.
    pub(super) fn read(page: &str) -> Result<Self, String> {
        let url =
            Url::parse(page).map_err(|error| format!("the page to visit is no URL ({error})"))?;
        if !is_secure(&url) {
            return Err(format!(
                "the page to visit must be an https URL, not one of '{}' (http is for this machine alone)",
                url.scheme()
            ));
        }
        let find = |name: &str| {
            let mut pairs = url.query_pairs();
            pairs.find(|(key, _)| key == name).map(|(_, value)| value)
        };
        let scopes = find("scope").unwrap_or_default();
        Ok(Self {
            state: find("state")
                .ok_or_else(|| "the page to visit has no state".to_owned())?
                .into_owned(),
            scopes: scopes.split_whitespace().map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_web_are_shown() {
        let page = Page::read("https://a/b?x=1&state=s&scope=read+write").unwrap();
        assert_eq!(page.state, "s");
        assert_eq!(page.scopes, ["read", "write"]);
        for page in [
            "javascript:alert(1)?state=s",
            "file:///etc/hosts?state=s",
            "calc://x?state=s",
            "x",
            "https://a/",
            "http://a/?state=s",
        ] {
            assert!(Page::read(page).is_err(), "{page}");
        }
    }
}
