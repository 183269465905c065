import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("the artifact of another project or version is refused, though the trusted key signed it", async (t) => {
  const host = await attackedHost(t);
  const refusal = { code: "manifest_mismatch" } as const;
  await t.test("of another project", (t) =>
    host.refusesProject(t, { manifest: (m) => ({ ...m, project_id: "prj_0123456789abcdef" }) }, refusal),
  );
  await t.test("of an older version, served under a new label", (t) =>
    host.refusesProject(t, { manifest: (m) => ({ ...m, version: "0.9.0" }) }, refusal),
  );
  await t.test("of the same version but for its build metadata", (t) =>
    host.refusesProject(t, { manifest: (m) => ({ ...m, version: `${m["version"] as string}+build.2` }) }, refusal),
  );
  await t.test("and so is a plan of another project", (t) =>
    host.refusesProject(
      t,
      {
        files: {
          "deployment/install.yaml":
            'format_version: "1"\nproject_id: prj_0123456789abcdef\nversion: 1.0.0\nsteps: [{ id: a, action: prepare }]\n',
        },
      },
      { code: "plan_mismatch" },
    ),
  );
});
