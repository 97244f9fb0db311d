//! A calendar as a stateless JSON service: what day a date is, how far two are apart, what comes some time later.
//!
//! ```sh
//! curl http://127.0.0.1:8080/v1/days/2026-12-24
//! curl http://127.0.0.1:8080/v1/months/2026/2?first=sunday
//! curl -H 'content-type: application/json' -d '{"from":"2026-01-01","to":"2026-12-24"}' http://127.0.0.1:8080/v1/intervals
//! curl -X PATCH -H 'content-type: application/json' -d '{"days":10,"months":-1}' http://127.0.0.1:8080/v1/days/2026-12-24
//! ```

mod date;

use date::{Date, Weekday};
use serde::{Deserialize, Serialize};
use tabi::{BodyLimit, Error, Next, OrStatus, Request, Response, Result, Router, Status};

/// Returns the app.
pub fn router() -> Router {
    let v1 = Router::new()
        .with(BodyLimit(16 * 1024))
        .get("/days/{date}", day)
        .patch("/days/{date}", shift)
        .get("/months/{year}/{month}", month)
        .post("/intervals", interval);
    Router::new()
        .state(Service { name: "calendar", version: env!("CARGO_PKG_VERSION") })
        .with(problems)
        .get("/", about)
        .get("/health", async |_| "healthy")
        .nest("/v1", v1)
}

tabi::serve!(router);

/// What `/` says of the service.
#[derive(Serialize)]
struct Service {
    name: &'static str,
    version: &'static str,
}

async fn about(req: Request) -> Result {
    Response::json(req.state::<Service>()?)
}

/// Adds the version to each answer, and gives errors the form of RFC 9457.
async fn problems(req: Request, next: Next) -> Result {
    #[derive(Serialize)]
    struct Problem<'a> {
        status: u16,
        title: &'a str,
        detail: &'a str,
    }
    let mut response = next.run(req).await;
    if let Some(error) = response.error() {
        let title = error.status().reason().unwrap_or("Error");
        let mut problem = Response::json(&Problem { status: error.status().code(), title, detail: error.message() })?;
        response.headers_mut().insert("content-type", "application/problem+json")?;
        response = response.with_body(problem.body().take());
    }
    Ok(response.with_header("x-calendar-version", env!("CARGO_PKG_VERSION")))
}

#[derive(Serialize)]
struct Day {
    date: Date,
    weekday: Weekday,
    day_of_year: i32,
    leap_year: bool,
}

impl From<Date> for Day {
    fn from(date: Date) -> Day {
        Day { date, weekday: date.weekday(), day_of_year: date.day_of_year(), leap_year: date.is_in_leap_year() }
    }
}

async fn day(req: Request) -> Result {
    Response::json(&Day::from(req.param::<Date>("date")?))
}

/// A time by which a date is moved; what is left out is nothing.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Shift {
    days: i32,
    months: i32,
    years: i32,
}

async fn shift(mut req: Request) -> Result {
    let date: Date = req.param("date")?;
    let by: Shift = req.json().await?;
    let moved = date.shifted(by.years, by.months, by.days);
    let moved = moved.or_status(Status::UNPROCESSABLE_CONTENT, "the day is outside of the years 1 to 9999")?;
    Response::json(&Day::from(moved))
}

#[derive(Serialize)]
struct Month {
    days: Vec<Day>,
    /// How many days of the month before fill its first week.
    offset: i32,
}

async fn month(req: Request) -> Result {
    let (year, month) = (req.param("year")?, req.param("month")?);
    let first = Date::new(year, month, 1).or_status(Status::NOT_FOUND, "no such month")?;
    let starts = match req.query("first").as_deref() {
        None | Some("monday") => 0,
        Some("sunday") => 6,
        Some(_) => return Err(Error::new(Status::BAD_REQUEST, "query parameter `first` is neither monday nor sunday")),
    };
    let days = (1..=31).filter_map(|day| Date::new(year, month, day)).map(Day::from).collect();
    Response::json(&Month { days, offset: (first.weekday() as i32 - starts).rem_euclid(7) })
}

#[derive(Deserialize)]
struct Interval {
    from: Date,
    to: Date,
}

#[derive(Serialize)]
struct Length {
    days: i32,
    workdays: i32,
}

async fn interval(mut req: Request) -> Result {
    let Interval { from, to } = req.json().await?;
    if from > to {
        return Err(Error::new(Status::UNPROCESSABLE_CONTENT, "`from` is after `to`"));
    }
    let length = Length { days: to.number() - from.number(), workdays: from.workdays_until(to) };
    Ok(Response::json(&length)?.with_status(Status::CREATED))
}

#[cfg(test)]
mod tests;
