// Only in test:all: each of its archives is published, and refused by a host, 12 s of a processor.
/** Tars that we unpacked and GNU tar, bsdtar or Python read in another way. */
import t from "tap";
import { type ForgedMember, forgedTar, memberBlocks, projectTar } from "../../support/forged/artifact.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

/** One for all tests: each refusal is checked to leave it as it was. */
const host = await attackedHost(t);

const BLOCK = 512;
const planted: ForgedMember = { name: "./plugins/demo/planted.js", content: "planted" };

t.test("members behind the archive's end are refused", async (t) => {
  const project = () => host.describe(host.nextVersion());
  const blocks = memberBlocks(planted);
  for (const zeros of [1, 2, 18]) {
    await t.test(`behind ${zeros} blocks of zeros`, async (t) => {
      const whole = projectTar({ ...project(), counted: { "plugins/demo/planted.js": "planted" } });
      const tar = Buffer.concat([whole.subarray(0, -2 * BLOCK), Buffer.alloc(zeros * BLOCK), blocks]);
      await host.refusesTar(t, Buffer.concat([tar, Buffer.alloc(2 * BLOCK)]), { code: "tar_invalid" });
    });
  }
  await t.test("bytes that are not a member", (t) =>
    host.refusesTar(t, Buffer.concat([projectTar(project()), Buffer.from("x")]), { code: "tar_invalid" }),
  );
});

/** A member behind a pax header of exactly these bytes. */
function behindPax(pax: string, type = "x"): Buffer {
  const header = memberBlocks({ name: "PaxHeader", type, content: pax });
  return Buffer.concat([header, memberBlocks(planted)]);
}

/** The project with more blocks at its end. */
const withBlocks = (tar: Buffer, blocks: Buffer): Buffer =>
  Buffer.concat([tar.subarray(0, -2 * BLOCK), blocks, Buffer.alloc(2 * BLOCK)]);

const FOREIGN_PAX: Record<string, string> = {
  "a record without its newline": "24 path=./plugins/demo/x",
  "a record whose length leaves out its newline": "13 path=./abc\n15 comment=abc\n",
  "a record that is longer than the header": "99 path=./plugins/demo/x\n",
  "a record of length zero": "0 path=./x\n",
  "a record whose length begins with zeros": "014 path=./ab\n",
  "a record without a key": "7 =abc\n",
  "a key with a NUL": "8 a\0b=c\n",
  "a path with a NUL": "16 path=./a\0bcde\n",
  "an empty path": "8 path=\n",
  "two paths": "12 path=./a\n12 path=./b\n",
  "a size that is not a number": "12 size=0x7\n",
  "another size than the header": "10 size=3\n",
  "another character set": "19 hdrcharset=BINARY\n",
};

t.test("a pax header that is not exactly as it should be is refused", async (t) => {
  for (const [what, text] of Object.entries(FOREIGN_PAX)) {
    await t.test(what, async (t) => {
      const tar = projectTar(host.describe(host.nextVersion()));
      await host.refusesTar(t, withBlocks(tar, behindPax(text)), { code: "tar_invalid" });
    });
  }
  await t.test("one for all members that names a path", async (t) => {
    const tar = projectTar(host.describe(host.nextVersion()));
    await host.refusesTar(t, withBlocks(tar, behindPax("12 path=./a\n", "g")), { code: "tar_invalid" });
  });
});

t.test("bytes behind a pax header or a long name, in its last block, are refused", async (t) => {
  for (const [type, text] of [
    ["x", "15 mtime=12345\n"],
    ["g", "15 mtime=12345\n"],
    ["L", "./plugins/demo/planted.js\0"],
  ] as const) {
    await t.test(type, async (t) => {
      const tar = projectTar(host.describe(host.nextVersion()));
      const blocks = behindPax(text, type);
      blocks.write(".", BLOCK + Buffer.byteLength(text));
      await host.refusesTar(t, withBlocks(tar, blocks), { code: "tar_invalid" });
    });
  }
});

t.test("two names for one member are refused", async (t) => {
  const pax = memberBlocks({ name: "PaxHeader", type: "x", content: "12 path=./a\n" });
  const long = memberBlocks({ name: "././@LongLink", type: "L", content: "./plugins/demo/b\0" });
  const member = memberBlocks(planted);
  for (const names of [
    [pax, pax],
    [pax, long],
    [long, pax],
    [long, long],
  ]) {
    const tar = projectTar(host.describe(host.nextVersion()));
    await host.refusesTar(t, withBlocks(tar, Buffer.concat([...names, member])), { code: "tar_invalid" });
  }
  const hidden = memberBlocks({ name: "././@LongLink", type: "L", content: "./plugins/demo/a\0b\0" });
  const tar = projectTar(host.describe(host.nextVersion()));
  await host.refusesTar(t, withBlocks(tar, Buffer.concat([hidden, member])), { code: "tar_invalid" });
});

t.test("a header of GNU's form with bytes where others have a part of the name is refused", async (t) => {
  const block = memberBlocks(planted);
  block.write("ustar  \0", 257, "latin1");
  block.write("plugins", 345, "latin1");
  block.fill(" ", 148, 156);
  const sum = block.subarray(0, BLOCK).reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  const tar = projectTar(host.describe(host.nextVersion()));
  await host.refusesTar(t, withBlocks(tar, block), { code: "tar_invalid" });
});

t.test("a pax header or a long name with nothing behind it is refused", async (t) => {
  for (const type of ["x", "L"]) {
    const blocks = memberBlocks({ name: "PaxHeader", type, content: "12 path=./a\n" });
    const tar = projectTar(host.describe(host.nextVersion()));
    await host.refusesTar(t, withBlocks(tar, blocks), { code: "tar_invalid" });
    await host.refusesTar(t, withBlocks(tar, blocks).subarray(0, -2 * BLOCK), { code: "tar_invalid" });
  }
});

t.test("a size field that readers take for different numbers is refused", async (t) => {
  const fields = [
    `\0${"14".padStart(11, "0")}`,
    "\0".repeat(12),
    " ".repeat(12),
    "0000000007x\0",
    "7,0000000000",
    "-0000000007\0",
  ];
  for (const field of fields) {
    const member = { ...planted, rawSize: Buffer.from(field.slice(0, 12), "latin1") };
    await host.refusesProject(t, { extra: [member] }, { code: "tar_invalid" });
  }
});

t.test("a folder with content is refused", async (t) => {
  const member: ForgedMember = { name: "./plugins/demo/folder/", type: "5", content: memberBlocks(planted) };
  await host.refusesProject(t, { extra: [member] }, { code: "tar_invalid" });
});

t.test("padding behind the end, as tapes have it, is fine", async (t) => {
  const version = host.nextVersion();
  const tar = Buffer.concat([projectTar(host.describe(version)), Buffer.alloc(10_240)]);
  await host.publish(version, host.seal(tar));
  t.equal((await host.deploy(version)).outcome, "deployed");
  t.equal(forgedTar([]).length, 2 * BLOCK);
});
