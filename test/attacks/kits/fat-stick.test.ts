/** A stick with FAT: names in any case, no links, no modes, coarse times, and full before the kit is whole. */
import { randomBytes } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import t from "tap";
import { mountFat } from "../../support/host/loop-file-system.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";
import { needs } from "../../support/programs/optional.ts";

/** Characters that FAT refuses in a name; nor may one end with a space or full stop. */
const REFUSED = /[\u0000-\u001f"*/:<>?\\|]|[ .]$/;

t.test(
  "a kit works on a stick with FAT, and what is full of it has no part of one",
  { skip: needs("mkfs.vfat", "fusefat") },
  async (t) => {
    const { hub, folder, target, root, make, made, deploy } = await offlineSite(t);
    const stick = await mountFat(t, 40 * 1024 * 1024);
    await target.publish("1.0.0", { "plugins/tides/chart": randomBytes(3 * 1024 * 1024).toString("base64") });
    const kit = await make(join(stick.folder, "Harbour", "1.0.0")).then(() => join(stick.folder, "harbour", "1.0.0"));
    t.match((await deploy(kit)).result, { outcome: "deployed" }, "by a name in other letters");
    await target.publish("1.1.0");
    const second = join(stick.folder, "HARBOUR", "1.1.0");
    await make(second);
    await stick.takeOut();
    await stick.putIn("ro");
    t.match((await deploy(second)).result, { outcome: "deployed", version: "1.1.0" }, "though its lock is set");
    await stick.takeOut();
    await stick.putIn();
    const collect = ["kit", "collect", kit, "--host-key-file", "host.key", "--project-root", root];
    t.match((await sealift(folder, collect)).result, { written: 1, known: 1 });
    const to = ["--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!];
    t.match((await sealift(folder, ["kit", "submit", kit, ...to])).result, { taken: 2, refused: 0 });

    const names = (readdirSync(stick.folder, { recursive: true }) as string[]).map((path) => basename(path));
    t.ok(names.length >= 8, names.join(" "));
    for (const name of names) {
      t.notMatch(name, REFUSED);
      t.ok(name.length <= 255);
    }

    writeFileSync(join(stick.folder, "filler"), randomBytes(32 * 1024 * 1024));
    const large = { "plugins/tides/chart": randomBytes(9 * 1024 * 1024).toString("base64") };
    await target.publish("1.2.0", large);
    const full = await made(join(stick.folder, "full"));
    // Linux says that the disk is full; this driver says that it may not be written.
    t.match(full.result, { error: { code: /^(disk_full|kit_unwritable)$/ } }, full.stdout);
    t.strictSame(readdirSync(join(stick.folder, "full")), []);
    await stick.takeOut();
    stick.check();
  },
);
