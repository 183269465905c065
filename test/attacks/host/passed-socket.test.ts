// Holds: who else has a kept socket (lib/apps/socket-holders.ts)
import t from "tap";
import { actOnApplication } from "../../../lib/client/app-serve-client.ts";
import { freePort } from "../../support/free-port.ts";
import { ApplicationRoot } from "../../support/host/application-root.ts";
import { ask, noOwnUsers, ownUser, ServedRoot } from "../../support/host/served-root.ts";
import { needs } from "../../support/programs/optional.ts";

/** An application hands its kept socket to another one, over an abstract unix socket, and the other answers on it. */

const ACCEPTS = `
import array, socket, time
listener = socket.socket(socket.AF_UNIX); listener.bind("\\0sealift-NAME"); listener.listen()
connection, _ = listener.accept()
_, data, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(4))
server = socket.socket(fileno=array.array("i", data[0][2])[0]); server.setblocking(True)
while True:
    client, _ = server.accept()
    client.recv(9999); client.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\nthief"); client.close()
`;
const PASSES = `
import array, socket, time
while True:
    try:
        other = socket.socket(socket.AF_UNIX); other.connect("\\0sealift-NAME"); break
    except OSError: time.sleep(0.05)
other.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [3]))])
time.sleep(600)
`;
import { until } from "../../support/until.ts";
const GOOD = `require("node:http").createServer((q, r) => r.end("good")).listen({ fd: 3 });`;

t.test(
  "a socket that another application has got is not handed on",
  { skip: noOwnUsers() || needs("python3") },
  async (t) => {
    const root = await ApplicationRoot.make(t);
    const port = await freePort();
    const named = (program: string) => ({ "server.py": program.replace("NAME", String(port)) });
    const python = { command: ["python3", "server.py"], app: { stop: { within: 1 } } };
    await root.install("thief", { ...python, files: named(ACCEPTS) });
    await root.install("web", { ...python, app: { ...python.app, listen: ["http"] }, files: named(PASSES) });
    await root.grant({ thief: { user: ownUser(t) }, web: { user: ownUser(t), listen: { http: port } } });
    const served = await ServedRoot.start(t, root);
    await until(async () => (await ask(port)) === "thief");
    await root.install("web", { app: { listen: ["http"] }, files: { "server.js": GOOD } });
    const act = (id: string, verb: "restart" | "stop") =>
      actOnApplication(id, verb, { socket: `${root.layout.sealift}/apps/serve.sock`, timeoutMs: 60_000 });
    const thief = served.events.find(({ event, id }) => event === "application.started" && id === "thief")?.pid;
    await t.rejects(act("web", "restart"), {
      message: new RegExp(`listens on 127.0.0.1:${port}: process ${String(thief)}`),
    });
    await act("thief", "stop");
    await until(async () => (await ask(port)) === "good");
    t.pass("it comes back by itself, once its address is free");
  },
);
