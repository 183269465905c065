/** Clients that were built before there were deltas go on as they did. */
import t, { type Test } from "tap";
import {
  type Answer,
  createProject,
  newSigner,
  type ProjectAccess,
  publication,
  type RunningHub,
  startHub,
} from "../../support/hub/harness.ts";

const DEPLOY = "/app/deploy/v1";
const signer = newSigner();
const [first, second, third, delta, other] = [
  ...["1.0.0", "1.1.0", "1.2.0"].map((version) => publication(version, { signer, size: 2000 })),
  publication("delta", { signer, size: 300 }),
  publication("1.2.0", { signer, size: 2100 }),
] as const;

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** Stores what publishers of today store beside a version: an index, and a delta from 1.0.0 to 1.1.0. */
async function addDeltas(t: Test, hub: RunningHub, { id, key }: ProjectAccess): Promise<void> {
  const post = async (path: string, fields: Record<string, string | Blob>): Promise<void> => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    t.equal((await hub.call("POST", `${DEPLOY}/projects/${id}/artifacts/${path}`, { key, form })).status, 201, path);
  };
  for (const version of ["1.0.0", "1.1.0"]) await post(`${version}/index`, { index: new Blob([new Uint8Array(50)]) });
  await post("1.1.0/deltas", {
    base_version: first.version,
    base_content_sha256: first.contentSha256,
    dek: base64(delta!.dek),
    signature: base64(delta!.signature),
    signer_public_key: base64(delta!.publicKey),
    artifact: new Blob([new Uint8Array(delta!.bytes)]),
  });
}

/** Text that differs between any two projects: ids, tokens, addresses, times. */
const PRIVATE =
  /(?<=\b(?:prj|art|key|dpl)_)[0-9A-Za-z-]+|(?<=sls_)[\w-]+|http:[^"]*|\d{4}-\d\d-\d\dT[\d:.]+Z|"\d+-\d+"/g;

/** An answer as a client sees it. */
const seen = ({ status, headers, bytes }: Answer) => ({
  status,
  headers: [...headers.keys()].filter((name) => !["date", "keep-alive", "connection"].includes(name)),
  text: bytes.toString("latin1").replace(PRIVATE, "…"),
});

/** The whole conversation of a publisher and a host that were built before there were deltas. */
async function oldClients(t: Test, hub: RunningHub, project: ProjectAccess): Promise<Record<string, unknown>> {
  const { id, key } = project;
  const at = `${DEPLOY}/projects/${id}`;
  const bearer = await project.session();
  const location = await hub.call("GET", `${at}/artifacts/1.1.0`, { bearer });
  // Parsers of that time leave alone what they do not know.
  const { deltas, ...known } = location.body as Record<string, unknown>;
  const address = known["download_url"] as string;
  const latest = `${at}/versions/latest`;
  const authorize = { deployment_credential: project.credential, artifact_signature: known["signature"] };
  const report = {
    ...{ project_id: id, deployment_id: "d-1", status: "success", version: "1.1.0", plugins: [] },
    ...{ started_at: "", completed_at: "" },
  };
  const download = await hub.call("GET", address, { key: null });
  t.ok(download.bytes.equals(second.bytes), "the download is the full artifact");
  const answers = {
    auth: await hub.call("POST", `${DEPLOY}/auth`, { key: null, json: { xdevkey: key, project_id: id } }),
    latest: await hub.call("GET", latest, { bearer }),
    same: await hub.call("GET", latest, { bearer, headers: { "if-none-match": '"1.1.0"' } }),
    missing: await hub.call("GET", `${at}/artifacts/9.9.9`, { bearer }),
    authorize: await hub.call("POST", `${DEPLOY}/deployments/authorize`, { bearer, json: authorize }),
    download,
    resumed: await hub.call("GET", address, { key: null, headers: { range: "bytes=1500-" } }),
    report: await hub.call("POST", `${DEPLOY}/deployments/report`, { bearer, json: report }),
    hosts: await hub.call("GET", `${at}/hosts`, { key }),
    publish: await project.publish(third!),
    again: await project.publish(third!, { fileFirst: true }),
    conflict: await project.publish(other!),
    versions: await hub.call("GET", `${at}/versions`, { key }),
    newLatest: await hub.call("GET", latest, { bearer }),
    newLocation: await hub.call("GET", `${at}/artifacts/1.2.0`, { bearer }),
  };
  t.match([answers.publish.status, answers.again.status, answers.conflict.status], [201, 200, 409]);
  t.strictSame(answers.authorize.body, { dek: base64(second.dek) }, "its signature gives the full artifact's key");
  return {
    ...Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, seen(answer)])),
    location: {
      ...seen({ ...location, bytes: Buffer.from(JSON.stringify(known)) }),
      offersDeltas: deltas !== undefined,
    },
  };
}

t.test("old clients see the same hub, whether versions have deltas or not", async (t) => {
  const hub = await startHub(t);
  const talks = [];
  for (const withDeltas of [false, true]) {
    const project = await createProject(hub);
    for (const version of [first, second]) t.equal((await project.publish(version)).status, 201);
    if (withDeltas) await addDeltas(t, hub, project);
    talks.push(await oldClients(t, hub, project));
  }
  const [without, withDeltas] = talks as [Record<string, object>, Record<string, object>];
  t.match(without["location"], { status: 200, offersDeltas: false });
  t.match(withDeltas["location"], { status: 200, offersDeltas: true });
  t.strictSame({ ...withDeltas["location"], offersDeltas: false }, without["location"], "the rest of it is the same");
  for (const name of Object.keys(without)) if (name !== "location") t.strictSame(withDeltas[name], without[name], name);
});
