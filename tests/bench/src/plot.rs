//! Plots of the sweeps, as SVG: requests per second over what grows, both in powers of ten.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

/// A plot.
pub struct Plot<'a> {
    /// What stands above it.
    pub title: &'a str,
    /// What stands below.
    pub below: &'a str,
    /// A line for each server: its name, and pairs of size and requests per second.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// Colours that differ in their brightness too, for those who see no difference between red and green.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
];

impl Plot<'_> {
    /// Writes the file; nothing when there is nothing to see.
    ///
    /// # Errors
    /// When it can't be drawn or written.
    pub fn write(mut self, file: &Path) -> Result<(), String> {
        // Nothing has no place among powers of ten.
        for (_, points) in &mut self.lines {
            points.retain(|(size, rate)| *size > 0.0 && *rate > 0.0);
        }
        self.lines.retain(|(_, points)| points.len() > 1);
        if self.lines.is_empty() {
            return Ok(());
        }
        let text = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|error| text(&error))?;
        let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        // It ends with a line, as every other file does.
        folder.and_then(|()| std::fs::write(file, svg.trim_end().to_owned() + "\n")).map_err(|error| text(&error))
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn Error>> {
        let all = || self.lines.iter().flat_map(|(_, points)| points);
        let least = |of: fn(&(f64, f64)) -> f64| all().map(of).fold(f64::MAX, f64::min);
        let most = |of: fn(&(f64, f64)) -> f64| all().map(of).fold(0.0, f64::max);
        let (size, rate) = (|point: &(f64, f64)| point.0, |point: &(f64, f64)| point.1);
        let root = SVGBackend::with_string(svg, (800, 440)).into_drawing_area();
        root.fill(&WHITE)?;
        // Room for the names below the lines.
        let floor = 10_f64.powf((least(rate) / 3.0).log10().floor());
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .margin_right(36)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d((least(size)..most(size) * 1.02).log_scale(), (floor..most(rate) * 2.0).log_scale())?;
        let label = |number: &f64| crate::text::thousands(*number);
        chart
            .configure_mesh()
            .x_desc(self.below)
            .y_desc("requests per second")
            .x_label_formatter(&label)
            .y_label_formatter(&label)
            .max_light_lines(0)
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(215, 215, 215))
            .label_style(("sans-serif", 13))
            .draw()?;
        for ((name, points), colour) in self.lines.iter().zip(COLOURS.into_iter().cycle()) {
            let line = colour.stroke_width(2);
            chart
                .draw_series(LineSeries::new(points.clone(), line))?
                .label(name.as_str())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], line));
            chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(215, 215, 215))
            .label_font(("sans-serif", 13))
            .draw()?;
        root.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(points: &[(f64, f64)], expected: bool) {
        let file = std::env::temp_dir().join(format!("plot-{}-{}.svg", std::process::id(), points.len()));
        let lines = vec![("a <server>".to_owned(), points.to_vec())];
        Plot { title: "Title", below: "size", lines }.write(&file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(text.contains("a &lt;server&gt;") && text.ends_with("</svg>\n"), expected, "{text}");
        let _ = std::fs::remove_file(file);
    }

    #[test]
    fn draws_what_there_is() {
        check(&[(0.0, 5.0), (1.0, 1000.0), (10_000.0, 3.0)], true);
        check(&[(1.0, 1000.0), (10.0, 1000.0)], true);
        check(&[(1.0, 1000.0)], false);
        check(&[], false);
    }
}
