//! `multipart/form-data` as an input: a member for each field. A file is binary data, as `{ "$bytes": "<base64>" }` is in JSON;
//! what a text stands for follows from the schema, as in a query.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::stream;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use indexmap::IndexMap;
use multer::{Constraints, Field, Multipart};
use operations_core::byte_budget::Held;
use operations_core::json;
use serde_json::Value;

use super::route::{Unreadable, readable, resolved};
use super::text::Scalar;

/// The most parts of one body.
const MOST_PARTS: usize = 1000;

/// Why a form is not there.
#[derive(Debug)]
pub(super) enum Refused {
    /// It is not what it should be.
    Unreadable(Unreadable),
    /// Its files have no room as text.
    Exhausted,
}

/// What separates the parts of a form; nothing where the body is none.
pub(super) fn boundary(headers: &HeaderMap) -> Option<String> {
    let media_type = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    multer::parse_boundary(media_type).ok()
}

/// Whether a schema is about binary data.
pub(super) fn is_binary(root: &Value, schema: &Value) -> bool {
    resolved(root, schema).is_some_and(|schema| {
        let word = |name: &str| schema.get(name).and_then(Value::as_str);
        word("type") == Some("Uint8Array") || word("format") == Some("binary")
    })
}

/// Whether a property is a file, or a list of files.
pub(super) fn takes_files(root: &Value, schema: &Value) -> bool {
    let items = resolved(root, schema).and_then(|schema| schema.get("items"));
    is_binary(root, schema) || items.is_some_and(|items| is_binary(root, items))
}

/// The JSON object that a form stands for. `schema` is that of the object, within `root`.
pub(super) async fn object(
    bytes: Bytes,
    boundary: String,
    (root, schema): (&Value, &Value),
    levels_above: usize,
    held: &Held,
) -> Result<String, Refused> {
    let whole = stream::iter([Ok::<_, std::io::Error>(bytes)]);
    let mut form = Multipart::with_constraints(whole, boundary, Constraints::new());
    let properties = resolved(root, schema).and_then(|schema| schema.get("properties"));
    let mut members: IndexMap<String, Member> = IndexMap::new();
    let mut count = 0;
    loop {
        let field = form
            .next_field()
            .await
            .map_err(|why| malformed(None, &why.to_string()))?;
        let Some(field) = field else {
            break;
        };
        count += 1;
        if count > MOST_PARTS {
            return Err(malformed(
                None,
                &format!("the form has more than {MOST_PARTS} parts"),
            ));
        }
        let Some(name) = field.name().map(str::to_owned) else {
            return Err(malformed(
                None,
                &format!("part {count} of the form has no name"),
            ));
        };
        let schema = properties.and_then(|properties| properties.get(&name));
        let field_type = FieldType::of(root, schema);
        let value = field_type
            .read(field, &name, levels_above + 1, held)
            .await?;
        let member = members.entry(name.clone()).or_insert_with(|| Member {
            is_list: field_type.is_list,
            values: Vec::new(),
        });
        if !member.is_list && !member.values.is_empty() {
            return Err(malformed(
                Some(&name),
                "the field is there twice, and takes one value",
            ));
        }
        member.values.push(value);
    }
    Ok(written(&members))
}

/// The parts of one name.
struct Member {
    is_list: bool,
    values: Vec<Read>,
}

/// The value of a part, as JSON.
enum Read {
    Single(String),
    /// A whole list, in one part.
    List(String),
}

/// What a field should be.
struct FieldType {
    scalar: Option<Scalar>,
    is_list: bool,
    is_binary: bool,
    /// Whether the text of a part is JSON where it can be.
    is_structured: bool,
}

impl FieldType {
    fn of(root: &Value, schema: Option<&Value>) -> Self {
        let nothing = Value::Bool(true);
        let schema = schema.unwrap_or(&nothing);
        let own = resolved(root, schema).unwrap_or(&nothing);
        let is_list = own.get("type").and_then(Value::as_str) == Some("array");
        let each = own.get("items").filter(|_| is_list).unwrap_or(own);
        let is_binary = is_binary(root, each);
        let scalar = readable(root, each).filter(|(_, is_list)| !is_list);
        let scalar = scalar.map(|(scalar, _)| scalar).filter(|_| !is_binary);
        Self {
            scalar,
            is_list,
            is_binary,
            is_structured: scalar.is_none() && !is_binary && each.is_object(),
        }
    }

    async fn read(
        &self,
        field: Field<'_>,
        name: &str,
        levels_above: usize,
        held: &Held,
    ) -> Result<Read, Refused> {
        let says = |words: &[&str]| {
            let media_type = field
                .content_type()
                .map(|media_type| media_type.essence_str().to_owned());
            media_type.is_some_and(|media_type| {
                words.contains(&media_type.as_str())
                    || (words.len() > 1 && media_type.ends_with("+json"))
            })
        };
        // The Blob of a page has a file name, whatever is in it.
        let is_json = !self.is_binary && says(&["application/json", "text/json"]);
        let is_file = field.file_name().is_some() || says(&["application/octet-stream"]);
        let bytes = field
            .bytes()
            .await
            .map_err(|why| malformed(Some(name), &why.to_string()))?;
        if is_file && !is_json {
            let length = bytes.len().div_ceil(3) * 4;
            if !held.try_add(length) {
                return Err(Refused::Exhausted);
            }
            let mut text = String::with_capacity(length + 12);
            text.push_str("{\"$bytes\":\"");
            STANDARD.encode_string(&bytes, &mut text);
            text.push_str("\"}");
            return Ok(Read::Single(text));
        }
        let text = String::from_utf8(bytes.into())
            .map_err(|_| malformed(Some(name), "the field is not UTF-8, and no file"))?;
        if is_json || self.is_structured {
            match json::check_below(levels_above, &text) {
                Ok(()) if self.is_list && text.trim_start().starts_with('[') => {
                    return Ok(Read::List(text));
                }
                Ok(()) => return Ok(Read::Single(text)),
                Err(why) if is_json => return Err(malformed(Some(name), &why.to_string())),
                // It does not fit, and the check says so.
                Err(_) => {}
            }
        }
        let scalar = self.scalar.unwrap_or(Scalar::Text);
        let value = scalar
            .read(&text)
            .map_err(|why| malformed(Some(name), &why))?;
        Ok(Read::Single(value.to_string()))
    }
}

