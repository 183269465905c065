import { join } from "node:path";
import t from "tap";
import { addonNote, foreignAddons, platformsOf } from "../../../../lib/artifact/packages/addons.ts";
import { PackageTree } from "../../../../lib/artifact/packages/package-tree.ts";
import { elf, ELF_ARM64, ELF_X64, plant } from "../../../support/packages.ts";

const machO = (...types: number[]): Buffer => {
  const header = Buffer.alloc(256);
  if (types.length === 1) {
    header.writeUInt32BE(0xcffaedfe);
    header.writeUInt32LE(types[0]!, 4);
    return header;
  }
  header.writeUInt32BE(0xcafebabe);
  header.writeUInt32BE(types.length, 4);
  types.forEach((type, index) => header.writeUInt32BE(type, 8 + 20 * index));
  return header;
};

function pe(machine: number): Buffer {
  const header = Buffer.alloc(256);
  header.write("MZ");
  header.writeUInt32LE(0x80, 0x3c);
  header.write("PE\0\0", 0x80);
  header.writeUInt16LE(machine, 0x84);
  return header;
}

t.test("an addon's platform is read from its header, whatever its name says", async (t) => {
  const cases: [Buffer, string[]][] = [
    [elf(ELF_X64), ["linux-x64"]],
    [elf(ELF_ARM64), ["linux-arm64"]],
    [elf(0x9999), ["linux-other"]],
    [machO(0x0100000c), ["darwin-arm64"]],
    [machO(0x01000007, 0x0100000c), ["darwin-x64", "darwin-arm64"]],
    [pe(0x8664), ["win32-x64"]],
    [Buffer.from("#!/bin/sh\n".padEnd(80)), []],
    [Buffer.from("MZ"), []],
    [Buffer.concat([Buffer.from("MZ"), Buffer.alloc(62, 0xff)]), []],
    [Buffer.alloc(0), []],
  ];
  for (const [header, platforms] of cases) t.same(platformsOf(header), platforms);
  const big = elf(0);
  big[5] = 2;
  big.writeUInt16BE(0x16, 18);
  t.same(platformsOf(big), ["linux-s390x"], "a processor of the other byte order");
});

t.test("a package is named when none of its addons fits; one with addons for many platforms is fine", async (t) => {
  const root = t.testdir({});
  const files = {
    "node_modules/many/prebuilds/linux-x64/a.node": elf(ELF_X64),
    "node_modules/many/prebuilds/darwin-x64/a.node": machO(0x01000007),
    "node_modules/@img/sharp/lib/a.node": machO(0x0100000c),
    "node_modules/odd/build/a.node": "no program at all",
    "own.node": elf(ELF_ARM64),
  };
  plant(root, files);
  const packages = new PackageTree();
  packages.add(
    "",
    ["many", "@img/sharp", "odd"].map((name) => ({
      ...{ path: `node_modules/${name}`, name, version: "1.0.0", license: "", isLink: false },
    })),
  );
  const foreign = foreignAddons({ root, addons: Object.keys(files) }, packages, "linux-x64");
  t.same(foreign, [
    { path: "node_modules/@img/sharp", platforms: ["darwin-arm64"] },
    { path: "own.node", platforms: ["linux-arm64"] },
  ]);
  t.match(
    addonNote(foreign[0]!, "linux-x64"),
    /@img\/sharp .* darwin-arm64, and none for linux-x64.*--os=linux --cpu=x64/,
  );
  t.same(foreignAddons({ root, addons: [join("own.node")] }, undefined, "linux-arm64"), []);
});
