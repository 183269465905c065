import t from "tap";
import { descriptor } from "../../../lib/contract/files/descriptor.ts";
import { integration } from "../../../lib/contract/files/integration.ts";
import { accessOf, allows } from "../../../lib/runtime/network/access.ts";

const asked = (network: unknown) => descriptor.parse({ name: "a", version: "1", network }).network;
const granted = (grant: object) =>
  integration.parse({ app: { secret_key: "k" }, plugins: { grants: { a: grant } } }).plugins.grants["a"];

t.test("a plugin gets what it asks for and is granted as well", (t) => {
  const access = (network: unknown, grant?: object) => accessOf(asked(network), grant && granted(grant));
  t.match(access(true), { kind: "none" });
  t.match(access(true, {}), { kind: "none" });
  t.match(access(false, { network: true }), { kind: "none" });
  t.match(access(true, { network: true }), { kind: "all" });
  t.match(access(true, { network: "true" }), { kind: "all" }, "a variable's text");
  for (const [want, grant] of [
    [["a.example:1"], true],
    [true, ["a.example:1"]],
    [
      ["a.example:1", "b.example:1"],
      ["a.example:1", "c.example:1"],
    ],
  ]) {
    const found = access(want, { network: grant });
    if (found.kind !== "names") throw new Error(found.kind);
    const reaches = (host: string, port: number) => found.rules.all.every((rules) => allows(rules, host, port));
    t.ok(reaches("a.example", 1));
    t.notOk(reaches("a.example", 2));
    t.notOk(reaches("b.example", 1) || reaches("c.example", 1));
  }
  t.end();
});

t.test("what is not a host and a port is a fault of the descriptor and of the configuration", (t) => {
  const wrong = [
    "a.example",
    "a.example:0",
    "a.example:65536",
    "a.example:x",
    "*:443",
    "*.org:443",
    "a.*.org:443",
    "1.2.3:80",
  ];
  const odd = ["https://a.example:443", "a.example:443/path", "::1:80", "a b:80", "", "[127.0.0.1]:80", "-:http"];
  for (const text of [...wrong, ...odd]) {
    t.throws(() => asked([text]), /HOST:PORT/, text);
    t.throws(() => granted({ network: [text] }), /HOST:PORT/, text);
  }
  t.throws(() => asked([]));
  for (const text of ["10.0.0.0", "10.0.0.0/33", "x/8", "fd00::/129"]) {
    t.throws(() => granted({ private_addresses: [text] }), /range of addresses/, text);
  }
  for (const text of ["A.Example:443", "*.a.example:1", "127.0.0.1:80", "[::1]:80", "host_name:65535"]) {
    t.match(asked([text]), [{ port: Number }], text);
  }
  t.end();
});
