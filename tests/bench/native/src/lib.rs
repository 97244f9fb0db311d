//! One current-thread runtime per core, each with a listener on the same port: the fastest way there is to run hyper.

use std::net::SocketAddr;
use std::pin::Pin;

use tokio::net::TcpListener;

/// What a thread does with its listener.
pub type Serve = fn(TcpListener) -> Pin<Box<dyn Future<Output = ()>>>;

/// Serves on the port that the first argument names, for ever.
///
/// # Panics
/// When there is no port, or it can't be had.
pub fn run(serve: Serve) {
    let port = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("the first argument is a port");
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let listeners: Vec<_> = (0..cores).map(|_| listen(port).expect("a free port")).collect();
    let threads = listeners.into_iter().map(|listener| std::thread::spawn(move || work(listener, serve)));
    for thread in threads.collect::<Vec<_>>() {
        thread.join().expect("a thread that serves for ever");
    }
}

fn work(listener: std::net::TcpListener, serve: Serve) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move { serve(TcpListener::from_std(listener).expect("a listener")).await });
}

/// Returns a listener that shares its port with those of other threads.
///
/// # Errors
/// When the port is somebody else's.
pub fn listen(port: u16) -> std::io::Result<std::net::TcpListener> {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], port)).into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}
