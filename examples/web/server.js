const { readFileSync } = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const express = require("express");

const { version } = JSON.parse(readFileSync(path.join(__dirname, "package.json"), "utf8"));
const app = express();
app.get("/", (_request, response) => response.send(`${process.env.GREETING ?? "Hello"} from ${version}\n`));
app.get("/healthz", (_request, response) => response.send("ok\n"));

// A socket that the host keeps open while this restarts, or a port of its own.
const { LISTEN_FDS, PORT = "3000", HOST = "127.0.0.1" } = process.env;
const server = LISTEN_FDS === undefined ? app.listen(Number(PORT), HOST) : app.listen({ fd: 3 });

process.on("SIGTERM", () => {
  // Takes no new connection and lets requests end. HTTP's own close() would cut off those that have not asked yet.
  net.Server.prototype.close.call(server, () => process.exit(0));
  setInterval(() => server.closeIdleConnections(), 500).unref();
});
