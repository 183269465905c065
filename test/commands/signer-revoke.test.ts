// Holds: a signer is named by what people have of it (commands/hub/named-signer.ts)
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createProject, newSigner, publication, startHub } from "../support/hub/harness.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const hex = ({ publicKey }: { publicKey: Buffer }): string => publicKey.toString("hex");

async function harbour(t: Test) {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const folder = temporaryFolder(t);
  const env = { PATH: process.env.PATH, SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey };
  const run = (...words: string[]) => commandLine(["signer", ...words], { cwd: folder, env });
  const list = async () =>
    (await hub.call("GET", `/devkeys/projects/${project.id}/signers`)).body.items as {
      public_key: string;
      state: string;
    }[];
  const states = async () => new Map((await list()).map(({ public_key: key, state }) => [key, state]));
  return { hub, project, folder, run, states, id: project.id };
}

t.test("a stolen key is revoked where there is no register yet, by the digits that fleet shows", async (t) => {
  const { hub, project, run, states, id } = await harbour(t);
  const [owner, thief, former] = [newSigner(), newSigner(), newSigner()];
  await project.publish(publication("0.9.0", { signer: former }));
  await project.publish(publication("1.0.0", { signer: owner }));
  await project.publish(publication("1.1.0", { signer: thief }));
  await hub.call("POST", `/devkeys/projects/${id}/versions/0.9.0/yank`, { json: {} });
  const shown = hex(thief).slice(0, 16);
  t.match(await run("retire", id, shown), { code: 1, stderr: /not_found/ }, "what was never registered is not retired");
  const tried = await run("revoke", id, shown, "--dry-run");
  t.match(tried, { code: 0, stderr: new RegExp(`would revoke ${hex(thief)}, which is not registered`) });
  t.equal((await states()).size, 0);
  t.match(await run("revoke", id, shown, "--reason", "stolen"), {
    code: 0,
    stderr: new RegExp(`has no register yet. It gets .*${hex(owner)}\\.[^]*${hex(thief)} is revoked`),
  });
  const expected = [
    [hex(owner), "active"],
    [hex(thief), "revoked"],
  ] as const;
  t.strictSame(await states(), new Map(expected.toSorted(([a], [b]) => (a < b ? -1 : 1))));
  t.equal((await project.publish(publication("1.2.0", { signer: thief }))).status, 403);
  t.equal((await project.publish(publication("1.2.0", { signer: owner }))).status, 201);
});

t.test("a signer is ended by its name, its first digits, or a file, and never by a guess", async (t) => {
  const { run, states, folder, id } = await harbour(t);
  const [ci, laptop, twin, left] = [newSigner(), newSigner(), newSigner(), newSigner()];
  for (const [signer, name] of [
    [ci, "ci"],
    [laptop, "laptop"],
    [twin, "laptop"],
    [left, "left"],
  ] as const)
    t.equal((await run("add", id, hex(signer), "--name", name)).code, 0);
  t.match(await run("revoke", id, "laptop"), { code: 2, stderr: /the name of 2 signers/ });
  t.match(await run("revoke", id, "laptpo"), { code: 2, stderr: /no file, no key and no signer/ });
  t.match(await run("revoke", id, hex(ci).slice(0, 7)), { code: 2 }, "seven digits are a guess");
  t.match(await run("revoke", id, "ci"), { code: 0 });
  t.match(await run("revoke", id, `${hex(laptop).slice(0, 16)}…`), { code: 0 });
  await writeFile(join(folder, "twin.pub"), hex(twin));
  t.match(await run("retire", id, "twin.pub"), { code: 0 });
  const now = await states();
  t.equal([ci, laptop, twin, left].map((signer) => now.get(hex(signer))).join(), "revoked,revoked,retired,active");
});
