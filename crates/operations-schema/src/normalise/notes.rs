//! What normalisation reports: every place where a value was lost or still is not as declared.

use std::fmt;

use crate::pointer::escape;

/// Something that the caller should report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The JSON Pointer of the place in the value.
    pub path: String,
    /// What happened there.
    pub what: What,
}

/// What happened to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A value of the wrong type could not be converted and was replaced by the default or by the
    /// empty value of the declared type.
    Replaced {
        /// The kind of the value that is gone.
        found: &'static str,
    },
    /// The value has the declared type but breaks a rule of the schema; it was kept.
    Kept {
        /// The error that the check reports there.
        message: String,
    },
    /// The value is not as declared, and nothing may be made up for it (strict mode).
    Refused {
        /// The error that the check reports there.
        message: String,
    },
    /// A value of the wrong type could be neither converted nor replaced; it was kept.
    NotReplaced {
        /// The kind of the value.
        found: &'static str,
    },
    /// A required property or element is missing, and the empty value of its type is there instead.
    MadeUp,
    /// The whole value is of another kind than the schema declares; it was kept.
    OtherRoot {
        /// The kind of the value.
        found: &'static str,
    },
    /// A required property or element is missing and no value could be made for it.
    NotFilled,
    /// The schema's own `default` does not have the declared type; it was used all the same.
    UnfitDefault,
}

impl fmt::Display for Note {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.path, self.what)
    }
}

impl fmt::Display for What {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced { found } => {
                write!(out, "a value of the wrong type ({found}) was replaced")
            }
            Self::Kept { message } => write!(out, "the value was kept although: {message}"),
            Self::Refused { message } => out.write_str(message),
            Self::NotReplaced { found } => write!(
                out,
                "a value of the wrong type ({found}) was kept, because the schema gives no value to replace it with"
            ),
            Self::MadeUp => write!(
                out,
                "a required value is missing; the empty value of its type was made up for it"
            ),
            Self::OtherRoot { found } => write!(
                out,
                "the value is of another kind ({found}) than the schema declares and was left as it is"
            ),
            Self::NotFilled => write!(
                out,
                "a required value is missing, and the schema gives no value to fill it with"
            ),
            Self::UnfitDefault => write!(out, "the default of the schema does not fit the schema"),
        }
    }
}

/// Collects notes while a walk moves through a value.
#[derive(Debug, Default)]
pub(super) struct Notes {
    path: String,
    taken: Vec<Note>,
    limit: usize,
    omitted: usize,
    /// Notes before this position are from earlier passes: the same note is not taken twice.
    earlier: usize,
}

/// A point to which [`Notes`] can go back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    notes: usize,
    omitted: usize,
}

impl Notes {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Steps into a property; the answer is for [`Notes::step_out`].
    pub(super) fn step_into_property(&mut self, name: &str) -> usize {
        let before = self.path.len();
        self.path.push('/');
        self.path.push_str(&escape(name));
        before
    }

    /// Steps into an element; the answer is for [`Notes::step_out`].
    pub(super) fn step_into_element(&mut self, index: usize) -> usize {
        use std::fmt::Write as _;
        let before = self.path.len();
        // Writing to a `String` cannot fail.
        let _ = write!(self.path, "/{index}");
        before
    }

    pub(super) fn step_out(&mut self, before: usize) {
        self.path.truncate(before);
    }

    /// Whether the present place is the whole value.
    pub(super) fn is_at_root(&self) -> bool {
        self.path.is_empty()
    }

    /// Notes something about the present place.
    pub(super) fn add(&mut self, what: What) {
        let path = self.path.clone();
        self.add_at(Note { path, what });
    }

    pub(super) fn add_at(&mut self, note: Note) {
        if self
            .taken
            .iter()
            .take(self.earlier)
            .any(|known| *known == note)
        {
            return;
        }
        if self.taken.len() < self.limit {
            self.taken.push(note);
        } else {
            self.omitted += 1;
        }
    }

    /// From here on a note that is already there is not taken again.
    pub(super) fn next_pass(&mut self) {
        self.path.clear();
        self.earlier = self.taken.len();
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            notes: self.taken.len(),
            omitted: self.omitted,
        }
    }

    /// Forgets what was noted since the mark.
    pub(super) fn go_back(&mut self, mark: Mark) {
        self.taken.truncate(mark.notes);
        self.omitted = mark.omitted;
    }

    /// Whether a note already says that the value at a path is not as declared.
    pub(super) fn tells_of(&self, path: &str) -> bool {
        self.taken.iter().any(|note| {
            // The kind of note first: a value that breaks a thousand rules has a thousand notes.
            matches!(
                note.what,
                What::NotReplaced { .. }
                    | What::OtherRoot { .. }
                    | What::NotFilled
                    | What::UnfitDefault
            ) && note.path == path
        })
    }

    pub(super) fn finish(self) -> (Vec<Note>, usize) {
        (self.taken, self.omitted)
    }
}
