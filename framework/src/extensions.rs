//! A map with one value per type: application state, and what middleware hands on with a request.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};

/// One value of each type.
#[derive(Default)]
pub struct Extensions(Vec<(TypeId, Box<dyn Any>)>);

impl Extensions {
    /// Returns an empty map.
    pub const fn new() -> Extensions {
        Extensions(Vec::new())
    }

    /// Puts a value in and returns the one of the same type that it replaces.
    pub fn insert<T: 'static>(&mut self, value: T) -> Option<T> {
        let old = self.remove::<T>();
        self.0.push((TypeId::of::<T>(), Box::new(value)));
        old
    }

    /// Returns the value of this type.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.find(TypeId::of::<T>())?.downcast_ref()
    }

    /// Returns the value of this type, to change it.
    pub fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        let id = TypeId::of::<T>();
        self.0.iter_mut().find(|(known, _)| *known == id)?.1.downcast_mut()
    }

    /// Takes the value of this type out.
    pub fn remove<T: 'static>(&mut self) -> Option<T> {
        self.take(TypeId::of::<T>())?.downcast().ok().map(|value| *value)
    }

    fn find(&self, id: TypeId) -> Option<&dyn Any> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, value)| &**value)
    }

    fn take(&mut self, id: TypeId) -> Option<Box<dyn Any>> {
        let at = self.0.iter().position(|(known, _)| *known == id)?;
        Some(self.0.swap_remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_per_type() {
        let mut map = Extensions::new();
        assert_eq!((map.insert(1u8), map.insert("a"), map.insert(2u8)), (None, None, Some(1)));
        if let Some(value) = map.get_mut::<u8>() {
            *value += 1;
        }
        assert_eq!((map.get::<u8>().copied(), map.remove::<&str>(), map.get::<&str>()), (Some(3), Some("a"), None));
    }
}
