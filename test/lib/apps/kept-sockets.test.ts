// Holds: which sockets of an application stay open (lib/apps/kept-sockets.ts)
// In a process of its own: it looks at the sockets of its process.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import t from "tap";
import { KeptSockets } from "../../../lib/apps/kept-sockets.ts";
import { freePort } from "../../support/free-port.ts";

const isOpen = async (port: number): Promise<boolean> => {
  const socket = connect(port, "127.0.0.1");
  const answer = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return answer;
};

t.test("a socket stays with its name and address, and goes when either changes", async (t) => {
  using kept = new KeptSockets();
  const [one, other] = [await freePort(), await freePort()];
  await kept.open({ http: `127.0.0.1:${one}` });
  const [first] = kept.descriptors;
  await kept.open({ http: `127.0.0.1:${one}`, more: `127.0.0.1:${other}` });
  t.equal(kept.descriptors[0], first, "nobody is refused while another one is opened");
  t.strictSame(kept.names, ["http", "more"]);
  await kept.open({ more: `127.0.0.1:${one}` });
  t.strictSame([kept.names, await isOpen(one), await isOpen(other)], [["more"], true, false]);
  await kept.open({ more: `127.0.0.1:${other}` });
  t.strictSame([await isOpen(one), await isOpen(other)], [false, true]);
});

t.test("a process that has got hold of a socket is named only where it is in the way", async (t) => {
  using kept = new KeptSockets();
  const at = `127.0.0.1:${await freePort()}`;
  await kept.open({ http: at });
  const holder = spawn("sleep", ["60"], { stdio: ["ignore", "ignore", "ignore", kept.descriptors[0]!] });
  t.teardown(() => holder.kill());
  await t.rejects(kept.open({ http: at }), {
    code: "port_taken",
    message: `Another program listens on ${at}: process ${holder.pid}.`,
  });
  await kept.open({ http: `127.0.0.1:${await freePort()}` });
  const second = spawn("sleep", ["60"], { stdio: ["ignore", "ignore", "ignore", kept.descriptors[0]!] });
  t.teardown(() => second.kill());
  await t.rejects(kept.open({ http: "192.0.2.1:8080" }), {
    code: "settings_invalid",
    message: "The address 192.0.2.1:8080 cannot be used: it is not of this machine.",
  });
  using none = new KeptSockets();
  await t.rejects(none.open({ http: at }), { code: "port_taken", message: `Another program listens on ${at}.` });
});
