import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("a device, a pipe or anything else that is not a file or folder is refused", async (t) => {
  const host = await attackedHost(t);
  const types = {
    "3": "character device",
    "4": "block device",
    "6": "fifo",
    "7": "contiguous file",
    V: "volume label",
  };
  for (const [type, what] of Object.entries({ ...types, M: "continued volume", "9": "unknown type" })) {
    await t.test(what, async (t) => {
      const extra = [{ name: "./plugins/demo/special", type, content: type === "7" ? "x" : "" }];
      await host.refusesProject(t, { extra }, { code: "member_type" });
    });
  }
  await t.test("setuid, setgid and sticky bits of a file are not kept", async (t) => {
    const { statSync } = await import("node:fs");
    const { projectTar } = await import("../../support/forged/artifact.ts");
    const name = "plugins/demo/tool";
    const version = host.nextVersion();
    const tar = projectTar(
      host.describe(version, {
        extra: [{ name: `./${name}`, mode: 0o7777, content: "#!/bin/sh\n" }],
        counted: { [name]: "#!/bin/sh\n" },
      }),
    );
    await host.publish(version, host.seal(tar));
    t.equal((await host.deploy(version)).outcome, "deployed");
    t.equal(statSync(`${host.root}/${name}`).mode & 0o7777, 0o755);
  });
});
