import { execFileSync } from "node:child_process";
import { constants, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { diskUse, Extents } from "../../../lib/releases/disk-use.ts";
import { mountLoop } from "../../support/host/loop-file-system.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/**
 * As filefrag 1.47 prints it: two files that share most of their blocks, one that is not on the disk yet, an empty one.
 */
const LISTED = `Filesystem type is: 58465342
File size of /r/a is 100000 (102400 blocks of 1 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
   0:        0..   65535:      98304..    163839:  65536:             shared
   1:    65536..  102399:     524288..    561151:  36864:     163840: last,eof
/r/a: 2 extents found
File size of /r/b is 70000 (73728 blocks of 1 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
   0:        0..   73727:      98304..    172031:  73728:             last,shared,eof
/r/b: 1 extent found
File size of /r/new is 1500 (4096 block of 1 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
   0:        0..    4095:          0..         0:      0:             last,unknown_loc,delalloc,eof
/r/new: 1 extent found
File size of /r/empty is 0 (0 blocks of 1 bytes)
/r/empty: 0 extents found
`;

t.test("bytes that extents have in common count once, and half-filled blocks by what is in them", async (t) => {
  const extents = new Extents();
  extents.add(LISTED);
  t.equal(extents.bytes(), 70_000 + (100_000 - 65_536) + 1500);
  extents.add(LISTED.split("\n").slice(0, 4).join("\n"));
  t.equal(extents.bytes(), 70_000 + (100_000 - 65_536) + 1500, "also between calls");
});

t.test("a file system without reflinks takes the sum of all sizes", async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, "a/b"), { recursive: true });
  writeFileSync(join(folder, "a/b/c"), "12345");
  writeFileSync(join(folder, "a/d"), "67");
  const { bytes } = await diskUse([join(folder, "a"), join(folder, "nowhere")]);
  t.equal(bytes, 7);
  t.strictSame(await diskUse([]), { bytes: 0, sharing: "none" });
});

for (const type of ["xfs", "btrfs"] as const)
  t.test(`${type}: what files share by reflink is counted once`, async (t) => {
    const mounted = mountLoop(t, type);
    if ("reason" in mounted) return t.comment(`not mounted here: ${mounted.reason}`);
    const { folder } = mounted;
    mkdirSync(join(folder, "r"));
    writeFileSync(join(folder, "r/a"), Buffer.alloc(100_000, "a"));
    writeFileSync(join(folder, "r/small"), "small");
    execFileSync("sync", ["-f", folder]);
    copyFileSync(join(folder, "r/a"), join(folder, "r/b"), constants.COPYFILE_FICLONE_FORCE);
    writeFileSync(join(folder, "r/c"), Buffer.alloc(100_000, "a"));
    execFileSync("sync", ["-f", folder]);
    t.strictSame(await diskUse([join(folder, "r")]), { bytes: 200_005, sharing: "counted" });
  });
