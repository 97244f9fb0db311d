import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.handler.AbstractHandler;

/** Hello on Jetty with its defaults: its port is the only argument. */
public class JettyServer {
    public static void main(String[] arguments) throws Exception {
        // A line for each start is of no use to anybody here.
        System.setProperty("org.eclipse.jetty.util.log.class", "org.eclipse.jetty.util.log.StdErrLog");
        System.setProperty("org.eclipse.jetty.LEVEL", "WARN");
        byte[] hello = "Hello, World!".getBytes(StandardCharsets.UTF_8);
        Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])));
        server.setHandler(new AbstractHandler() {
            @Override
            public void handle(String target, Request base, HttpServletRequest request, HttpServletResponse response)
                    throws IOException {
                response.setContentType("text/plain; charset=utf-8");
                response.setContentLength(hello.length);
                response.getOutputStream().write(hello);
                base.setHandled(true);
            }
        });
        server.start();
        server.join();
    }
}
