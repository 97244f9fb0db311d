//! The cases that are commands of their own in the suite, as services: the first request runs them. One that fails traps.

/// Has the names that the generated bindings would have.
pub mod exports {
    pub mod wasi {
        pub mod cli {
            pub mod run {
                /// A command.
                pub trait Guest {
                    /// Runs it.
                    #[expect(async_fn_in_trait, reason = "the trait has the form that bindings give it")]
                    async fn run() -> Result<(), ()>;
                }
            }
        }
    }
}

/// Exports a command as a handler that answers 200 once it has run.
#[macro_export]
macro_rules! export_command {
    ($command:ident) => {
        struct Service;

        impl $crate::http::exports::wasi::http::handler::Guest for Service {
            async fn handle(
                _: $crate::http::wasi::http::types::Request,
            ) -> Result<$crate::http::wasi::http::types::Response, $crate::http::wasi::http::types::ErrorCode> {
                <$command as $crate::cli::exports::wasi::cli::run::Guest>::run().await.expect("the command fails");
                let (trailers_tx, trailers_rx) = $crate::http::wit_future::new(|| Ok(None));
                drop(trailers_tx);
                let fields = $crate::http::wasi::http::types::Fields::new();
                let (response, _sent) = $crate::http::wasi::http::types::Response::new(fields, None, trailers_rx);
                Ok(response)
            }
        }

        $crate::http::export!(Service with_types_in $crate::http);
    };
}

pub use export_command as export;
