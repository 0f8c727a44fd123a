//! What the language and its standard library mean, where versions of Python differ.
//!
//! Invariant: whoever follows a program asks one of these, and never for a version's number. How bytecode is written
//! is asked of [`Version`] as well; that stands beside it.

use crate::code::Version;

/// The flag of code whose first constant is its docstring.
const CO_HAS_DOCSTRING: u32 = 0x0400_0000;

impl Version {
    /// The message for a class pattern whose class is none.
    pub fn no_class_in_a_pattern(self) -> &'static str {
        match self {
            Self::V311 => "called match pattern must be a type",
            Self::V312 | Self::V313 | Self::V314 => "called match pattern must be a class",
            Self::V315 => "class pattern must refer to a class",
        }
    }

    /// Whether a text that is the first constant of code with these flags documents it.
    pub fn has_docstring(self, flags: u32) -> bool {
        self < Self::V314 || flags & CO_HAS_DOCSTRING != 0
    }

    /// What the operand of `in` is not, in the message for one that has no items.
    pub fn no_container(self) -> &'static str {
        match self < Self::V314 {
            true => "iterable",
            false => "a container or iterable",
        }
    }

    /// Whether the `TypeError` of hashing is raised anew by dictionaries and sets, with what the value was to be.
    pub fn hash_errors_name_the_use(self) -> bool {
        self >= Self::V314
    }

    /// Whether `index` of a sequence names the value that it does not find.
    pub fn index_names_the_value(self) -> bool {
        self < Self::V314
    }

    /// Whether the message for a container with too many items to unpack says how many there are.
    pub fn unpacking_counts(self) -> bool {
        self >= Self::V314
    }

    /// Whether what is wrong with an element of `dict(elements)` is said by a note of the exception.
    pub fn update_errors_have_notes(self) -> bool {
        self >= Self::V314
    }

    /// Whether `tuple(x)` asks for the length of `x`.
    pub fn tuple_asks_length(self) -> bool {
        self < Self::V314
    }

    /// Whether `generator.close()` gives what the generator returns.
    pub fn close_gives_result(self) -> bool {
        self >= Self::V313
    }

    /// Whether functions have `__type_params__`.
    pub fn has_type_parameters(self) -> bool {
        self >= Self::V312
    }

    /// Whether a frame has one dictionary for `locals()`, which each call brings up to date. Otherwise each call
    /// makes one.
    pub fn keeps_locals_dict(self) -> bool {
        self < Self::V313
    }

    /// Whether the text of an ordered dictionary shows a list of pairs. Otherwise it shows a dictionary.
    pub fn shows_ordered_dict_as_pairs(self) -> bool {
        self < Self::V312
    }

    /// Whether `map()` has a keyword `strict`. Otherwise it has no keywords.
    pub fn map_can_be_strict(self) -> bool {
        self >= Self::V314
    }

    /// Whether `re.sub()` and the like warn where the count is given by position.
    pub fn warns_of_a_positional_count(self) -> bool {
        self >= Self::V313
    }

    /// The message for `min()` or `max()` of nothing.
    pub fn nothing_to_choose_from(self, function: &str) -> String {
        match self {
            Self::V311 => format!("{function}() arg is an empty sequence"),
            _ => format!("{function}() iterable argument is empty"),
        }
    }

    /// The message where a slice without a step is given what can't be iterated.
    pub fn no_iterable_for_a_slice(self) -> &'static str {
        match self {
            Self::V311 | Self::V312 => "can only assign an iterable",
            _ => "must assign iterable to extended slice",
        }
    }

    /// The message where a C function gets a keyword that it does not have.
    pub fn no_such_keyword(self, function: &str, keyword: &str) -> String {
        match self {
            Self::V311 | Self::V312 => {
                format!("'{keyword}' is an invalid keyword argument for {function}()")
            }
            _ => format!("{function}() got an unexpected keyword argument '{keyword}'"),
        }
    }

    /// The message where the special method `method` of a class gives a `found`, the name of another class than it has
    /// to. `class` is the name with its module.
    pub fn wrong_result(self, class: &str, method: &str, found: &str) -> String {
        let (needed, older) = match method {
            "__bool__" => (
                "a bool",
                format!("{method} should return bool, returned {found}"),
            ),
            "__index__" => (
                "an int",
                format!("{method} returned non-int (type {found})"),
            ),
            "__iter__" => (
                "an iterator",
                format!("iter() returned non-iterator of type '{found}'"),
            ),
            _ => (
                "a str",
                format!("{method} returned non-string (type {found})"),
            ),
        };
        match self < Self::V315 {
            true => older,
            false => format!("{class}.{method}() must return {needed}, not {found}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::code::Version;

    #[test]
    fn wrong_results_are_told_as_each_version_does() {
        let told = |version: Version, method| version.wrong_result("m.C", method, "tuple");
        assert_eq!(
            told(Version::V314, "__iter__"),
            "iter() returned non-iterator of type 'tuple'"
        );
        assert_eq!(
            told(Version::V311, "__repr__"),
            "__repr__ returned non-string (type tuple)"
        );
        assert_eq!(
            told(Version::V315, "__index__"),
            "m.C.__index__() must return an int, not tuple"
        );
    }
}
