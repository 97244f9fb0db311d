import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** Hello on the JDK's own server: its port, and "default", "pool" or "virtual" for its executor. */
public class Server {
    public static void main(String[] arguments) throws Exception {
        // Without this, answers wait for the acknowledgement of the last ones.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        // More connections may be idle than the 200 of the default.
        System.setProperty("sun.net.httpserver.maxIdleConnections", "20000");
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 1024);
        server.setExecutor(executor(arguments[1]));
        byte[] hello = "Hello, World!".getBytes(StandardCharsets.UTF_8);
        server.createContext("/", exchange -> {
            exchange.getResponseHeaders().set("Content-Type", "text/plain; charset=utf-8");
            exchange.sendResponseHeaders(200, hello.length);
            try (var body = exchange.getResponseBody()) {
                body.write(hello);
            }
        });
        server.start();
    }

    private static Executor executor(String name) throws Exception {
        switch (name) {
            case "pool":
                return Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
            case "virtual":
                // By its name, so that this compiles with a JDK older than 21.
                return (Executor) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
            default:
                return null;
        }
    }
}
