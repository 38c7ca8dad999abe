// Stands before a coordinator and adds the bearer token of an agent to whatever goes through, because
// the conformance suite sends no credential. Everything else passes as it is, in both directions and
// while it still comes: the names and origins that the suite makes up must reach the server.
//
//   BATON_TOKEN=… node proxy.mjs URL        prints its own URL, and ends with its standard input
import http from "node:http";

const target = new URL(process.argv[2]);
const credential = `Bearer ${process.env.BATON_TOKEN}`;
const loopback = "127.0.0.1";

const proxy = http.createServer((asked, answer) => {
    const onward = http.request({
        host: target.hostname,
        port: target.port,
        method: asked.method,
        path: asked.url,
        headers: { ...asked.headers, authorization: credential },
        agent: false,
    });
    onward.on("response", (told) => {
        answer.writeHead(told.statusCode, told.headers);
        answer.flushHeaders();
        told.pipe(answer);
        told.on("error", () => answer.destroy());
    });
    onward.on("error", () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
    // Whoever hangs up hangs up on the server as well: that is how a stream is called off.
    answer.on("close", () => onward.destroy());
    asked.pipe(onward);
});

proxy.listen(0, loopback, () => console.log(`http://${loopback}:${proxy.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
