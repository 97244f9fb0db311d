//! `Table`: from the shape of a pattern to the routes that have it, cheap to build.

use alloc::vec::Vec;

/// A hash table with open addressing from shapes to the numbers of routes; a shape may stand several times.
pub(crate) struct Table {
    /// Shape and number of a route; the length is a power of two, at most half of it in use.
    slots: Vec<Option<(u32, u32)>>,
    used: usize,
}

impl Table {
    pub(crate) const fn new() -> Table {
        Table { slots: Vec::new(), used: 0 }
    }

    /// Adds a route.
    pub(crate) fn insert(&mut self, shape: u32, route: usize) {
        if self.used * 2 >= self.slots.len() {
            let larger = (self.slots.len() * 4).max(16);
            let old = core::mem::replace(&mut self.slots, alloc::vec![None; larger]);
            for (shape, route) in old.into_iter().flatten() {
                self.place(shape, route);
            }
        }
        self.place(shape, route as u32);
        self.used += 1;
    }

    /// Returns the routes of this shape in the order in which they were added, or others by accident: check them.
    pub(crate) fn find(&self, shape: u32) -> impl Iterator<Item = usize> {
        let mask = self.slots.len().wrapping_sub(1);
        let slots = (0..self.slots.len())
            .map_while(move |step| self.slots.get((shape as usize).wrapping_add(step) & mask).copied().flatten());
        slots.filter(move |(known, _)| *known == shape).map(|(_, route)| route as usize)
    }

    fn place(&mut self, shape: u32, route: u32) {
        let mask = self.slots.len().wrapping_sub(1);
        for step in 0..self.slots.len() {
            if let Some(slot) = self.slots.get_mut((shape as usize).wrapping_add(step) & mask)
                && slot.is_none()
            {
                *slot = Some((shape, route));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_all_of_a_shape() {
        let mut table = Table::new();
        assert_eq!(table.find(1).count(), 0);
        for route in 0..1000 {
            table.insert((route % 7) as u32, route);
        }
        for shape in 0..8u32 {
            let expected: Vec<usize> = (0..1000).filter(|route| (route % 7) as u32 == shape).collect();
            let mut found: Vec<usize> = table.find(shape).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{shape}");
        }
    }
}