fn written(members: &IndexMap<String, Member>) -> String {
    let mut text = String::from("{");
    for (index, (name, member)) in members.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        json::push_string(&mut text, name);
        text.push(':');
        match member.values.as_slice() {
            [Read::List(whole)] => text.push_str(whole),
            [Read::Single(value)] if !member.is_list => text.push_str(value),
            values => {
                text.push('[');
                for (index, Read::Single(value) | Read::List(value)) in values.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    text.push_str(value);
                }
                text.push(']');
            }
        }
    }
    text.push('}');
    text
}

fn malformed(property: Option<&str>, what: &str) -> Refused {
    let what = what.to_owned();
    Refused::Unreadable(match property {
        Some(property) => Unreadable::of(property, what),
        None => Unreadable { what, path: None },
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use operations_core::byte_budget::ByteBudget;
    use serde_json::json;

    use super::*;

    /// The object that a body with the boundary `x` stands for, or why it is refused.
    async fn read(body: impl Into<Bytes>) -> Result<Value, String> {
        let schema =
            json!({ "properties": { "tags": { "type": "array", "items": { "type": "string" } } } });
        let held = ByteBudget::new(1_000_000).share("").hold();
        let body = body.into();
        match object(body, "x".to_owned(), (&schema, &schema), 0, &held).await {
            Ok(text) => {
                serde_json::from_str(&text).map_err(|why| format!("no JSON: {why}: {text}"))
            }
            Err(Refused::Unreadable(Unreadable { what, .. })) => Err(what),
            Err(Refused::Exhausted) => Err("exhausted".to_owned()),
        }
    }

    fn part(disposition: &str, content: &str) -> String {
        format!("--x\r\nContent-Disposition: form-data{disposition}\r\n\r\n{content}\r\n")
    }

    fn form(parts: &[String]) -> String {
        format!("{}--x--\r\n", parts.concat())
    }

    #[test]
    fn only_a_form_with_a_boundary_has_one() {
        for (media_type, expected) in [
            ("multipart/form-data; boundary=x", Some("x")),
            ("multipart/form-data; boundary=\"a b\"", Some("a b")),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary", None),
            ("multipart/mixed; boundary=x", None),
            ("application/json; boundary=x", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
            assert_eq!(boundary(&headers).as_deref(), expected, "{media_type}");
        }
        assert_eq!(boundary(&HeaderMap::new()), None);
    }

    #[tokio::test]
    async fn names_are_names() {
        let parts = ["__proto__", "constructor", "a[b]", "a.b", ""];
        let parts = parts.map(|name| part(&format!("; name=\"{name}\""), "1"));
        let expected =
            json!({ "__proto__": "1", "constructor": "1", "a[b]": "1", "a.b": "1", "": "1" });
        assert_eq!(read(form(&parts)).await, Ok(expected));
    }

    #[tokio::test]
    async fn a_thousand_parts_are_read_and_one_more_is_refused() {
        let tag = part("; name=\"tags\"", "t");
        let read_all = read(form(&vec![tag.clone(); 1000])).await;
        assert_eq!(read_all, Ok(json!({ "tags": vec!["t"; 1000] })));
        let refused = read(form(&vec![tag; 1001])).await;
        let expected = "the form has more than 1000 parts";
        assert_eq!(refused, Err(expected.to_owned()));
    }

    #[tokio::test]
    async fn a_part_without_a_name_is_refused() {
        for disposition in ["", "; filename=\"a\""] {
            let refused = read(form(&[part("; name=\"a\"", "1"), part(disposition, "2")])).await;
            assert_eq!(refused, Err("part 2 of the form has no name".to_owned()));
        }
    }

    #[tokio::test]
    async fn a_form_that_breaks_off_anywhere_is_refused() {
        let file = part("; name=\"a\"; filename=\"f\"", "content");
        let whole = form(&[file]);
        let end = whole.len() - "\r\n".len();
        for length in 0..end {
            let cut = read(whole[..length].to_owned()).await;
            assert!(cut.is_err(), "{length}: {cut:?}");
        }
        let expected = json!({ "a": { "$bytes": "Y29udGVudA==" } });
        assert_eq!(read(whole).await, Ok(expected));
    }

    #[tokio::test]
    async fn headers_without_end_are_refused() {
        let many: Vec<String> = (0..1000).map(|at| format!("x-{at}: 1\r\n")).collect();
        let many = many.concat();
        let body = format!("--x\r\n{many}\r\n1\r\n--x--\r\n");
        assert!(read(body).await.is_err());
        let long = "x".repeat(1_000_000);
        let body = format!("--x\r\nContent-Disposition: form-data; name=\"a\"; filename=\"{long}");
        assert!(read(body).await.is_err());
    }

    #[tokio::test]
    async fn files_count_as_text() {
        let file = |name| {
            part(
                &format!("; name=\"{name}\"; filename=\"f\""),
                &"x".repeat(400_000),
            )
        };
        assert!(read(form(&[file("a")])).await.is_ok());
        let refused = read(form(&[file("a"), file("b")])).await;
        assert_eq!(refused, Err("exhausted".to_owned()));
    }
}
