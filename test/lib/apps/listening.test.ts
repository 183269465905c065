// In a process of its own: it looks at the sockets of its process.
// Holds: on which addresses an application listens (lib/apps/listening.ts)
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, createServer } from "node:net";
import t from "tap";
import { listeningOf } from "../../../lib/apps/listening.ts";

t.test("addresses of a process and its children are told", { skip: !existsSync("/proc/net/tcp") }, async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  const open = createServer().listen(0);
  t.teardown(() => [server, open].forEach((each) => each.close()));
  await Promise.all([once(server, "listening"), once(open, "listening")]);
  const script = 'require("net").createServer().listen(0, function () { console.log(this.address().port); })';
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const portOf = (each: typeof server): number => (each.address() as { port: number }).port;
  const client = connect(portOf(server), "127.0.0.1");
  await once(client, "connect");
  const found = await listeningOf(process.pid);
  t.notOk(
    found.some(({ port }) => port === client.localPort),
    "who is connected does not listen",
  );
  client.destroy();
  const ofChild = (await listeningOf(child.pid!)).map(({ port }) => port);
  t.strictSame(ofChild, [Number(line)], "and those of others are none of it");
  t.match(
    new Map(found.map(({ port, isOpen }) => [port, isOpen])),
    new Map([
      [portOf(server), false],
      [portOf(open), true],
      [Number(line), true],
    ]),
  );
  child.kill();
  await once(child, "close");
  t.strictSame(await listeningOf(child.pid!), [], "one that is gone has none");
});
