// Holds: every field of app.yaml and applications.yaml is bounded (lib/contract/files/application.ts,
// lib/contract/files/application-paths.ts, lib/contract/files/applications.ts, lib/contract/files/socket-address.ts)
import t from "tap";
import { application } from "../../../lib/contract/files/application.ts";
import { applicationsFile } from "../../../lib/contract/files/applications.ts";
import { canonicalAddress } from "../../../lib/contract/files/socket-address.ts";
import { parseYaml } from "../../../lib/support/yaml-file.ts";

const command = ["node", "server.js"];
/** Values that are refused, by key. */
const REFUSED: Record<string, unknown[]> = {
  command: [
    [],
    ["a b"],
    ["./a\nb"],
    ["./../a"],
    [`./${"a".repeat(256)}`],
    [`./${"ä".repeat(128)}`],
    [`./${"a/".repeat(512)}a`],
    ["node", "a\nb"],
    ["node", "a\rb"],
    ["node", "a\u2028b"],
    ["node", "\u202e"],
    ["node", "\ud800"],
    ["node", "x".repeat(4097)],
    ["node", ...Array<string>(256).fill("x")],
  ],
  data: [
    "",
    ".",
    "a/./b",
    "a//b",
    "../a",
    "/a",
    "a\nb",
    "a\u0007",
    "a".repeat(256),
    `${"a/".repeat(512)}a`,
    ".sealift",
    ".SEALIFT",
    "node_modules",
    "var/Node_Modules",
    ".env",
    ".env.template",
    "app.yaml",
  ],
  needs: [
    { "a b": "1" },
    { [`a${"b".repeat(64)}`]: "1" },
    { node: "" },
    { node: ">=1\n<2" },
    { node: "x".repeat(129) },
    Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`p${at}`, "1"])),
  ],
  listen: [["A"], ["a".repeat(33)], Array.from({ length: 17 }, (_, at) => `a${at}`)],
  health: [
    { http: "no" },
    { http: `/${"a".repeat(1024)}` },
    { http: "/a b" },
    { within: 0 },
    { within: 601 },
    { within: "1.5s" },
    { within: "0x10" },
  ],
  environment: [
    { required: ["1A"] },
    { required: ["A".repeat(129)] },
    { optional: Array.from({ length: 257 }, (_, at) => `A${at}`) },
  ],
  stop: [{ signal: "SIGKILL" }, { within: "11m" }],
};
const TAKEN: Record<string, unknown[]> = {
  command: [["./bin/ä"], ["node", "", "x".repeat(4096)], [`./${"a".repeat(255)}`]],
  data: ["storage", "var/data", "a".repeat(255), "node_modules2"],
  needs: [{ node: ">=22", "python3.11": "^3.11" }],
  health: [{ within: "10m", stays_up: 600 }],
};

t.test("fields of app.yaml are taken within their bounds only", async (t) => {
  for (const [key, values] of Object.entries(REFUSED))
    for (const [at, value] of values.entries()) {
      const { success, error } = application.safeParse({ command, [key]: value });
      t.notOk(success, `${key}, value ${at}`);
      t.equal(error?.issues[0]?.path[0], key);
    }
  for (const [key, values] of Object.entries(TAKEN))
    for (const value of values)
      t.ok(application.safeParse({ command, [key]: value }).success, `${key}: ${JSON.stringify(value).slice(0, 60)}`);
});

t.test("an address has one form", async (t) => {
  const forms: Record<string, string | undefined> = {
    "3000": "127.0.0.1:3000",
    "127.0.0.1:3000": "127.0.0.1:3000",
    "[::1]:3000": "[::1]:3000",
    "[0:0::1]:3000": "[::1]:3000",
    "[::FFFF:7f00:1]:80": "127.0.0.1:80",
    "[::ffff:127.0.0.1]:80": "127.0.0.1:80",
    "[2001:DB8::0:1]:65535": "[2001:db8::1]:65535",
  };
  for (const [text, form] of Object.entries(forms)) t.equal(canonicalAddress(text), form, text);
  const refused = ["03000", "0x10", "0", "65536", "127.0.0.1:03000", "127.0.0.01:80", "127.1:80", "256.0.0.1:80"];
  const others = [
    "localhost:80",
    "[::1%lo]:80",
    "[::g]:80",
    "::1:80",
    "127.0.0.1",
    "127.0.0.1:0",
    "1 ",
    "+80",
    "[]:80",
  ];
  for (const text of [...refused, ...others]) t.equal(canonicalAddress(text), undefined, text);
});

const faultsOf = (text: string): string[] => {
  try {
    parseYaml(`supervisor: serve\napplications:\n${text}`, applicationsFile, "applications.yaml");
    return [];
  } catch (error) {
    return (error as { faults: string[] }).faults;
  }
};

t.test("applications.yaml takes no address twice, however it is written, and none that another covers", async (t) => {
  const pair = (first: string, second: string): string =>
    `  a: { listen: { http: "${first}" } }\n  b: { listen: { http: "${second}" } }\n`;
  for (const [first, second] of [
    ["[::1]:3000", "[0:0::1]:3000"],
    ["0.0.0.0:3000", "127.0.0.1:3000"],
    ["127.0.0.1:3000", "0.0.0.0:3000"],
    ["[::]:3000", "127.0.0.1:3000"],
    ["[::1]:3000", "[::]:3000"],
    ["[::ffff:127.0.0.1]:3000", "127.0.0.1:3000"],
  ] as const)
    t.match(
      faultsOf(pair(first, second)),
      [/applications\.b\.listen\.http.* is .*, which a has/],
      `${first} ${second}`,
    );
  t.match(faultsOf(`  a: { listen: { http: 3000, admin: "0.0.0.0:3000" } }\n`), [/which a has/]);
  for (const [first, second] of [
    ["127.0.0.1:3000", "127.0.0.2:3000"],
    ["0.0.0.0:3000", "127.0.0.1:3001"],
    ["0.0.0.0:3000", "[::1]:3000"],
  ] as const)
    t.strictSame(faultsOf(pair(first, second)), [], `${first} ${second}`);
});

t.test("numbers are decimal, and __proto__ is no key", async (t) => {
  for (const port of ["0x10", "0o17", "03000", "-1", "1.5", "1e9"])
    t.match(faultsOf(`  a: { listen: { http: ${port} } }\n`), [/must be (?:a port|1 or more|65535 or less)/], port);
  for (const text of ["  __proto__: { user: web }\n", "  a: { listen: { __proto__: 3000 } }\n"])
    t.match(faultsOf(text), [/__proto__: is not a key/], text);
});
