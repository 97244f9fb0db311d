//! Whom the operator lets speak for others, and in which way.

use crate::forwarded::Trust;
use crate::networks::Networks;
use crate::{Config, StartError, Tell};

/// What the configuration says about where connections and requests come from.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// Whose connections begin with a header of the PROXY protocol.
    pub(crate) balancers: Networks,
    pub(crate) trust: Trust,
}

impl Sources {
    /// Reads the lists of networks.
    ///
    /// # Errors
    /// When an entry is no network.
    pub(crate) fn open(config: &Config) -> Result<Self, StartError> {
        let balancers = Networks::parse("server.proxy_protocol_from", &config.proxy_protocol_from)?;
        let proxies = Networks::parse("server.trusted_proxies", &config.trusted_proxies)?;
        let tell = match config.forwarded {
            Tell::On => true,
            Tell::Off => false,
            Tell::Auto => !balancers.is_empty() || !proxies.is_empty(),
        };
        Ok(Self { balancers, trust: Trust { proxies, fields: config.trusted_fields, tell } })
    }
}
