// Only in test:all: each of its archives is published, and refused by a host, 16 s of a processor.
import t from "tap";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";
import { createTarget, publishZip } from "../../support/hub/marketplace-publication.ts";

const FAMILIES: Record<string, string[]> = {
  "leads out of its folder": [
    "../planted",
    "./../planted",
    `${"../".repeat(8)}planted`,
    "src/../../planted",
    "src/..",
    "..",
    "src/./main.js",
    "src//main.js",
    "../",
  ],
  "is absolute": ["/etc/planted", "//server/planted", "/", `${"/tmp"}/planted`],
  "has a drive letter": ["C:planted", "c:/planted", "src/d:planted"],
  "has a backslash": ["..\\planted", "src\\main.js", "\\\\server\\share", "C:\\planted"],
  "holds NUL": ["main.js\0.txt", "\0"],
  "holds control characters": ["a\nb", "a\u001b[2Jb", "a\u007f", "a\u0085b", "\t"],
  "is reserved for a device": ["con", "src/NUL.txt", "Aux", "com1.js", "LPT9", "prn/a"],
  "ends with a dot or a space": ["planted.", "src./main.js", "planted ", "a/.../b"],
  "is the root itself": ["."],
  "is not valid Unicode": ["a\ufffdb"],
};

for (const [why, names] of Object.entries(FAMILIES)) {
  t.test(`an entry whose name ${why} is refused, as a file, a folder and a link`, async (t) => {
    const host = await marketplaceHost(t);
    for (const [index, name] of names.entries()) {
      await host.refusesEntries(t, [{ name, content: name.endsWith("/") ? "" : "x" }], "member_unsafe");
      if (name === ".") continue;
      // The check is one for all types: the first name comes as each of them, the others by turns.
      const isTurn = (turn: number): boolean => index === 0 || index % 2 === turn;
      if (isTurn(0)) await host.refusesEntries(t, [{ name: `${name.replace(/\/$/, "")}/` }], "member_unsafe");
      const link = { name, content: "target", mode: 0o120777 };
      if (isTurn(1)) await host.refusesEntries(t, [link], "member_unsafe", undefined, { source: { symlinks: "skip" } });
    }
  });
}

t.test("an entry without a name is refused", async (t) => {
  const host = await marketplaceHost(t);
  await host.refusesEntries(t, [{ name: "", content: "x" }], "member_unsafe", '""');
  const field = Buffer.from([0x99, 0x99, 0, 0]);
  await host.refusesEntries(t, [{ name: "", content: "x", declared: { extra: field } }], "member_unsafe", '""');
});

t.test("names that are not UTF-8, or that are two at once, are refused", async (t) => {
  const host = await marketplaceHost(t);
  const latin = Buffer.from("caf\xe9.js", "latin1");
  await host.refusesEntries(t, [{ name: latin, content: "x" }], "member_unsafe", '"café.js"');
  await host.refusesEntries(t, [{ name: latin, content: "x", flags: 0 }], "member_unsafe", '"café.js"');
  const field = (name: string): Buffer => {
    const text = Buffer.from(name);
    const bytes = Buffer.alloc(9);
    bytes.writeUInt16LE(0x7075, 0);
    bytes.writeUInt16LE(5 + text.length, 2);
    bytes[4] = 1;
    return Buffer.concat([bytes, text]);
  };
  const twoNames = { name: "main.js", content: "x", declared: { extra: field("../planted") } };
  await host.refusesEntries(t, [twoNames], "zip_invalid");
});

t.test("names that are too long or too deep are refused, unless the operator raises the limit", async (t) => {
  const host = await marketplaceHost(t);
  const deep = { name: `${"d/".repeat(64)}f`, content: "x" };
  const long = { name: `${"n".repeat(255)}/`.repeat(4) + "tail", content: "x" };
  await host.refusesEntries(t, [deep], "limit_exceeded");
  await host.refusesEntries(t, [long], "limit_exceeded", "nnnnnn");
  await host.refusesEntries(t, [{ name: "n".repeat(256), content: "x" }], "member_unsafe", "nnnnnn");
});

t.test("the hub refuses the same names when they are published", async (t) => {
  const target = await createTarget(t);
  for (const name of ["../planted", "/planted", "C:planted", "a\\b", "a\0b", "con", "dot."]) {
    const answer = await publishZip(target, pluginZip([{ name, content: "x" }]));
    t.match({ status: answer.status, code: answer.body.code }, { status: /^4/, code: "member_unsafe" }, name);
  }
});
