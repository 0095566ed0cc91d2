//! Names of bind variables, each with a number. A statement may have tens of thousands.

use std::collections::HashMap;

/// Up to this number, names are searched linearly.
const FEW: usize = 32;

/// Names in the order of their addition, numbered from 0.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Vec<String>,
    /// The number of each name, if there are many; for a name added twice the first one.
    numbers: HashMap<String, usize>,
}

impl From<Vec<String>> for Names {
    fn from(names: Vec<String>) -> Names {
        let mut all = Names { names, numbers: HashMap::new() };
        all.count();
        all
    }
}

impl Names {
    /// The number of a name.
    pub fn find(&self, name: &str) -> Option<usize> {
        match self.numbers.is_empty() {
            true => self.names.iter().position(|n| n == name),
            false => self.numbers.get(name).copied(),
        }
    }

    /// Adds a name; returns whether it is new.
    pub fn add(&mut self, name: &str) -> bool {
        let is_new = self.find(name).is_none();
        if is_new {
            self.number(name);
        }
        is_new
    }

    /// The number of a name, which is added if it is new.
    pub fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.find(name) {
            return number;
        }
        let number = self.names.len();
        self.names.push(name.to_owned());
        match self.numbers.is_empty() {
            true => self.count(),
            false => drop(self.numbers.insert(name.to_owned(), number)),
        }
        number
    }

    /// The names by number.
    pub fn all(&self) -> &[String] {
        &self.names
    }

    /// The names by number.
    pub fn into_all(self) -> Vec<String> {
        self.names
    }

    fn count(&mut self) {
        if self.names.len() > FEW {
            for (number, name) in self.names.iter().enumerate() {
                self.numbers.entry(name.clone()).or_insert(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers do not depend on the number of names.
    #[test]
    fn each_name_has_one_number() {
        for many in [3, FEW, FEW + 1, 1000] {
            let mut names = Names::default();
            for n in 0..many {
                assert_eq!(names.number(&format!("B{n}")), n);
                assert_eq!(names.number(&format!("B{}", n / 2)), n / 2);
            }
            assert!(!names.add("B0") && names.add("C") && !names.add("C"));
            assert_eq!((names.find("C"), names.find("c"), names.all().len()), (Some(many), None, many + 1));
            let twice: Vec<String> = names.into_all().into_iter().chain(["B1".to_owned()]).collect();
            let names = Names::from(twice);
            assert_eq!((names.find("B1"), names.find("C"), names.all().len()), (Some(1), Some(many), many + 2));
        }
    }
}
