import { execFileSync } from "node:child_process";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";
import { needs } from "../../support/programs/optional.ts";

t.test("a sparse member is refused, in every form that tar programs write", async (t) => {
  const host = await attackedHost(t);

  await t.test("GNU's old type S", async (t) => {
    await host.refusesProject(
      t,
      { extra: [{ name: "./plugins/demo/sparse", type: "S", content: "x".repeat(512) }] },
      { code: "member_type" },
    );
  });

  const paxForms = {
    "pax 0.0": { "GNU.sparse.size": "1000000", "GNU.sparse.numblocks": "1", "GNU.sparse.offset": "0" },
    "pax 0.1": { "GNU.sparse.map": "0,512", "GNU.sparse.size": "1000000", "GNU.sparse.name": "../../planted" },
    "pax 1.0": { "GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "99999999999" },
  };
  for (const [form, pax] of Object.entries(paxForms)) {
    await t.test(form, async (t) => {
      await host.refusesProject(
        t,
        { extra: [{ name: "./plugins/demo/sparse", pax, content: "x".repeat(512) }] },
        { code: "member_type" },
      );
    });
  }

  await t.test("as GNU tar itself writes them", { skip: needs("tar") }, async (t) => {
    const folder = t.testdir({});
    writeFileSync(join(folder, "holes.bin"), "start");
    truncateSync(join(folder, "holes.bin"), 4 * 1024 * 1024);
    for (const format of ["--format=gnu", "--format=posix"]) {
      const options = ["--sparse", format, "-C", folder, "-cf", "-", "./holes.bin"];
      const tar = execFileSync("tar", options, { maxBuffer: 64 * 1024 * 1024 });
      await host.refusesTar(t, tar, { code: "member_type" });
    }
  });
});
