//! Path templates: `{name}` becomes a value, and a value never becomes a path.

use std::ops::Range;

use operations_core::error::CallError;

/// Fills a template. `expand` gets the name between the braces and gives the escaped text.
///
/// # Errors
/// What `expand` gives, and `VALIDATION_ERROR` when a value would make a `.` or `..` segment: URL
/// parsers resolve these even when they are percent-encoded, so such a request would reach another
/// resource.
pub fn interpolate(
    template: &str,
    mut expand: impl FnMut(&str) -> Result<String, CallError>,
) -> Result<String, CallError> {
    let mut out = String::with_capacity(template.len());
    let mut filled: Vec<(Range<usize>, &str)> = Vec::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((name, tail)) = after.split_once('}') else {
            break;
        };
        out.push_str(literal);
        let start = out.len();
        out.push_str(&expand(name)?);
        filled.push((start..out.len(), name));
        rest = tail;
    }
    out.push_str(rest);
    refuse_dot_segments(&out, &filled)?;
    Ok(out)
}

/// Whether there is nothing but values in the segment of a value, so that without one the path would end before it.
#[must_use]
pub fn fills_segment(template: &str, name: &str) -> bool {
    let variable = format!("{{{name}}}");
    let is_filled = |segment: &str| {
        let mut parts = segment.split('{');
        parts.all(|part| part.is_empty() || part.ends_with('}'))
    };
    let mut segments = template.split('/');
    segments.any(|segment| segment.contains(&variable) && is_filled(segment))
}

fn refuse_dot_segments(path: &str, filled: &[(Range<usize>, &str)]) -> Result<(), CallError> {
    let path_only = path.split(['?', '#']).next().unwrap_or_default();
    let mut filled = filled.iter().peekable();
    let mut start = 0;
    // A backslash separates segments as well, to the URL parser of the web.
    for segment in path_only.split(['/', '\\']) {
        let end = start + segment.len();
        let mut name = None;
        while let Some((range, filler)) = filled.peek() {
            if range.start > end {
                break;
            }
            if !range.is_empty() {
                name = Some(*filler);
            }
            filled.next();
        }
        if let Some(name) = name
            && is_dot_segment(segment)
        {
            return Err(CallError::invalid(format!(
                "The value of path parameter \"{name}\" makes a \".\" or \"..\" segment, \
                 which a URL cannot carry: it would lead to another path"
            )));
        }
        start = end + 1;
    }
    Ok(())
}

/// `.` and `..`, with any of the dots percent-encoded.
fn is_dot_segment(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    plain == "." || plain == ".."
}
